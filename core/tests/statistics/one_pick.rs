//! What one pick draws one behind the other, the branch or the tier, candidates and instances, does not depend on each other.

use pointsman::{Branch, Instance, Load, Picked, Policy, Pool, PowerOfTwo, Route, RouteSpec, Tier};

use crate::common::{Hand, PLAIN, seeded};
use crate::drawn::{IN_FLIGHT, LOADS, WEIGHTS, by_weight, costs, hold, winners};
use crate::harness::{chi_square, together};

const PICKS: usize = 200_000;

/// Two sets of the same weights and loads, so that who is picked says nothing of the set; and one more of the first set that is
/// down.
pub(crate) fn two_sets(seed: u64) -> Pool {
    let of_set = |set: &'static str| {
        let instance = move |at: usize| {
            Instance::new(format!("{set}{at}")).weight(WEIGHTS[at]).load(LOADS[at]).tag("set", set)
        };
        (0..6).map(instance)
    };
    let down = Instance::new("down").healthy(false).tag("set", "a").weight(24.0);
    seeded(seed, of_set("a").chain(of_set("b")).chain([down]).collect())
}

/// Which set, and which of the set.
pub(crate) fn place(index: usize) -> (usize, usize) {
    (index / 6, index % 6)
}

/// The share of the first set in [`split`].
pub(crate) const FIRST: f64 = 0.3;

/// A draw of the branch before those of the policy.
pub(crate) fn split(pool: &Pool, policy: Policy) -> Route {
    let branch = |set: &str, share: f64| Branch::new(set, 100.0 * share).tier(Tier::new().tag("set", set));
    let spec = RouteSpec::new(policy).branch(branch("a", FIRST)).branch(branch("b", 1.0 - FIRST));
    pool.route(spec).expect("a good spec")
}

/// Routes over both sets, and the share of the first: of a split, and of a tier that overflows into the next.
fn routes(pool: &Pool, policy: &Policy) -> [(Route, f64); 2] {
    // One of seven members of the first tier is down: it keeps 0.7 × 6/7.
    let overflow = RouteSpec::new(policy.clone())
        .tier(Tier::new().tag("set", "a").overflow(0.7))
        .tier(Tier::new().tag("set", "b"));
    let overflow = pool.route(overflow).expect("a good spec");
    [(split(pool, policy.clone()), FIRST), (overflow, 0.7 * 6.0 / 7.0)]
}

/// Who is picked is independent of the set that the same pick is from, and of the set of the next.
fn assert_independent(pool: &Pool, policy: &Policy, shares: &[f64]) {
    for (route, first) in routes(pool, policy) {
        for mut hand in Hand::both(&route, 28) {
            let mut choice = || place(hand.index(&PLAIN).expect("an instance"));
            let choices: Vec<(usize, usize)> = (0..PICKS).map(|_| choice()).collect();
            let sets = [first, 1.0 - first];
            let what = format!("{policy:?}, {first}");
            together(choices.iter().copied(), &sets, shares).assert_sound(&what);
            let next = choices.chunks_exact(2).map(|pair| (pair[0].1, pair[1].0));
            together(next, shares, &sets).assert_sound(&format!("{what}, the set of the next"));
        }
    }
}

#[test]
fn the_instance_is_independent_of_the_branch_and_of_the_tier() {
    assert_independent(&two_sets(27), &Policy::WeightedRandom, &by_weight(&WEIGHTS));
}

#[test]
fn the_candidates_of_power_of_two_are_independent_of_the_branch_and_of_the_tier() {
    let pool = two_sets(27);
    let of = |choices, load| Policy::PowerOfTwo(PowerOfTwo::new().choices(choices).load(load));
    // Of equals the first drawn wins: who it is.
    assert_independent(&pool, &of(2, Load::InFlight), &by_weight(&WEIGHTS));
    for choices in [2, 3] {
        let won = winners(&WEIGHTS, &LOADS, choices as usize);
        assert_independent(&pool, &of(choices, Load::Reported), &won);
    }
    let _held = hold(&pool, &[IN_FLIGHT, IN_FLIGHT].concat());
    let won = winners(&WEIGHTS, &costs(&IN_FLIGHT, &WEIGHTS), 2);
    assert_independent(&pool, &of(2, Load::InFlight), &won);
}

/// Two different ones, each by its set and its place in the set.
pub(crate) fn distinct(hand: &mut Hand) -> [(usize, usize); 2] {
    let mut out = [Picked::default(); 2];
    let picks = match hand {
        Hand::Route(route) => route.pick_distinct(&PLAIN, &mut out),
        Hand::Picker(picker) => picker.pick_distinct(&PLAIN, &mut out),
    };
    let picks = picks.expect("twelve are there");
    [0, 1].map(|at| place(picks.picked()[at].index()))
}

/// Of every set and every place in it, as [`one_of_twelve`] counts them.
pub(crate) fn twelve(sets: [f64; 2]) -> Vec<f64> {
    sets.iter().flat_map(|set| by_weight(&WEIGHTS).into_iter().map(move |share| set * share)).collect()
}

pub(crate) fn one_of_twelve((set, at): (usize, usize)) -> usize {
    set * 6 + at
}

/// Every ordered pair: each draws its set anew, and what the first took is missing from the second's.
fn ordered_pairs(sets: [f64; 2]) -> Vec<f64> {
    let (shares, all) = (by_weight(&WEIGHTS), twelve(sets));
    let of = |first: usize, second: usize| {
        let ((set, at), (other_set, other)) = (place(first), place(second));
        let left = if set == other_set { 1.0 - shares[at] } else { 1.0 };
        if first == second { 0.0 } else { all[first] * sets[other_set] * shares[other] / left }
    };
    (0..12).flat_map(|first| (0..12).map(move |second| of(first, second))).collect()
}

#[test]
fn distinct_instances_are_independent_of_the_branches_and_of_the_tiers() {
    let pool = two_sets(27);
    for policy in [Policy::WeightedRandom, Policy::WeightedRoundRobin] {
        for (route, first) in routes(&pool, &policy) {
            let sets = [first, 1.0 - first];
            let pairs_shares = ordered_pairs(sets);
            for mut hand in Hand::both(&route, 28) {
                let drawn: Vec<[(usize, usize); 2]> = (0..PICKS).map(|_| distinct(&mut hand)).collect();
                let what = format!("{policy:?}, {first}");
                let firsts = drawn.iter().map(|pair| pair[0]);
                together(firsts, &sets, &by_weight(&WEIGHTS)).assert_sound(&what);
                let set_of_second = drawn.iter().map(|[one, other]| (one_of_twelve(*one), other.0));
                together(set_of_second, &twelve(sets), &sets)
                    .assert_sound(&format!("{what}, the set of the second"));
                let mut counts = vec![0; 144];
                for [one, other] in &drawn {
                    counts[one_of_twelve(*one) * 12 + one_of_twelve(*other)] += 1;
                }
                chi_square(&counts, &pairs_shares).assert_sound(&format!("{what}, pairs"));
                let next = drawn.chunks_exact(2).map(|two| (one_of_twelve(two[0][0]), two[1][0].0));
                together(next, &twelve(sets), &sets).assert_sound(&format!("{what}, the set of the next"));
            }
        }
    }
}
