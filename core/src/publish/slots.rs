//! One slot a thread: what epoch it reads in, its own random numbers, and its shard of counters.
//!
//! | `epoch` of a slot | meaning |
//! |---|---|
//! | 0 | its thread reads nothing |
//! | e | its thread may read whatever was published when the epoch was e, or later |

use std::cell::Cell;
use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::fork;
use crate::rng;
use crate::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, global, per_thread};

global! {
    /// The epoch that new pins announce. Starts above 0, which means clear.
    static EPOCH: CachePadded<AtomicU64> = CachePadded::new(AtomicU64::new(1));

    /// Every slot ever made, as a list that only grows. A slot of a thread that has ended is used again.
    static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

    /// Number of slots made; a new slot's shard.
    static MADE: AtomicU32 = AtomicU32::new(0);
}

#[repr(align(128))]
pub(super) struct Slot {
    epoch: AtomicU64,
    /// Pins of the owning thread, one inside the other. Written by that thread alone.
    depth: AtomicU32,
    taken: AtomicBool,
    /// The owning thread has run its destructors: the slot goes back with its last pin.
    ending: AtomicBool,
    shard: u32,
    next: Option<&'static Slot>,
}

per_thread! {
    static HAND: Hand = Hand { slot: Cell::new(None), rng: Cell::new(0), drawn_in: Cell::new(u32::MAX) };
    static OWNER: Owner = Owner { slot: Cell::new(None) };
}

/// What a thread has at hand. Without a destructor, so that reaching it costs no check.
struct Hand {
    slot: Cell<Option<&'static Slot>>,
    rng: Cell<u64>,
    /// The fork generation in which `rng` was seeded.
    drawn_in: Cell<u32>,
}

/// Gives the thread's slot back when the thread ends.
struct Owner {
    slot: Cell<Option<&'static Slot>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            // A model has no thread-locals left by now.
            let _ = HAND.try_with(|hand| hand.slot.set(None));
            if slot.depth.load(Ordering::Relaxed) == 0 {
                slot.release();
            } else {
                slot.ending.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// A reader's announcement that it may be reading. Ends when dropped; on the thread that made it.
pub(crate) struct Pin {
    slot: &'static Slot,
    _not_send: PhantomData<*const ()>,
}

/// Announces that this thread reads. Costs two stores, or one atomic exchange where there is no `membarrier(2)`.
/// A thread's first pin may allocate its slot.
#[inline]
pub(crate) fn pin() -> Pin {
    let slot = match HAND.with(|hand| hand.slot.get()) {
        Some(slot) => slot,
        None => first_slot(),
    };
    let depth = slot.depth.load(Ordering::Relaxed);
    slot.depth.store(depth + 1, Ordering::Relaxed);
    if depth == 0 {
        // Acquire pairs with `advance`: who reads an epoch sees the pointers that were swapped before it.
        slot.announce(EPOCH.load(Ordering::Acquire));
    }
    Pin { slot, _not_send: PhantomData }
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        let depth = self.slot.depth.load(Ordering::Relaxed) - 1;
        self.slot.depth.store(depth, Ordering::Relaxed);
        if depth == 0 {
            self.slot.clear();
            if self.slot.ending.load(Ordering::Relaxed) {
                self.slot.release();
            }
        }
    }
}

impl Slot {
    /// Stores the epoch so that it is visible before any later load of a published pointer.
    ///
    /// With `membarrier(2)` the writer makes it so: its barrier falls on this thread either after the store, which its
    /// scan then sees, or before the loads that follow, which then see its swap. Without, the exchange here, the
    /// reader's load, the writer's swap and the writer's scan are all SeqCst and so in one total order, and before them the
    /// slot's way into the list.
    ///
    /// loom knows no `membarrier(2)`, and takes sequentially consistent accesses for acquire and release. With the barrier, both
    /// sides of a model have a sequentially consistent fence; without, the scan exchanges too, so that of it and a pin the later one
    /// acquires what the earlier one has released.
    #[inline]
    fn announce(&self, epoch: u64) {
        if fork::barrier_by_writers() {
            // Release pairs with the writer's scan, as in `clear`.
            self.epoch.store(epoch, Ordering::Release);
            #[cfg(loom)]
            crate::sync::model::fence();
            std::sync::atomic::compiler_fence(Ordering::SeqCst);
        } else {
            self.epoch.swap(epoch, Ordering::SeqCst);
        }
    }

    /// The epoch, to the writer's scan. Pairs with the announcement and with `clear`.
    fn seen(&self) -> u64 {
        #[cfg(loom)]
        if !fork::barrier_by_writers() {
            return self.epoch.fetch_add(0, Ordering::SeqCst);
        }
        self.epoch.load(Ordering::SeqCst)
    }

    /// Its thread reads nothing.
    #[inline]
    fn clear(&self) {
        // In the one order of changes that the exchanges of a model have.
        #[cfg(loom)]
        if !fork::barrier_by_writers() {
            self.epoch.swap(0, Ordering::Release);
            return;
        }
        // Release pairs with the writer's scan: what was read under the pin was read before it is freed.
        self.epoch.store(0, Ordering::Release);
    }

    fn release(&self) {
        self.clear();
        self.depth.store(0, Ordering::Relaxed);
        self.ending.store(false, Ordering::Relaxed);
        // Release pairs with the exchange in `take_slot`: the next owner finds the slot clear.
        self.taken.store(false, Ordering::Release);
    }
}

/// Stamps what was just swapped out and opens the next epoch.
pub(super) fn advance() -> u64 {
    // Release pairs with the load in `pin`.
    EPOCH.fetch_add(1, Ordering::SeqCst)
}

/// The earliest epoch that some thread may be reading in, or `u64::MAX`. 0 where the barrier could not be had, so that
/// nothing counts as quiet.
pub(super) fn oldest_pinned() -> u64 {
    if !fork::writers_barrier() {
        return 0;
    }
    let pinned = behind(head()).map(Slot::seen).filter(|&epoch| epoch != 0);
    pinned.min().unwrap_or(u64::MAX)
}

/// In a forked child: frees the slots of the threads that do not exist here.
#[cfg_attr(any(loom, miri), allow(dead_code))]
pub(super) fn forget_other_threads() {
    let own = HAND.with(|hand| hand.slot.get());
    for slot in all_slots() {
        if !own.is_some_and(|own| std::ptr::eq(own, slot)) {
            slot.release();
        }
    }
}

/// Random numbers from the thread's own generator, freshly seeded after a fork.
#[inline]
pub(crate) fn thread_draws<const N: usize>() -> [u64; N] {
    HAND.with(|hand| {
        let mut rng = if hand.drawn_in.get() == fork::fork_generation() {
            fastrand::Rng::with_seed(hand.rng.get())
        } else {
            seed_hand(hand)
        };
        let draws = [(); N].map(|()| rng.u64(..));
        hand.rng.set(rng.get_seed());
        draws
    })
}

#[cold]
fn seed_hand(hand: &Hand) -> fastrand::Rng {
    hand.drawn_in.set(fork::fork_generation());
    fastrand::Rng::with_seed(rng::entropy())
}

/// A small number that differs between threads that run at the same time.
#[inline]
pub(crate) fn thread_shard() -> usize {
    HAND.with(|hand| hand.slot.get()).map_or(0, |slot| slot.shard as usize)
}

#[cold]
fn first_slot() -> &'static Slot {
    let slot = take_slot();
    match OWNER.try_with(|owner| owner.slot.set(Some(slot))) {
        Ok(()) => HAND.with(|hand| hand.slot.set(Some(slot))),
        Err(_) => slot.ending.store(true, Ordering::Relaxed),
    }
    slot
}

fn take_slot() -> &'static Slot {
    // Acquire pairs with `Slot::release`.
    let free = all_slots()
        .find(|slot| slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok());
    if let Some(slot) = free {
        return slot;
    }
    let slot = Box::into_raw(Box::new(Slot {
        epoch: AtomicU64::new(0),
        depth: AtomicU32::new(0),
        taken: AtomicBool::new(true),
        ending: AtomicBool::new(false),
        shard: MADE.fetch_add(1, Ordering::Relaxed),
        next: None,
    }));
    loop {
        // Acquire pairs with the exchange of whoever pushed the head before.
        let head = SLOTS.load(Ordering::Acquire);
        // SAFETY: the list holds leaked slots only, and nobody else sees the new one yet.
        unsafe { (*slot).next = head.as_ref() };
        // SeqCst puts it into the one order of `announce`, so that a scan which misses the slot comes before the thread's load
        // of the pointer. Acquire and release in it pair with the loads of the head: who sees the slot sees it whole.
        if SLOTS.compare_exchange(head, slot, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            // SAFETY: the slot is leaked, and from here on only shared.
            return unsafe { &*slot };
        }
    }
}

fn all_slots() -> impl Iterator<Item = &'static Slot> {
    // Acquire pairs with the exchange in `take_slot`: who sees a slot sees it whole.
    behind(SLOTS.load(Ordering::Acquire))
}

/// The newest slot, to the writer's scan.
fn head() -> *mut Slot {
    #[cfg(loom)]
    if !fork::barrier_by_writers() {
        let mut head = SLOTS.load(Ordering::Relaxed);
        while let Err(now) = SLOTS.compare_exchange(head, head, Ordering::SeqCst, Ordering::Relaxed) {
            head = now;
        }
        return head;
    }
    // SeqCst stands in one total order with the exchange in `take_slot`, as the scan's loads with the pins.
    SLOTS.load(Ordering::SeqCst)
}

/// The slots from this one on.
fn behind(head: *mut Slot) -> impl Iterator<Item = &'static Slot> {
    // SAFETY: the list holds leaked slots only.
    std::iter::successors(unsafe { head.as_ref() }, |slot: &&'static Slot| slot.next)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn threads_that_come_after_others_have_ended_use_their_slots_again() {
        let before = MADE.load(Ordering::Relaxed);
        for _ in 0..100 {
            thread::spawn(|| drop((pin(), pin()))).join().expect("no panic");
        }
        // Other tests of the process make slots of their own meanwhile.
        let made = MADE.load(Ordering::Relaxed) - before;
        assert!(made < 80, "{made} slots for a hundred threads, one after the other");
    }

    #[test]
    fn a_pin_inside_another_ends_nothing() {
        let outer = pin();
        let epoch = || outer.slot.epoch.load(Ordering::Relaxed);
        let announced = epoch();
        assert!(announced > 0 && oldest_pinned() <= announced);
        let stamp = advance();
        assert!(stamp >= announced && EPOCH.load(Ordering::Relaxed) > stamp);
        drop(pin());
        assert_eq!((epoch(), outer.slot.depth.load(Ordering::Relaxed)), (announced, 1));
        let slot = outer.slot;
        drop(outer);
        assert_eq!((slot.epoch.load(Ordering::Relaxed), slot.depth.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn threads_at_the_same_time_have_shards_and_random_numbers_of_their_own() {
        let (count, together) = (4, Barrier::new(4));
        let look = || {
            drop(pin());
            together.wait();
            let [one, other] = thread_draws::<2>();
            (thread_shard(), one, other, thread_draws::<1>())
        };
        let looks = thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(look)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        for (at, (shard, one, other, [third])) in looks.iter().enumerate() {
            assert!(one != other && other != third && one != third, "{looks:?}");
            let differs = |(its, first, ..): &(usize, u64, u64, [u64; 1])| its != shard && first != one;
            assert!(looks[..at].iter().all(differs), "{looks:?}");
        }
    }
}
