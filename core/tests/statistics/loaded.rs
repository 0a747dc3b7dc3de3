//! Policies that look at what is in flight, while leases are held on some more than on others. A pick opens no lease, so that
//! the counts stay as they are.

use pointsman::{Instance, Policy, Pool, PowerOfTwo, Request, Route};

use crate::common::{Hand, PLAIN, dense, plain_route, seeded};
use crate::drawn::{IN_FLIGHT, WEIGHTS, by_weight, costs, hold, six, winners};
use crate::harness::{chi_square, never};
use crate::points::list;
use crate::shares::counts;

const PICKS: usize = 100_000;

/// Picks of a set of hundreds, each of which may look at all.
const FEWER: usize = 20_000;

fn of_two(choices: u32) -> Policy {
    Policy::PowerOfTwo(PowerOfTwo::new().choices(choices))
}

/// Picks by the route and by a picker come from the shares, and never fall on one that has none.
fn assert_picks(route: &Route, request: &Request<'_>, shares: &[f64], what: &str) {
    let picks = if shares.len() < 100 { PICKS } else { FEWER };
    for mut hand in Hand::both(route, 112) {
        let counts = counts(&mut hand, request, shares.len(), picks);
        let strays = counts.iter().zip(shares).filter(|(_, share)| **share == 0.0).map(|(count, _)| count);
        never(strays.sum(), picks as u64).assert_sound(&format!("{what}: {counts:?}"));
        chi_square(&counts, shares).assert_sound(&format!("{what}: {counts:?}"));
    }
}

/// The weights without those at some places.
fn without(places: &[usize]) -> [f64; 6] {
    let mut left = WEIGHTS;
    places.iter().for_each(|at| left[*at] = 0.0);
    left
}

#[test]
fn power_of_two_takes_the_less_loaded_for_its_weight_and_the_first_drawn_of_equals() {
    let pool = six(111);
    let _held = hold(&pool, &IN_FLIGHT);
    let costs = costs(&IN_FLIGHT, &WEIGHTS);
    for choices in [2, 3, 4] {
        let route = plain_route(&pool, of_two(choices));
        for (request, left) in [(PLAIN, WEIGHTS), (PLAIN.exclude(&["i3"]), without(&[3]))] {
            let shares = winners(&left, &costs, choices as usize);
            assert_picks(&route, &request, &shares, &format!("{choices} choices, {request:?}"));
        }
    }
}

#[test]
fn power_of_two_over_a_large_set_takes_the_less_loaded_of_two() {
    let weights: Vec<f64> = (0..40).map(|at| if at == 7 { 60.0 } else { f64::from(at % 5) + 0.5 }).collect();
    let in_flight: Vec<u32> = (0..40).map(|at| if at == 7 { 30 } else { at % 4 }).collect();
    let pool = seeded(113, list(&weights));
    let _held = hold(&pool, &in_flight);
    let shares = winners(&weights, &costs(&in_flight, &weights), 2);
    assert_picks(&plain_route(&pool, of_two(2)), &PLAIN, &shares, "forty");
}

/// The route tells these shares, and its picks come from them.
fn assert_told(pool: &Pool, request: &Request<'_>, shares: &[f64], what: &str) {
    let route = plain_route(pool, Policy::LeastRequest);
    for (told, share) in dense(&route.shares(request), pool).iter().zip(shares) {
        assert!((told - share).abs() < 1e-12, "{what}: {told} for {share}");
    }
    assert_picks(&route, request, shares, what);
}

#[test]
fn least_request_takes_by_weight_among_the_least_loaded_for_their_weight_and_never_anybody_else() {
    let pool = six(114);
    let held = hold(&pool, &IN_FLIGHT);
    let third = 1.0 / 3.0;
    assert_told(&pool, &PLAIN, &[0.0, 0.0, 0.0, third, 0.0, 2.0 * third], "a quarter a weight");
    let request = PLAIN.exclude(&["i3", "i5"]);
    assert_told(&pool, &request, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0], "a half");
    let request = PLAIN.exclude(&["i3", "i4", "i5"]);
    assert_told(&pool, &request, &[third, 2.0 * third, 0.0, 0.0, 0.0, 0.0], "one");
    drop(held);
    assert_told(&pool, &PLAIN, &by_weight(&WEIGHTS), "idle again");
    let held = hold(&pool, &[1, 2, 3, 4, 6, 8]);
    assert_told(&pool, &PLAIN, &by_weight(&WEIGHTS), "all alike");
    drop(held);
    let _held = hold(&pool, &[1, 0, 0, 1, 1, 1]);
    assert_told(&pool, &PLAIN, &[0.0, 0.4, 0.6, 0.0, 0.0, 0.0], "two are idle");
}

#[test]
fn least_request_takes_loads_for_equal_that_only_rounding_tells_apart() {
    assert_ne!(3.0 / 0.33, 1.0 / 0.11);
    let pool = seeded(115, list(&[0.33, 0.11, 0.7]));
    let _held = hold(&pool, &[3, 1, 7]);
    assert_told(&pool, &PLAIN, &[0.75, 0.25, 0.0], "nine and an eleventh a weight");
}

/// By weight among those with the lowest cost.
fn lowest(weights: &[f64], costs: &[f64]) -> Vec<f64> {
    let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let left = weights.iter().zip(costs).map(|(weight, cost)| if *cost == lowest { *weight } else { 0.0 });
    by_weight(&left.collect::<Vec<_>>())
}

/// Leases for each unit of weight, by place.
type LoadOf = fn(usize) -> u32;

#[test]
fn least_request_over_a_large_set_takes_only_the_least_loaded_be_they_few_or_many() {
    // Powers of two, so that equal costs are equal to the last bit.
    let weights: Vec<f64> = (0..300).map(|at| [1.0, 2.0, 4.0][at % 3]).collect();
    let ids: Vec<String> = (0..300).map(|at| format!("i{at}")).collect();
    let many: Vec<Instance> =
        ids.iter().zip(&weights).map(|(id, weight)| Instance::new(id.as_str()).weight(*weight)).collect();
    let loads: [(&str, LoadOf); 5] = [
        ("a third is idle", |at| u32::from(at % 5 > 1)),
        ("two are idle", |at| u32::from(at != 41 && at != 290)),
        ("a third has one", |at| 1 + u32::from(at % 5 > 1)),
        ("four have one", |at| 1 + u32::from(!matches!(at, 3 | 127 | 128 | 299))),
        ("one has one", |at| 1 + u32::from(at != 130)),
    ];
    for (what, load) in loads {
        let pool = seeded(116, many.clone());
        let in_flight: Vec<u32> =
            weights.iter().enumerate().map(|(at, weight)| load(at) * *weight as u32).collect();
        let _held = hold(&pool, &in_flight);
        let costs = costs(&in_flight, &weights);
        assert_told(&pool, &PLAIN, &lowest(&weights, &costs), what);
        // One that is excluded is passed over, though it has the fewest.
        let best = costs.iter().zip(0..).min_by(|a, b| a.0.total_cmp(b.0)).map_or(0, |(_, at)| at);
        let mut left = weights.clone();
        let mut costs = costs;
        (left[best], costs[best]) = (0.0, f64::INFINITY);
        let excluded = [ids[best].as_str()];
        assert_told(&pool, &PLAIN.exclude(&excluded), &lowest(&left, &costs), &format!("{what}, without"));
    }
}
