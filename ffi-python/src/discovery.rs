//! Discovery documents to instances and a report.

use pointsman::format::{AddressFamily, Format, Options, Report};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyString, PyType};

use crate::errors;
use crate::instance::{Instance, kind};

#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn options(
    py: Python<'_>,
    format: &str,
    service: Option<&str>,
    port: Option<&Bound<'_, PyAny>>,
    lenient: bool,
    load_key: Option<&str>,
    prefer_ip: bool,
    address_family: Option<&str>,
) -> PyResult<Options> {
    let refused = |error: pointsman::FormatError| errors::format(py, &error);
    let mut options = Options::new().lenient(lenient).prefer_ip(prefer_ip);
    options.format = format.parse::<Format>().map_err(refused)?;
    options.service = service.map(str::to_owned);
    options.port = port.map(port_of).transpose()?;
    options.load_key = load_key.map(str::to_owned);
    options.address_family = address_family.map(str::parse::<AddressFamily>).transpose().map_err(refused)?;
    Ok(options)
}

fn port_of(port: &Bound<'_, PyAny>) -> PyResult<String> {
    let number = port.is_instance_of::<PyInt>() && !port.is_instance_of::<PyBool>();
    if number || port.is_instance_of::<PyString>() {
        return Ok(port.str()?.to_string());
    }
    Err(PyTypeError::new_err(format!("port: expected its name or number, got {}", kind(port))))
}

/// The instances of a document as Python objects.
pub(crate) fn parse(text: &Bound<'_, PyAny>, options: &Options) -> PyResult<(Vec<Py<Instance>>, Report)> {
    let py = text.py();
    let parsed = if let Ok(text) = text.cast::<PyString>() {
        let text = text.to_str()?;
        py.detach(|| pointsman::format::parse(text, options))
    } else if let Ok(bytes) = text.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        py.detach(|| pointsman::format::parse_bytes(bytes, options))
    } else if let Ok(bytes) = text.cast::<PyByteArray>() {
        // A copy, since a bytearray can change under a detached reader.
        let bytes = bytes.to_vec();
        py.detach(|| pointsman::format::parse_bytes(&bytes, options))
    } else {
        return Err(PyTypeError::new_err(format!("expected JSON as str or bytes, got {}", kind(text))));
    };
    let parsed = parsed.map_err(|error| errors::format(py, &error))?;
    let objects = parsed.instances.into_iter().map(|inner| Py::new(py, Instance::new(py, inner, None)));
    Ok((objects.collect::<PyResult<_>>()?, parsed.report))
}

pub(crate) fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyAny>> {
    static REPORT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static MERGED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static IGNORED: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let merged_class = MERGED.import(py, "pointsman._report", "Merged")?;
    let ignored_class = IGNORED.import(py, "pointsman._report", "Ignored")?;
    let merged = report.merged.iter();
    let merged: PyResult<Vec<_>> =
        merged.map(|one| merged_class.call1((&one.address, &one.kept, &one.dropped))).collect();
    let ignored: PyResult<Vec<_>> =
        report.ignored.iter().map(|one| ignored_class.call1((&one.path, &one.reason))).collect();
    let arguments = (report.format.as_str(), report.taken, merged?, ignored?, report.notes.clone());
    REPORT.import(py, "pointsman._report", "Report")?.call1(arguments)
}
