//! Which requests have a lane, and what lanes take.

use super::*;
use crate::policy::rotation::Rotation;
use crate::rng::Draw;
use crate::spec::OnUnavailable;
use crate::{Branch, Instance, Policy, Pool, PoolOptions, RouteSpec, Tier};

const LONG: &str = "a value of more than 16 bytes";

/// What the lanes of the only route are good for.
fn lanes<T>(spec: RouteSpec, look: impl FnOnce(&Lanes) -> T) -> T {
    let of = |id: &str, version: &str, env: &str| Instance::new(id).tag("version", version).tag("env", env);
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
        assert_eq!([members(&[prod, v2]), members(&[("x", "y"), prod, v2])], [Some(vec![1]), Some(vec![1])]);
        assert_eq!(members(&[v1, prod, ("x", "y"), ("z", "")]), Some(vec![0]));
        for long_way in [
            &[][..],
            &[v1],
            &[prod],
            &[v1, v1],
            &[v1, prod, v1],
            &[prod, v1, prod],
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
fn as_many_keys_as_there_is_room_for_have_lanes_and_one_more_has_none() {
    let keys: Vec<String> = (0..=KEYS).map(|at| format!("k{at}")).collect();
    let instance = keys.iter().fold(Instance::new("a"), |instance, key| instance.tag(key, "v"));
    for (count, has_lane) in [(KEYS, true), (KEYS + 1, false)] {
        let tier = keys[..count].iter().fold(Tier::new(), |tier, key| tier.matching(key.as_str()));
        let pool = Pool::new([instance.clone()]).expect("a good list");
        let route = pool.route(spec([tier])).expect("a good spec");
        let tags: Vec<(&str, &str)> = keys[..count].iter().map(|key| (key.as_str(), "v")).collect();
        assert_eq!(pool.core().published.load().lanes[0].tagged(&tags).is_some(), has_lane);
        assert!(route.pick(&crate::Request::new().tags(&tags)).is_ok());
    }
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
        assert_eq!(picked.map(|picked| (hand.1, picked.tier)), at_once.map(|draws| (draws, 0)), "{policy:?}");
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
