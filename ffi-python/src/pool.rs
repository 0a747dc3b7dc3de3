//! `Pool`: the instances of one service.

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyString, PyType};

use crate::discovery;
use crate::edit::Edit;
use crate::errors;
use crate::instance::{Instance, id_of, instances_of};
use crate::objects::{Key, Objects, collecting, released};
use crate::request::{Seed, is_text};
use crate::route::Route;
use crate::turn::Turn;
use crate::update::{self, Change};

/// The instances of one service, their live state, and the routes compiled for them.
///
/// An update publishes all of its changes at once or nothing, and a refused one leaves the pool as it was. Every method may
/// be called from any thread. A ``seed`` makes every choice reproducible; without one two processes differ, and so do a
/// parent and its forked children.
///
/// ``zone`` is the caller's own, ``keep_last`` refuses empty lists, and ``spec`` holds these and all other settings, as a
/// dict or JSON text. ``context_tags=False`` keeps the routes from reading ``request_tags``.
///
/// >>> from pointsman import Instance, Pool
/// >>> pool = Pool([Instance("10.0.0.1:8080", weight=8.0), Instance("10.0.0.2:8080", weight=2.0)])
/// >>> pool.route("weighted_random").shares()
/// {'10.0.0.1:8080': 0.8, '10.0.0.2:8080': 0.2}
#[pyclass(frozen, module = "pointsman", weakref)]
pub(crate) struct Pool {
    pub(crate) engine: pointsman::Pool,
    pub(crate) objects: Objects,
    pub(crate) turn: Turn,
    pub(crate) context_tags: bool,
    pub(crate) seeded: bool,
}

/// What a pool is made with besides its instances.
pub(crate) struct Settings<'a, 'py> {
    pub(crate) zone: Option<&'a str>,
    pub(crate) seed: Option<Seed>,
    pub(crate) keep_last: bool,
    pub(crate) spec: Option<&'a Bound<'py, PyAny>>,
    pub(crate) context_tags: bool,
}

impl Pool {
    pub(crate) fn new(
        py: Python<'_>,
        list: Vec<Py<Instance>>,
        settings: &Settings<'_, '_>,
    ) -> PyResult<Self> {
        let mut spec = match settings.spec {
            Some(spec) => pointsman::PoolSpec::from_json(&json_of(spec)?),
            None => Ok(pointsman::PoolSpec::new()),
        }
        .map_err(|error| errors::route(py, &error))?;
        if let Some(zone) = settings.zone {
            spec = spec.zone(zone);
        }
        if settings.keep_last {
            spec = spec.keep_last(true);
        }
        let mut options = pointsman::PoolOptions::new().spec(spec).release(released);
        if let Some(Seed(seed)) = settings.seed {
            options = options.seed(seed);
        }
        let objects = Objects::new();
        let list: Vec<_> = list
            .into_iter()
            .map(|object| object.get().inner.clone().user_data(objects.put(py, object.clone_ref(py))))
            .collect();
        let (made, _) = py.detach(|| collecting(|| pointsman::Pool::with(options, list)));
        match made {
            Ok(engine) => {
                let (context_tags, seeded) = (settings.context_tags, settings.seed.is_some());
                Ok(Self { engine, objects, turn: Turn::default(), context_tags, seeded })
            }
            Err(pointsman::PoolError::Update(error)) => Err(errors::update(py, &error)),
            Err(pointsman::PoolError::Spec(error)) => Err(errors::route(py, &error)),
            Err(other) => Err(PyTypeError::new_err(other.to_string())),
        }
    }

    fn change(&self, py: Python<'_>, change: Change) -> PyResult<()> {
        update::edit(py, self, &[change]).map(drop)
    }

    /// The object that a pick in hand, or a key taken under a hold, stands for.
    #[inline(always)]
    pub(crate) fn object(&self, py: Python<'_>, key: Key) -> PyResult<Py<Instance>> {
        self.objects.get(py, key).ok_or_else(errors::cleared)
    }
}

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(
        signature = (instances=None, *, zone=None, seed=None, keep_last=false, spec=None, context_tags=true),
        text_signature = "(instances=(), *, zone=None, seed=None, keep_last=False, spec=None, context_tags=True)"
    )]
    fn py_new(
        py: Python<'_>,
        instances: Option<&Bound<'_, PyAny>>,
        zone: Option<&str>,
        seed: Option<Seed>,
        keep_last: bool,
        spec: Option<&Bound<'_, PyAny>>,
        context_tags: bool,
    ) -> PyResult<Self> {
        let list = instances.map(instances_of).transpose()?.unwrap_or_default();
        Self::new(py, list, &Settings { zone, seed, keep_last, spec, context_tags })
    }

    /// A pool from a discovery document: JSON of Nacos, Consul, Kubernetes, Eureka or Spring, or a plain list.
    ///
    /// >>> from pointsman import Pool
    /// >>> pool = Pool.from_json('{"hosts": [{"ip": "10.0.0.1", "port": 8080, "weight": 2}]}')
    /// >>> pool["10.0.0.1:8080"].weight
    /// 2.0
    #[classmethod]
    #[pyo3(signature = (text, format="auto", *, service=None, port=None, lenient=false, load_key=None, prefer_ip=false,
        address_family=None, zone=None, seed=None, keep_last=false, spec=None, context_tags=true))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn from_json(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        format: &str,
        service: Option<&str>,
        port: Option<&Bound<'_, PyAny>>,
        lenient: bool,
        load_key: Option<&str>,
        prefer_ip: bool,
        address_family: Option<&str>,
        zone: Option<&str>,
        seed: Option<Seed>,
        keep_last: bool,
        spec: Option<&Bound<'_, PyAny>>,
        context_tags: bool,
    ) -> PyResult<Self> {
        let options =
            discovery::options(py, format, service, port, lenient, load_key, prefer_ip, address_family)?;
        let (list, _) = discovery::parse(text, &options)?;
        Self::new(py, list, &Settings { zone, seed, keep_last, spec, context_tags })
    }

    /// Replaces the list. Returns the version in force; the same list again changes nothing.
    fn replace(&self, py: Python<'_>, instances: &Bound<'_, PyAny>) -> PyResult<u64> {
        update::replace(py, self, &instances_of(instances)?)
    }

    /// Replaces the list by that of a discovery document, and reports what was taken from it.
    #[pyo3(signature = (text, format="auto", *, service=None, port=None, lenient=false, load_key=None, prefer_ip=false,
        address_family=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn replace_json<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        format: &str,
        service: Option<&str>,
        port: Option<&Bound<'_, PyAny>>,
        lenient: bool,
        load_key: Option<&str>,
        prefer_ip: bool,
        address_family: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options =
            discovery::options(py, format, service, port, lenient, load_key, prefer_ip, address_family)?;
        let (list, report) = discovery::parse(text, &options)?;
        update::replace(py, self, &list)?;
        discovery::report(py, &report)
    }

    /// Sets a weight; 0 drains.
    fn set_weight(&self, py: Python<'_>, id: &Bound<'_, PyAny>, weight: f64) -> PyResult<()> {
        self.change(py, Change::Weight(id_of(id)?.to_string(), weight))
    }

    /// Sets whether health checks pass.
    fn set_healthy(&self, py: Python<'_>, id: &Bound<'_, PyAny>, healthy: bool) -> PyResult<()> {
        self.change(py, Change::Healthy(id_of(id)?.to_string(), healthy))
    }

    /// Sets whether the instance may be used at all.
    fn set_enabled(&self, py: Python<'_>, id: &Bound<'_, PyAny>, enabled: bool) -> PyResult<()> {
        self.change(py, Change::Enabled(id_of(id)?.to_string(), enabled))
    }

    /// Adds an instance behind the others, or puts it in place of the one with its id.
    fn upsert(&self, py: Python<'_>, instance: Py<Instance>) -> PyResult<()> {
        self.change(py, Change::Upsert(instance))
    }

    /// Takes an instance out.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        self.change(py, Change::Remove(id_of(id)?.to_string()))
    }

    /// Several changes in one commit at the end of a ``with`` block; none on an exception.
    ///
    /// >>> from pointsman import Instance, Pool
    /// >>> pool = Pool([Instance("a"), Instance("b")])
    /// >>> with pool.edit() as edit:
    /// ...     edit.set_weight("a", 4.0)
    /// ...     edit.remove("b")
    /// >>> pool.version
    /// 2
    fn edit(slf: Py<Self>) -> Edit {
        Edit::new(slf)
    }

    /// Sets an instance's reported load, without a new version.
    fn report_load(&self, py: Python<'_>, id: &Bound<'_, PyAny>, load: f64) -> PyResult<()> {
        self.engine.report_load(id_of(id)?.to_str()?, load).map_err(|error| errors::update(py, &error))
    }

    /// Brings about what time has made due: ejections, returns and ramps. Returns for how many seconds there will be nothing
    /// to do; ``None`` where only leases can bring something about.
    ///
    /// Call it from a timer, once a second say, and whenever ``tick_due`` is true.
    fn tick(&self, py: Python<'_>) -> Option<f64> {
        let (next, released) = py.detach(|| collecting(|| self.engine.tick()));
        self.objects.drop_keys(py, released);
        next.map(|next| next.as_secs_f64())
    }

    /// Whether an instance has reached its limit of consecutive failures since the last tick.
    #[getter]
    fn tick_due(&self) -> bool {
        self.engine.tick_due()
    }

    /// Compiles a route. It follows every later update.
    ///
    /// The name of a policy, or an object with the name and its options, takes ``tiers``, one that takes all instances unless
    /// given. A whole spec is a dict with the key ``policy``, or JSON text.
    ///
    /// >>> from pointsman import Instance, Pool
    /// >>> pool = Pool([Instance("a", tags={"version": "gray"}), Instance("b")])
    /// >>> route = pool.route("weighted_random", tiers=[{"match": ["version"]}, {}])
    /// >>> route.pick(tags={"version": "gray"}).id
    /// 'a'
    #[pyo3(signature = (policy, *, tiers=None, counters=false))]
    fn route(
        slf: Py<Self>,
        py: Python<'_>,
        policy: &Bound<'_, PyAny>,
        tiers: Option<&Bound<'_, PyAny>>,
        counters: bool,
    ) -> PyResult<Route> {
        let spec = pointsman::RouteSpec::from_json(&route_json(policy, tiers)?);
        let spec = spec.map(|spec| if counters { spec.counters(true) } else { spec });
        let pool = slf.get();
        let route = py.detach(|| spec.and_then(|spec| pool.engine.route(spec)));
        Ok(Route::new(route.map_err(|error| errors::route(py, &error))?, slf))
    }

    /// Whether its routes read ``request_tags``.
    #[getter]
    fn context_tags(&self) -> bool {
        self.context_tags
    }

    /// 1 at creation, one more for each update that changed the list.
    #[getter]
    fn version(&self) -> u64 {
        self.engine.version()
    }

    /// Version, numbers, age in seconds, and the last refused update.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let status = py.detach(|| self.engine.status());
        errors::as_python(py, &status)
    }

    fn __len__(&self) -> usize {
        self.engine.len()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        match id_of(id) {
            Ok(id) => Ok(self.engine.get(id.to_str()?).is_some()),
            Err(_) => Ok(false),
        }
    }

    fn __getitem__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Py<Instance>> {
        let id = id_of(id)?;
        match update::current(py, self, id.to_str()?) {
            Some((_, object)) => Ok(object),
            None => Err(PyKeyError::new_err(id.unbind())),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let objects: PyResult<Vec<_>> = {
            let _hold = self.objects.hold(py);
            self.engine.instances().iter().map(|instance| self.object(py, instance.user_data)).collect()
        };
        PyList::new(py, objects?)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Pool of {} instances, version {}>", self.engine.len(), self.engine.version())
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a Pool cannot be pickled, it is live state; send list(pool) and make a Pool of it there",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.objects.traverse(&visit)
    }
}

/// JSON text as it is, anything else as JSON.
fn json_of(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if is_text(value) {
        return value.extract();
    }
    value.py().import("json")?.call_method1("dumps", (value,))?.extract()
}

fn route_json(policy: &Bound<'_, PyAny>, tiers: Option<&Bound<'_, PyAny>>) -> PyResult<String> {
    let py = policy.py();
    let whole = match (policy.cast::<PyString>(), policy.cast::<PyDict>()) {
        (Ok(text), _) => text.to_str()?.trim_start().starts_with('{'),
        (_, Ok(dict)) => dict.contains("policy")?,
        _ => return Err(PyTypeError::new_err("expected the name of a policy, a dict or JSON text")),
    };
    match (whole, tiers) {
        (true, None) => json_of(policy),
        (true, Some(_)) => Err(PyTypeError::new_err("a whole spec holds its own tiers")),
        (false, _) => {
            let spec = PyDict::new(py);
            spec.set_item("policy", policy)?;
            match tiers {
                Some(tiers) => spec.set_item("tiers", tiers)?,
                None => spec.set_item("tiers", vec![PyDict::new(py)])?,
            }
            json_of(spec.as_any())
        }
    }
}
