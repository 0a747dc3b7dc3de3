//! Engine errors as the exceptions of `pointsman`.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

type Class = PyOnceLock<Py<PyType>>;

static NO_INSTANCE: Class = Class::new();
static UPDATE: Class = Class::new();
static ROUTE: Class = Class::new();
static FORMAT: Class = Class::new();

fn raise<'py, A>(py: Python<'py>, class: &Class, name: &str, arguments: A) -> PyErr
where
    A: pyo3::call::PyCallArgs<'py>,
{
    let raised = class.import(py, "pointsman._errors", name).and_then(|class| class.call1(arguments));
    raised.map_or_else(|error| error, PyErr::from_value)
}

#[cold]
pub(crate) fn no_instance(py: Python<'_>, refused: pointsman::NoInstance) -> PyErr {
    let arguments = (refused.to_string(), refused.reason.as_str(), refused.tier, refused.branch);
    raise(py, &NO_INSTANCE, "NoInstance", arguments)
}

#[cold]
pub(crate) fn update(py: Python<'_>, error: &pointsman::UpdateError) -> PyErr {
    raise(py, &UPDATE, "UpdateError", (error.to_string(), error.instance(), error.field()))
}

/// A value that cannot even be handed to the engine.
pub(crate) fn bad_value(py: Python<'_>, instance: &str, field: &str, value: &str, limit: &str) -> PyErr {
    let message = format!("instance {instance:?}: {field} is {value}, {limit}");
    raise(py, &UPDATE, "UpdateError", (message, instance, field))
}

#[cold]
pub(crate) fn route(py: Python<'_>, error: &pointsman::RouteError) -> PyErr {
    raise(py, &ROUTE, "RouteError", (error.to_string(), error.path()))
}

#[cold]
pub(crate) fn format(py: Python<'_>, error: &pointsman::FormatError) -> PyErr {
    raise(py, &FORMAT, "FormatError", (error.to_string(), error.path()))
}

/// An object of the table is gone while the engine can still name it: the collector has cleared the pool.
#[cold]
pub(crate) fn cleared() -> PyErr {
    PyRuntimeError::new_err("the pool is being collected")
}

/// A value of the engine that serializes, as Python's own types.
pub(crate) fn as_python<'py>(py: Python<'py>, value: &impl serde::Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    json(py, &value)
}

fn json<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    use serde_json::Value;
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => value.into_bound_py_any(py),
            (_, Some(value)) => value.into_bound_py_any(py),
            _ => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|value| json(py, value)).collect();
            values?.into_bound_py_any(py)
        }
        Value::Object(members) => {
            let dict = pyo3::types::PyDict::new(py);
            for (key, value) in members {
                dict.set_item(key, json(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}
