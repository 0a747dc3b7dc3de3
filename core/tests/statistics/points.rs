//! Every draw of 8 and 16 bits through whole picks, and where on the circle of 64-bit draws each instance ends.

use pointsman::{Branch, Instance, Policy, Request, Route, RouteSpec, Tier};

use crate::common::{PLAIN, plain_route, seeded};
use crate::drawn::by_weight;
use crate::harness::{borders, enumeration, seed_that_draws, seed_that_draws_behind};

/// Who is picked by a picker whose first number is `draw`.
pub(crate) fn owner(route: &Route, request: &Request<'_>, draw: u64) -> usize {
    route.picker_seeded(seed_that_draws(draw)).pick(request).expect("an instance").index()
}

/// A list of these weights, with an instance behind each by which exclusions are tried.
pub(crate) fn list(weights: &[f64]) -> Vec<Instance> {
    weights.iter().enumerate().map(|(at, weight)| Instance::new(format!("i{at}")).weight(*weight)).collect()
}

/// Weights with ideals of whole numbers of draws, and others.
const LISTS: [&[f64]; 5] =
    [&[64.0, 192.0], &[1.0, 3.0, 4.0], &[5.0, 1.0, 1.0], &[0.1, 0.2, 0.7], &[9.0, 0.5, 3.0, 0.001, 7.25]];

#[test]
fn every_8_bit_and_16_bit_draw_of_a_whole_pick_falls_on_its_owner() {
    for weights in LISTS {
        let pool = seeded(41, list(weights));
        for bits in [8, 16] {
            let by_weight = by_weight(weights);
            let equal = vec![1.0 / weights.len() as f64; weights.len()];
            for (policy, shares) in [
                (Policy::WeightedRandom, &by_weight),
                (Policy::LeastRequest, &by_weight),
                (Policy::Random, &equal),
                (Policy::LeastLoad, &equal),
            ] {
                let route = plain_route(&pool, policy.clone());
                let of_draw = |draw: u64| Some(owner(&route, &PLAIN, draw << (64 - bits)));
                enumeration(bits, shares, of_draw).assert_sound(&format!("{policy:?}, {weights:?}"));
            }
        }
    }
}

#[test]
fn a_draw_that_exclusions_leave_falls_on_its_owner() {
    for weights in LISTS {
        let pool = seeded(42, list(weights));
        let request = PLAIN.exclude(&["i0"]);
        for policy in [Policy::WeightedRandom, Policy::WeightedRoundRobin] {
            let route = plain_route(&pool, policy);
            let whole = plain_route(&pool, Policy::WeightedRandom);
            let mut kept = 0;
            for draw in (0..1_u64 << 16).map(|draw| draw << 48) {
                let of_all = owner(&whole, &PLAIN, draw);
                if of_all != 0 {
                    assert_eq!(owner(&route, &request, draw), of_all, "{weights:?}, draw {draw:#x}");
                    kept += 1;
                } else {
                    assert_ne!(owner(&route, &request, draw), 0, "{weights:?}, draw {draw:#x}");
                }
            }
            let left = 1.0 - by_weight(weights)[0];
            assert!((f64::from(kept) - left * 65_536.0).abs() < 1.0, "{weights:?}: {kept} draws were kept");
        }
    }
}

/// Who is picked by a picker whose fifth number is `draw`, where all before it fall on an excluded instance.
fn owner_of_the_fifth(route: &Route, request: &Request<'_>, draw: u64) -> usize {
    route.picker_seeded(seed_that_draws_behind(4, draw)).pick(request).expect("an instance").index()
}

/// The weight that fills those of the others up to 2⁴⁰: one draw in four thousand million misses it.
const HEAVY: f64 = (1_u64 << 40) as f64 - 256.0;

#[test]
fn behind_four_draws_on_the_excluded_every_draw_falls_on_its_owner_among_those_left() {
    // Those left add up to a power of two too, so that the borders are whole points.
    let pool = seeded(42, list(&[64.0, HEAVY, 128.0, 64.0]));
    for request in [PLAIN.exclude(&["i1"]), PLAIN.exclude(&["nobody", "i1"])] {
        for policy in [Policy::WeightedRandom, Policy::WeightedRoundRobin] {
            let route = plain_route(&pool, policy);
            for bits in [8, 16] {
                let of_draw = |draw: u64| Some(owner_of_the_fifth(&route, &request, draw << (64 - bits)));
                enumeration(bits, &[0.25, 0.0, 0.5, 0.25], of_draw).assert_sound("exclusions");
            }
        }
    }
}

#[test]
fn every_draw_of_a_split_falls_on_its_branch() {
    let pool = seeded(43, ["a", "b", "c"].map(|id| Instance::new(id).tag("id", id)).to_vec());
    let only = |id: &str| Tier::new().tag("id", id);
    let split = RouteSpec::new(Policy::Random)
        .branch(Branch::new("a", 12.5).tier(only("a")))
        .branch(Branch::new("b", 0.0).tier(only("b")))
        .branch(Branch::new("c", 87.5).tier(only("c")));
    let route = pool.route(split).expect("a good spec");
    for bits in [8, 16] {
        let of_draw = |draw: u64| Some(owner(&route, &PLAIN, draw << (64 - bits)));
        enumeration(bits, &[0.125, 0.0, 0.875], of_draw).assert_sound("a split");
    }
    borders(&[0.125, 0.0, 0.875], |draw| owner(&route, &PLAIN, draw)).assert_sound("a split");
}

#[test]
fn every_border_is_where_the_weights_say() {
    let long: Vec<f64> = (1..=300).map(|at| f64::from(at % 13) + 1.0 / f64::from(at)).collect();
    for weights in [&[1e6, 1.0][..], &[1.0, 1e10], &[1e-3, 1.0, 1e9], &[0.1, 0.2, 0.7], &[3.0; 7], &long] {
        let pool = seeded(44, list(weights));
        let route = plain_route(&pool, Policy::WeightedRandom);
        borders(&by_weight(weights), |draw| owner(&route, &PLAIN, draw))
            .assert_sound(&format!("{weights:?}"));
    }
}

#[test]
fn the_golden_rotation_gives_every_point_to_its_owner() {
    let weights = [9.0, 0.5, 3.0, 0.001_234_567_8, 7.25];
    let pool = seeded(45, list(&weights));
    let route = plain_route(&pool, Policy::WeightedRoundRobin);
    assert_eq!(route.explain(&PLAIN).branches[0].tiers[0].rotation, Some("golden"));
    // The turn whose point is `point`: the inverse of the golden step, an odd number.
    let step: u64 = 0x9E37_79B9_7F4A_7C15;
    let inverse =
        (0..5).fold(step, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(step.wrapping_mul(inverse))));
    let at_point = |point: u64| {
        route.start_at(point.wrapping_mul(inverse));
        route.pick(&PLAIN).expect("an instance").index()
    };
    borders(&by_weight(&weights), at_point).assert_sound("golden");
    enumeration(16, &by_weight(&weights), |draw| Some(at_point(draw << 48))).assert_sound("golden");
}
