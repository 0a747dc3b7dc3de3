//! The release hook: a function of the host and what it is called with.

use std::ffi::c_void;

/// Told of the user data of an instance that has left and that nothing can return any more. Called once for each, on the
/// thread of an edit, replace, tick or free, outside every lock: it may use the pool. It must not throw or jump out.
pub type pointsman_release = Option<unsafe extern "C" fn(user_data: u64, context: *mut c_void)>;

/// The function as a field of a struct.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct ReleaseFn(pointsman_release);

/// What the function is called with, as a field of a struct.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut c_void);

/// A function with what it is called with.
pub(crate) struct Hook {
    call: unsafe extern "C" fn(u64, *mut c_void),
    context: Context,
}

// SAFETY: the engine only hands the pointer back. By the caller's promise the function takes it on any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl ReleaseFn {
    pub(crate) const NONE: Self = Self(None);

    /// The hook, if there is a function.
    pub(crate) fn with(self, context: Context) -> Option<Hook> {
        self.0.map(|call| Hook { call, context })
    }
}

impl Context {
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());
}

impl Hook {
    pub(crate) fn call(&self, user_data: u64) {
        #[cfg(feature = "test-panic")]
        super::test_panic::trip();
        // SAFETY: the caller's promise on which the module stands.
        unsafe { (self.call)(user_data, self.context.0) }
    }
}
