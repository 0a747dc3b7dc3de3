//! Tag index: which instances have a pair of key and value, a key at all, or a zone.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::bitset::Bits;
use crate::instance::Instance;

/// The index over one list. Shared by the snapshots after it until tags, zones or the list change.
pub(crate) struct TagIndex {
    hasher: RandomState,
    pairs: HashTable<Term>,
    keys: HashTable<Term>,
    zones: HashTable<Term>,
}

/// A pair, a key (with an empty value) or a zone (with an empty value), and who has it.
struct Term {
    key: Box<str>,
    value: Box<str>,
    members: Bits,
}

impl TagIndex {
    /// Indexes the list. O(all tag pairs).
    pub(crate) fn build<'a>(list: impl ExactSizeIterator<Item = &'a Instance>) -> Self {
        let n = list.len();
        let hasher = RandomState::default();
        let (mut pairs, mut keys, mut zones) =
            (Gather::new(&hasher), Gather::new(&hasher), Gather::new(&hasher));
        for (index, instance) in list.enumerate() {
            for (key, value) in instance.tags.iter() {
                pairs.add(key, value, index as u32);
                keys.add(key, "", index as u32);
            }
            if let Some(zone) = &instance.zone {
                zones.add(zone, "", index as u32);
            }
        }
        let (pairs, keys, zones) = (pairs.freeze(n), keys.freeze(n), zones.freeze(n));
        Self { hasher, pairs, keys, zones }
    }

    /// Who has the value.
    #[inline]
    pub(crate) fn pair(&self, key: &str, value: &str) -> Option<&Bits> {
        self.find(&self.pairs, key, value)
    }

    /// Who has the key, with whatever value.
    pub(crate) fn key(&self, key: &str) -> Option<&Bits> {
        self.find(&self.keys, key, "")
    }

    /// Who is in the zone.
    pub(crate) fn zone(&self, zone: &str) -> Option<&Bits> {
        self.find(&self.zones, zone, "")
    }

    #[inline]
    fn find<'a>(&self, table: &'a HashTable<Term>, key: &str, value: &str) -> Option<&'a Bits> {
        let hash = hash(&self.hasher, key, value);
        table.find(hash, |term| *term.key == *key && *term.value == *value).map(|term| &term.members)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        [&self.pairs, &self.keys, &self.zones].into_iter().map(table_bytes).sum()
    }
}

fn table_bytes(table: &HashTable<Term>) -> usize {
    let held = table.iter().map(|term| term.key.len() + term.value.len() + term.members.heap_bytes());
    table.allocation_size() + held.sum::<usize>()
}

#[inline]
fn hash(hasher: &RandomState, key: &str, value: &str) -> u64 {
    hasher.hash_one((key, value))
}

/// A table in the making.
struct Gather<'a> {
    hasher: &'a RandomState,
    table: HashTable<(Box<str>, Box<str>, Vec<u32>)>,
}

impl<'a> Gather<'a> {
    fn new(hasher: &'a RandomState) -> Self {
        Self { hasher, table: HashTable::new() }
    }

    fn add(&mut self, key: &str, value: &str, index: u32) {
        let entry = self.table.entry(
            hash(self.hasher, key, value),
            |(held_key, held_value, _)| **held_key == *key && **held_value == *value,
            |(key, value, _)| hash(self.hasher, key, value),
        );
        let (_, _, members) = entry.or_insert_with(|| (key.into(), value.into(), Vec::new())).into_mut();
        if members.last() != Some(&index) {
            members.push(index);
        }
    }

    fn freeze(self, n: usize) -> HashTable<Term> {
        let mut frozen = HashTable::with_capacity(self.table.len());
        for (key, value, members) in self.table {
            let members = Bits::from_sorted(members, n);
            let hashed = hash(self.hasher, &key, &value);
            frozen.insert_unique(hashed, Term { key, value, members }, |term| {
                hash(self.hasher, &term.key, &term.value)
            });
        }
        frozen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> [Instance; 3] {
        [
            Instance::new("a").tag("version", "v1").tag("version", "v2").zone("eu"),
            Instance::new("b").tag("version", "v1").tag("", "").tag("rack", "v2"),
            Instance::new("c").zone("version"),
        ]
    }

    #[test]
    fn pairs_keys_and_zones_are_told_apart() {
        let index = TagIndex::build(list().iter());
        let members = |bits: Option<&Bits>| bits.map(|bits| bits.word(0));
        assert_eq!(
            [members(index.pair("version", "v1")), members(index.pair("version", "v2"))],
            [Some(0b11), Some(0b1)]
        );
        assert_eq!([members(index.pair("rack", "v2")), members(index.pair("", ""))], [Some(0b10); 2]);
        assert_eq!([members(index.pair("version", "")), members(index.pair("rack", "v1"))], [None; 2]);
        assert_eq!(
            [members(index.key("version")), members(index.key("rack")), members(index.key("v1"))],
            [Some(0b11), Some(0b10), None]
        );
        assert_eq!(
            [members(index.zone("eu")), members(index.zone("version")), members(index.zone("rack"))],
            [Some(0b1), Some(0b100), None]
        );
    }

    #[test]
    fn bytes_are_those_of_the_tables_the_strings_and_the_sets() {
        let index = TagIndex::build(list().iter());
        let tables =
            [&index.pairs, &index.keys, &index.zones].map(HashTable::allocation_size).iter().sum::<usize>();
        let strings = (9 + 9 + 6) + (7 + 4) + (2 + 7);
        // A word for each of four pairs, three keys and two zones.
        assert_eq!(index.heap_bytes(), tables + strings + 9 * 8);
    }
}
