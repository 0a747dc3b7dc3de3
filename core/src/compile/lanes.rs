//! Lanes: what the most frequent requests of a route come to, worked out when its snapshot is made, so that a pick is few
//! steps from its table.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::CompiledRoute;
use super::ends::Ends;
use super::groups::Group;
use super::roster::Roster;
use super::tier::CompiledTier;
use crate::live::Live;
use crate::pick::Picked;
use crate::policy::consistent_hash::Hashing;
use crate::policy::eligible::REFUSALS;
use crate::policy::table::Table;
use crate::policy::{Plan, Set, power_of_two};
use crate::position::Position;
use crate::select::Hand;
use crate::select::few::{self, Few};

/// Tags of a request, and `match` keys of a tier, that are dealt with here.
const KEYS: usize = 4;

/// A set that is drawn from without more questions.
#[derive(Clone)]
pub(crate) struct Lane {
    pub(crate) tier: u16,
    /// Whether every request draws from it by weight, whomever it excludes.
    by_weight: bool,
    pub(crate) set: Arc<Set>,
    pub(crate) position: Option<Arc<Position>>,
}

/// The lanes of one route.
#[derive(Default)]
pub(crate) struct Lanes {
    /// What every request without constraints comes to, where that does not depend on a draw.
    pub(crate) plain: Option<Lane>,
    /// Whether no tier reads tags, so that they are no constraint.
    pub(crate) ignores_tags: bool,
    tagged: Tagged,
}

/// What requests come to that give each `match` key of the first tier once, and have no other constraint.
#[derive(Default)]
struct Tagged {
    keys: ArrayVec<Ends, KEYS>,
    combinations: Box<[Combination]>,
}

/// A value for each key.
struct Combination {
    values: [Ends; KEYS],
    /// `None` where the combination's group asks for more than a draw.
    lane: Option<Lane>,
}

impl Lanes {
    pub(super) fn of(route: &CompiledRoute) -> Self {
        let [branch] = &*route.branches else { return Self::default() };
        if route.spec.counters {
            return Self::default();
        }
        let mut tiers = branch.tiers.iter().enumerate();
        // Follows the tiers as a request without constraints does.
        let plain = tiers.find_map(|(number, tier)| {
            let passed_over = tier.plain.verdict.is_err() && !tier.stops(tier.plain.members);
            (!passed_over).then_some((number, &tier.plain))
        });
        Self {
            plain: plain.and_then(|(number, group)| Lane::of(number, group)),
            ignores_tags: branch.tiers.iter().all(|tier| tier.matching.is_empty()),
            tagged: branch.tiers.first().and_then(|tier| Tagged::of(tier)).unwrap_or_default(),
        }
    }

    /// The lane of requests with nothing but these tags; `None` where the long way has to decide.
    #[inline(never)]
    pub(crate) fn tagged(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        if self.ignores_tags { self.plain.as_ref() } else { self.tagged.find(tags) }
    }
}

impl Lane {
    fn of(tier: usize, group: &Group) -> Option<Self> {
        let decided = group.verdict.is_ok() && group.take == u64::MAX && !group.limited;
        let by_weight = matches!(group.set.plan, Plan::Roulette);
        decided.then(|| Self {
            tier: tier as u16,
            by_weight,
            set: group.set.clone(),
            position: group.position.clone(),
        })
    }

    /// Takes one of the set, for policies that need little more than a draw, a turn or the key; `None` for others, with no
    /// number drawn.
    #[inline(always)]
    pub(crate) fn take(&self, live: &Live, key: Option<&[u8]>, hand: &mut impl Hand) -> Option<Picked> {
        let table = &self.set.table;
        let index = match (&self.set.plan, &self.position) {
            (Plan::Roulette, _) => table.index(table.draw(hand.draw()))?,
            (Plan::Rotation(rotation), Some(position)) => hand.turn(position, table, rotation)?,
            (Plan::PowerOfTwo(options), _) if options.choices == 2 => {
                table.index(power_of_two::pick_of_two(options.load, table, live, hand)?)?
            }
            (Plan::ConsistentHash(hashing), _) => owner(hashing, table, key?)?,
            _ => return None,
        };
        Some(self.picked(index))
    }

    /// The same with some excluded, for policies that always draw by weight; `None` for others and for many, with no number
    /// drawn. (A rotation would have to know whether they are in the set: if none is, the request takes its turn.) Ids are
    /// compared, which is less than to look them up; [`Eligible::draw`] draws the same.
    ///
    /// [`Eligible::draw`]: crate::policy::eligible::Eligible::draw
    #[inline]
    pub(crate) fn take_except(
        &self,
        roster: &Roster,
        exclude: &[&str],
        hand: &mut impl Hand,
    ) -> Option<Picked> {
        let table = &self.set.table;
        // Where fewer are excluded than there are, one is left.
        if !self.by_weight || exclude.len() > few::MOST || exclude.len() >= table.len() {
            return None;
        }
        for _ in 0..REFUSALS {
            let index = table.index(table.draw(hand.draw()))?;
            if !roster.is_one_of(index, exclude) {
                return Some(self.picked(index));
            }
        }
        self.take_left(roster, exclude, hand.draw())
    }

    #[cold]
    #[inline(never)]
    fn take_left(&self, roster: &Roster, exclude: &[&str], draw: u64) -> Option<Picked> {
        let table = &self.set.table;
        let rank = table.draw_skipping(draw, &Few::of(exclude, roster).ranks(table));
        Some(self.picked(table.index(rank?)?))
    }

    #[inline(always)]
    pub(crate) fn picked(&self, index: u32) -> Picked {
        Picked { index, tier: self.tier, branch: 0, relaxed: false, keyless: false }
    }
}

/// Out of the way of those that draw.
#[inline(never)]
fn owner(hashing: &Hashing, table: &Table, key: &[u8]) -> Option<u32> {
    table.index(hashing.owner(key)?)
}

impl Tagged {
    fn of(tier: &CompiledTier) -> Option<Self> {
        if tier.matching.is_empty() || tier.matching.len() > KEYS {
            return None;
        }
        let keys: ArrayVec<Ends, KEYS> = tier.matching.iter().map(|key| Ends::of(key)).collect();
        let combination = |group: &Arc<Group>| {
            let mut values = [Ends::default(); KEYS];
            values.iter_mut().zip(&group.values).for_each(|(ends, value)| *ends = Ends::of(value));
            // Others are found the long way.
            values
                .iter()
                .all(|ends| ends.is_whole())
                .then(|| Combination { values, lane: Lane::of(0, group) })
        };
        let whole = keys.iter().all(|key| key.is_whole());
        whole.then(|| Self { keys, combinations: tier.few().iter().filter_map(combination).collect() })
    }

    /// The lane of the tags. A tier's keys differ. Most requests give the keys in the order of the tier and nothing else.
    #[inline(always)]
    fn find(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        let in_order = tags.len() == self.keys.len();
        if in_order && tags.iter().zip(&self.keys).all(|((tag, _), key)| key.are_of(tag)) {
            return self.combination(tags.iter().map(|(_, value)| *value));
        }
        self.find_in_any_order(tags)
    }

    #[inline(never)]
    fn find_in_any_order(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        if tags.len() > KEYS {
            return None;
        }
        let mut asked = [""; KEYS];
        let mut seen = 0_u32;
        for (tag, value) in tags {
            let Some(at) = self.keys.iter().position(|key| key.are_of(tag)) else { continue };
            if seen & 1 << at != 0 {
                return None;
            }
            seen |= 1 << at;
            *asked.get_mut(at)? = value;
        }
        let asked = asked.get(..self.keys.len())?;
        (seen == (1 << asked.len()) - 1).then(|| self.combination(asked.iter().copied()))?
    }

    /// The lane of a value for each key.
    #[inline(always)]
    fn combination<'a>(&self, asked: impl Iterator<Item = &'a str> + Clone) -> Option<&Lane> {
        let is_asked = |combination: &&Combination| {
            asked.clone().zip(&combination.values).all(|(asked, value)| value.are_of(asked))
        };
        self.combinations.iter().find(is_asked)?.lane.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rotation::Rotation;
    use crate::rng::Draw;
    use crate::spec::OnUnavailable;
    use crate::{Branch, Instance, Policy, Pool, PoolOptions, RouteSpec, Tier};

    const LONG: &str = "a value of more than 16 bytes";

    /// What the lanes of the only route are good for.
    fn lanes<T>(spec: RouteSpec, look: impl FnOnce(&Lanes) -> T) -> T {
        let of =
            |id: &str, version: &str, env: &str| Instance::new(id).tag("version", version).tag("env", env);
        let list = [
            of("a", "v1", "prod"),
            of("b", "v2", "prod"),
            of("c", "v1", LONG),
            of("d", "down", "prod").healthy(false),
        ];
        let pool = Pool::with(PoolOptions::new().seed(1), list).expect("a good list");
        let _route = pool.route(spec).expect("a good spec");
        look(&pool.core().published.load().lanes[0])
    }

    fn spec(tiers: impl IntoIterator<Item = Tier>) -> RouteSpec {
        tiers.into_iter().fold(RouteSpec::new(Policy::WeightedRandom), RouteSpec::tier)
    }

    /// The tier that requests without constraints take from at once.
    fn plain(spec: RouteSpec) -> Option<u16> {
        lanes(spec, |lanes| lanes.plain.as_ref().map(|lane| lane.tier))
    }

    #[test]
    fn requests_without_constraints_have_a_lane_where_one_set_decides() {
        assert_eq!(plain(spec([Tier::new()])), Some(0));
        let nobody = || Tier::new().tag("version", "v3");
        let down = || Tier::new().tag("version", "down");
        assert_eq!(plain(spec([nobody(), down(), Tier::new()])), Some(2));
        assert_eq!(plain(spec([nobody().when_unavailable(OnUnavailable::Stop), Tier::new()])), Some(1));
        for undecided in [
            spec([down().when_unavailable(OnUnavailable::Stop), Tier::new()]),
            spec([Tier::new().overflow(1.0), Tier::new()]),
            spec([nobody()]),
            spec([Tier::new()]).counters(true),
            RouteSpec::new(Policy::Random)
                .branch(Branch::new("a", 100.0).tier(Tier::new()))
                .branch(Branch::new("b", 0.0).tier(Tier::new())),
        ] {
            let told = undecided.to_json();
            assert_eq!(plain(undecided), None, "{told}");
        }
    }

    #[test]
    fn tags_have_the_lane_of_their_combination_in_any_order_and_others_go_the_long_way() {
        let match_both = spec([Tier::new().matching("version").matching("env"), Tier::new()]);
        lanes(match_both, |lanes| {
            let members = |tags: &[(&str, &str)]| {
                lanes
                    .tagged(tags)
                    .map(|lane| lane.set.table.members().map(|member| member.index).collect::<Vec<_>>())
            };
            let (v1, v2, prod) = (("version", "v1"), ("version", "v2"), ("env", "prod"));
            assert_eq!(members(&[v1, prod]), Some(vec![0]));
            assert_eq!(
                [members(&[prod, v2]), members(&[("x", "y"), prod, v2])],
                [Some(vec![1]), Some(vec![1])]
            );
            assert_eq!(members(&[v1, prod, ("x", "y"), ("z", "")]), Some(vec![0]));
            for long_way in [
                &[][..],
                &[v1],
                &[prod],
                &[v1, v1],
                &[v1, prod, v1],
                &[v1, ("env", "test")],
                &[v1, ("env", LONG)],
                &[("version", "down"), prod],
                &[
                    v1,
                    prod,
                    ("1", ""),
                    ("2", ""),
                    ("3", ""),
                    ("4", ""),
                    ("5", ""),
                    ("6", ""),
                    ("7", ""),
                    ("8", ""),
                ],
            ] {
                assert_eq!(members(long_way), None, "{long_way:?}");
            }
        });
    }

    #[test]
    fn tags_that_no_tier_asks_for_leave_the_plain_lane() {
        let any = [("version", "v1")];
        assert!(lanes(spec([Tier::new().tag("version", "v1"), Tier::new()]), |lanes| lanes
            .tagged(&any)
            .is_some()));
        assert!(lanes(spec([Tier::new(), Tier::new().matching("version")]), |lanes| lanes
            .tagged(&any)
            .is_none()));
        assert!(lanes(spec([Tier::new().matching(LONG), Tier::new()]), |lanes| lanes
            .tagged(&[(LONG, "v1")])
            .is_none()));
    }

    #[test]
    fn limits_of_requests_in_flight_have_no_lane() {
        let pool = Pool::new([Instance::new("a").max_in_flight(1), Instance::new("b")]).expect("a good list");
        let _route = pool.route(spec([Tier::new()])).expect("a good spec");
        assert!(pool.core().published.load().lanes[0].plain.is_none());
    }
    /// Counts the numbers drawn, which are all the same; turns are those of the shared position.
    struct Counted(u64, u32);

    impl Draw for Counted {
        fn draw(&mut self) -> u64 {
            self.1 += 1;
            self.0
        }
    }

    impl Hand for Counted {
        fn turn(&mut self, position: &Position, table: &Table, rotation: &Rotation) -> Option<u32> {
            rotation.at_ticket(table, position.take())
        }
    }

    #[test]
    fn a_lane_takes_at_once_by_policies_that_need_little_more_than_a_draw_and_draws_nothing_for_others() {
        for policy in Policy::all() {
            let at_once = match policy {
                Policy::Random | Policy::WeightedRandom => Some(1),
                Policy::PowerOfTwo(_) => Some(2),
                Policy::RoundRobin | Policy::WeightedRoundRobin | Policy::ConsistentHash(_) => Some(0),
                _ => None,
            };
            let pool = Pool::new((0..9).map(|at| Instance::new(format!("i{at}")))).expect("a good list");
            let _route = pool.route(RouteSpec::new(policy.clone()).tier(Tier::new())).expect("a good spec");
            let snapshot = pool.core().published.load();
            let lane = snapshot.lanes[0].plain.as_ref().expect("everyone is taken from");
            let mut hand = Counted(1 << 63, 0);
            let picked = lane.take(&pool.core().live, Some(b"key"), &mut hand);
            assert_eq!(
                picked.map(|picked| (hand.1, picked.tier)),
                at_once.map(|draws| (draws, 0)),
                "{policy:?}"
            );
            assert!(picked.is_some() || hand.1 == 0, "{policy:?}");
            let keyless = lane.take(&pool.core().live, None, &mut hand);
            assert_eq!(keyless.is_some(), at_once.is_some() && !lane.set.hashes(), "{policy:?}");
        }
    }

    #[test]
    fn a_lane_draws_again_for_a_few_excluded_and_leaves_many_and_other_policies_to_the_long_way() {
        let ids: Vec<String> = (0..10).map(|at| format!("i{at}")).collect();
        let pool = Pool::new(ids.iter().map(|id| Instance::new(id.as_str()))).expect("a good list");
        let routes = [Policy::Random, Policy::RoundRobin]
            .map(|policy| pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a good spec"));
        let snapshot = pool.core().published.load();
        let take = |route: usize, exclude: &[&str]| {
            let mut hand = Counted(0, 0);
            let lane = snapshot.lanes[route].plain.as_ref().expect("everyone is taken from");
            (lane.take_except(&snapshot.roster, exclude, &mut hand).map(|picked| picked.index), hand.1)
        };
        let all: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!([take(0, &[]), take(0, &["i1"])], [(Some(0), 1); 2]);
        // Every draw falls on the first.
        assert_eq!(take(0, &["i0", "elsewhere"]), (Some(1), REFUSALS + 1));
        assert_eq!(take(0, &all[..few::MOST]), (Some(few::MOST as u32), REFUSALS + 1));
        assert_eq!([take(0, &all[..=few::MOST]), take(1, &["i0"])], [(None, 0); 2]);
        drop(routes);
        let pool = Pool::new([Instance::new("i0"), Instance::new("i1")]).expect("a good list");
        let _route = pool.route(RouteSpec::new(Policy::Random).tier(Tier::new())).expect("a good spec");
        let snapshot = pool.core().published.load();
        let lane = snapshot.lanes[0].plain.as_ref().expect("everyone is taken from");
        let take = |exclude: &[&str]| {
            lane.take_except(&snapshot.roster, exclude, &mut Counted(0, 0)).map(|picked| picked.index)
        };
        assert_eq!([take(&["i0"]), take(&["i0", "i1"]), take(&["x", "y"])], [Some(1), None, None]);
    }
}
