//! Tags that come from the context of the caller instead of the call.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::request::Pairs;

/// Calls with no arguments and returns the `TagSet` of the running context, or `None`. Set when context tags are first
/// used, so that a process without them pays one load.
static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The tags of a context, read once when they are set.
#[pyclass(frozen, module = "pointsman._pointsman")]
pub(crate) struct TagSet {
    pairs: Vec<(String, String)>,
}

impl TagSet {
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

#[pymethods]
impl TagSet {
    #[new]
    fn py_new(tags: &Bound<'_, PyDict>) -> PyResult<Self> {
        let pairs = Pairs::of(tags)?;
        let pairs = pairs.texts()?.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        Ok(Self { pairs: pairs.collect() })
    }
}

/// Names what returns the tags of the running context.
#[pyfunction]
pub(crate) fn use_context(py: Python<'_>, current: Py<PyAny>) {
    // A second call names the same.
    let _ = CURRENT.set(py, current);
}

/// The tags of the running context.
#[inline(always)]
pub(crate) fn current<'py>(py: Python<'py>, wanted: bool) -> PyResult<Option<Bound<'py, TagSet>>> {
    match CURRENT.get(py) {
        Some(current) if wanted => ask(py, current),
        _ => Ok(None),
    }
}

fn ask<'py>(py: Python<'py>, current: &Py<PyAny>) -> PyResult<Option<Bound<'py, TagSet>>> {
    let tags = current.bind(py).call0()?;
    if tags.is_none() { Ok(None) } else { Ok(Some(tags.cast_into::<TagSet>()?)) }
}
