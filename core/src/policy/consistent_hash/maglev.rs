//! Maglev hashing (D. Eisenbud et al., "Maglev: A fast and reliable software network load balancer", NSDI 2016, section 3.4).
//!
//! Each member has its own order of all slots, and members take turns at claiming their next free one, as often as their
//! weight is to the heaviest. Shares are even to within a slot or so; a change moves more keys than it must: 1.03 times the
//! least at ten members, 1.6 times at a hundred, 7 times at a thousand.

use super::super::modulus::Modulus;
use crate::rng::{GOLDEN, mix};
use crate::spec::is_prime;

/// Slots for each member at least.
const PER_MEMBER: usize = 100;

/// Slots at most, a prime: 16 MiB. With more than 41,943 members a member has fewer than a hundred.
const MOST_SLOTS: u32 = 4_194_301;

/// Slots tried before the key is scored against every member.
const PROBES: usize = 128;

/// The owner of each slot.
#[derive(Debug)]
pub(super) struct Maglev {
    owners: Box<[u32]>,
    slots: Modulus,
}

impl Maglev {
    /// O(slots · log slots) expected.
    pub(super) fn build(slots: u32, ids: &[u64], weights: &[f64]) -> Self {
        if ids.is_empty() {
            return Self { owners: Box::new([]), slots: Modulus::new(0) };
        }
        let slots = size(slots, ids.len());
        let modulus = u64::from(slots);
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        // By id, so that the order of the list does not matter.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_unstable_by_key(|rank| ids[*rank]);
        let mut claims: Vec<Claims> = order
            .iter()
            .map(|rank| Claims::new(*rank, ids[*rank], weights[*rank] / heaviest, modulus))
            .collect();
        let mut owners = vec![u32::MAX; slots as usize].into_boxed_slice();
        let mut free = owners.len();
        let mut round = 0.0;
        while free > 0 {
            round += 1.0;
            for claim in &mut claims {
                if free > 0 && claim.taken < round * claim.part {
                    claim.take(&mut owners, modulus);
                    free -= 1;
                }
            }
        }
        Self { owners, slots: Modulus::new(modulus) }
    }

    /// The owner of the key's slot.
    #[inline(always)]
    pub(super) fn first(&self, hash: u64) -> Option<usize> {
        self.owners.get(self.slots.of(hash) as usize).map(|rank| *rank as usize)
    }

    /// The owner of the key's slot, or of the first slot whose owner takes it in an order that is the key's alone. Not of the
    /// slots behind: those of a member lie at a fixed distance, so that a neighbour would get more than its weight.
    pub(super) fn owner(&self, hash: u64, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let probes = (0..PROBES as u64).map(|probe| match probe {
            0 => hash,
            _ => mix(hash.wrapping_add(probe.wrapping_mul(GOLDEN))),
        });
        let owners = probes.filter_map(|at| self.owners.get(self.slots.of(at) as usize));
        owners.map(|rank| *rank as usize).find(|rank| takes(*rank))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.owners)
    }
}

/// The number of slots: a prime, at least as asked and at least a hundred for each member, as far as there is room.
fn size(slots: u32, members: usize) -> u32 {
    let least = u32::try_from(members.saturating_mul(PER_MEMBER)).unwrap_or(u32::MAX).max(slots);
    (least..MOST_SLOTS).find(|slots| is_prime(*slots)).unwrap_or(MOST_SLOTS)
}

/// One member's claims.
struct Claims {
    rank: u32,
    /// Its weight over the heaviest.
    part: f64,
    taken: f64,
    next: u64,
    skip: u64,
}

impl Claims {
    fn new(rank: usize, id: u64, part: f64, modulus: u64) -> Self {
        Self { rank: rank as u32, part, taken: 0.0, next: id % modulus, skip: mix(id) % (modulus - 1) + 1 }
    }

    /// Claims the next free slot of its order. There is one.
    fn take(&mut self, owners: &mut [u32], modulus: u64) {
        loop {
            let slot = self.next as usize;
            self.next += self.skip;
            if self.next >= modulus {
                self.next -= modulus;
            }
            if owners[slot] == u32::MAX {
                owners[slot] = self.rank;
                self.taken += 1.0;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_weights_to_within_a_slot_a_round() {
        let ids: Vec<u64> = (1..=10).map(mix).collect();
        let weights: Vec<f64> = (1..=10).map(f64::from).collect();
        let map = Maglev::build(65_537, &ids, &weights);
        for (rank, weight) in weights.iter().enumerate() {
            let owned = map.owners.iter().filter(|owner| **owner == rank as u32).count() as f64;
            let ideal = weight / 55.0 * 65_537.0;
            assert!((owned / ideal - 1.0).abs() < 0.015, "{rank}: {owned} for {ideal}");
        }
    }

    #[test]
    fn keys_of_a_member_that_takes_none_go_to_the_others_by_weight() {
        let ids: Vec<u64> = (1..=3).map(mix).collect();
        let weights = [8.0, 2.0, 1.0];
        let map = Maglev::build(65_537, &ids, &weights);
        for left_out in 0..3 {
            let left: f64 = 11.0 - weights[left_out];
            let mut counts = [0_u32; 3];
            for key in 0..20_000 {
                let owner = map.owner(mix(key), |_| true).unwrap();
                assert_eq!(map.first(mix(key)), Some(owner));
                let now = map.owner(mix(key), |rank| rank != left_out).unwrap();
                assert!(owner == left_out || now == owner, "key {key} moved without a reason");
                counts[now] += 1;
            }
            assert_eq!(counts[left_out], 0);
            for rank in (0..3).filter(|rank| *rank != left_out) {
                let share = weights[rank] / left;
                // 6.2 sigma: once in a billion.
                let slack = 6.2 * (20_000.0 * share * (1.0 - share)).sqrt();
                assert!(
                    (f64::from(counts[rank]) - 20_000.0 * share).abs() < slack,
                    "{counts:?} without {left_out}"
                );
            }
        }
    }

    #[test]
    fn members_take_turns_and_half_the_weight_takes_every_other_turn() {
        // The least number of slots for two is 211. Of the first: a b, a, seventy times, and a.
        for (weights, expected) in
            [([2.0, 1.0], [141, 70]), ([1.0, 2.0], [71, 140]), ([1.0, 1.0], [106, 105])]
        {
            let map = Maglev::build(7, &[1, 2], &weights);
            let owned = [0, 1].map(|rank| map.owners.iter().filter(|owner| **owner == rank).count());
            assert_eq!(owned, expected, "{weights:?}");
        }
    }

    #[test]
    fn the_table_grows_with_the_members() {
        assert_eq!(size(65_537, 10), 65_537);
        assert_eq!(size(65_537, 1_000), 100_003);
        assert_eq!(size(65_537, 1_000_000), MOST_SLOTS);
    }
}
