//! Where results go. They are written only when the call succeeds.

use std::ffi::{CStr, c_char};

use super::boundary::tell;
use crate::codes::{POINTSMAN_OK, pointsman_result};
use crate::error::{Fault, pointsman_error};

/// A kind of place for a result.
pub(crate) trait Output {
    /// What C hands over.
    type C;
    /// What is stored there.
    type Value;

    /// Refuses a place that must not be NULL and is.
    fn check(place: Self::C, name: &'static str) -> Result<(), Fault>;

    /// # Safety
    ///
    /// The place passed `check`, and the caller's promise on which the module stands holds for it.
    unsafe fn put(place: Self::C, value: Self::Value);
}

/// A new handle, which the caller frees: `T **`.
pub(crate) struct New<T>(T);
/// A value: `T *`.
pub(crate) struct Out<T>(T);
/// A value that the caller may not want: `T *` or NULL.
pub(crate) struct OptOut<T>(T);
/// The first of several places: `T *`.
pub(crate) struct OutItems<T>(*mut T);
/// The place of a value, which the body fills last, or refuses to.
#[derive(Clone, Copy)]
pub(crate) struct Slot<T> {
    place: *mut T,
    error: *mut pointsman_error,
}
/// What a slot gives for its value or for a fault: the number that the call returns. Numbers meet in a register where ways
/// join; a fault would be looked at again there, by the quick way too.
pub(crate) struct Answer(pointsman_result);
/// A text that ends in a zero byte, or NULL: `const char *`.
#[repr(transparent)]
pub struct CText(*const c_char);

impl<T: 'static> Output for New<T> {
    type C = *mut *mut T;
    type Value = T;

    fn check(place: *mut *mut T, name: &'static str) -> Result<(), Fault> {
        if place.is_null() { Err(Fault::null(name)) } else { Ok(()) }
    }

    unsafe fn put(place: *mut *mut T, value: T) {
        // SAFETY: not NULL, and the caller's promise.
        unsafe { place.write(Box::into_raw(Box::new(value))) }
    }
}

impl<T: 'static> Output for Out<T> {
    type C = *mut T;
    type Value = T;

    #[inline(always)]
    fn check(place: *mut T, name: &'static str) -> Result<(), Fault> {
        if place.is_null() { Err(Fault::null(name)) } else { Ok(()) }
    }

    #[inline(always)]
    unsafe fn put(place: *mut T, value: T) {
        // SAFETY: not NULL, and the caller's promise.
        unsafe { place.write(value) }
    }
}

impl<T: 'static> Output for OptOut<T> {
    type C = *mut T;
    type Value = T;

    fn check(_: *mut T, _: &'static str) -> Result<(), Fault> {
        Ok(())
    }

    unsafe fn put(place: *mut T, value: T) {
        if !place.is_null() {
            // SAFETY: not NULL, and the caller's promise.
            unsafe { place.write(value) }
        }
    }
}

impl<T: Copy + 'static> super::Argument for OutItems<T> {
    type C = *mut T;
    type Taken<'a> = Self;

    unsafe fn take<'a>(raw: *mut T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        if raw.is_null() { Err(Fault::null(name)) } else { Ok(Self(raw)) }
    }
}

impl<T> OutItems<T> {
    /// Stores the values, of which there are no more than the caller has room for.
    pub(crate) fn put(self, room: usize, values: impl Iterator<Item = T>) {
        for (at, value) in values.take(room).enumerate() {
            // SAFETY: not NULL, `at` is below the number of places, and the caller's promise.
            unsafe { self.0.add(at).write(value) }
        }
    }
}

impl<T> Slot<T> {
    /// # Safety
    ///
    /// The caller's promise for the places of results, for as long as the slot lasts.
    #[inline(always)]
    pub(crate) unsafe fn new(
        place: *mut T,
        name: &'static str,
        error: *mut pointsman_error,
    ) -> Result<Self, Fault> {
        if place.is_null() { Err(Fault::null(name)) } else { Ok(Self { place, error }) }
    }

    /// Stores the value.
    #[inline(always)]
    pub(crate) fn fill(self, value: T) -> Answer {
        // SAFETY: not NULL, and the promise with which the slot was made.
        unsafe { self.place.write(value) };
        Answer::DONE
    }

    /// Tells the caller why there is no value.
    #[inline(always)]
    pub(crate) fn refuse(self, fault: Fault) -> Answer {
        Answer::refused(self.error, fault)
    }
}

impl Answer {
    /// Nothing more to store.
    pub(super) const DONE: Self = Self(POINTSMAN_OK);

    #[inline(always)]
    pub(crate) fn refused(error: *mut pointsman_error, fault: Fault) -> Self {
        Self(tell(error, fault))
    }

    #[inline(always)]
    pub(super) fn code(self) -> pointsman_result {
        self.0
    }
}

impl CText {
    /// For C to read as long as the function's documentation says.
    pub(crate) fn lend(text: &CStr) -> Self {
        Self(text.as_ptr())
    }
}

impl Default for CText {
    fn default() -> Self {
        Self(std::ptr::null())
    }
}
