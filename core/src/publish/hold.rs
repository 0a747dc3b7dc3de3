//! Counted values that their last holder hands to the pool's writer instead of freeing them.
//!
//! | count of a node | where it is |
//! |---|---|
//! | above 0 | held by a snapshot, a picker, a lease or the published pointer |
//! | 0 | on the retired list, reachable from nowhere else |
//!
//! A list is closed with its pool. Who holds a value longer, frees it himself.

use std::fmt;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::fork::CommitGate;
#[cfg(loom)]
use crate::sync::model::Witness;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// A value with its count and its place on the retired list.
#[repr(C)]
pub(super) struct Node<T> {
    header: Header,
    #[cfg(loom)]
    pub(super) witness: Witness,
    pub(super) value: T,
}

/// The part of a node that does not depend on its value's type. First in the node, so that a pointer to one is a
/// pointer to the other.
#[repr(C)]
struct Header {
    count: AtomicUsize,
    next: AtomicPtr<Header>,
    free: unsafe fn(*mut Header),
    home: Arc<Retired>,
}

/// Values whose last holder has let go. Any thread pushes; writers empty it.
pub(crate) struct Retired {
    /// [`closed`] when no writer will come any more.
    head: AtomicPtr<Header>,
    waiting: AtomicUsize,
    /// Called after values were freed.
    freed: Box<dyn Fn() + Send + Sync>,
}

/// Stands for a list that is closed; never read through.
fn closed() -> *mut Header {
    ptr::without_provenance_mut(align_of::<Header>())
}

/// One count of a value.
pub(crate) struct Hold<T: Send + Sync + 'static> {
    node: NonNull<Node<T>>,
}

// SAFETY: a hold gives shared access to the value and may be the one whose pool drops it, so both bounds are needed and
// enough, as for `Arc`.
unsafe impl<T: Send + Sync> Send for Hold<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for Hold<T> {}

impl Retired {
    /// `freed` is called each time that values may have been freed, outside every lock.
    pub(crate) fn new(freed: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        let (head, waiting) = (AtomicPtr::new(ptr::null_mut()), AtomicUsize::new(0));
        Arc::new(Self { head, waiting, freed: Box::new(freed) })
    }

    /// Values that wait to be freed.
    pub(crate) fn len(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Frees everything on the list, and what that lets go of in turn. Not under a lock: destructors run here.
    pub(crate) fn empty(&self) {
        {
            // Destructors take locks of ours, which a fork must find free; what is called then is the host's and may fork.
            let _gate = CommitGate::enter();
            self.free_all();
        }
        (self.freed)();
    }

    /// The same for the last time: whoever lets go of a value from now on frees it. Such values hold no others.
    pub(crate) fn close(&self) {
        let closing = Closing(self);
        loop {
            // What is called then may use the pool once more, so that closing comes last.
            self.empty();
            if closing.try_close() {
                return;
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.head.load(Ordering::Relaxed) == closed()
    }

    fn free_all(&self) {
        // Only the pool's end closes, beside which nobody empties.
        if self.is_closed() {
            return;
        }
        loop {
            // Acquire pairs with the exchange in `push`: the values are seen as their last holders left them.
            let mut next = self.head.swap(ptr::null_mut(), Ordering::Acquire);
            if next.is_null() {
                return;
            }
            while let Some(header) = NonNull::new(next) {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                // SAFETY: a node on the list has count 0 and is reachable from the list alone, whose whole chain the
                // swap took. `free` was stored for the node's own type.
                unsafe {
                    next = header.as_ref().next.load(Ordering::Relaxed);
                    (header.as_ref().free)(header.as_ptr());
                }
            }
        }
    }

    fn push(&self, header: NonNull<Header>) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            if head == closed() {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return self.free_now(header);
            }
            // SAFETY: count 0: this thread alone has the node until the exchange.
            unsafe { header.as_ref().next.store(head, Ordering::Relaxed) };
            // Release pairs with the swap in `empty`.
            match self.head.compare_exchange_weak(head, header.as_ptr(), Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    #[cold]
    fn free_now(&self, header: NonNull<Header>) {
        {
            let _gate = CommitGate::enter();
            // SAFETY: count 0, and a closed list does not take the node: this thread alone has it. `free` was stored for its
            // own type.
            unsafe { (header.as_ref().free)(header.as_ptr()) };
        }
        (self.freed)();
    }
}

/// Leaves a list closed, also where what is called on the way panics: leases that are left must find it so.
struct Closing<'a>(&'a Retired);

impl Closing<'_> {
    /// True if the list was empty, and is closed now.
    fn try_close(&self) -> bool {
        // Relaxed: on success there is nothing to take over.
        self.0.head.compare_exchange(ptr::null_mut(), closed(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        while !self.0.is_closed() && !self.try_close() {
            let _gate = CommitGate::enter();
            self.0.free_all();
        }
    }
}

impl<T: Send + Sync + 'static> Hold<T> {
    /// A value with one count, which will go to `home`.
    pub(crate) fn new(value: T, home: &Arc<Retired>) -> Self {
        let header = Header {
            count: AtomicUsize::new(1),
            next: AtomicPtr::new(ptr::null_mut()),
            free: free::<T>,
            home: home.clone(),
        };
        let node = Node {
            header,
            #[cfg(loom)]
            witness: Witness::new(),
            value,
        };
        Self { node: NonNull::from(Box::leak(Box::new(node))) }
    }

    pub(super) fn into_raw(self) -> *mut Node<T> {
        std::mem::ManuallyDrop::new(self).node.as_ptr()
    }

    pub(super) fn as_raw(&self) -> *mut Node<T> {
        self.node.as_ptr()
    }

    /// # Safety
    ///
    /// `node` came from [`into_raw`](Self::into_raw), and the count that it carried has not been taken back yet.
    pub(super) unsafe fn from_raw(node: *mut Node<T>) -> Self {
        // SAFETY: pointers from `into_raw` are not null.
        Self { node: unsafe { NonNull::new_unchecked(node) } }
    }

    /// Raises the count.
    ///
    /// # Safety
    ///
    /// `node` came from [`into_raw`](Self::into_raw), and its count stays above zero during the call.
    pub(super) unsafe fn from_raw_shared(node: *mut Node<T>) -> Self {
        #[cfg(loom)]
        // SAFETY: a model leaves the node's memory where it is.
        unsafe { &(*node).witness }.read();
        // SAFETY: the caller's promise.
        unsafe { (*node).header.count.fetch_add(1, Ordering::Relaxed) };
        // SAFETY: the count just raised is this hold's own.
        unsafe { Self::from_raw(node) }
    }
}

impl<T: Send + Sync + 'static> Clone for Hold<T> {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: `self` keeps the count above zero.
        unsafe { Self::from_raw_shared(self.node.as_ptr()) }
    }
}

impl<T: Send + Sync + 'static> Deref for Hold<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        #[cfg(loom)]
        // SAFETY: a model leaves the node's memory where it is.
        unsafe { self.node.as_ref() }.witness.read();
        // SAFETY: `self` keeps the count above zero, and a node is freed only at zero.
        unsafe { &self.node.as_ref().value }
    }
}

impl<T: Send + Sync + 'static> Drop for Hold<T> {
    fn drop(&mut self) {
        // SAFETY: as in `deref`.
        let header = unsafe { &self.node.as_ref().header };
        // AcqRel: Release orders this holder's reads before the free, Acquire in the last one takes in all the others'.
        if header.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The node may be freed by another thread as soon as it is on the list; the list itself must not be.
            let home = Arc::clone(&header.home);
            home.push(self.node.cast());
        }
    }
}

impl<T: Send + Sync + fmt::Debug + 'static> fmt::Debug for Hold<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Drop for Retired {
    fn drop(&mut self) {
        let head = self.head.load(Ordering::Relaxed);
        debug_assert!(head.is_null() || head == closed(), "each node on the list holds the list");
    }
}

/// # Safety
///
/// `header` is the first field of a `Node<T>` from `Hold::new` with count 0 that nothing else points to.
unsafe fn free<T>(header: *mut Header) {
    #[cfg(loom)]
    // SAFETY: the caller's promise. The memory stays, so that who reads too late finds the witness and nothing else.
    return unsafe {
        let node = header.cast::<Node<T>>();
        (*node).witness.end();
        ptr::drop_in_place(&raw mut (*node).value);
    };
    #[cfg(not(loom))]
    // SAFETY: the caller's promise; `repr(C)` puts the header at the node's own address.
    drop(unsafe { Box::from_raw(header.cast::<Node<T>>()) });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn what_nobody_holds_waits_on_the_list_until_it_is_emptied_and_is_freed_at_once_when_that_is_closed() {
        let freed = Arc::new(AtomicU64::new(0));
        let counted = freed.clone();
        let home = Retired::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let value = Arc::new(());
        let held = || Hold::new(value.clone(), &home);
        let state = || (home.len(), Arc::strong_count(&value) - 1, freed.load(Ordering::Relaxed));
        let (first, second) = (held(), held());
        let twice = first.clone();
        drop(first);
        assert_eq!(state(), (0, 2, 0));
        drop(twice);
        assert_eq!(state(), (1, 2, 0));
        drop(second);
        assert_eq!(state(), (2, 2, 0));
        home.empty();
        assert_eq!(state(), (0, 0, 1));
        let late = held();
        drop(held());
        home.close();
        assert_eq!(state(), (0, 1, 2));
        drop(late);
        assert_eq!(state(), (0, 0, 3));
    }

    #[test]
    fn a_hold_prints_as_its_value() {
        let home = Retired::new(|| {});
        assert_eq!(format!("{:?}", Hold::new(Some(7), &home)), "Some(7)");
        home.close();
    }
}
