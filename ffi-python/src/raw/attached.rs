//! Data that only attached threads touch.
//!
//! With a GIL, being attached is being alone, so a look-up needs no lock. Without one, a lock stands in its place. In
//! both, what runs while the data is borrowed must not run Python code: a collection or a destructor could come back here.

use pyo3::prelude::*;

/// Data that is reached by threads attached to the interpreter only.
pub(crate) struct Attached<T> {
    #[cfg(not(Py_GIL_DISABLED))]
    value: std::cell::RefCell<T>,
    #[cfg(Py_GIL_DISABLED)]
    value: parking_lot::RwLock<T>,
}

// SAFETY: every access asks for a `Python` token, or is `visit`, which the collector calls on an attached thread. The
// module refuses to load in a second interpreter, so on builds with a GIL at most one thread is attached at a time, and no
// borrow outlives the call that made it, within which the GIL is not given up.
#[cfg(not(Py_GIL_DISABLED))]
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Attached<T> {}

impl<T> Attached<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: value.into() }
    }

    #[inline(always)]
    pub(crate) fn read<R>(&self, _py: Python<'_>, look: impl FnOnce(&T) -> R) -> R {
        self.visit(look)
    }

    pub(crate) fn write<R>(&self, _py: Python<'_>, change: impl FnOnce(&mut T) -> R) -> R {
        #[cfg(not(Py_GIL_DISABLED))]
        let mut value = self.value.borrow_mut();
        #[cfg(Py_GIL_DISABLED)]
        let mut value = self.value.write();
        change(&mut value)
    }

    /// A look for the collector, which is attached and has no token to give.
    #[inline(always)]
    pub(crate) fn visit<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        #[cfg(not(Py_GIL_DISABLED))]
        let value = self.value.borrow();
        #[cfg(Py_GIL_DISABLED)]
        let value = self.value.read();
        look(&value)
    }
}
