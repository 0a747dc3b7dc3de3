//! Changes as they are recorded, and what they make of a list.

use std::collections::HashMap;
use std::sync::Arc;

use crate::compile::roster::{Entry, Roster};
use crate::error::UpdateError;
use crate::instance::{Instance, MAX_INSTANCES, check_number, check_tags};
use crate::publish::Hold;
use crate::tags::Tags;

/// Records changes of a pool that are committed together; see [`crate::Pool::edit`].
///
/// Later changes see earlier ones. Values are checked here; that an id is in the pool is checked at the commit.
#[derive(Debug, Default)]
pub struct Edit {
    changes: Vec<Change>,
}

#[derive(Debug)]
pub(super) enum Change {
    Upsert(Instance),
    Remove(Arc<str>),
    Set(Arc<str>, Field),
}

#[derive(Debug)]
pub(super) enum Field {
    Weight(f64),
    Healthy(bool),
    Enabled(bool),
    Tags(Tags),
    Zone(Option<Arc<str>>),
}

/// An instance of the list to be.
pub(super) enum Draft {
    /// As it is in the list of now, at this position.
    Kept(u32),
    /// In place of the one at this position, whose id and live state it keeps.
    Changed(u32, Instance),
    /// An id that was not in the list.
    New(Instance),
}

impl Edit {
    /// Adds an instance behind the others, or puts it in place of the one with its id.
    ///
    /// # Errors
    ///
    /// A value outside its limits.
    pub fn upsert(&mut self, instance: Instance) -> Result<(), UpdateError> {
        instance.check(None)?;
        self.changes.push(Change::Upsert(instance));
        Ok(())
    }

    /// Takes an instance out.
    ///
    /// # Errors
    ///
    /// None here; the commit refuses an id that is not in the pool. So with every call below.
    pub fn remove(&mut self, id: &str) -> Result<(), UpdateError> {
        self.changes.push(Change::Remove(id.into()));
        Ok(())
    }

    /// Sets the weight; 0 drains.
    ///
    /// # Errors
    ///
    /// A weight that is negative or not finite.
    pub fn set_weight(&mut self, id: &str, weight: f64) -> Result<(), UpdateError> {
        check_number(id, None, "weight", weight)?;
        self.set(id, Field::Weight(weight))
    }

    /// Sets whether health checks pass.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn set_healthy(&mut self, id: &str, healthy: bool) -> Result<(), UpdateError> {
        self.set(id, Field::Healthy(healthy))
    }

    /// Sets whether the instance may be used at all.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn set_enabled(&mut self, id: &str, enabled: bool) -> Result<(), UpdateError> {
        self.set(id, Field::Enabled(enabled))
    }

    /// Sets all tags.
    ///
    /// # Errors
    ///
    /// More pairs than [`crate::MAX_TAGS`].
    pub fn set_tags(&mut self, id: &str, tags: Tags) -> Result<(), UpdateError> {
        check_tags(id, None, &tags)?;
        self.set(id, Field::Tags(tags))
    }

    /// Sets the zone, or that there is none.
    ///
    /// # Errors
    ///
    /// None here.
    pub fn set_zone(&mut self, id: &str, zone: Option<&str>) -> Result<(), UpdateError> {
        self.set(id, Field::Zone(zone.map(Arc::from)))
    }

    fn set(&mut self, id: &str, field: Field) -> Result<(), UpdateError> {
        self.changes.push(Change::Set(id.into(), field));
        Ok(())
    }

    pub(super) fn into_changes(self) -> Vec<Change> {
        self.changes
    }
}

impl Field {
    fn apply(self, instance: &mut Instance) {
        match self {
            Self::Weight(weight) => instance.weight = weight,
            Self::Healthy(healthy) => instance.healthy = healthy,
            Self::Enabled(enabled) => instance.enabled = enabled,
            Self::Tags(tags) => instance.tags = tags,
            Self::Zone(zone) => instance.zone = zone,
        }
    }
}

/// What the changes make of the list.
pub(super) fn apply(roster: &Roster, changes: Vec<Change>) -> Result<Vec<Draft>, UpdateError> {
    let mut drafts: Vec<Option<Draft>> =
        (0..roster.len() as u32).map(|index| Some(Draft::Kept(index))).collect();
    // Ids whose place in `drafts` is not that of the list of now; `None` where they were taken out.
    let mut moved: HashMap<Arc<str>, Option<usize>> = HashMap::new();
    let place = |moved: &HashMap<Arc<str>, Option<usize>>, id: &str| match moved.get(id) {
        Some(place) => *place,
        None => roster.index_of(id).map(|index| index as usize),
    };
    for change in changes {
        match change {
            Change::Remove(id) => {
                let at = place(&moved, &id).ok_or_else(|| unknown(&id))?;
                drafts[at] = None;
                moved.insert(id, None);
            }
            Change::Set(id, field) => {
                let at = place(&moved, &id).ok_or_else(|| unknown(&id))?;
                let draft = drafts[at].take().unwrap_or(Draft::Kept(at as u32));
                let (was, mut instance) = draft.into_instance(roster);
                field.apply(&mut instance);
                drafts[at] = Some(Draft::of(was, instance));
            }
            Change::Upsert(mut instance) => match place(&moved, &instance.id) {
                Some(at) => {
                    let was = drafts[at].as_ref().and_then(Draft::was);
                    // One without a load leaves the report of an earlier change.
                    instance.load = instance.load.or(drafts[at].as_ref().and_then(Draft::load));
                    drafts[at] = Some(Draft::of(was, instance));
                }
                None => {
                    moved.insert(instance.id.clone(), Some(drafts.len()));
                    drafts.push(Some(Draft::New(instance)));
                }
            },
        }
    }
    let drafts: Vec<Draft> = drafts.into_iter().flatten().collect();
    check_count(drafts.len())?;
    Ok(drafts)
}

/// What a whole new list makes of the list of now.
pub(super) fn replace(roster: &Roster, instances: Vec<Instance>) -> Result<Vec<Draft>, UpdateError> {
    check_count(instances.len())?;
    let mut seen: HashMap<Arc<str>, usize> = HashMap::with_capacity(instances.len());
    for (index, instance) in instances.iter().enumerate() {
        instance.check(Some(index))?;
        if let Some(first) = seen.insert(instance.id.clone(), index) {
            let limit = format!("must differ from number {first}");
            return Err(UpdateError::value(
                &instance.id,
                Some(index),
                "id",
                format!("{:?}", instance.id),
                limit,
            ));
        }
    }
    Ok(instances.into_iter().map(|instance| Draft::of(roster.index_of(&instance.id), instance)).collect())
}

pub(super) fn unknown(id: &str) -> UpdateError {
    UpdateError::value(id, None, "id", format!("{id:?}"), "must be in the pool")
}

fn check_count(count: usize) -> Result<(), UpdateError> {
    if count <= MAX_INSTANCES {
        return Ok(());
    }
    Err(UpdateError::whole("instances", count.to_string(), format!("must be at most {MAX_INSTANCES}")))
}

impl Draft {
    fn of(was: Option<u32>, instance: Instance) -> Self {
        match was {
            Some(index) => Self::Changed(index, instance),
            None => Self::New(instance),
        }
    }

    /// Where the id stands in the list of now.
    pub(super) fn was(&self) -> Option<u32> {
        match self {
            Self::Kept(index) | Self::Changed(index, _) => Some(*index),
            Self::New(_) => None,
        }
    }

    /// The report that comes with it.
    fn load(&self) -> Option<f64> {
        match self {
            Self::Kept(_) => None,
            Self::Changed(_, instance) | Self::New(instance) => instance.load,
        }
    }

    fn into_instance(self, roster: &Roster) -> (Option<u32>, Instance) {
        match self {
            Self::Kept(index) => {
                let entry: &Hold<Entry> = &roster.list[index as usize];
                // Without the load, so that an edit of another field is no new report.
                (Some(index), Instance { load: None, ..entry.instance.clone() })
            }
            Self::Changed(index, instance) => (Some(index), instance),
            Self::New(instance) => (None, instance),
        }
    }
}
