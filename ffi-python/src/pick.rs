//! `Pick`: an instance and how it was found.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::instance::Instance;
use crate::pool::Pool;

/// An instance and how it was found.
#[pyclass(frozen, subclass, module = "pointsman")]
pub(crate) struct Pick {
    pub(crate) instance: Py<Instance>,
    pub(crate) picked: pointsman::Picked,
    pub(crate) version: u64,
}

impl Pick {
    pub(crate) fn of(py: Python<'_>, pool: &Pool, pick: &pointsman::Pick<'_>) -> PyResult<Self> {
        let instance = pool.object(py, pick.instance().user_data)?;
        Ok(Self { instance, picked: pick.picked(), version: pick.version() })
    }
}

#[pymethods]
impl Pick {
    /// The instance.
    #[getter]
    fn instance(&self, py: Python<'_>) -> Py<Instance> {
        self.instance.clone_ref(py)
    }

    /// The tier that was used, by its position in the route or the branch.
    #[getter]
    fn tier(&self) -> usize {
        self.picked.tier()
    }

    /// The branch of the split; 0 where the route has none.
    #[getter]
    fn branch(&self) -> usize {
        self.picked.branch()
    }

    /// The version of the list it was picked from.
    #[getter]
    fn version(&self) -> u64 {
        self.version
    }

    /// Whether the instance is one that the request excluded, taken as a last resort.
    #[getter]
    fn relaxed(&self) -> bool {
        self.picked.relaxed()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let pick = slf.get();
        let name = slf.get_type().name()?;
        let id = pick.instance.get().id.bind(slf.py()).repr()?;
        Ok(format!("<{name} of {id}, tier {}, version {}>", pick.picked.tier(), pick.version))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.instance)
    }
}
