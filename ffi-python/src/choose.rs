//! One instance for a call: what `Route` and `Picker` do alike.

use pointsman::{NoInstance, Request};
use pyo3::prelude::*;

use crate::context::{self, TagSet};
use crate::errors;
use crate::instance::Instance;
use crate::lease::Lease;
use crate::pick::Pick;
use crate::pool::Pool;
use crate::raw;
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
    let context = context::current(py, pool.context_tags)?;
    if context.is_some() || !given.is_tags_alone() {
        return pick_asked(py, pool, chooser, given, context);
    }
    match given.tags {
        None => or_raise(py, find(py, pool, chooser, &Request::new())),
        Some(tags) => pick_tagged(py, pool, chooser, given, tags),
    }
}

/// Tags and nothing else. By itself, as what comes next is, so that the plain way has little to set up.
#[inline(never)]
fn pick_tagged(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
    tags: &Bound<'_, PyAny>,
) -> PyResult<Py<Instance>> {
    match raw::ask(tags, |request| find_apart(py, pool, chooser, request)) {
        Some(found) => or_raise(py, found),
        None => pick_asked(py, pool, chooser, given, None),
    }
}

/// Whatever else a call and its context give.
#[inline(never)]
fn pick_asked(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
    context: Option<Bound<'_, TagSet>>,
) -> PyResult<Py<Instance>> {
    let context = context.as_ref().map(Bound::get);
    let found = given.ask(context, |request| find_apart(py, pool, chooser, request))?;
    or_raise(py, found)
}

/// The object of a pick, `None` where the collector has cleared the pool. In two words, which stay in registers.
type Found = Result<Option<Py<Instance>>, NoInstance>;

/// Puts the engine's pick in its place.
#[inline(always)]
fn find(py: Python<'_>, pool: &Pool, chooser: &mut impl Chooser, request: &Request<'_>) -> Found {
    match chooser.pick(request) {
        Ok(pick) => Ok(pool.objects.get(py, pick.instance().user_data)),
        Err(refused) => Err(refused),
    }
}

/// One for all requests but the plain: the more places the engine's pick is put into, the less of it is.
#[inline(never)]
fn find_apart(py: Python<'_>, pool: &Pool, chooser: &mut impl Chooser, request: &Request<'_>) -> Found {
    find(py, pool, chooser, request)
}

#[inline(always)]
fn or_raise(py: Python<'_>, found: Found) -> PyResult<Py<Instance>> {
    match found {
        Ok(Some(object)) => Ok(object),
        Ok(None) => Err(errors::cleared()),
        Err(refused) => Err(errors::no_instance(py, refused)),
    }
}

/// The same with how it was found.
pub(crate) fn select(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Pick> {
    let mut take = |request: &Request<'_>| chooser.pick(request).map(|pick| Pick::of(py, pool, &pick));
    ask(py, pool, given, &mut take)?.unwrap_or_else(|refused| Err(errors::no_instance(py, refused)))
}

/// The same, held until the request ends.
pub(crate) fn lease(
    py: Python<'_>,
    pool: &Pool,
    chooser: &mut impl Chooser,
    given: &Given<'_, '_>,
) -> PyResult<Py<Lease>> {
    match ask(py, pool, given, &mut |request| chooser.lease(request))? {
        Ok(lease) => Lease::of(py, pool, lease),
        Err(refused) => Err(errors::no_instance(py, refused)),
    }
}

/// Runs `take` with the request: in place where it is of tags alone.
#[inline(always)]
fn ask<R>(
    py: Python<'_>,
    pool: &Pool,
    given: &Given<'_, '_>,
    take: &mut impl FnMut(&Request<'_>) -> R,
) -> PyResult<R> {
    let context = context::current(py, pool.context_tags)?;
    if context.is_none()
        && given.is_tags_alone()
        && let Some(tags) = given.tags
        && let Some(taken) = raw::ask(tags, &mut *take)
    {
        return Ok(taken);
    }
    given.ask(context.as_ref().map(Bound::get), take)
}
