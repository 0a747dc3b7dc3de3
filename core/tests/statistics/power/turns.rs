//! Wrong ways to take turns.

use pointsman::{Instance, Policy, Pool, Route};

use super::{Dice, Sampler};
use crate::common::{PLAIN, plain_route, seeded};
use crate::drawn::{WEIGHTS, by_weight, six};
use crate::harness::{Reading, discrepancy};
use crate::points::list;

const TURNS: usize = 2_400;

/// The bound of an exact rotation at every turn.
fn exact(n: usize) -> impl Fn(u32) -> f64 {
    move |_| 1.0 - 1.0 / (2.0 * n as f64 - 2.0) + 1e-6
}

/// A route at the beginning of its cycle.
fn rotation(pool: &Pool) -> Route {
    let route = plain_route(pool, Policy::WeightedRoundRobin);
    route.start_at(0);
    route
}

fn turn(route: &Route) -> usize {
    route.pick(&PLAIN).expect("an instance").index()
}

/// The list expanded by weight: each as often as it weighs, one behind the other.
fn in_bursts(weights: &[f64]) -> Vec<usize> {
    weights.iter().enumerate().flat_map(|(at, weight)| std::iter::repeat_n(at, *weight as usize)).collect()
}

pub(super) fn shared_cursor(which: Sampler) -> Reading {
    let pool = seeded(101, list(&[1.0; 4]));
    let (one, other) = (rotation(&pool), rotation(&pool));
    let mut cursor = 0;
    let turns = (0..TURNS).map(|_| match which {
        Sampler::Engine => {
            let at = turn(&one);
            turn(&other);
            at
        }
        Sampler::Wrong => {
            cursor += 2;
            (cursor - 2) % 4
        }
    });
    discrepancy(turns, &[0.25; 4], exact(4))
}

pub(super) fn restarted(which: Sampler) -> Reading {
    let pool = six(102);
    let route = rotation(&pool);
    let turns = (0..TURNS).map(|number| {
        if number % 7 == 0 {
            let zone = format!("z{number}");
            pool.edit(|edit| edit.set_zone("i2", Some(&zone))).expect("it is there");
            if which == Sampler::Wrong {
                route.start_at(0);
            }
        }
        turn(&route)
    });
    discrepancy(turns, &by_weight(&WEIGHTS), exact(6))
}

pub(super) fn expanded(which: Sampler) -> Reading {
    let route = rotation(&six(103));
    let expanded = in_bursts(&WEIGHTS);
    let turns = (0..TURNS).map(|number| match which {
        Sampler::Engine => turn(&route),
        Sampler::Wrong => expanded[number % expanded.len()],
    });
    discrepancy(turns, &by_weight(&WEIGHTS), exact(6))
}

pub(super) fn smooth(which: Sampler) -> Reading {
    // A list on which it is more than a turn from the ideal.
    let groups = [(32, 1.0), (8, 4.0), (2, 16.0)];
    let weights: Vec<f64> =
        groups.iter().flat_map(|(count, weight)| std::iter::repeat_n(*weight, *count)).collect();
    let total: f64 = weights.iter().sum();
    let route = rotation(&seeded(104, list(&weights)));
    let mut credit = vec![0.0; weights.len()];
    let mut smooth = || {
        credit.iter_mut().zip(&weights).for_each(|(credit, weight)| *credit += weight);
        // The first of the highest.
        let best = (0..credit.len()).reduce(|best, at| if credit[at] > credit[best] { at } else { best });
        let best = best.expect("the list is not empty");
        credit[best] -= total;
        best
    };
    let turns = (0..TURNS).map(|_| if which == Sampler::Engine { turn(&route) } else { smooth() });
    discrepancy(turns, &by_weight(&weights), exact(weights.len()))
}

pub(super) fn retry_takes_a_turn(which: Sampler) -> Reading {
    let pool = seeded(105, list(&[1.0; 2]));
    let route = rotation(&pool);
    let mut cursor = 0;
    // Every request for the second one fails and is tried again without it.
    let turns = (0..TURNS).map(|_| match which {
        Sampler::Engine => {
            let at = turn(&route);
            route.pick(&PLAIN.exclude(&["i1"])).expect("one is left");
            at
        }
        Sampler::Wrong => {
            cursor += 2;
            cursor % 2
        }
    });
    discrepancy(turns, &[0.5; 2], |_| 1.0)
}

pub(super) fn draws_for_turns(which: Sampler) -> Reading {
    let weights = [9.0, 0.5, 3.0, 1.234_567_8, 7.25];
    let pool = seeded(106, (0..5).map(|at| Instance::new(format!("i{at}")).weight(weights[at])).collect());
    let route = rotation(&pool);
    let mut dice = Dice::new(107);
    let turns = (0..200_000).map(|_| match which {
        Sampler::Engine => turn(&route),
        Sampler::Wrong => dice.by_weight(&weights),
    });
    discrepancy(turns, &by_weight(&weights), |turn| 1.0 + 0.42 * f64::from(turn).ln())
}
