//! Weighted rendezvous hashing over a table of slots.
//!
//! A key falls into a slot; the slot belongs to the member with the lowest −ln(u)/w, u being a number in (0, 1) made of slot
//! and id (D. Thaler and C. Ravishankar, "Using name-based mappings to increase hit rates", 1998; weighted after
//! C. Schindelhauer and G. Schomaker, "Weighted distributed hash tables", 2005). A member that goes moves only its own slots,
//! and a changed weight moves slots only to it or from it. Each slot also knows its second, which owns it when the first goes,
//! so that a key has one alternate.
//!
//! A share differs from its weight as a count of slots does: with m slots and a share p, by √((1−p)/(m·p)) relative (one
//! standard deviation): 1.2 % for one of ten and 12 % for one of a thousand with 65,537 slots.

use super::super::modulus::Modulus;
use super::super::table::Table;
use crate::rng::mix;

/// No member.
const NOBODY: u16 = u16::MAX;

/// Fewer than one in so many members may change for the table to be mended instead of built.
const MEND: usize = 16;

/// The owners of each slot.
#[derive(Debug)]
pub(super) struct Rendezvous {
    owners: Box<[[u16; 2]]>,
    slots: Modulus,
}

/// What a new table takes over from the one before it.
pub(super) struct Before<'a> {
    pub(super) map: &'a Rendezvous,
    pub(super) ids: &'a [u64],
    pub(super) table: &'a Table,
}

/// Up to so many members the table has room for: 32 slots each, and ranks of 16 bits.
pub(super) fn most_members(slots: u32) -> usize {
    (slots as usize / 32).min(usize::from(NOBODY) - 1)
}

/// What a member draws for a slot (or for anything else that is mixed already).
#[inline(always)]
pub(super) fn lot(slot: u64, id: u64) -> u64 {
    mix(slot ^ id)
}

/// −ln(u)/w; lower wins.
#[inline]
pub(super) fn cost(lot: u64, weight: f64) -> f64 {
    -libm::log(uniform(lot)) / weight
}

/// The upper 53 bits of the lot as a number that is never 0. Of the highest alone it is 1, whose cost is the lowest there is.
#[inline(always)]
fn uniform(lot: u64) -> f64 {
    ((lot >> 11) as f64 + 0.5) * 2_f64.powi(-53)
}

/// A member's claim to a slot.
#[derive(Clone, Copy)]
struct Claim {
    rank: u16,
    cost: f64,
}

const NO_CLAIM: Claim = Claim { rank: NOBODY, cost: f64::INFINITY };

/// Everyone who is to be in the table.
struct Field<'a> {
    ids: &'a [u64],
    weights: &'a [f64],
    equal: bool,
}

impl Rendezvous {
    /// O(slots · members), or O(slots + changed slots · members) where little changed. Members that are few enough.
    pub(super) fn build(slots: u32, ids: &[u64], weights: &[f64], before: Option<Before<'_>>) -> Self {
        let equal = weights.windows(2).all(|pair| pair[0] == pair[1]);
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        // Costs are compared with each other alone, so that a common factor is free to choose.
        let relative: Vec<f64> = weights.iter().map(|weight| weight / heaviest).collect();
        let field = Field { ids, weights: &relative, equal };
        if let Some(before) = before.filter(|before| before.map.owners.len() == slots as usize)
            && let Some(changes) = Changes::between(&before, ids, weights)
        {
            return changes.mend(&before, &field);
        }
        Self::of((0..u64::from(slots)).map(|slot| field.owners(mix(slot))).collect())
    }

    fn of(owners: Box<[[u16; 2]]>) -> Self {
        Self { slots: Modulus::new(owners.len() as u64), owners }
    }

    /// The first owner of the key's slot.
    #[inline(always)]
    pub(super) fn first(&self, hash: u64) -> Option<usize> {
        let [first, _] = self.owners.get(self.slots.of(hash) as usize)?;
        (*first != NOBODY).then_some(usize::from(*first))
    }

    /// The first or the second owner of the key's slot, whichever takes it.
    pub(super) fn owner(&self, hash: u64, takes: impl Fn(usize) -> bool) -> Option<usize> {
        let owners = self.owners.get(self.slots.of(hash) as usize)?;
        owners.iter().filter(|rank| **rank != NOBODY).map(|rank| usize::from(*rank)).find(|rank| takes(*rank))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.owners)
    }
}

impl Field<'_> {
    /// The two members with the best claims to a slot.
    fn owners(&self, slot: u64) -> [u16; 2] {
        if self.equal { self.owners_of_equals(slot) } else { self.owners_by_weight(slot) }
    }

    /// Equal weights need no logarithm: the higher lot wins.
    fn owners_of_equals(&self, slot: u64) -> [u16; 2] {
        let (mut first, mut second) = ((0, NOBODY), (0, NOBODY));
        for (rank, id) in self.ids.iter().enumerate() {
            let lot = lot(slot, *id);
            if lot > second.0 || second.1 == NOBODY {
                second = (lot, rank as u16);
                if lot > first.0 || first.1 == NOBODY {
                    std::mem::swap(&mut first, &mut second);
                }
            }
        }
        [first.1, second.1]
    }

    fn owners_by_weight(&self, slot: u64) -> [u16; 2] {
        let mut best = [NO_CLAIM; 2];
        for (rank, (id, weight)) in self.ids.iter().zip(self.weights).enumerate() {
            let lot = lot(slot, *id);
            // −ln(u) ≥ 1 − u, which needs no logarithm and turns most claims down.
            if 1.0 - uniform(lot) < best[1].cost * weight {
                offer(&mut best, Claim { rank: rank as u16, cost: cost(lot, *weight) });
            }
        }
        [best[0].rank, best[1].rank]
    }

    fn claim(&self, slot: u64, rank: u16) -> Claim {
        match (self.ids.get(usize::from(rank)), self.weights.get(usize::from(rank))) {
            (Some(id), Some(weight)) => Claim { rank, cost: cost(lot(slot, *id), *weight) },
            _ => NO_CLAIM,
        }
    }
}

fn offer(best: &mut [Claim; 2], claim: Claim) {
    if claim.cost < best[0].cost {
        *best = [claim, best[0]];
    } else if claim.cost < best[1].cost {
        best[1] = claim;
    }
}

/// What is different between two fields.
struct Changes {
    /// Where each old rank stands now; nobody where it is gone or has another weight.
    stays: Vec<u16>,
    /// Ranks that are new or have another weight.
    joins: Vec<u16>,
}

impl Changes {
    /// `None` where too much is different for mending to pay.
    fn between(before: &Before<'_>, ids: &[u64], weights: &[f64]) -> Option<Self> {
        let mut old: Vec<(u64, u16)> = before.ids.iter().copied().zip(0..).collect();
        old.sort_unstable();
        let mut stays = vec![NOBODY; before.ids.len()];
        let mut joins = Vec::new();
        for (rank, (id, weight)) in ids.iter().zip(weights).enumerate() {
            let found = old.binary_search_by_key(id, |(id, _)| *id).ok().map(|at| old[at].1);
            match found.filter(|held| before.table.weight(usize::from(*held)) == *weight) {
                Some(held) => stays[usize::from(held)] = rank as u16,
                None => joins.push(rank as u16),
            }
        }
        let gone = stays.iter().filter(|rank| **rank == NOBODY).count();
        ((joins.len() + gone) * MEND < ids.len().max(MEND * 2)).then_some(Self { stays, joins })
    }

    fn mend(&self, before: &Before<'_>, field: &Field<'_>) -> Rendezvous {
        let still = |rank: u16| match rank {
            NOBODY => NOBODY,
            rank => self.stays.get(usize::from(rank)).copied().unwrap_or(NOBODY),
        };
        let owners = before.map.owners.iter().zip(0_u64..).map(|([first, second], slot)| {
            let slot = mix(slot);
            let kept = [still(*first), still(*second)];
            if kept.contains(&NOBODY) {
                return field.owners(slot);
            }
            self.joins.iter().fold(kept, |kept, rank| join(field, slot, kept, *rank))
        });
        Rendezvous::of(owners.collect())
    }
}

/// The owners once one more member has its claim.
fn join(field: &Field<'_>, slot: u64, kept: [u16; 2], rank: u16) -> [u16; 2] {
    let of = |rank: u16| {
        let at = usize::from(rank);
        (
            uniform(lot(slot, field.ids.get(at).copied().unwrap_or(0))),
            field.weights.get(at).copied().unwrap_or(0.0),
        )
    };
    let ((lot, weight), (second_lot, second_weight)) = (of(rank), of(kept[1]));
    // 1 − u ≤ −ln(u) ≤ (1 − u)/u: the claim is turned down when its least is more than the second's most.
    if (1.0 - lot) / weight >= (1.0 - second_lot) / (second_lot * second_weight) {
        return kept;
    }
    let mut best = kept.map(|rank| field.claim(slot, rank));
    offer(&mut best, field.claim(slot, rank));
    [best[0].rank, best[1].rank]
}

#[cfg(test)]
mod tests;
