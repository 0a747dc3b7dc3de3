//! Picks do not depend on picks before them, nor on those of another thread.

use pointsman::{Algorithm, ConsistentHash, Instance, Policy};

use crate::common::{Hand, PLAIN, plain_route};
use crate::drawn::{self, Drawn, WEIGHTS, by_weight, six};
use crate::harness::{chi_square, lagged, repeats, serial};

const PICKS: usize = 200_000;

/// How many picks one thread may be ahead of another whose numbers it copies, to be seen.
pub(crate) const LAG: usize = 2;

fn indices(hand: &mut Hand, drawn: &Drawn, picks: usize) -> Vec<usize> {
    (0..picks).map(|_| hand.index(&drawn.request).expect("an instance")).collect()
}

fn tally(picks: &[usize], n: usize) -> Vec<u64> {
    let mut counts = vec![0; n];
    picks.iter().for_each(|at| counts[*at] += 1);
    counts
}

#[test]
fn consecutive_picks_are_independent() {
    for drawn in drawn::all(21) {
        for (which, mut hand) in Hand::both(&drawn.route, 22).into_iter().enumerate() {
            let picks = indices(&mut hand, &drawn, PICKS);
            let what = format!("{}, {which}", drawn.name);
            chi_square(&tally(&picks, drawn.shares.len()), &drawn.shares).assert_sound(&what);
            repeats(&picks, &drawn.shares).assert_sound(&what);
            for lag in [1, 2, 3, 7, 64] {
                serial(&picks, &drawn.shares, lag).assert_sound(&format!("{what}, lag {lag}"));
            }
        }
    }
}

#[test]
fn picks_of_two_threads_are_independent() {
    for drawn in drawn::all(23) {
        let of_thread =
            |seed: u64| indices(&mut Hand::Picker(drawn.route.picker_seeded(seed)), &drawn, PICKS);
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| of_thread(25));
            (of_thread(24), other.join().expect("no panic"))
        });
        lagged(&one, &other, &drawn.shares, LAG).assert_sound(drawn.name);
    }
}

#[test]
fn picks_of_two_threads_with_generators_of_their_own_are_independent() {
    let list = || (0..6).map(|at| Instance::new(format!("i{at}")).weight(WEIGHTS[at]));
    // Without a seed: each thread's numbers come from the system.
    let pool = pointsman::Pool::new(list()).expect("a good list");
    let route = plain_route(&pool, Policy::WeightedRandom);
    let shares = by_weight(&WEIGHTS);
    let of_thread = |by_route: bool| -> Vec<usize> {
        let mut hand = if by_route { Hand::Route(route.clone()) } else { Hand::Picker(route.picker()) };
        (0..PICKS).map(|_| hand.index(&PLAIN).expect("an instance")).collect()
    };
    for by_route in [true, false] {
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| of_thread(by_route));
            (of_thread(by_route), other.join().expect("no panic"))
        });
        for picks in [&one, &other] {
            repeats(picks, &shares).assert_sound_unseeded("one thread");
            serial(picks, &shares, 1).assert_sound_unseeded("one thread");
        }
        lagged(&one, &other, &shares, LAG).assert_sound_unseeded("two threads");
    }
}

#[test]
fn pickers_of_neighbouring_seeds_are_independent() {
    for drawn in drawn::all(26) {
        let first = |seed: u64| Hand::Picker(drawn.route.picker_seeded(seed)).index(&drawn.request);
        let picks: Vec<usize> = (0..20_000).map(|seed| first(seed).expect("an instance")).collect();
        chi_square(&tally(&picks, drawn.shares.len()), &drawn.shares).assert_sound(drawn.name);
        repeats(&picks, &drawn.shares).assert_sound(drawn.name);
        serial(&picks, &drawn.shares, 1).assert_sound(drawn.name);
    }
}

#[test]
fn keys_that_are_counted_up_spread_like_independent_draws() {
    let pool = six(29);
    pool.edit(|edit| (0..6).try_for_each(|at| edit.set_weight(&format!("i{at}"), 1.0)))
        .expect("good weights");
    let shares = [1.0 / 6.0; 6];
    // Maglev's shares differ from the weights' by less than this many keys can show.
    let policy = Policy::ConsistentHash(ConsistentHash::new().algorithm(Algorithm::Maglev));
    let route = plain_route(&pool, policy);
    let owner = |key: String| route.pick(&PLAIN.key(key.as_bytes())).expect("an instance").index();
    let picks: Vec<usize> = (0..100_000).map(|number| owner(format!("user-{number}"))).collect();
    chi_square(&tally(&picks, 6), &shares).assert_sound("keys");
    repeats(&picks, &shares).assert_sound("keys");
    for lag in [1, 10, 100] {
        serial(&picks, &shares, lag).assert_sound("keys");
    }
}
