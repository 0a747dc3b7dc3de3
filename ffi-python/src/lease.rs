//! `Lease`: a pick that is held until the request ends.

use std::time::Instant;

use parking_lot::Mutex;
use pointsman::Outcome;
use pyo3::exceptions::{PyException, PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::instance::Instance;
use crate::pick::Pick;
use crate::pool::Pool;
use crate::request::seconds;

/// A pick that is held until the request ends, and counts as in flight meanwhile.
///
/// As a context manager, also an asynchronous one: left normally it is a success, by an exception a failure, and by
/// ``CancelledError``, ``GeneratorExit`` and what else is no ``Exception``, cancelled. One that is dropped is cancelled too.
///
/// >>> from pointsman import Instance, Pool
/// >>> route = Pool([Instance("a")]).route("least_request")
/// >>> with route.lease() as lease:
/// ...     lease.instance.address
/// 'a'
#[pyclass(frozen, extends = Pick, module = "pointsman", weakref)]
pub(crate) struct Lease {
    /// Until it is done.
    lease: Mutex<Option<pointsman::Lease>>,
    since: Instant,
}

impl Lease {
    pub(crate) fn of(py: Python<'_>, pool: &Pool, lease: pointsman::Lease) -> PyResult<Py<Self>> {
        let instance: Py<Instance> = pool.object(py, lease.instance().user_data)?;
        let pick = Pick { instance, picked: lease.picked(), version: lease.version() };
        let lease = Self { lease: Mutex::new(Some(lease)), since: Instant::now() };
        Py::new(py, PyClassInitializer::from(pick).add_subclass(lease))
    }

    fn end(&self, outcome: Outcome, latency: Option<f64>) -> PyResult<()> {
        let latency = match latency {
            Some(latency) => seconds("latency", latency)?,
            None => self.since.elapsed(),
        };
        // In a statement of its own, so that the lock is given back.
        let lease = self.lease.lock().take();
        if let Some(lease) = lease {
            lease.done(outcome, latency);
        }
        Ok(())
    }

    fn leave(&self, kind: &Bound<'_, PyAny>) -> PyResult<()> {
        if kind.is_none() {
            return self.end(Outcome::Success, None);
        }
        let failed = kind.cast::<PyType>()?.is_subclass_of::<PyException>()?;
        self.end(if failed { Outcome::Failure } else { Outcome::Cancelled }, None)
    }
}

#[pymethods]
impl Lease {
    /// Ends the lease; only the first end counts. ``ok=False`` is a failure of the instance, ``ok=None`` is cancelled.
    ///
    /// ``latency`` in seconds, best the time to the first byte of the response; unless given, the time since the lease was
    /// taken.
    #[pyo3(signature = (ok=Some(true), latency=None), text_signature = "($self, ok=True, latency=None)")]
    fn done(&self, ok: Option<bool>, latency: Option<f64>) -> PyResult<()> {
        let outcome = match ok {
            Some(true) => Outcome::Success,
            Some(false) => Outcome::Failure,
            None => Outcome::Cancelled,
        };
        self.end(outcome, latency)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.leave(kind)
    }

    fn __aenter__(slf: Py<Self>) -> Ready {
        Ready { value: slf.into_any() }
    }

    fn __aexit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<Ready> {
        self.leave(kind)?;
        Ok(Ready { value: py.None() })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Lease cannot be pickled, it counts in a live Pool; send lease.instance instead",
        ))
    }
}

/// An awaitable that has its value already.
#[pyclass(frozen)]
struct Ready {
    value: Py<PyAny>,
}

#[pymethods]
impl Ready {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<()> {
        Err(PyStopIteration::new_err((self.value.clone_ref(py),)))
    }

    fn __traverse__(&self, visit: pyo3::gc::PyVisit<'_>) -> Result<(), pyo3::gc::PyTraverseError> {
        visit.call(&self.value)
    }
}
