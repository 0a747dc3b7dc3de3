//! Policies: how one member is taken out of a compiled set.
//!
//! A policy sees a set and a draw; it never sees tags, health or zones. Each is one file in the same order: the rule, the
//! build, the pick, tests; and one line in [`Plan`].
//!
//! | policy | build | pick | random numbers |
//! |---|---|---|---|
//! | `random`, `weighted_random` | O(n) | O(1) expected, O(log n) at most | 1 |
//! | `round_robin`, `weighted_round_robin` | O(n), exact cycle O(W log n) with W ≤ 4,096 | O(1), one atomic addition | 0 |
//! | `least_load` | O(n) | O(n) | 1 |
//!
//! With exclusions a pick costs O(k log k) more; with requirements it is O(1) expected where a fair part of the set has
//! them, else one pass over the words of the tag index and what matches.

pub(crate) mod eligible;
pub(crate) mod least_load;
pub(crate) mod rotation;
pub(crate) mod roulette;
pub(crate) mod table;

use eligible::Eligible;
use rotation::{Before, Rotation};
use table::Table;

use crate::live::Live;
use crate::position::Position;
use crate::select::Hand;
use crate::spec;

/// A compiled set: its members with their weights, and what its policy made of them.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) table: Table,
    pub(crate) plan: Plan,
}

/// What a policy made of a set when it was compiled.
#[derive(Debug)]
pub(crate) enum Plan {
    Roulette,
    Rotation(Rotation),
    LeastLoad,
}

/// What building a set may need besides its members.
pub(crate) struct Build<'a> {
    pub(crate) policy: &'a spec::Policy,
    /// The set of the same combination in the snapshot before, with the ticket drawn next.
    pub(crate) before: Option<(&'a Set, u64)>,
    /// A number not used before.
    pub(crate) stamp: u64,
    pub(crate) random: u64,
}

impl Set {
    /// Compiles a set. Weights are positive and finite.
    pub(crate) fn build(table: Table, build: &Build<'_>) -> Self {
        let plan = match build.policy {
            spec::Policy::Random | spec::Policy::WeightedRandom => Plan::Roulette,
            spec::Policy::RoundRobin | spec::Policy::WeightedRoundRobin => {
                let before = build.before.and_then(|(set, ticket)| match &set.plan {
                    Plan::Rotation(rotation) => Some(Before { table: &set.table, rotation, ticket }),
                    _ => None,
                });
                Plan::Rotation(Rotation::build(&table, before, build.stamp, build.random))
            }
            spec::Policy::LeastLoad => Plan::LeastLoad,
        };
        Self { table, plan }
    }

    /// Takes one of the eligible, by position in the list; `None` where there is none.
    #[inline]
    pub(crate) fn pick(
        &self,
        eligible: &Eligible<'_>,
        live: &Live,
        position: Option<&Position>,
        hand: &mut impl Hand,
    ) -> Option<u32> {
        let rank = match (&self.plan, position) {
            (Plan::Rotation(rotation), Some(position)) if eligible.is_all() => {
                return hand.turn(position, &self.table, rotation);
            }
            (Plan::Roulette | Plan::Rotation(_), _) => eligible.draw(&self.table, hand),
            (Plan::LeastLoad, _) => least_load::pick(&self.table, eligible, live, hand),
        };
        self.table.index(rank?)
    }

    /// Each rank's exact share of such picks, now.
    pub(crate) fn shares(&self, eligible: &Eligible<'_>, live: &Live) -> Vec<f64> {
        match &self.plan {
            Plan::Roulette | Plan::Rotation(_) => {
                self.table.shares(|rank, member| eligible.allows(rank, member))
            }
            Plan::LeastLoad => least_load::shares(&self.table, eligible, live),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let plan = match &self.plan {
            Plan::Rotation(rotation) => rotation.heap_bytes(),
            Plan::Roulette | Plan::LeastLoad => 0,
        };
        size_of::<Self>() + self.table.heap_bytes() + plan
    }
}
