//! What a parameter may be. The type says what C hands over, what is checked, and who owns it.

use std::ptr::NonNull;

use super::text::{pointsman_str, too_long};
use super::versioned::{Versioned, read};
use crate::codes::POINTSMAN_NULL;
use crate::error::Fault;

/// A kind of parameter.
pub(crate) trait Argument {
    /// What C hands over.
    type C;
    /// What the body of the function gets.
    type Taken<'a>;

    /// # Safety
    ///
    /// The caller's promise on which the module stands holds for `raw`, for `'a`.
    unsafe fn take<'a>(raw: Self::C, name: &'static str) -> Result<Self::Taken<'a>, Fault>;
}

/// A handle that is only looked at: `const T *`, any number of threads at a time.
pub(crate) struct Handle<T>(T);
/// A handle that the call changes, any number of threads at a time: `T *`.
pub(crate) struct Shared<T>(T);
/// A handle that may be NULL: `const T *`.
pub(crate) struct OptHandle<T>(T);
/// A handle that serves one thread at a time: `T *`.
pub(crate) struct Exclusive<T>(T);
/// A handle that the call may take from the caller: `T *`. It stays the caller's unless [`into_box`](Self::into_box) is
/// called.
pub(crate) struct Owned<T>(NonNull<T>);
/// A struct with a size: `const T *`.
pub(crate) struct Input<T>(T);
/// A struct with a size, or NULL: `const T *`. Read where it is needed, so that NULL costs nothing.
#[derive(Clone, Copy)]
pub(crate) struct OptInput<T>(*const T);
/// Text that must be given.
pub(crate) struct Text;
/// Text that may be left out.
pub(crate) struct OptText;
/// Text that must be given and may be long.
pub(crate) struct Document;

/// A `bool` as C may hand it over, in which any bits are a value: not 0 is true.
#[repr(transparent)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Flag(u8);

/// The first of several elements, or NULL for none: `const T *`.
#[repr(transparent)]
pub struct Items<T>(*const T);

impl<T: Sync + 'static> Argument for Handle<T> {
    type C = *const T;
    type Taken<'a> = &'a T;

    #[inline(always)]
    unsafe fn take<'a>(raw: *const T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: the caller's promise; shared access is safe from any thread, since `T` is `Sync`.
        unsafe { raw.as_ref() }.ok_or_else(|| Fault::null(name))
    }
}

impl<T: Sync + 'static> Argument for Shared<T> {
    type C = *mut T;
    type Taken<'a> = &'a T;

    #[inline(always)]
    unsafe fn take<'a>(raw: *mut T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: as for `Handle`.
        unsafe { raw.as_ref() }.ok_or_else(|| Fault::null(name))
    }
}

impl<T: Sync + 'static> Argument for OptHandle<T> {
    type C = *const T;
    type Taken<'a> = Option<&'a T>;

    unsafe fn take<'a>(raw: *const T, _: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: as for `Handle`.
        Ok(unsafe { raw.as_ref() })
    }
}

impl<T: Send + 'static> Argument for Exclusive<T> {
    type C = *mut T;
    type Taken<'a> = &'a mut T;

    #[inline(always)]
    unsafe fn take<'a>(raw: *mut T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: the caller's promise, and that such a handle is used by one thread at a time.
        unsafe { raw.as_mut() }.ok_or_else(|| Fault::null(name))
    }
}

impl<T: Send + 'static> Argument for Owned<T> {
    type C = *mut T;
    type Taken<'a> = Self;

    unsafe fn take<'a>(raw: *mut T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        NonNull::new(raw).map(Self).ok_or_else(|| Fault::null(name))
    }
}

impl<T> Owned<T> {
    /// Takes the handle from the caller.
    pub(crate) fn into_box(self) -> Box<T> {
        // SAFETY: handles are made by `New` from a `Box`, and by the caller's promise this one was not freed and is not used
        // by any other call.
        unsafe { Box::from_raw(self.0.as_ptr()) }
    }
}

impl<T: Versioned> Argument for Input<T> {
    type C = *const T;
    type Taken<'a> = T;

    unsafe fn take<'a>(raw: *const T, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        if raw.is_null() {
            return Err(Fault::null(name));
        }
        // SAFETY: not NULL, and the caller's promise.
        unsafe { read(raw, name) }
    }
}

impl<T: Versioned> Argument for OptInput<T> {
    type C = *const T;
    type Taken<'a> = Self;

    #[inline(always)]
    unsafe fn take<'a>(raw: *const T, _: &'static str) -> Result<Self::Taken<'a>, Fault> {
        Ok(Self(raw))
    }
}

impl<T: Versioned> OptInput<T> {
    #[inline(always)]
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The struct, unless it is NULL.
    pub(crate) fn get(&self, name: &'static str) -> Result<Option<T>, Fault> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not NULL, and the promise on which the module stands.
        unsafe { read(self.0, name) }.map(Some)
    }
}

/// # Safety
///
/// The caller's promise for the text holds for `'a`.
unsafe fn extend<'a>(text: &str) -> &'a str {
    // SAFETY: the promise; the struct that named the text is a copy and says nothing of how long the text lives.
    unsafe { &*std::ptr::from_ref(text) }
}

impl Argument for Text {
    type C = pointsman_str;
    type Taken<'a> = &'a str;

    unsafe fn take<'a>(raw: pointsman_str, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: the caller's promise.
        raw.text(name).map(|text| unsafe { extend(text) })
    }
}

impl Argument for OptText {
    type C = pointsman_str;
    type Taken<'a> = Option<&'a str>;

    unsafe fn take<'a>(raw: pointsman_str, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        // SAFETY: the caller's promise.
        Ok(raw.opt_text(name)?.map(|text| unsafe { extend(text) }))
    }
}

impl Argument for Document {
    type C = pointsman_str;
    type Taken<'a> = &'a str;

    unsafe fn take<'a>(raw: pointsman_str, name: &'static str) -> Result<Self::Taken<'a>, Fault> {
        let text = raw.opt_document(name)?.ok_or_else(|| Fault::null(name))?;
        // SAFETY: the caller's promise.
        Ok(unsafe { extend(text) })
    }
}

impl Flag {
    pub(crate) const TRUE: Self = Self(1);
    pub(crate) const FALSE: Self = Self(0);

    pub(crate) fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Flag {
    fn from(value: bool) -> Self {
        Self(value.into())
    }
}

impl Argument for Flag {
    type C = Self;
    type Taken<'a> = bool;

    unsafe fn take<'a>(raw: Self, _: &'static str) -> Result<Self::Taken<'a>, Fault> {
        Ok(raw.get())
    }
}

impl<T> Clone for Items<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Items<T> {}

impl<T> Items<T> {
    pub(crate) const NONE: Self = Self(std::ptr::null());

    /// The elements; their number is checked before any is read.
    #[inline]
    pub(crate) fn get(&self, count: usize, most: usize, field: &'static str) -> Result<&[T], Fault> {
        if count > most {
            return Err(too_long(field, count, most));
        }
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(Fault::new(POINTSMAN_NULL, field, format!("{field} is NULL, of length {count}")));
        }
        // SAFETY: not NULL, the promise on which the module stands, and far fewer bytes than `isize::MAX`.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }

    pub(super) fn as_ptr(&self) -> *const T {
        self.0
    }
}

impl<T: Copy + 'static> Argument for Items<T> {
    type C = *const T;
    type Taken<'a> = Self;

    unsafe fn take<'a>(raw: *const T, _: &'static str) -> Result<Self::Taken<'a>, Fault> {
        Ok(Self(raw))
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Argument for $number {
            type C = Self;
            type Taken<'a> = Self;

            #[inline(always)]
            unsafe fn take<'a>(raw: Self, _: &'static str) -> Result<Self::Taken<'a>, Fault> {
                Ok(raw)
            }
        }
    )*};
}

numbers!(i32, u16, u32, u64, usize, f64);
