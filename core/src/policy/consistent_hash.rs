//! `consistent_hash`: the owner of the request's key.
//!
//! Three algorithms, all over weights, all placed by what an instance is and not by where it stands in the list, so that every
//! process agrees. The hash functions and seeds are part of the format: keys and ids by XXH64 with seed [`SEED`], except that
//! ketama uses CRC-32 throughout. Logarithms come from a portable library.
//!
//! An instance that is down is not in the set, so its keys have moved when the table was built. One that the request excludes,
//! or that is over its bound, gives its key to one stable alternate; other keys stay.
//!
//! With bounded load (V. Mirrokni, M. Thorup and M. Zadimoghaddam, "Consistent hashing with bounded loads", 2018) no instance
//! gets beyond ⌈c·(L+1)·w/W⌉ leases, L being the leases open among those that may be picked and W their weight. Adding them up
//! makes a pick O(n).

mod ketama;
mod maglev;
mod rendezvous;

use ketama::Ketama;
use maglev::Maglev;
use rendezvous::Rendezvous;
use xxhash_rust::xxh64::xxh64;

use super::eligible::Eligible;
use super::table::{Member, Table};
use crate::instance::Instance;
use crate::live::Live;
use crate::rng::{Draw, mix};
use crate::spec::{Algorithm, ConsistentHash};

/// Seed of XXH64 for keys and ids. Not that of splits, so that a branch takes keys of every owner.
pub(crate) const SEED: u64 = 1;

/// The table of one set.
#[derive(Debug)]
pub(crate) struct Hashing {
    map: Map,
    /// The hash of each rank's id.
    ids: Box<[u64]>,
    bound: Option<f64>,
}

#[derive(Debug)]
enum Map {
    Rendezvous(Rendezvous),
    Maglev(Maglev),
    Ketama(Ketama),
}

impl Hashing {
    /// Lays out the table of a set, taking over what did not change from the one before.
    pub(crate) fn build<'i>(
        options: &ConsistentHash,
        table: &Table,
        before: Option<(&Self, &Table)>,
        instance: &dyn Fn(Member) -> Option<&'i Instance>,
    ) -> Self {
        let ids: Box<[u64]> = table
            .members()
            .map(|member| instance(member).map_or(0, |instance| xxh64(instance.id.as_bytes(), SEED)))
            .collect();
        let weights: Vec<f64> = (0..table.len()).map(|rank| table.weight(rank)).collect();
        let map = match options.algorithm {
            Algorithm::Rendezvous if table.len() <= rendezvous::most_members(options.slots) => {
                let before = before.and_then(|(hashing, table)| match &hashing.map {
                    Map::Rendezvous(map) => Some(rendezvous::Before { map, ids: &hashing.ids, table }),
                    _ => None,
                });
                Map::Rendezvous(Rendezvous::build(options.slots, &ids, &weights, before))
            }
            Algorithm::Rendezvous | Algorithm::Maglev => {
                Map::Maglev(Maglev::build(options.slots, &ids, &weights))
            }
            Algorithm::Ketama => {
                let addresses: Vec<&str> = table
                    .members()
                    .map(|member| instance(member).map_or("", |instance| &*instance.address))
                    .collect();
                Map::Ketama(Ketama::build(&addresses, &weights))
            }
        };
        Self { map, ids, bound: options.bound }
    }

    /// The algorithm that is in use: maglev in place of rendezvous where the set has grown too large for it.
    pub(crate) fn algorithm(&self) -> &'static str {
        match self.map {
            Map::Rendezvous(_) => "rendezvous",
            Map::Maglev(_) => "maglev",
            Map::Ketama(_) => "ketama",
        }
    }

    /// The owner of the key among the eligible; without a key, one of them by weight.
    pub(crate) fn pick(
        &self,
        table: &Table,
        eligible: &Eligible<'_>,
        key: Option<&[u8]>,
        live: &Live,
        draw: &mut impl Draw,
    ) -> Option<usize> {
        let Some(key) = key else { return eligible.draw(table, draw) };
        let bounds = self.bound.map(|bound| Bounds::of(bound, table, eligible, live));
        let takes = |rank: usize| {
            let Some(member) = table.member(rank) else { return false };
            let below = |bounds: &Bounds| bounds.takes(live.in_flight(member.slot), table.weight(rank));
            eligible.allows(rank, member) && bounds.as_ref().is_none_or(below)
        };
        let hash = xxh64(key, SEED);
        let owner = match &self.map {
            Map::Rendezvous(map) => map.owner(hash, takes),
            Map::Maglev(map) => map.owner(hash, takes),
            Map::Ketama(map) => return map.owner(key, takes),
        };
        owner.or_else(|| self.best_of(table, hash, takes))
    }

    /// The owner of the key where everybody takes it; `None` where that is not sure.
    #[inline]
    pub(crate) fn owner(&self, key: &[u8]) -> Option<usize> {
        if self.bound.is_some() {
            return None;
        }
        match &self.map {
            Map::Rendezvous(map) => map.first(xxh64(key, SEED)),
            Map::Maglev(map) => map.first(xxh64(key, SEED)),
            Map::Ketama(map) => map.owner(key, |_| true),
        }
    }

    /// The owner by rendezvous over the key itself among those that take it. O(n).
    fn best_of(&self, table: &Table, hash: u64, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let cost = |rank: &usize| {
            let id = self.ids.get(*rank).copied().unwrap_or(0);
            rendezvous::cost(rendezvous::lot(mix(hash), id), table.weight(*rank))
        };
        (0..table.len()).filter(|rank| takes(*rank)).min_by(|a, b| cost(a).total_cmp(&cost(b)))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let map = match &self.map {
            Map::Rendezvous(map) => map.heap_bytes(),
            Map::Maglev(map) => map.heap_bytes(),
            Map::Ketama(map) => map.heap_bytes(),
        };
        map + size_of_val(&*self.ids)
    }
}

/// How much each of the eligible may carry.
struct Bounds {
    /// c · (L + 1) / W.
    per_weight: f64,
}

impl Bounds {
    fn of(bound: f64, table: &Table, eligible: &Eligible<'_>, live: &Live) -> Self {
        let (mut in_flight, mut weight) = (0_u64, 0.0);
        for (rank, member) in eligible.ranks(table) {
            in_flight += u64::from(live.in_flight(member.slot));
            weight += table.weight(rank);
        }
        Self { per_weight: per_weight(bound, in_flight, weight) }
    }

    fn takes(&self, in_flight: u32, weight: f64) -> bool {
        f64::from(in_flight) + 1.0 <= most(self.per_weight, weight)
    }
}

/// Pure arithmetic: the leases that a unit of weight may carry, not yet rounded.
fn per_weight(bound: f64, in_flight: u64, weight: f64) -> f64 {
    bound * (in_flight as f64 + 1.0) / weight
}

/// Pure arithmetic: the most leases of an instance. What is a hair above an integer is that integer.
fn most(per_weight: f64, weight: f64) -> f64 {
    (per_weight * weight * (1.0 - 1e-12)).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_round_up_and_always_leave_room_for_one_more() {
        assert_eq!(most(per_weight(1.25, 0, 10.0), 1.0), 1.0);
        assert_eq!(most(per_weight(1.25, 19, 10.0), 1.0), 3.0);
        assert_eq!(most(per_weight(1.0, 9, 10.0), 1.0), 1.0);
        for in_flight in 0..100 {
            let room: f64 =
                (1..=4).map(|weight| most(per_weight(1.0, in_flight, 10.0), f64::from(weight))).sum();
            assert!(room > in_flight as f64);
        }
    }
}
