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
//! | `least_request` | O(n) | O(n) | 1, or up to 13 above 64 members |
//! | `power_of_two`, `peak_ewma` | O(n) | O(choices) | choices, above 16 members seldom one more |
//! | `consistent_hash` rendezvous | O(slots · n), or O(slots) after a small change | O(1) | 0 |
//! | `consistent_hash` maglev | O(slots · log slots) | O(1) | 0 |
//! | `consistent_hash` ketama | O(points · log points) | O(log points) | 0 |
//!
//! Bounded load makes a pick of `consistent_hash` O(n).
//!
//! With exclusions a pick costs O(k log k) more, and draws up to five numbers where it draws by weight: one that falls on the
//! excluded is followed by another. With requirements it is O(1) expected where a fair part of the set has them, else one pass
//! over the words of the tag index and what matches.

pub(crate) mod candidates;
pub(crate) mod consistent_hash;
pub(crate) mod eligible;
pub(crate) mod least_load;
pub(crate) mod least_request;
pub(crate) mod modulus;
pub(crate) mod peak_ewma;
pub(crate) mod power_of_two;
pub(crate) mod rotation;
pub(crate) mod roulette;
pub(crate) mod table;

use consistent_hash::Hashing;
use eligible::Eligible;
use rotation::{Before, Rotation};
use table::{Member, Table};

use crate::instance::Instance;
use crate::live::Live;
use crate::position::Position;
use crate::rng::Draw;
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
    /// 1 / weight of each rank.
    LeastRequest(Box<[f64]>),
    PowerOfTwo(spec::PowerOfTwo),
    PeakEwma(spec::PeakEwma),
    ConsistentHash(Hashing),
}

/// What building a set may need besides its members.
pub(crate) struct Build<'a> {
    pub(crate) policy: &'a spec::Policy,
    /// The set of the same combination in the snapshot before, with the ticket drawn next.
    pub(crate) before: Option<(&'a Set, u64)>,
    /// A number not used before.
    pub(crate) stamp: u64,
    pub(crate) random: u64,
    /// The instance behind a member, for policies that place it by what it is.
    pub(crate) instance: &'a dyn Fn(Member) -> Option<&'a Instance>,
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
            spec::Policy::LeastRequest => Plan::LeastRequest(least_request::build(&table)),
            spec::Policy::PowerOfTwo(options) => Plan::PowerOfTwo(options.clone()),
            spec::Policy::PeakEwma(options) => Plan::PeakEwma(options.clone()),
            spec::Policy::ConsistentHash(options) => {
                let before = build.before.and_then(|(set, _)| match &set.plan {
                    Plan::ConsistentHash(hashing) => Some((hashing, &set.table)),
                    _ => None,
                });
                Plan::ConsistentHash(Hashing::build(options, &table, before, build.instance))
            }
        };
        Self { table, plan }
    }

    /// Takes one of the eligible, by position in the list; `None` where there is none.
    #[inline]
    pub(crate) fn pick(
        &self,
        eligible: &Eligible<'_>,
        key: Option<&[u8]>,
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
            (Plan::LeastRequest(inverse), _) => {
                least_request::pick(inverse, &self.table, eligible, live, hand)
            }
            (Plan::PowerOfTwo(options), _) => power_of_two::pick(options, &self.table, eligible, live, hand),
            (Plan::PeakEwma(options), _) => peak_ewma::pick(options, &self.table, eligible, live, hand),
            (Plan::ConsistentHash(hashing), _) => hashing.pick(&self.table, eligible, key, live, hand),
        };
        self.table.index(rank?)
    }

    /// Each rank's exact share of such picks at the loads of now; `None` where the policy defines none.
    pub(crate) fn shares(
        &self,
        eligible: &Eligible<'_>,
        key: Option<&[u8]>,
        live: &Live,
    ) -> Option<Vec<f64>> {
        let table = &self.table;
        let by_weight = || table.shares(|rank, member| eligible.allows(rank, member));
        match (&self.plan, key) {
            (Plan::Roulette | Plan::Rotation(_), _) | (Plan::ConsistentHash(_), None) => Some(by_weight()),
            (Plan::LeastLoad, _) => Some(least_load::shares(table, eligible, live)),
            (Plan::LeastRequest(_), _) => Some(least_request::shares(table, eligible, live)),
            (Plan::PowerOfTwo(options), _) => power_of_two::shares(options, table, eligible, live),
            (Plan::PeakEwma(_), _) => peak_ewma::shares(table, eligible, live),
            (Plan::ConsistentHash(hashing), Some(_)) => {
                let owner = hashing.pick(table, eligible, key, live, &mut NoDraw);
                Some((0..table.len()).map(|rank| f64::from(u8::from(Some(rank) == owner))).collect())
            }
        }
    }

    /// Whether the policy hashes keys.
    pub(crate) fn hashes(&self) -> bool {
        matches!(self.plan, Plan::ConsistentHash(_))
    }

    /// The form of the rotation, where it is one.
    pub(crate) fn rotation(&self) -> Option<&'static str> {
        match &self.plan {
            Plan::Rotation(rotation) => Some(rotation.form().as_str()),
            _ => None,
        }
    }

    /// The algorithm of the hashing that is in use, where it is one.
    pub(crate) fn hashing(&self) -> Option<&'static str> {
        match &self.plan {
            Plan::ConsistentHash(hashing) => Some(hashing.algorithm()),
            _ => None,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let plan = match &self.plan {
            Plan::Rotation(rotation) => rotation.heap_bytes(),
            Plan::ConsistentHash(hashing) => hashing.heap_bytes(),
            Plan::LeastRequest(inverse) => size_of_val(&**inverse),
            _ => 0,
        };
        size_of::<Self>() + self.table.heap_bytes() + plan
    }
}

/// For picks that draw nothing.
struct NoDraw;

impl Draw for NoDraw {
    fn draw(&mut self) -> u64 {
        0
    }
}
