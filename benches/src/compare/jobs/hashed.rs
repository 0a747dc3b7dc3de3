//! Picks by key, each with a key of its own.

use pointsman::{ConsistentHash, Policy, Request, RouteSpec, Tier};
use pointsman_bench::lists::address;
use pointsman_bench::peers::ring::{Ring, modulo};
use xxhash_rust::xxh64::xxh64;

use super::{Engine, Setup};
use crate::compare::contender::Contender;
use crate::failure::Failure;

/// Keys whose owners are compared.
const KEYS: u64 = 20_000;

/// The longest list that is asked for what its removals move.
const LONGEST_MOVED: usize = 1_000;

/// One more for each pick.
#[derive(Clone, Default)]
struct Keys(u64);

impl Keys {
    #[inline]
    fn next(&mut self) -> [u8; 8] {
        self.0 += 1;
        self.0.to_le_bytes()
    }
}

fn spec() -> RouteSpec {
    RouteSpec::new(Policy::ConsistentHash(ConsistentHash::new())).tier(Tier::new())
}

fn ring(n: usize) -> Ring {
    let names: Vec<String> = (0..n).map(address).collect();
    Ring::new(names.iter().map(String::as_str))
}

/// Keys that have another owner without the last instance, in multiples of those that the last one owned.
fn moved(n: usize, before: impl Fn(&[u8]) -> usize, after: impl Fn(&[u8]) -> usize) -> f64 {
    let owners = || (0..KEYS).map(u64::to_le_bytes).map(|key| (before(&key), after(&key)));
    let moved = owners().filter(|(before, after)| before != after).count();
    let must = owners().filter(|(before, _)| *before == n - 1).count();
    moved as f64 / must.max(1) as f64
}

pub(super) fn consistent_hash(n: usize) -> Result<Setup, Failure> {
    let engine = Engine::new(&vec![1.0; n], spec())?;
    let (first, second) = (engine.route.clone(), engine.route.clone());
    let ours = vec![
        Contender::picks("pointsman", move || {
            let (mut picker, mut keys) = (first.picker_seeded(1), Keys::default());
            move || picker.pick(&Request::new().key(&keys.next())).map_or(usize::MAX, |pick| pick.index())
        })
        .api("picker")
        .bytes(engine.bytes),
        Contender::picks("pointsman", move || {
            let (route, mut keys) = (second.clone(), Keys::default());
            move || route.pick(&Request::new().key(&keys.next())).map_or(usize::MAX, |pick| pick.index())
        })
        .api("route")
        .bytes(engine.bytes),
    ];
    let mut setup = Setup { ours, expected: Some(vec![1.0 / n as f64; n]), ..Setup::default() };
    let draws = RouteSpec::new(Policy::WeightedRandom).tier(Tier::new());
    let drawn = Engine::new(&vec![1.0; n], draws)?;
    let points = ring(n);
    if n <= LONGEST_MOVED {
        let fewer = Engine::new(&vec![1.0; n - 1], spec())?;
        let owner = |engine: &Engine, key: &[u8]| {
            engine.route.pick(&Request::new().key(key)).map_or(usize::MAX, |pick| pick.index())
        };
        let ours = moved(n, |key| owner(&engine, key), |key| owner(&fewer, key));
        let rest = ring(n - 1);
        setup.keys_moved = [
            ("pointsman", ours),
            ("ring_160", moved(n, |key| points.owner(key), |key| rest.owner(key))),
            ("modulo", moved(n, |key| modulo(n, key), |key| modulo(n - 1, key))),
        ]
        .into();
    }
    setup.peers = vec![
        Contender::picks("ring_160", move || {
            let (points, mut keys) = (points.clone(), Keys::default());
            move || points.owner(&keys.next())
        }),
        Contender::picks("modulo", move || {
            let mut keys = Keys::default();
            move || modulo(n, &keys.next())
        }),
        // What is not hashing is the look-up, and is compared with a draw.
        Contender::picks("itself_hashing_alone", move || {
            let mut keys = Keys::default();
            move || xxh64(&keys.next(), 0) as usize
        }),
        drawn.plain_picker("itself_drawing"),
        drawn.plain_route("itself_drawing"),
    ];
    Ok(setup)
}
