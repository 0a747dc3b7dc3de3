//! `Route`: a way to choose.

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::choose;
use crate::context;
use crate::errors;
use crate::instance::Instance;
use crate::lease::Lease;
use crate::objects::Key;
use crate::pick::Pick;
use crate::picker::Picker;
use crate::pool::Pool;
use crate::request::{Given, Seed};

/// More picks than this in one call give up the interpreter meanwhile.
const BATCH: usize = 1_000;

/// A way to choose: a policy and an ordered list of tiers, compiled for each list the pool publishes.
///
/// Every call may come from any thread. The arguments of a pick:
///
/// - ``tags``: what the request is. Only keys that a tier's ``match`` names are read. A value may be several.
/// - ``require``: what the instance must have, in every tier, for this pick.
/// - ``key``: str or bytes that a hash policy or a split by key uses.
/// - ``exclude``: ids or instances to keep away from; ``relax=True`` allows them as a last resort.
/// - ``prefer``: an id or instance to take where it is eligible in the tier that is used.
#[pyclass(frozen, module = "pointsman", weakref)]
pub(crate) struct Route {
    route: pointsman::Route,
    pool: Py<Pool>,
}

impl Route {
    pub(crate) fn new(route: pointsman::Route, pool: Py<Pool>) -> Self {
        Self { route, pool }
    }

    /// Runs `take` with the engine's route and the request.
    #[inline]
    fn ask<R>(
        &self,
        py: Python<'_>,
        given: &Given<'_, '_>,
        take: impl FnOnce(&pointsman::Route, &pointsman::Request<'_>) -> R,
    ) -> PyResult<R> {
        let context = context::current(py, self.pool.get().context_tags)?;
        given.ask(context.as_ref().map(Bound::get), |request| take(&self.route, request))
    }
}

#[pymethods]
impl Route {
    /// Picks an instance from the list in force.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn pick(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Py<Instance>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::pick(py, self.pool.get(), &mut &self.route, &given)
    }

    /// Picks an instance and says how it was found.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn select(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Pick> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::select(py, self.pool.get(), &mut &self.route, &given)
    }

    /// Picks ``n`` times, each pick by itself. Large numbers let other threads run meanwhile.
    #[pyo3(
        signature = (n, *, tags=None, require=None, exclude=None),
        text_signature = "($self, n, *, tags=None, require=None, exclude=())"
    )]
    fn pick_many<'py>(
        &self,
        py: Python<'py>,
        n: i64,
        tags: Option<&Bound<'py, PyAny>>,
        require: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let n = count(n)?;
        let mut keys = Vec::new();
        keys.try_reserve_exact(n)
            .map_err(|_| PyMemoryError::new_err(format!("no memory for a list of {n} picks")))?;
        let given = Given { tags, require, key: None, exclude, prefer: None, relax: false };
        let pool = self.pool.get();
        let hold = pool.objects.hold(py);
        let picked = self.ask(py, &given, |route, request| {
            if n > BATCH {
                py.detach(|| pick_keys(route, request, n, !pool.seeded, &mut keys))
            } else {
                pick_keys(route, request, n, false, &mut keys)
            }
        })?;
        picked.map_err(|refused| errors::no_instance(py, refused))?;
        let list = pool.objects.list(py, &keys);
        drop(hold);
        list
    }

    /// At most ``k`` different instances in the order of drawing, for failover lists and hedged requests.
    #[pyo3(
        signature = (k, *, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, k, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn pick_distinct<'py>(
        &self,
        py: Python<'py>,
        k: i64,
        tags: Option<&Bound<'py, PyAny>>,
        require: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
        prefer: Option<&Bound<'py, PyAny>>,
        relax: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        let pool = self.pool.get();
        let mut out = vec![pointsman::Picked::default(); count(k)?.min(pool.engine.len().max(1))];
        let picked = self.ask(py, &given, |route, request| {
            let picks = route.pick_distinct(request, &mut out)?;
            Ok(picks.iter().map(|instance| pool.object(py, instance.user_data)).collect::<PyResult<Vec<_>>>())
        })?;
        PyList::new(py, picked.map_err(|refused| errors::no_instance(py, refused))??)
    }

    /// Picks an instance and holds it until the request ends.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn lease(
        &self,
        py: Python<'_>,
        tags: Option<&Bound<'_, PyAny>>,
        require: Option<&Bound<'_, PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        exclude: Option<&Bound<'_, PyAny>>,
        prefer: Option<&Bound<'_, PyAny>>,
        relax: bool,
    ) -> PyResult<Py<Lease>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        choose::lease(py, self.pool.get(), &mut &self.route, &given)
    }

    /// A hand for one thread, with its own generator. The same seed, updates and requests give the same picks.
    #[pyo3(signature = (seed=None))]
    fn picker(&self, py: Python<'_>, seed: Option<Seed>) -> Picker {
        let picker = match seed {
            Some(Seed(seed)) => self.route.picker_seeded(seed),
            None => self.route.picker(),
        };
        Picker::new(picker, self.pool.clone_ref(py))
    }

    /// Tier by tier, what such a request finds and why.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        tags: Option<&Bound<'py, PyAny>>,
        require: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
        prefer: Option<&Bound<'py, PyAny>>,
        relax: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        let explanation = self.ask(py, &given, |route, request| route.explain(request))?;
        errors::as_python(py, &explanation)
    }

    /// The exact share of every instance that such requests can be given, by id.
    #[pyo3(
        signature = (*, tags=None, require=None, key=None, exclude=None, prefer=None, relax=false),
        text_signature = "($self, *, tags=None, require=None, key=None, exclude=(), prefer=None, relax=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn shares<'py>(
        &self,
        py: Python<'py>,
        tags: Option<&Bound<'py, PyAny>>,
        require: Option<&Bound<'py, PyAny>>,
        key: Option<&Bound<'py, PyAny>>,
        exclude: Option<&Bound<'py, PyAny>>,
        prefer: Option<&Bound<'py, PyAny>>,
        relax: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let given = Given { tags, require, key, exclude, prefer, relax };
        let shares = PyDict::new(py);
        for share in self.ask(py, &given, |route, request| route.shares(request))? {
            shares.set_item(&*share.id, share.share)?;
        }
        Ok(shares)
    }

    /// Picks by tier, refusals by reason and relaxed picks, if the route counts them; empty otherwise.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.route.counters() {
            Some(counters) => errors::as_python(py, &counters),
            None => Ok(PyDict::new(py).into_any()),
        }
    }

    /// The spec that it was made from, as JSON.
    #[getter]
    fn spec(&self) -> String {
        self.route.spec().to_json()
    }

    /// The pool that it picks from.
    #[getter]
    fn pool(&self, py: Python<'_>) -> Py<Pool> {
        self.pool.clone_ref(py)
    }

    fn __repr__(&self) -> String {
        format!("<Route {}>", self.route.spec().to_json())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Route cannot be pickled, it belongs to a live Pool; send list(pool) and route.spec and make both there",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.pool)
    }
}

/// Picks `n` times. Draws that depend on nothing but the list may come from a generator of their own, which is faster.
fn pick_keys(
    route: &pointsman::Route,
    request: &pointsman::Request<'_>,
    n: usize,
    own_draws: bool,
    keys: &mut Vec<Key>,
) -> Result<(), pointsman::NoInstance> {
    if own_draws
        && matches!(route.spec().policy, pointsman::Policy::Random | pointsman::Policy::WeightedRandom)
    {
        let mut picker = route.picker();
        for _ in 0..n {
            keys.push(picker.pick(request)?.instance().user_data);
        }
    } else {
        for _ in 0..n {
            keys.push(route.pick(request)?.instance().user_data);
        }
    }
    Ok(())
}

fn count(number: i64) -> PyResult<usize> {
    usize::try_from(number)
        .map_err(|_| PyValueError::new_err(format!("a number of picks is {number}, must not be negative")))
}
