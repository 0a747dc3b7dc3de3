//! Extreme weights: shares sum to 1, whoever has a positive weight has a positive share and whoever has none is never picked,
//! shares are the weights' parts, and no pick panics; before an update and after it.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pointsman::{
    Algorithm, ConsistentHash, Instance, PeakEwma, Policy, Pool, PowerOfTwo, Request, Route, RouteSpec, Tier,
};

#[derive(Arbitrary, Debug)]
struct Input {
    weights: Vec<Weight>,
    then: Vec<(u8, Weight)>,
    exclude: Option<u8>,
    seed: u64,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Weight {
    Zero,
    One,
    Small(u8),
    /// Mantissa and exponent of two.
    Scaled(u8, i16),
    Bits(u64),
    Largest,
    Smallest,
    /// A hair beside an integer.
    Nearly(u8),
}

impl Weight {
    fn value(self) -> f64 {
        match self {
            Self::Zero => 0.0,
            Self::One => 1.0,
            Self::Small(value) => f64::from(value) / 10.0,
            Self::Scaled(mantissa, exponent) => {
                (1.0 + f64::from(mantissa) / 256.0) * 2_f64.powi(i32::from(exponent % 1_024))
            }
            Self::Bits(bits) => f64::from_bits(bits).abs(),
            Self::Largest => f64::MAX,
            Self::Smallest => f64::from_bits(1),
            Self::Nearly(value) => f64::from_bits(f64::from(value).to_bits() + 1),
        }
    }
}

fuzz_target!(|input: Input| {
    let list = input.weights.iter().take(24).enumerate();
    let list: Vec<Instance> =
        list.map(|(at, weight)| Instance::new(format!("10.0.0.{at}:80")).weight(weight.value())).collect();
    let fine = list.iter().all(|instance| instance.weight.is_finite());
    let made = Pool::new(list.clone());
    assert_eq!(made.is_ok(), fine, "{made:?}");
    let Ok(pool) = made else { return };
    // One of the three for each input, since their tables take most of its time.
    let algorithm = [Algorithm::Rendezvous, Algorithm::Maglev, Algorithm::Ketama][(input.seed % 3) as usize];
    let policies = [
        Policy::Random,
        Policy::WeightedRandom,
        Policy::RoundRobin,
        Policy::WeightedRoundRobin,
        Policy::LeastLoad,
        Policy::LeastRequest,
        Policy::PowerOfTwo(PowerOfTwo::new()),
        Policy::PowerOfTwo(PowerOfTwo::new().choices(8)),
        Policy::PeakEwma(PeakEwma::new()),
        Policy::ConsistentHash(ConsistentHash::new().algorithm(algorithm).slots(1_009)),
    ];
    let route = |policy: Policy| pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a good spec");
    let routes = policies.map(route);
    look(&pool, &routes, &input);
    let changed = pool.edit(|edit| {
        input.then.iter().take(8).try_for_each(|(at, weight)| {
            let id = format!("10.0.0.{}:80", usize::from(*at) % list.len().max(1));
            edit.set_weight(&id, weight.value())
        })
    });
    let finite = input.then.iter().take(8).all(|(_, weight)| weight.value().is_finite());
    assert_eq!(changed.is_ok(), finite && (!list.is_empty() || input.then.is_empty()), "{changed:?}");
    look(&pool, &routes, &input);
});

fn look(pool: &Pool, routes: &[Route], input: &Input) {
    let list = pool.instances();
    let excluded = input.exclude.map(|at| format!("10.0.0.{at}:80"));
    let exclude: Vec<&str> = excluded.iter().map(|id| &**id).collect();
    let may = |instance: &Instance| instance.weight > 0.0 && Some(&*instance.id) != excluded.as_deref();
    let many = list.iter().filter(|instance| may(instance)).count();
    for route in routes {
        let mut picker = route.picker_seeded(input.seed);
        let request = Request::new().exclude(&exclude);
        let told = route.explain(&request);
        if told.shares_defined {
            let sum: f64 = told.shares.iter().map(|share| share.share).sum();
            assert!(many == 0 || (sum - 1.0).abs() < 1e-9, "{sum}: {told:?}");
            assert_eq!(told.shares.len(), many, "{told:?}");
            assert!(told.shares.iter().all(|share| share.share > 0.0 && share.share <= 1.0), "{told:?}");
        }
        if matches!(route.spec().policy, Policy::WeightedRandom) {
            are_the_parts(&list, &told.shares, may);
        }
        for number in 0..8_u8 {
            let key = [number];
            let request = if number % 2 == 0 { Request::new().exclude(&exclude) } else { request.key(&key) };
            for pick in [picker.pick(&request), route.pick(&request)] {
                match pick {
                    Ok(pick) => assert!(may(pick.instance()), "{:?} was picked", pick.instance()),
                    Err(_) => assert_eq!(many, 0),
                }
            }
            assert_eq!(route.lease(&request).is_ok(), many > 0);
        }
    }
}

/// Each share is the weight's part of the sum, worked out relative to the heaviest.
fn are_the_parts(list: &[Instance], shares: &[pointsman::Share], may: impl Fn(&Instance) -> bool) {
    let left: Vec<&Instance> = list.iter().filter(|instance| may(instance)).collect();
    let heaviest = left.iter().map(|instance| instance.weight).fold(0.0, f64::max);
    let sum: f64 = left.iter().map(|instance| instance.weight / heaviest).sum();
    for (instance, share) in left.iter().zip(shares) {
        assert_eq!(instance.id, share.id);
        let part = instance.weight / heaviest / sum;
        assert!((share.share - part).abs() <= 1e-12 * part + 1e-18, "{part} is told as {share:?}");
    }
}
