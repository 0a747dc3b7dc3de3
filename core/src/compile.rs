//! From instances and route specs to tables. Knows nothing of threads.
//!
//! A [`Roster`] is what a list comes to without any route: who is where, who has which tags, who may be picked. A
//! [`CompiledRoute`] is what a route spec comes to over a roster. What an update left alone is shared with the snapshot
//! before: the tag index where no tag, zone or position in the list changed, a group whose members were not touched, and a
//! set whose members and weights are the same.

pub(crate) mod bitset;
pub(crate) mod ends;
pub(crate) mod explain;
pub(crate) mod groups;
pub(crate) mod lanes;
pub(crate) mod query;
pub(crate) mod roster;
pub(crate) mod tags;
pub(crate) mod tier;

use std::sync::Arc;

use groups::Group;
use lanes::Lanes;
use roster::Roster;
use tier::CompiledTier;

use crate::policy::roulette::{BITS, widths};
use crate::position::PositionBook;
use crate::spec::{RouteSpec, SplitBy, Tier};
use crate::sync::{AtomicU64, Ordering};

/// The most sets of a route: this many, and four for each instance.
const SETS: usize = 1_024;

/// The most bytes that the sets of a route may take.
const SET_BYTES: usize = 64 << 20;

/// Instances, tag index and all compiled routes: immutable, published as one unit.
pub(crate) struct Snapshot {
    pub(crate) version: u64,
    pub(crate) roster: Roster,
    /// By the route's number. `None` where a number is free.
    pub(crate) routes: Vec<Option<Arc<CompiledRoute>>>,
    /// By the route's number, beside the routes so that they are near.
    pub(crate) lanes: Vec<Lanes>,
}

impl Snapshot {
    pub(crate) fn new(version: u64, roster: Roster, routes: Vec<Option<Arc<CompiledRoute>>>) -> Self {
        let lanes_of =
            |route: &Option<Arc<CompiledRoute>>| route.as_deref().map(Lanes::of).unwrap_or_default();
        let lanes = routes.iter().map(lanes_of).collect();
        Self { version, roster, routes, lanes }
    }
}

/// A route spec over a roster.
pub(crate) struct CompiledRoute {
    pub(crate) spec: Arc<RouteSpec>,
    pub(crate) branches: Box<[CompiledBranch]>,
    /// The last point on the circle of draws of each branch that has a share; empty where there is no split.
    ends: Box<[(u64, u16)]>,
    pub(crate) by: SplitBy,
}

pub(crate) struct CompiledBranch {
    pub(crate) tiers: Box<[Arc<CompiledTier>]>,
    pub(crate) spill: bool,
}

/// What an update changed of the list.
pub(crate) struct Change {
    /// No instance came, went or moved in the list.
    pub(crate) same_list: bool,
    /// Tags or zones changed, or the list.
    pub(crate) retagged: bool,
    /// Positions in the list of the instances that changed, rising. Meaningful where the list is the same.
    pub(crate) touched: Vec<u32>,
}

/// What compiling needs besides roster and spec.
pub(crate) struct Context<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) change: &'a Change,
    pub(crate) positions: &'a Arc<PositionBook>,
    /// Numbers not used before in this pool.
    pub(crate) stamps: &'a AtomicU64,
    /// A fixed number of a seeded pool; `None` draws from the system.
    pub(crate) seed: Option<u64>,
}

/// What is left of a route's room for sets.
pub(crate) struct Room {
    pub(crate) sets: usize,
    pub(crate) bytes: usize,
}

impl Context<'_> {
    pub(crate) fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::Relaxed)
    }

    /// A random number; from the pool's seed where it has one.
    pub(crate) fn random(&self, what: u64) -> u64 {
        self.seed.map_or_else(crate::rng::entropy, |seed| crate::rng::mix2(seed, what))
    }
}

impl CompiledRoute {
    /// Compiles a route, sharing what it can with the same route before.
    pub(crate) fn compile(spec: &Arc<RouteSpec>, before: Option<&Self>, context: &Context<'_>) -> Self {
        let mut room = Room { sets: SETS + 4 * context.roster.len(), bytes: SET_BYTES };
        let lists: Vec<(&[Tier], bool)> = if spec.split.is_empty() {
            vec![(&spec.tiers, false)]
        } else {
            spec.split.iter().map(|branch| (&*branch.tiers, branch.spill || spec.spill)).collect()
        };
        let branches: Box<[CompiledBranch]> = lists
            .iter()
            .enumerate()
            .map(|(at, (tiers, spill))| {
                let before = before.and_then(|route| route.branches.get(at));
                let compile = |(number, tier): (usize, &Tier)| {
                    let place = (at as u64) << 32 | number as u64;
                    let before = before.and_then(|branch| branch.tiers.get(number));
                    CompiledTier::compile(tier, &spec.policy, place, before, context, &mut room)
                };
                CompiledBranch { tiers: tiers.iter().enumerate().map(compile).collect(), spill: *spill }
            })
            .collect();
        Self { spec: spec.clone(), branches, ends: ends(spec), by: spec.by }
    }

    /// The branch that a point of the circle belongs to.
    pub(crate) fn branch_at(&self, point: u64) -> usize {
        let at = self.ends.partition_point(|(end, _)| *end < point).min(self.ends.len().saturating_sub(1));
        self.ends.get(at).map_or(0, |(_, branch)| usize::from(*branch))
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        self.branches.iter().flat_map(|branch| &branch.tiers).flat_map(|tier| tier.groups())
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.branches.iter().flat_map(|branch| &branch.tiers).map(|tier| tier.heap_bytes()).sum()
    }
}

/// The branches that have a share, each with its last point.
fn ends(spec: &RouteSpec) -> Box<[(u64, u16)]> {
    let with_share = || spec.split.iter().enumerate().filter(|(_, branch)| branch.percent > 0.0);
    let percents: Vec<f64> = with_share().map(|(_, branch)| branch.percent).collect();
    let mut end = 0_u64;
    let last_point = |((at, _), width): ((usize, _), u64)| {
        end = end.wrapping_add(width);
        (end.wrapping_sub(1), at as u16)
    };
    with_share().zip(widths(&percents, BITS)).map(last_point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Branch, Instance, Policy, Pool, PoolOptions, Route};

    /// What a route over these instances is compiled to.
    fn compiled(spec: RouteSpec, list: impl IntoIterator<Item = Instance>) -> (Route, Arc<CompiledRoute>) {
        let pool = Pool::with(PoolOptions::new().seed(1), list).expect("a good list");
        let route = pool.route(spec).expect("a good spec");
        let compiled = pool.core().published.load().routes[0].clone();
        (route, compiled.expect("there is one route"))
    }

    fn split(percents: &[f64]) -> RouteSpec {
        percents.iter().fold(RouteSpec::new(Policy::RoundRobin), |spec, percent| {
            spec.branch(Branch::new("", *percent).tier(Tier::new()))
        })
    }

    #[test]
    fn a_branch_owns_its_part_of_the_circle_to_the_last_point() {
        let (_route, compiled) = compiled(split(&[0.0, 25.0, 0.0, 50.0, 25.0]), [Instance::new("a")]);
        for (end, branches) in [(1 << 62, [1, 3]), (3 << 62, [3, 4])] {
            assert_eq!([end - 1, end].map(|point| compiled.branch_at(point)), branches);
        }
        assert_eq!([0, u64::MAX].map(|point| compiled.branch_at(point)), [1, 4]);
        let (_route, whole) =
            self::compiled(RouteSpec::new(Policy::Random).tier(Tier::new()), [Instance::new("a")]);
        assert_eq!(whole.branch_at(u64::MAX), 0);
    }

    #[test]
    fn every_tier_of_every_branch_has_a_rotation_of_its_own() {
        let spec = split(&[50.0, 50.0]).branch(Branch::new("", 0.0).tier(Tier::new()).tier(Tier::new()));
        let (_route, compiled) = compiled(spec, (0..9).map(|at| Instance::new(format!("i{at}"))));
        let starts: Vec<_> =
            compiled.groups().map(|group| group.position.as_ref().expect("it rotates").peek()).collect();
        assert_eq!(starts.len(), 4);
        for (at, start) in starts.iter().enumerate() {
            assert!(!starts[..at].contains(start), "{starts:?}");
        }
    }

    #[test]
    fn there_is_room_for_1024_sets_and_four_more_for_each_instance() {
        let values = 40;
        let instance = |at: usize| {
            let tag = |instance: Instance, value: usize| instance.tag("v", &format!("{at}-{value}"));
            (0..values).fold(Instance::new(format!("i{at}")), tag)
        };
        for (instances, sets) in [(20, 20 * values), (40, SETS + 4 * 40)] {
            let spec = RouteSpec::new(Policy::Random).tier(Tier::new().matching("v"));
            let (_route, compiled) = compiled(spec, (0..instances).map(instance));
            // With that of everyone.
            assert_eq!(compiled.groups().count(), sets + 1);
        }
    }

    #[test]
    fn only_rotations_have_positions() {
        for policy in Policy::all() {
            let rotates = matches!(policy, Policy::RoundRobin | Policy::WeightedRoundRobin);
            let (_route, compiled) = compiled(RouteSpec::new(policy).tier(Tier::new()), [Instance::new("a")]);
            assert!(compiled.groups().all(|group| group.position.is_some() == rotates));
        }
    }

    #[test]
    fn a_change_of_health_makes_the_groups_of_that_instance_anew_and_shares_the_others() {
        let list = (0..40).map(|at| Instance::new(format!("i{at}")).tag("v", &format!("v{}", at % 10)));
        let pool = Pool::new(list).expect("a good list");
        let spec = RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("v"));
        let _route = pool.route(spec.tier(Tier::new().tag("v", "v4"))).expect("a good spec");
        let groups = || {
            let route = pool.core().published.load().routes[0].clone().expect("there is one route");
            let all: Vec<_> =
                route.groups().map(|group| (group.values.clone(), std::ptr::from_ref(group))).collect();
            (route, all)
        };
        let (_before, before) = groups();
        pool.edit(|edit| edit.set_healthy("i3", false)).expect("a good edit");
        let (_after, after) = groups();
        assert_eq!((before.len(), after.len()), (12, 12));
        let anew: Vec<_> =
            after.iter().filter(|group| !before.contains(group)).map(|(values, _)| values.clone()).collect();
        let everyone: Box<[Box<str>]> = Box::default();
        assert_eq!(anew, [everyone, ["v3".into()].into()]);
    }
    #[test]
    fn bytes_of_a_group_are_those_of_its_members_values_position_and_set() {
        let list = (0..9).map(|at| Instance::new(format!("i{at}")).tag("version", ["v1", "longer"][at % 2]));
        let spec = RouteSpec::new(Policy::RoundRobin).tier(Tier::new().matching("version"));
        let (_route, compiled) = compiled(spec, list);
        let own = size_of::<Group>() + size_of::<crate::position::Position>();
        for group in compiled.groups() {
            // Positions in the list as a list, or as bits.
            let expected = match group.values.first() {
                Some(value) => own + value.len() + 16 + 4 * group.members,
                None => own + 8,
            };
            assert_eq!(group.heap_bytes(), expected + group.set.heap_bytes(), "{:?}", group.values);
        }
        assert_eq!(compiled.groups().count(), 3);
    }
}
