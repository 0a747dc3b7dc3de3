//! Entries become a list of instances: one for each id, with a record of what was merged and left out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;

use super::json::At;
use super::options::Format;
use super::report::{Discovered, Ignored, Merged, Report};
use crate::error::FormatError;
use crate::instance::Instance;

/// What to do with a second entry of an id.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// Two entries for one address are one instance: the available one wins, then the first.
    Merge,
    /// Ids are the writer's own, so a second one is a mistake.
    Refuse,
}

/// Where an entry stands: in a list, or alone.
#[derive(Clone)]
struct Place {
    list: Rc<str>,
    index: Option<usize>,
}

impl Place {
    fn path(&self) -> String {
        match self.index {
            Some(index) => format!("{}[{index}]", if &*self.list == "." { "" } else { &*self.list }),
            None => self.list.to_string(),
        }
    }
}

/// Takes the entries one after the other. Each costs one look-up, however many have the same address.
pub(super) struct Collector {
    lenient: bool,
    repeated: Repeated,
    list: Rc<str>,
    taken: Vec<(Instance, Place)>,
    by_id: HashMap<Arc<str>, usize>,
    merged: Vec<(usize, Place)>,
    ignored: Vec<Ignored>,
    notes: Vec<String>,
}

impl Collector {
    pub(super) fn new(lenient: bool, repeated: Repeated) -> Self {
        Self {
            lenient,
            repeated,
            list: ".".into(),
            taken: Vec::new(),
            by_id: HashMap::new(),
            merged: Vec::new(),
            ignored: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Says where the entries stand that are taken from now on.
    pub(super) fn enter(&mut self, list: &str) {
        self.list = list.into();
    }

    /// Takes an entry: `index` is its position, if it stands in a list. The error's path begins at the entry.
    ///
    /// # Errors
    ///
    /// The entry's own error, or that of a value that no pool takes, unless bad entries are left out.
    pub(super) fn take(
        &mut self,
        index: Option<usize>,
        entry: Result<Instance, FormatError>,
    ) -> Result<(), FormatError> {
        let place = Place { list: self.list.clone(), index };
        let checked = entry.and_then(|instance| match instance.check(None) {
            Ok(()) => Ok(instance),
            Err(error) => {
                let message = format!("{} is {}; {}", error.field(), error.offending(), error.limit());
                Err(FormatError::new(".", message))
            }
        });
        match checked {
            Ok(instance) => self.place(instance, place),
            Err(error) => self.refuse(error.at(&place.path())),
        }
    }

    fn place(&mut self, instance: Instance, place: Place) -> Result<(), FormatError> {
        let at = match self.by_id.entry(instance.id.clone()) {
            Entry::Vacant(free) => {
                free.insert(self.taken.len());
                self.taken.push((instance, place));
                return Ok(());
            }
            Entry::Occupied(held) => *held.get(),
        };
        let (held, held_place) = &mut self.taken[at];
        if self.repeated == Repeated::Refuse {
            let message = format!("{:?} is the id of {} too; must be unique", held.id, held_place.path());
            return self.refuse(FormatError::new("id", message).at(&place.path()));
        }
        let dropped = if available(&instance) && !available(held) {
            *held = instance;
            std::mem::replace(held_place, place)
        } else {
            place
        };
        self.merged.push((at, dropped));
        Ok(())
    }

    /// Leaves out what the error is about, or passes the error on.
    pub(super) fn refuse(&mut self, error: FormatError) -> Result<(), FormatError> {
        if !self.lenient {
            return Err(error);
        }
        self.ignore(error.path(), error.message());
        Ok(())
    }

    /// Records a part that is left out though nothing is wrong with it.
    pub(super) fn ignore(&mut self, path: &str, reason: &str) {
        self.ignored.push(Ignored { path: path.into(), reason: reason.into() });
    }

    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The instances taken so far.
    pub(super) fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.taken.iter().map(|(instance, _)| instance)
    }

    pub(super) fn finish(self, format: Format) -> Discovered {
        // An entry that won at first may have given way later: the one that stayed is named.
        let merged = self.merged.iter().map(|(at, dropped)| {
            let (kept, place) = &self.taken[*at];
            Merged { address: kept.id.to_string(), kept: place.path(), dropped: dropped.path() }
        });
        let merged = merged.collect();
        let instances: Vec<Instance> = self.taken.into_iter().map(|(instance, _)| instance).collect();
        let (ignored, notes) = (self.ignored, self.notes);
        Discovered { report: Report { format, taken: instances.len(), merged, ignored, notes }, instances }
    }
}

fn available(instance: &Instance) -> bool {
    instance.healthy && instance.enabled && instance.weight > 0.0
}
