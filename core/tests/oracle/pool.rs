//! A pool that is a plain list.

use std::collections::BTreeMap;

use pointsman::{Instance, Tags};

/// The list, the loads that were reported for its ids, and the version.
#[derive(Clone, Debug)]
pub(crate) struct PlainPool {
    pub(crate) list: Vec<Instance>,
    pub(crate) loads: BTreeMap<String, f64>,
    pub(crate) version: u64,
    pub(crate) zone: Option<String>,
    pub(crate) keep_last: bool,
}

/// One change of an edit.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Upsert(Instance),
    Remove(String),
    Weight(String, f64),
    Healthy(String, bool),
    Enabled(String, bool),
    Tags(String, Vec<(String, String)>),
    Zone(String, Option<String>),
}

/// The list that an update leads to, with the ids that are new ones though the pool had their names.
struct Next {
    list: Vec<Instance>,
    again: Vec<String>,
    loads: Vec<(String, f64)>,
}

impl PlainPool {
    pub(crate) fn new(list: Vec<Instance>, zone: Option<String>, keep_last: bool) -> Option<Self> {
        let mut pool = Self { list: Vec::new(), loads: BTreeMap::new(), version: 1, zone, keep_last };
        let fine = is_fine(&list);
        pool.loads = list.iter().filter_map(|i| Some((i.id.to_string(), i.load?))).collect();
        pool.list = list;
        fine.then_some(pool)
    }

    /// False: refused, and nothing changed.
    pub(crate) fn replace(&mut self, list: Vec<Instance>) -> bool {
        let loads = list.iter().filter_map(|i| Some((i.id.to_string(), i.load?))).collect();
        self.commit(Next { list, again: Vec::new(), loads })
    }

    /// False: refused, and nothing changed.
    pub(crate) fn edit(&mut self, changes: &[Change]) -> bool {
        let mut next = Next { list: self.list.clone(), again: Vec::new(), loads: Vec::new() };
        changes.iter().all(|change| next.apply(change)) && self.commit(next)
    }

    pub(crate) fn report(&mut self, id: &str, load: f64) -> bool {
        let known = self.list.iter().any(|instance| *instance.id == *id);
        let fine = known && load.is_finite() && load >= 0.0;
        if fine {
            self.loads.insert(id.to_owned(), load);
        }
        fine
    }

    fn commit(&mut self, mut next: Next) -> bool {
        if !is_fine(&next.list) || (next.list.is_empty() && self.keep_last) {
            return false;
        }
        next.again.retain(|id| self.list.iter().any(|held| *held.id == **id));
        // A list without a load leaves the last report, so it is no difference.
        let mut same = next.list.len() == self.list.len() && next.again.is_empty();
        for (at, instance) in next.list.iter_mut().enumerate() {
            let here = self.list.get(at).is_some_and(|old| old.id == instance.id);
            let again = next.again.iter().any(|id| **id == *instance.id);
            let old = self.list.iter().find(|old| old.id == instance.id && !again);
            let equal = old.is_some_and(|old| {
                let mut with_load = instance.clone();
                with_load.load = instance.load.or(old.load);
                with_load == *old
            });
            if let Some(old) = old {
                instance.load = instance.load.or(old.load);
            }
            if equal && let Some(old) = old {
                *instance = old.clone();
            }
            same &= here && equal;
        }
        let stays = |id: &String| next.list.iter().any(|instance| *instance.id == **id);
        self.loads.retain(|id, _| stays(id) && !next.again.contains(id));
        self.loads.extend(next.loads);
        self.version += u64::from(!same);
        self.list = next.list;
        true
    }
}

impl Next {
    fn apply(&mut self, change: &Change) -> bool {
        let found = |list: &mut Vec<Instance>, id: &str| list.iter().position(|held| *held.id == *id);
        match change {
            Change::Upsert(instance) => {
                if let Some(load) = instance.load {
                    self.loads.push((instance.id.to_string(), load));
                }
                match found(&mut self.list, &instance.id) {
                    Some(at) => {
                        let load = instance.load.or(self.list[at].load);
                        self.list[at] = instance.clone();
                        self.list[at].load = load;
                    }
                    None => self.list.push(instance.clone()),
                }
                true
            }
            Change::Remove(id) => match found(&mut self.list, id) {
                Some(at) => {
                    self.list.remove(at);
                    self.again.push(id.clone());
                    self.loads.retain(|(held, _)| held != id);
                    true
                }
                None => false,
            },
            Change::Weight(id, weight) => self.set(id, |held| held.weight = *weight),
            Change::Healthy(id, healthy) => self.set(id, |held| held.healthy = *healthy),
            Change::Enabled(id, enabled) => self.set(id, |held| held.enabled = *enabled),
            Change::Tags(id, tags) => self.set(id, |held| held.tags = Tags::from_iter(tags.iter().cloned())),
            Change::Zone(id, zone) => self.set(id, |held| held.zone = zone.as_deref().map(Into::into)),
        }
    }

    fn set(&mut self, id: &str, change: impl FnOnce(&mut Instance)) -> bool {
        self.list.iter_mut().find(|held| *held.id == *id).map(change).is_some()
    }
}

/// The limits of the values, and ids that differ.
fn is_fine(list: &[Instance]) -> bool {
    let number = |value: f64| value.is_finite() && value >= 0.0;
    list.iter().enumerate().all(|(at, instance)| {
        !instance.id.is_empty()
            && !instance.address.is_empty()
            && number(instance.weight)
            && instance.load.is_none_or(number)
            && instance.max_in_flight != Some(0)
            && instance.tags.len() <= 64
            && list[..at].iter().all(|before| before.id != instance.id)
    })
}
