//! Lists and peers that the benches share.

#![allow(dead_code)]

use pointsman::{Instance, Policy, Pool, PoolOptions, Route, RouteSpec, Tier};

/// Weights that need a table: no two rows alike, and no short cycle.
pub(crate) fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|at| ((at * 7_919) % 97 + 1) as f64 + 0.123).collect()
}

/// Weights with a short cycle.
pub(crate) fn turns(n: usize) -> Vec<f64> {
    (0..n).map(|at| (at % 7 + 1) as f64).collect()
}

pub(crate) fn address(at: usize) -> String {
    format!("10.{}.{}.{}:8080", at >> 16, at >> 8 & 255, at & 255)
}

/// Instances with two tags and a zone each.
pub(crate) fn instances(weights: &[f64]) -> Vec<Instance> {
    let instance = |(at, weight): (usize, &f64)| {
        Instance::new(address(at))
            .weight(*weight)
            .zone(["a", "b", "c"][at % 3])
            .tag("version", if at.is_multiple_of(4) { "gray" } else { "stable" })
            .tag("env", if at.is_multiple_of(2) { "prod" } else { "test" })
            .tag("arch", if at.is_multiple_of(8) { "arm" } else { "x86" })
    };
    weights.iter().enumerate().map(instance).collect()
}

pub(crate) fn pool(weights: &[f64]) -> Pool {
    Pool::new(instances(weights)).expect("a valid list")
}

pub(crate) fn seeded(weights: &[f64]) -> Pool {
    Pool::with(PoolOptions::new().seed(1), instances(weights)).expect("a valid list")
}

pub(crate) fn route(pool: &Pool, policy: Policy) -> Route {
    pool.route(RouteSpec::new(policy).tier(Tier::new())).expect("a valid route")
}

/// Smooth weighted round robin, O(n), as nginx has it since 1.3.1: the current weights rise by the effective ones, the
/// highest is taken and falls by their sum.
pub(crate) struct Smooth {
    peers: Vec<Peer>,
}

struct Peer {
    weight: i64,
    effective: i64,
    current: i64,
}

impl Smooth {
    pub(crate) fn new(weights: &[f64]) -> Self {
        let peer = |weight: &f64| Peer { weight: *weight as i64, effective: *weight as i64, current: 0 };
        Self { peers: weights.iter().map(peer).collect() }
    }

    #[inline]
    pub(crate) fn pick(&mut self) -> usize {
        let (mut total, mut best, mut highest) = (0, 0, i64::MIN);
        for (at, peer) in self.peers.iter_mut().enumerate() {
            peer.current += peer.effective;
            total += peer.effective;
            if peer.effective < peer.weight {
                peer.effective += 1;
            }
            if peer.current > highest {
                (best, highest) = (at, peer.current);
            }
        }
        self.peers[best].current -= total;
        best
    }
}
