//! Updates: from Python objects to a commit of the engine, with the table of objects kept in step.
//!
//! Objects get their keys while attached, the engine commits while detached, and keys that were not taken go afterwards.
//! An instance that is no news keeps the key, and with it the object, that is in the pool: so that a list which says the
//! same again changes nothing. A setter makes a new object out of the one in the pool; had that changed by the time of the
//! commit, the plan is made anew.

use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;

use crate::errors;
use crate::instance::Instance;
use crate::objects::{Key, collecting};
use crate::pool::Pool;

/// A change of one instance, as it is recorded.
pub(crate) enum Change {
    Upsert(Py<Instance>),
    Remove(String),
    Weight(String, f64),
    Healthy(String, bool),
    Enabled(String, bool),
}

/// An instance that is handed over.
struct Put {
    instance: pointsman::Instance,
    fresh: Key,
    /// The key in the pool that it would be no news to.
    same_as: Option<Key>,
}

impl Put {
    fn new(
        py: Python<'_>,
        pool: &Pool,
        object: &Py<Instance>,
        current: Option<(Key, &Py<Instance>)>,
    ) -> Self {
        let same_as =
            current.filter(|(_, other)| object.get().is_no_news(py, other.get())).map(|(key, _)| key);
        let fresh = pool.objects.put(py, object.clone_ref(py));
        Self { instance: object.get().inner.clone(), fresh, same_as }
    }

    /// With the key to commit. Nobody else commits meanwhile.
    fn keyed(&self, pool: &Pool) -> pointsman::Instance {
        let same = self.same_as.filter(|same| key_of(pool, &self.instance.id) == Some(*same));
        self.instance.clone().user_data(same.unwrap_or(self.fresh))
    }

    fn is_taken(&self, pool: &Pool) -> bool {
        key_of(pool, &self.instance.id) == Some(self.fresh)
    }
}

fn key_of(pool: &Pool, id: &str) -> Option<Key> {
    pool.engine.get(id).map(|instance| instance.user_data)
}

/// What the pool has for an id.
pub(crate) fn current(py: Python<'_>, pool: &Pool, id: &str) -> Option<(Key, Py<Instance>)> {
    let _hold = pool.objects.hold(py);
    let key = key_of(pool, id)?;
    Some((key, pool.objects.get(py, key)?))
}

/// Replaces the whole list.
pub(crate) fn replace(py: Python<'_>, pool: &Pool, objects: &[Py<Instance>]) -> PyResult<u64> {
    let puts: Vec<Put> = objects
        .iter()
        .map(|object| {
            let current = current(py, pool, &object.get().inner.id);
            Put::new(py, pool, object, current.as_ref().map(|(key, object)| (*key, object)))
        })
        .collect();
    let ((outcome, unused), released) = py.detach(|| {
        collecting(|| {
            let _turn = pool.turn.take();
            let list: Vec<_> = puts.iter().map(|put| put.keyed(pool)).collect();
            let outcome = pool.engine.replace(list);
            (outcome, unused(pool, &puts))
        })
    });
    pool.objects.drop_keys(py, released.into_iter().chain(unused).collect());
    outcome.map_err(|error| errors::update(py, &error))
}

fn unused<'a>(pool: &Pool, puts: impl IntoIterator<Item = &'a Put>) -> Vec<Key> {
    puts.into_iter().filter(|put| !put.is_taken(pool)).map(|put| put.fresh).collect()
}

/// Commits the changes together.
pub(crate) fn edit(py: Python<'_>, pool: &Pool, changes: &[Change]) -> PyResult<u64> {
    loop {
        let plan = Plan::new(py, pool, changes)?;
        let ((outcome, unused), released) = py.detach(|| collecting(|| plan.commit(pool)));
        pool.objects.drop_keys(py, released.into_iter().chain(unused).collect());
        if let Some(outcome) = outcome {
            return outcome.map_err(|error| errors::update(py, &error));
        }
    }
}

/// Changes against the pool of now.
struct Plan {
    steps: Vec<Step>,
    /// The keys that were in the pool when the plan was made, of the ids that matter to it.
    seen: HashMap<String, Option<Key>>,
}

enum Step {
    Put(Put),
    Remove(String),
    /// A setter of an id that is not there, which the engine refuses by name.
    Missing(String),
}

/// What the pool would have for an id, step by step.
struct Drafts<'a> {
    pool: &'a Pool,
    /// What the pool has, of the ids that were looked at.
    seen: HashMap<String, Option<(Key, Py<Instance>)>>,
    drafts: HashMap<String, Option<Py<Instance>>>,
    /// Ids that an earlier step takes out: what comes for them again is new to the engine, with a key of its own.
    out: HashSet<String>,
}

impl Drafts<'_> {
    fn get(&mut self, py: Python<'_>, id: &str) -> Option<Py<Instance>> {
        if !self.drafts.contains_key(id) {
            let current = current(py, self.pool, id);
            self.drafts.insert(id.to_owned(), current.as_ref().map(|(_, object)| object.clone_ref(py)));
            self.seen.insert(id.to_owned(), current);
        }
        self.drafts.get(id)?.as_ref().map(|object| object.clone_ref(py))
    }

    /// News are what differs from the pool, which still has its own, and not from the step before.
    fn put(&mut self, py: Python<'_>, object: Py<Instance>) -> Put {
        let id = &*object.get().inner.id;
        self.get(py, id);
        let current = self.seen.get(id).and_then(Option::as_ref).filter(|_| !self.out.contains(id));
        let put = Put::new(py, self.pool, &object, current.map(|(key, object)| (*key, object)));
        self.drafts.insert(id.to_owned(), Some(object.clone_ref(py)));
        put
    }

    fn remove(&mut self, id: &str) {
        self.drafts.insert(id.to_owned(), None);
        self.out.insert(id.to_owned());
    }
}

impl Plan {
    fn new(py: Python<'_>, pool: &Pool, changes: &[Change]) -> PyResult<Self> {
        let mut drafts = Drafts { pool, seen: HashMap::new(), drafts: HashMap::new(), out: HashSet::new() };
        let mut steps = Vec::with_capacity(changes.len());
        for change in changes {
            steps.push(match change {
                Change::Upsert(object) => Step::Put(drafts.put(py, object.clone_ref(py))),
                Change::Remove(id) => {
                    drafts.remove(id);
                    Step::Remove(id.clone())
                }
                Change::Weight(id, _) | Change::Healthy(id, _) | Change::Enabled(id, _) => {
                    match drafts.get(py, id) {
                        Some(object) => {
                            let changed = change.apply(object.get().inner.clone());
                            let object = Py::new(py, object.get().with(py, changed))?;
                            let mut put = drafts.put(py, object);
                            // The load of the list is old news: it must not stand in for a later report.
                            put.instance.load = None;
                            Step::Put(put)
                        }
                        None => Step::Missing(id.clone()),
                    }
                }
            });
        }
        let seen = drafts.seen.into_iter().map(|(id, seen)| (id, seen.map(|(key, _)| key))).collect();
        Ok(Self { steps, seen })
    }

    /// The outcome, unless the pool was changed meanwhile; and the keys that were not taken.
    fn commit(&self, pool: &Pool) -> (Option<Result<u64, pointsman::UpdateError>>, Vec<Key>) {
        let puts =
            || self.steps.iter().filter_map(|step| if let Step::Put(put) = step { Some(put) } else { None });
        let _turn = pool.turn.take();
        if self.seen.iter().any(|(id, key)| key_of(pool, id) != *key) {
            return (None, puts().map(|put| put.fresh).collect());
        }
        let outcome = pool.engine.edit(|edit| {
            self.steps.iter().try_for_each(|step| match step {
                Step::Put(put) => edit.upsert(put.keyed(pool)),
                Step::Remove(id) => edit.remove(id),
                Step::Missing(id) => edit.set_healthy(id, true),
            })
        });
        (Some(outcome), unused(pool, puts()))
    }
}

impl Change {
    fn apply(&self, instance: pointsman::Instance) -> pointsman::Instance {
        match self {
            Self::Weight(_, weight) => instance.weight(*weight),
            Self::Healthy(_, healthy) => instance.healthy(*healthy),
            Self::Enabled(_, enabled) => instance.enabled(*enabled),
            Self::Upsert(_) | Self::Remove(_) => instance,
        }
    }

    /// Checks the values, for a change that is recorded to be committed later.
    pub(crate) fn check(&self) -> Result<(), pointsman::UpdateError> {
        let mut scratch = pointsman::Edit::default();
        match self {
            Self::Upsert(object) => scratch.upsert(object.get().inner.clone()),
            Self::Weight(id, weight) => scratch.set_weight(id, *weight),
            Self::Remove(_) | Self::Healthy(..) | Self::Enabled(..) => Ok(()),
        }
    }
}
