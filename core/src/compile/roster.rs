//! What a list comes to without any route.

use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use super::bitset::Words;
use super::ends::{Ends, last};
use super::tags::TagIndex;
use crate::fault;
use crate::instance::Instance;
use crate::live::Live;
use crate::live::slots::Slot;
use crate::publish::Hold;
use crate::release::Token;

/// An instance in the pool, with the token that stands for its user data.
// In this order, so that what a lease looks at lies beside the count.
#[repr(C)]
pub(crate) struct Entry {
    /// The pool's live state, also when the pool is gone.
    pub(crate) live: Arc<Live>,
    pub(crate) instance: Instance,
    /// Dropped when nothing can return the user data any more. `None` where nobody wants to know.
    pub(crate) token: Option<Arc<Token>>,
    /// The id's live state.
    pub(crate) slot: Arc<Slot>,
}

/// What live state adds to the list.
pub(crate) struct Standing {
    pub(crate) ejected: bool,
    /// The share of its weight that slow start lets the instance take.
    pub(crate) ramp: f64,
}

/// The list, who is where in it, who has which tags, who may be picked.
pub(crate) struct Roster {
    pub(crate) list: Vec<Hold<Entry>>,
    /// The slot of live state of each instance.
    pub(crate) slots: Arc<[u32]>,
    pub(crate) ids: Arc<IdIndex>,
    pub(crate) tags: Arc<TagIndex>,
    /// Enabled, with a weight above zero.
    pub(crate) usable: Words,
    /// Healthy and not ejected.
    pub(crate) up: Words,
    /// Weight zero.
    pub(crate) drained: Words,
    pub(crate) ejected: Words,
    /// Ramps by position; empty where none is under way.
    ramps: Box<[f64]>,
    /// The pool's own zone.
    pub(crate) zone: Option<Arc<str>>,
}

/// From ids to positions in the list.
pub(crate) struct IdIndex {
    hasher: RandomState,
    table: HashTable<Place>,
    /// The last bytes of every id, in list order.
    last: Box<[u64]>,
}

/// Where an id stands in the list. Its ends lie here, so that most look-ups need not go there.
struct Place {
    ends: Ends,
    index: u32,
}

impl Roster {
    /// Over a list whose indices are given, or built where they are not.
    pub(crate) fn build(
        list: Vec<Hold<Entry>>,
        slots: Arc<[u32]>,
        ids: Option<Arc<IdIndex>>,
        tags: Option<Arc<TagIndex>>,
        zone: Option<Arc<str>>,
        standing: &dyn Fn(&Entry) -> Standing,
    ) -> Self {
        let n = list.len();
        let (mut usable, mut up, mut drained) = (Words::none(n), Words::none(n), Words::none(n));
        let (mut ejected, mut ramps) = (Words::none(n), Vec::new());
        for (index, entry) in list.iter().enumerate() {
            let instance = &entry.instance;
            let positive = instance.weight > 0.0;
            usable.set(index, instance.enabled && positive);
            let Standing { ejected: is_ejected, ramp } = standing(entry);
            up.set(index, instance.healthy && !is_ejected);
            drained.set(index, !positive);
            ejected.set(index, is_ejected);
            if ramp < 1.0 {
                ramps.resize(n, 1.0);
                if let Some(place) = ramps.get_mut(index) {
                    *place = ramp;
                }
            }
        }
        fault::point("standing");
        let ids = ids.unwrap_or_else(|| Arc::new(IdIndex::build(&list)));
        fault::point("index of ids");
        let instances = || list.iter().map(|entry| &entry.instance);
        let tags = tags.unwrap_or_else(|| Arc::new(TagIndex::build(instances())));
        fault::point("index of tags");
        Self { list, slots, ids, tags, usable, up, drained, ejected, ramps: ramps.into(), zone }
    }

    /// No list.
    pub(crate) fn empty(zone: Option<Arc<str>>) -> Self {
        Self::build(Vec::new(), Arc::from([]), None, None, zone, &|_| Standing { ejected: false, ramp: 1.0 })
    }

    /// The same roster for another snapshot.
    pub(crate) fn share(&self) -> Self {
        Self {
            list: self.list.clone(),
            slots: self.slots.clone(),
            ids: self.ids.clone(),
            tags: self.tags.clone(),
            usable: self.usable.clone(),
            up: self.up.clone(),
            drained: self.drained.clone(),
            ejected: self.ejected.clone(),
            ramps: self.ramps.clone(),
            zone: self.zone.clone(),
        }
    }

    /// The share of its weight that slow start lets the instance take.
    pub(crate) fn ramp(&self, index: u32) -> f64 {
        self.ramps.get(index as usize).copied().unwrap_or(1.0)
    }

    /// Whether some ramp is under way.
    pub(crate) fn has_ramps(&self) -> bool {
        !self.ramps.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn instance(&self, index: u32) -> Option<&Instance> {
        self.list.get(index as usize).map(|entry| &entry.instance)
    }

    pub(crate) fn slot(&self, index: u32) -> u32 {
        self.slots.get(index as usize).copied().unwrap_or(u32::MAX)
    }

    /// Where the id stands in the list.
    #[inline]
    pub(crate) fn index_of(&self, id: &str) -> Option<u32> {
        self.ids.find(id, |index| self.has_id(index, id))
    }

    /// Whether the instance is one of these.
    #[inline(always)]
    pub(crate) fn is_one_of(&self, index: u32, ids: &[&str]) -> bool {
        let Some(own) = self.ids.last.get(index as usize) else { return false };
        ids.iter().any(|id| last(id) == *own && self.has_id(index, id))
    }

    #[inline]
    fn has_id(&self, index: u32, id: &str) -> bool {
        self.instance(index).is_some_and(|instance| *instance.id == *id)
    }

    /// Bytes of everything but the routes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let entries: usize = self.list.iter().map(|entry| entry_bytes(entry)).sum();
        let words = [&self.usable, &self.up, &self.drained, &self.ejected]
            .into_iter()
            .map(Words::heap_bytes)
            .sum::<usize>();
        let lists = size_of_val(&*self.list) + size_of_val(&*self.slots) + self.ids.heap_bytes();
        entries + words + lists + self.tags.heap_bytes()
    }
}

/// The entry with its count and links, and the strings that hang off it.
fn entry_bytes(entry: &Entry) -> usize {
    let instance = &entry.instance;
    let text = |text: &Arc<str>| text.len() + 2 * size_of::<usize>();
    let own_address = !Arc::ptr_eq(&instance.id, &instance.address);
    size_of::<Entry>()
        + 4 * size_of::<usize>()
        + text(&instance.id)
        + if own_address { text(&instance.address) } else { 0 }
        + instance.zone.as_ref().map_or(0, text)
        + instance.tags.heap_bytes()
}

impl IdIndex {
    fn build(list: &[Hold<Entry>]) -> Self {
        let hasher = RandomState::default();
        let mut table = HashTable::with_capacity(list.len());
        let id_at = |place: &Place| list.get(place.index as usize).map_or("", |entry| &entry.instance.id);
        for (index, entry) in (0..).zip(list) {
            let id = &*entry.instance.id;
            let place = Place { ends: Ends::of(id), index };
            table.insert_unique(hash(&hasher, id, place.ends), place, |place| {
                hash(&hasher, id_at(place), place.ends)
            });
        }
        Self { hasher, table, last: list.iter().map(|entry| last(&entry.instance.id)).collect() }
    }

    #[inline]
    fn find(&self, id: &str, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let ends = Ends::of(id);
        let found = |place: &Place| place.ends.is(ends) && (ends.is_whole() || is_it(place.index));
        self.table.find(hash(&self.hasher, id, ends), found).map(|place| place.index)
    }

    fn heap_bytes(&self) -> usize {
        self.table.allocation_size() + size_of_val(&*self.last)
    }
}

/// The hash of an id: of its ends, where they are all of it.
#[inline]
fn hash(hasher: &RandomState, id: &str, ends: Ends) -> u64 {
    if ends.is_whole() { hasher.hash_one((ends.head, ends.tail)) } else { hasher.hash_one(id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pool, PoolOptions, PoolSpec};

    #[test]
    fn bytes_are_those_of_the_entries_their_strings_and_the_indices() {
        let bytes = |list: &[Instance]| {
            let pool = Pool::new(list.to_vec()).expect("a good list");
            let roster = &pool.core().published.load().roster;
            let indices = roster.tags.heap_bytes() + roster.ids.table.allocation_size();
            roster.heap_bytes() - indices
        };
        let n = 70;
        let plain: Vec<Instance> = (0..n).map(|at| Instance::new(format!("instance-{at:02}"))).collect();
        // With four sets of two words, and for each instance its place, its slot, the last bytes of its id, an entry with a
        // count and links, and an id with two counts.
        let each = size_of::<Hold<Entry>>() + 4 + 8 + size_of::<Entry>() + 32 + 11 + 16;
        assert_eq!(bytes(&plain), 4 * 16 + n * each);
        let with = |change: &dyn Fn(Instance) -> Instance| {
            let mut list = plain.clone();
            list[3] = change(list[3].clone());
            bytes(&list) - bytes(&plain)
        };
        assert_eq!(with(&|instance| Instance { address: "10.0.0.1".into(), ..instance }), 8 + 16);
        assert_eq!(with(&|instance| instance.zone("eu-a")), 4 + 16);
        let tags = Instance::new("a").tag("version", "v1").tags.heap_bytes();
        assert!(tags > 9);
        assert_eq!(with(&|instance| instance.tag("version", "v1")), tags);
    }

    #[test]
    fn ramps_are_under_way_only_while_some_instance_takes_less_than_its_weight() {
        let spec = PoolSpec::new().slow_start(10.0, 1.0);
        let pool =
            Pool::with(PoolOptions::new().spec(spec), ["a", "b"].map(Instance::new)).expect("a good list");
        let ramps = || {
            let roster = &pool.core().published.load().roster;
            (roster.has_ramps(), [0, 1, 2].map(|index| roster.ramp(index)))
        };
        assert_eq!(ramps(), (false, [1.0; 3]));
        pool.edit(|edit| edit.upsert(Instance::new("c"))).expect("a good edit");
        assert!(ramps().0 && ramps().1[..2] == [1.0; 2] && ramps().1[2] < 1.0);
    }

    #[test]
    fn an_instance_is_one_of_these_by_its_whole_id() {
        let ids = ["a-name-of-some-length-1", "b-name-of-some-length-1", "1", "x"];
        let pool = Pool::new(ids.map(Instance::new)).expect("a good list");
        let roster = &pool.core().published.load().roster;
        for (index, id) in (0..).zip(ids) {
            assert_eq!(roster.index_of(id), Some(index));
            assert!(roster.is_one_of(index, &["y", id]) && !roster.is_one_of(index, &[]));
            let others: Vec<&str> = ids.into_iter().filter(|other| *other != id).collect();
            assert!(!roster.is_one_of(index, &others));
        }
        assert!(!roster.is_one_of(4, &ids) && roster.index_of("c-name-of-some-length-1").is_none());
    }
}
