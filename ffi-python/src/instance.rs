//! `Instance`: what Python code puts in and gets back.

use std::fmt::Write as _;

use parking_lot::Mutex;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::bad_value;
use crate::request::{Pairs, is_text};

/// One address that can take requests.
///
/// Frozen. Two instances with one ``id`` are the same instance to a pool: a change of address, weight, zone or tags keeps
/// what the pool has learned of it. Instances compare by every field but ``user_data``, hash by ``id``, and pickle.
///
/// Nothing but types is checked here. The pool checks every value when it is handed the instance, and refuses the whole
/// update when one breaks a rule.
///
/// >>> from pointsman import Instance
/// >>> Instance("10.0.0.1:8080", weight=8.0, tags={"version": "stable"})
/// Instance('10.0.0.1:8080', weight=8.0, tags={'version': 'stable'})
#[pyclass(frozen, module = "pointsman", weakref)]
pub(crate) struct Instance {
    pub(crate) inner: pointsman::Instance,
    /// The id, as the string whose hash and UTF-8 form Python has at hand.
    pub(crate) id: Py<PyString>,
    /// Cleared by the collector alone, to break a cycle.
    user_data: Mutex<Option<Py<PyAny>>>,
}

impl Instance {
    pub(crate) fn new(py: Python<'_>, inner: pointsman::Instance, user_data: Option<Py<PyAny>>) -> Self {
        let id = PyString::new(py, &inner.id).unbind();
        Self { inner, id, user_data: Mutex::new(user_data) }
    }

    /// The same with other values, and the very user data.
    pub(crate) fn with(&self, py: Python<'_>, inner: pointsman::Instance) -> Self {
        Self { inner, id: self.id.clone_ref(py), user_data: Mutex::new(self.user_data(py)) }
    }

    fn user_data(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.user_data.lock().as_ref().map(|data| data.clone_ref(py))
    }

    /// Whether handing this over in place of `other` would change nothing. A list without a load leaves the last one.
    pub(crate) fn is_no_news(&self, py: Python<'_>, other: &Self) -> bool {
        let load = self.inner.load.or(other.inner.load);
        let same_data = match (self.user_data(py), other.user_data(py)) {
            (None, None) => true,
            (Some(one), Some(two)) => one.is(&two),
            _ => false,
        };
        let mut inner = self.inner.clone();
        inner.load = load;
        same_data && inner == other.inner
    }
}

#[pymethods]
impl Instance {
    #[new]
    #[pyo3(signature = (address, *, id=None, weight=1.0, zone=None, tags=None, healthy=true, enabled=true, load=None,
        max_in_flight=None, user_data=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn py_new(
        py: Python<'_>,
        address: &str,
        id: Option<&str>,
        weight: f64,
        zone: Option<&str>,
        tags: Option<&Bound<'_, PyAny>>,
        healthy: bool,
        enabled: bool,
        load: Option<f64>,
        max_in_flight: Option<i64>,
        user_data: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut inner = pointsman::Instance::new(address).weight(weight).healthy(healthy).enabled(enabled);
        if let Some(id) = id {
            inner = inner.id(id);
        }
        if let Some(zone) = zone {
            inner = inner.zone(zone);
        }
        if let Some(tags) = tags {
            inner = inner.tags(Pairs::of(tags)?.texts()?.into_iter().collect());
        }
        if let Some(load) = load {
            inner = inner.load(load);
        }
        if let Some(limit) = max_in_flight {
            let limit = u32::try_from(limit).map_err(|_| {
                bad_value(py, &inner.id, "max_in_flight", &limit.to_string(), "must be 1 to 4294967295")
            })?;
            inner = inner.max_in_flight(limit);
        }
        Ok(Self::new(py, inner, user_data))
    }

    /// Where requests go.
    #[getter]
    fn address(&self) -> &str {
        &self.inner.address
    }

    /// Identity. Unless given, the address.
    #[getter]
    fn id(&self, py: Python<'_>) -> Py<PyString> {
        self.id.clone_ref(py)
    }

    /// Share of the traffic relative to the other instances. Zero drains.
    #[getter]
    fn weight(&self) -> f64 {
        self.inner.weight
    }

    /// Where the instance runs.
    #[getter]
    fn zone(&self) -> Option<&str> {
        self.inner.zone.as_deref()
    }

    /// A copy of the tags: the value of each key, a tuple where there are several.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tags = PyDict::new(py);
        let pairs: Vec<(&str, &str)> = self.inner.tags.iter().collect();
        for same in pairs.chunk_by(|one, two| one.0 == two.0) {
            match same {
                [(key, value)] => tags.set_item(key, value)?,
                several => {
                    let values = PyTuple::new(py, several.iter().map(|(_, value)| value))?;
                    tags.set_item(several[0].0, values)?;
                }
            }
        }
        Ok(tags)
    }

    /// Whether health checks pass.
    #[getter]
    fn healthy(&self) -> bool {
        self.inner.healthy
    }

    /// Whether the instance may be used at all.
    #[getter]
    fn enabled(&self) -> bool {
        self.inner.enabled
    }

    /// Load that the registry reports.
    #[getter]
    fn load(&self) -> Option<f64> {
        self.inner.load
    }

    /// Most leases at one time.
    #[getter]
    fn max_in_flight(&self) -> Option<u32> {
        self.inner.max_in_flight
    }

    /// The caller's own object.
    #[getter(user_data)]
    fn py_user_data(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.user_data(py)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> Py<PyAny> {
        let py = other.py();
        match other.cast::<Self>() {
            Ok(other) => (self.inner == other.get().inner)
                .into_pyobject(py)
                .map_or_else(|never| match never {}, |same| same.to_owned().into_any().unbind()),
            Err(_) => py.NotImplemented(),
        }
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        self.id.bind(py).hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("Instance({}", PyString::new(py, &self.inner.address).repr()?);
        for (key, value) in self.settings(py)? {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {key}={}", value.bind(py).repr()?);
        }
        text.push(')');
        Ok(text)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<((&str,), Bound<'py, PyDict>)> {
        let settings = PyDict::new(py);
        for (key, value) in self.settings(py)? {
            settings.set_item(key, value)?;
        }
        Ok(((&self.inner.address,), settings))
    }

    /// A copy with other values, for ``copy.replace``.
    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        &self,
        py: Python<'py>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ((address,), settings) = self.__getnewargs_ex__(py)?;
        settings.set_item("address", address)?;
        if let Some(changes) = changes {
            settings.update(changes.as_mapping())?;
        }
        py.get_type::<Self>().call((), Some(&settings))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&*self.user_data.lock())
    }

    fn __clear__(&self) {
        // In a statement of its own, so that the destructor runs outside the lock.
        let data = self.user_data.lock().take();
        drop(data);
    }
}

impl Instance {
    /// The arguments besides the address that differ from their defaults.
    fn settings(&self, py: Python<'_>) -> PyResult<Vec<(&'static str, Py<PyAny>)>> {
        let inner = &self.inner;
        let mut settings = Vec::new();
        let mut set = |key, value: Bound<'_, PyAny>| settings.push((key, value.unbind()));
        if inner.id != inner.address {
            set("id", self.id.bind(py).clone().into_any());
        }
        if inner.weight != 1.0 {
            set("weight", inner.weight.into_pyobject(py)?.into_any());
        }
        if let Some(zone) = self.zone() {
            set("zone", zone.into_pyobject(py)?.into_any());
        }
        if !inner.tags.is_empty() {
            set("tags", self.tags(py)?.into_any());
        }
        for (key, flag) in [("healthy", inner.healthy), ("enabled", inner.enabled)] {
            if !flag {
                set(key, flag.into_pyobject(py)?.to_owned().into_any());
            }
        }
        if let Some(load) = inner.load {
            set("load", load.into_pyobject(py)?.into_any());
        }
        if let Some(limit) = inner.max_in_flight {
            set("max_in_flight", limit.into_pyobject(py)?.into_any());
        }
        if let Some(data) = self.user_data(py) {
            set("user_data", data.into_bound(py));
        }
        Ok(settings)
    }
}

/// The id that an argument means: itself, or that of an instance.
pub(crate) fn id_of<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
    if let Ok(id) = argument.cast::<PyString>() {
        return Ok(id.clone());
    }
    match argument.cast::<Instance>() {
        Ok(instance) => Ok(instance.get().id.bind(argument.py()).clone()),
        Err(_) => Err(PyTypeError::new_err(format!("expected an Instance or an id, got {}", kind(argument)))),
    }
}

/// The instances of an iterable, all of it read before anything is done with them.
pub(crate) fn instances_of(instances: &Bound<'_, PyAny>) -> PyResult<Vec<Py<Instance>>> {
    if is_text(instances) {
        return Err(PyTypeError::new_err("expected an iterable of Instance, got a text"));
    }
    let mut list = Vec::with_capacity(instances.len().unwrap_or(0));
    for (position, instance) in instances.try_iter()?.enumerate() {
        let instance = instance?;
        let instance = instance.cast::<Instance>().map_err(|_| {
            PyTypeError::new_err(format!(
                "expected an Instance at position {position}, got {}",
                kind(&instance)
            ))
        })?;
        list.push(instance.clone().unbind());
    }
    Ok(list)
}

pub(crate) fn kind(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string())
}
