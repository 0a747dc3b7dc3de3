//! One instance for a call: what `Route` and `Picker` do alike.

use pointsman::{NoInstance, Request};
use pyo3::prelude::*;

use crate::context;
use crate::errors;
use crate::instance::Instance;
use crate::lease::Lease;
use crate::pick::Pick;
use crate::pool::Pool;
use crate::raw::ask;
use crate::request::Given;

/// Who chooses.
pub(crate) trait Chooser {
    fn pick(&mut self, request: &Request<'_>) -> Result<pointsman::Pick<'_>, NoInstance>;
    fn lease(&mut self, request: &Request<'_>) -> Result<pointsman::Lease, NoInstance>;
}

impl Chooser for &pointsman::Route {
    #[inline(always)]
    fn pick(&mut self, request: &Request<'_>) -> Result<pointsman::Pick<'_>, NoInstance> {
        pointsman::Route::pick(self, request)
    }

    fn lease(&mut self, request: &Request<'_>) -> Result<pointsman::Lease, NoInstance> {
        pointsman::Route::lease(self, request)
    }
}

impl Chooser for pointsman::Picker {
    #[inline(always)]
    fn pick(&mut self, request: &Request<'_>) -> Result<pointsman::Pick<'_>, NoInstance> {
        self.pick(request)
    }

    fn lease(&mut self, request: &Request<'_>) -> Result<pointsman::Lease, NoInstance> {
        self.lease(request)
    }
}

/// The object of the instance that is picked.
#[inline(always)]
pub(crate) fn pick(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Py<Instance>> {
    if given.is_plain() && context::current(py, pool.context_tags)?.is_none() {
        return match chooser.pick(&Request::new()) {
            Ok(pick) => pool.object(py, pick.instance().user_data),
            Err(refused) => Err(errors::no_instance(py, refused)),
        };
    }
    pick_asked(py, pool, chooser, given)
}

/// By itself, so that the plain way has little to set up.
#[inline(never)]
fn pick_asked(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Py<Instance>> {
    // One result, since one in another goes through memory.
    ask(py, pool, given, |request| match chooser.pick(request) {
        Ok(pick) => pool.object(py, pick.instance().user_data),
        Err(refused) => Err(errors::no_instance(py, refused)),
    })?
}

/// The same with how it was found.
pub(crate) fn select(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Pick> {
    let picked = ask(py, pool, given, |request| chooser.pick(request).map(|pick| Pick::of(py, pool, &pick)))?;
    picked.unwrap_or_else(|refused| Err(errors::no_instance(py, refused)))
}

/// The same, held until the request ends.
pub(crate) fn lease(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Py<Lease>> {
    match ask(py, pool, given, |request| chooser.lease(request))? {
        Ok(lease) => Lease::of(py, pool, lease),
        Err(refused) => Err(errors::no_instance(py, refused)),
    }
}
