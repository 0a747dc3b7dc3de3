//! Swap and reclaim: how a new snapshot replaces the old one while readers go on. The only `unsafe` of the engine.
//!
//! A writer builds a value aside, swaps one pointer, and keeps the old value until nobody can be reading it. Readers
//! never wait, never allocate, and never free: not a value, not its parts, and not the bookkeeping either.
//!
//! # How it works
//!
//! *Pins* (`slots`). Each thread owns a slot. A reader writes the current epoch into its slot, loads the pointer, and
//! clears the slot when it is done. A writer that has swapped a pointer stamps the old value with the epoch, raises the
//! epoch, and may let go of the value once every slot is clear or holds a later epoch. This is epoch-based reclamation
//! (K. Fraser, "Practical lock-freedom", 2004, section 5.2.3) with one change: the list of what waits belongs to the
//! pool and only its writers look at it. Schemes in which whoever pins also collects make readers run destructors, and
//! make them allocate when their bags fill up.
//!
//! *Counts* ([`Hold`]). What a picker or a lease keeps longer than a pin is counted. The last holder, who may be a
//! reader, pushes the value on the pool's retired list, which takes one exchange of a pointer that lies in the value
//! itself. Writers empty the list after they have given back their lock.
//!
//! *The barrier.* A reader's store to its slot must be visible before its load of the pointer. Where the kernel offers
//! `membarrier(2)`, the writer pays for that (one system call for each update) and a pin is two plain stores; elsewhere
//! the pin is an atomic exchange.

mod fork;
mod hold;
mod slots;

#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) use fork::system_entropy;
pub(crate) use fork::{CommitGate, fork_generation, process_offset, watch_forks};
pub(crate) use hold::{Hold, Retired};
pub(crate) use slots::{Pin, pin, thread_draws, thread_shard};

use crate::sync::{AtomicPtr, Ordering};

/// The pointer that readers load and writers swap. Owns one count of the value it points to.
pub(crate) struct Published<T: Send + Sync + 'static> {
    current: AtomicPtr<hold::Node<T>>,
}

/// A published value that is being read, kept by a pin or by whoever lends it.
pub(crate) struct Guarded<'a, T> {
    value: &'a T,
    #[cfg(loom)]
    witness: Option<&'a crate::sync::model::Witness>,
    _pin: Option<Pin>,
}

impl<'a, T> Guarded<'a, T> {
    /// A value that the lender holds.
    #[inline]
    pub(crate) fn held(value: &'a T) -> Self {
        Self {
            value,
            #[cfg(loom)]
            witness: None,
            _pin: None,
        }
    }
}

impl<T> std::ops::Deref for Guarded<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        #[cfg(loom)]
        self.witness.inspect(|witness| witness.read());
        self.value
    }
}

/// Values that were swapped out and may still be read under a pin. Guarded by the writer's lock.
pub(crate) struct Waiting<T: Send + Sync + 'static> {
    values: Vec<(u64, Hold<T>)>,
}

impl<T: Send + Sync + 'static> Published<T> {
    pub(crate) fn new(first: Hold<T>) -> Self {
        Self { current: AtomicPtr::new(first.into_raw()) }
    }

    /// The published value, and the pin that keeps it.
    #[inline]
    pub(crate) fn load(&self) -> Guarded<'_, T> {
        let pin = pin();
        // SeqCst stands in one total order with the pin's announcement and the writer's swap and scan; see
        // `slots::announce`. On x86-64 and AArch64 it costs no more than Acquire.
        let node = self.current.load(Ordering::SeqCst);
        // SAFETY: the pointer came from `Hold::into_raw` and its count is owned by `self` until `swap` moves it to
        // `Waiting`, which keeps it while a slot shows an epoch at or before the swap. `pin` announced its epoch
        // before this load, so the value outlives the pin, which outlives every borrow of the guard.
        let node = unsafe { &*node };
        Guarded {
            value: &node.value,
            #[cfg(loom)]
            witness: Some(&node.witness),
            _pin: Some(pin),
        }
    }

    /// Whether this value is the published one. The caller holds it, so its address cannot have been used again.
    #[inline]
    pub(crate) fn is_current(&self, held: &Hold<T>) -> bool {
        // Relaxed: on equality nothing new is read through the pointer.
        std::ptr::eq(self.current.load(Ordering::Relaxed), held.as_raw())
    }

    /// A count of the published value, to keep beyond the pin.
    pub(crate) fn hold(&self) -> Hold<T> {
        let _pin = pin();
        let node = self.current.load(Ordering::SeqCst);
        // SAFETY: as in `load`, the value is alive while the pin lasts, so its count is above zero and may be raised.
        unsafe { Hold::from_raw_shared(node) }
    }

    /// Publishes `next`. The value before it waits in `waiting` for its readers. Calls are ordered by the writer's lock.
    pub(crate) fn swap(&self, next: Hold<T>, waiting: &mut Waiting<T>) {
        let old = self.current.swap(next.into_raw(), Ordering::SeqCst);
        let stamp = slots::advance();
        // SAFETY: the count that `self` owned moves to `waiting`.
        waiting.values.push((stamp, unsafe { Hold::from_raw(old) }));
    }
}

impl<T: Send + Sync + 'static> Drop for Published<T> {
    fn drop(&mut self) {
        let node = self.current.load(Ordering::Relaxed);
        // SAFETY: `&mut self`: nobody reads any more, and the count that `self` owns ends here.
        drop(unsafe { Hold::from_raw(node) });
    }
}

impl<T: Send + Sync + 'static> Waiting<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Takes out the values that no pin can be reading any more, for the caller to drop after the lock.
    pub(crate) fn take_quiet(&mut self) -> Vec<Hold<T>> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let oldest = slots::oldest_pinned();
        // Stamps rise, so the quiet ones stand in front.
        let quiet = self.values.partition_point(|(stamp, _)| *stamp < oldest);
        self.values.drain(..quiet).map(|(_, value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::*;

    /// What becomes quiet, as long as it takes: other tests of the process may pin meanwhile.
    fn quiet<T: Copy + Send + Sync>(waiting: &mut Waiting<T>, count: usize) -> Vec<T> {
        let (mut taken, begin) = (Vec::new(), Instant::now());
        while taken.len() < count {
            assert!(begin.elapsed() < Duration::from_secs(20), "{} of {count} became quiet", taken.len());
            taken.extend(waiting.take_quiet().iter().map(|value| **value));
        }
        taken
    }

    #[test]
    fn a_value_waits_for_those_who_may_read_it_and_for_nobody_who_came_later() {
        let home = Retired::new(|| {});
        let published = Published::new(Hold::new(1, &home));
        let mut waiting = Waiting::new();
        published.swap(Hold::new(2, &home), &mut waiting);
        let read = published.load();
        assert_eq!(quiet(&mut waiting, 1), [1]);
        for next in 3..6 {
            published.swap(Hold::new(next, &home), &mut waiting);
        }
        assert_eq!((*read, *published.load()), (2, 5));
        assert_eq!((waiting.take_quiet().len(), waiting.len()), (0, 3));
        drop(read);
        assert_eq!(quiet(&mut waiting, 3), [2, 3, 4]);
        assert_eq!(waiting.len(), 0);
        drop(published);
        home.close();
    }

    #[test]
    fn what_was_published_last_is_current_and_what_is_held_stays_as_it_was() {
        let home = Retired::new(|| {});
        let published = Published::new(Hold::new(1, &home));
        let mut waiting = Waiting::new();
        let held = published.hold();
        assert!(published.is_current(&held));
        published.swap(Hold::new(2, &home), &mut waiting);
        assert!(!published.is_current(&held) && published.is_current(&published.hold()));
        drop(waiting);
        home.empty();
        assert_eq!((*held, *published.hold()), (1, 2));
        drop((held, published));
        home.close();
    }

    #[test]
    fn the_end_lets_go_of_the_last_value() {
        let (home, value) = (Retired::new(|| {}), Arc::new(()));
        let published = Published::new(Hold::new(value.clone(), &home));
        home.empty();
        assert_eq!(Arc::strong_count(&value), 2);
        drop(published);
        home.close();
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
