//! What pyo3 has no way for that is both safe and fast: the `unsafe` of the binding.

pub(crate) mod attached;

use arrayvec::ArrayVec;
use pointsman::Request;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Runs `take` with a request of these tags alone, read where they lie; `None`, with `take` not run, for tags that cannot
/// be read so. What `choose` takes is an answer of the engine and objects of the table, neither of which runs Python code;
/// what it raises, it raises when the request has been read.
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn ask<R>(tags: &Bound<'_, PyAny>, take: impl FnOnce(&Request<'_>) -> R) -> Option<R> {
    let mut pairs = InPlace::default();
    // SAFETY: `take` runs no Python code while it reads the request, and does not detach.
    unsafe { pairs.of(tags) }?;
    Some(take(&Request::new().tags(&pairs.0)))
}

/// Tags of a call that are read in place. A mapping with more is read with a count taken of each object.
const IN_PLACE: usize = 4;

/// The pairs of a plain dict of texts, where they lie.
#[derive(Default)]
struct InPlace<'a>(ArrayVec<(&'a str, &'a str), IN_PLACE>);

impl<'a> InPlace<'a> {
    /// Takes in the pairs of a mapping: into itself, since to return them is to copy them. `None` for whatever is not a
    /// plain dict of few texts, and on builds without a GIL, where another thread could take a text away.
    ///
    /// # Safety
    ///
    /// Until the last use of the pairs, the caller runs no Python code and stays attached.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn of(&mut self, mapping: &'a Bound<'_, PyAny>) -> Option<()> {
        if cfg!(Py_GIL_DISABLED) {
            return None;
        }
        let dict = mapping.cast_exact::<PyDict>().ok()?;
        let count = dict.len();
        if count > IN_PLACE {
            return None;
        }
        let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // Asked for as many as there are, and not once more to hear that there are no more.
        while self.0.len() < count
            // SAFETY: the dict is one, and lives as long as the borrow of it. What is done between the calls does not
            // change it: `text` runs no Python code where it succeeds, and where it does not, this is the end.
            && unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut at, &mut key, &mut value) } != 0
        {
            // SAFETY: both are alive, since the dict has them, and nothing takes them out of it: that is what the caller
            // promises.
            self.0.push(unsafe { (text(key)?, text(value)?) });
        }
        Some(())
    }
}

/// The UTF-8 form of an object that is exactly a `str` and has one.
///
/// # Safety
///
/// The object is alive, and stays so for `'a`.
#[allow(unsafe_code)]
#[inline]
unsafe fn text<'a>(object: *mut ffi::PyObject) -> Option<&'a str> {
    let mut length = 0;
    // SAFETY: a live object has a type, and that call takes whatever is a `str`.
    let start = unsafe {
        if ffi::PyUnicode_CheckExact(object) == 0 {
            return None;
        }
        ffi::PyUnicode_AsUTF8AndSize(object, &mut length)
    };
    if start.is_null() {
        // SAFETY: attached. The way that takes counts raises it again.
        unsafe { ffi::PyErr_Clear() };
        return None;
    }
    // SAFETY: a `str` keeps its UTF-8 form, of that length, as long as it lives.
    Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(start.cast(), length as usize)) })
}

/// A list that has its length and not yet its items.
pub(crate) struct Unfilled<'py> {
    list: Bound<'py, PyList>,
    length: usize,
}

impl<'py> Unfilled<'py> {
    /// May run the collector, and with it Python code.
    #[allow(unsafe_code)]
    pub(crate) fn new(py: Python<'py>, length: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(length)?;
        // SAFETY: attached; the call returns a new list or raises.
        let list = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyList_New(size))?.cast_into_unchecked() };
        Ok(Self { list, length })
    }

    /// Fills the list, as far as there are items and room. Runs no Python code but what `items` runs. Returns whether it
    /// is full.
    #[allow(unsafe_code)]
    #[inline]
    pub(crate) fn fill<T>(&self, items: impl Iterator<Item = Py<T>>) -> bool {
        let mut filled = 0;
        for item in items.take(self.length) {
            // SAFETY: the place is within the list, which nobody else has seen, and empty, so that nothing is let go of.
            // The call takes over the count of the item.
            unsafe {
                #[cfg(not(Py_LIMITED_API))]
                ffi::PyList_SET_ITEM(self.list.as_ptr(), filled as ffi::Py_ssize_t, item.into_ptr());
                #[cfg(Py_LIMITED_API)]
                ffi::PyList_SetItem(self.list.as_ptr(), filled as ffi::Py_ssize_t, item.into_ptr());
            }
            filled += 1;
        }
        filled == self.length
    }

    /// The list, once it is full.
    pub(crate) fn filled(self) -> Bound<'py, PyList> {
        self.list
    }
}
