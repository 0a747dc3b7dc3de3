//! `Edit`: changes that are recorded and committed together.

use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::errors;
use crate::instance::{Instance, id_of};
use crate::pool::Pool;
use crate::update::{self, Change};

/// Records changes of a pool that are committed together; see ``Pool.edit``.
///
/// Later changes see earlier ones. Values are checked at the call, ids at the commit.
#[pyclass(frozen, module = "pointsman")]
pub(crate) struct Edit {
    pool: Py<Pool>,
    /// While the block is open.
    changes: Mutex<Option<Vec<Change>>>,
}

impl Edit {
    pub(crate) fn new(pool: Py<Pool>) -> Self {
        Self { pool, changes: Mutex::new(None) }
    }

    fn record(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        change.check().map_err(|error| errors::update(py, &error))?;
        match self.changes.lock().as_mut() {
            Some(changes) => changes.push(change),
            None => return Err(PyRuntimeError::new_err("an edit is used inside its with block")),
        }
        Ok(())
    }
}

#[pymethods]
impl Edit {
    /// Sets a weight; 0 drains.
    fn set_weight(&self, py: Python<'_>, id: &Bound<'_, PyAny>, weight: f64) -> PyResult<()> {
        self.record(py, Change::Weight(id_of(id)?.to_string(), weight))
    }

    /// Sets whether health checks pass.
    fn set_healthy(&self, py: Python<'_>, id: &Bound<'_, PyAny>, healthy: bool) -> PyResult<()> {
        self.record(py, Change::Healthy(id_of(id)?.to_string(), healthy))
    }

    /// Sets whether the instance may be used at all.
    fn set_enabled(&self, py: Python<'_>, id: &Bound<'_, PyAny>, enabled: bool) -> PyResult<()> {
        self.record(py, Change::Enabled(id_of(id)?.to_string(), enabled))
    }

    /// Adds an instance behind the others, or puts it in place of the one with its id.
    fn upsert(&self, py: Python<'_>, instance: Py<Instance>) -> PyResult<()> {
        self.record(py, Change::Upsert(instance))
    }

    /// Takes an instance out.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        self.record(py, Change::Remove(id_of(id)?.to_string()))
    }

    fn __enter__(slf: Py<Self>) -> PyResult<Py<Self>> {
        let mut changes = slf.get().changes.lock();
        if changes.is_some() {
            return Err(PyRuntimeError::new_err("this edit is open already"));
        }
        *changes = Some(Vec::new());
        drop(changes);
        Ok(slf)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        // In a statement of its own, so that the lock is given back before Python code runs.
        let changes = self.changes.lock().take();
        match changes {
            Some(changes) if kind.is_none() => update::edit(py, self.pool.get(), &changes).map(drop),
            _ => Ok(()),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pool)?;
        let changes = self.changes.lock();
        changes.iter().flatten().try_for_each(|change| match change {
            Change::Upsert(instance) => visit.call(instance),
            _ => Ok(()),
        })
    }
}
