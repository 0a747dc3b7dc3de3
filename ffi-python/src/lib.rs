//! The native half of the Python package `pointsman`.

#![deny(unsafe_code)]

mod attached;
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
mod request;
mod route;
mod turn;
mod update;

/// The native half of the package ``pointsman``.
#[pyo3::pymodule(gil_used = false)]
mod _pointsman {
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
}
