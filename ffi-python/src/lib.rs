//! The native half of the Python package `pointsman`.

#![deny(unsafe_code)]

mod choose;
mod context;
mod discovery;
mod edit;
mod errors;
mod instance;
mod lease;
mod objects;
mod pick;
mod picker;
mod pool;
mod raw;
mod request;
mod route;
mod turn;
mod update;

/// The native half of the package ``pointsman``.
#[pyo3::pymodule(gil_used = false)]
mod _pointsman {
    use std::sync::OnceLock;

    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::context::{TagSet, use_context};
    #[pymodule_export]
    use crate::edit::Edit;
    #[pymodule_export]
    use crate::instance::Instance;
    #[pymodule_export]
    use crate::lease::Lease;
    #[pymodule_export]
    use crate::pick::Pick;
    #[pymodule_export]
    use crate::picker::Picker;
    #[pymodule_export]
    use crate::pool::Pool;
    #[pymodule_export]
    use crate::route::Route;

    /// Refuses a second interpreter: the classes, and the names that are kept at hand, belong to the first.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        static FIRST: OnceLock<usize> = OnceLock::new();
        // Every interpreter has its own `sys`.
        let interpreter = module.py().import("sys")?.as_ptr() as usize;
        if *FIRST.get_or_init(|| interpreter) == interpreter {
            return Ok(());
        }
        Err(PyImportError::new_err(
            "pointsman does not support subinterpreters: this process has loaded it in another interpreter",
        ))
    }
}
