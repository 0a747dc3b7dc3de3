//! `Picker`: one thread's private hand.

use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::choose;
use crate::instance::Instance;
use crate::lease::Lease;
use crate::pick::Pick;
use crate::pool::Pool;
use crate::request::Given;

/// One thread's private hand: its own generator and its own rotation cursors.
///
/// Deterministic from a seed: the same seed, updates and requests give the same picks, in every language. It may move
/// between threads and serves one at a time.
#[pyclass(frozen, module = "pointsman", weakref)]
pub(crate) struct Picker {
    /// Tried, never waited for, so that it may be held while the arguments are read. Apart, since Python's allocator aligns
    /// objects to less than a picker wants.
    picker: Mutex<Box<pointsman::Picker>>,
    pool: Py<Pool>,
}

impl Picker {
    pub(crate) fn new(picker: pointsman::Picker, pool: Py<Pool>) -> Self {
        Self { picker: Mutex::new(Box::new(picker)), pool }
    }

    #[inline(always)]
    fn take(&self) -> PyResult<MutexGuard<'_, Box<pointsman::Picker>>> {
        self.picker.try_lock().ok_or_else(|| {
            PyRuntimeError::new_err("this Picker is in use by another call; make one for each thread")
        })
    }
}

#[pymethods]
impl Picker {
    /// Picks an instance from the list in force.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn pick(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Py<Instance>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::pick(py, self.pool.get(), &mut **self.take()?, &given)
    }

    /// Picks an instance and says how it was found.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn select(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Pick> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::select(py, self.pool.get(), &mut **self.take()?, &given)
    }

    /// Picks an instance and holds it until the request ends.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn lease(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Py<Lease>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::lease(py, self.pool.get(), &mut **self.take()?, &given)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Picker cannot be pickled, it belongs to a live Pool; send its seed instead",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pool)
    }
}
