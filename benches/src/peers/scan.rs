//! The least loaded by a scan: each server an allocation of its own behind a shared handle, with its count in flight among
//! what else it holds, as pools of connections have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

struct Server {
    /// Address, health, connections: what keeps the counts of two servers out of one cache line.
    _other: [u64; 12],
    in_flight: AtomicU32,
    weight: f64,
}

/// The servers, shared by its clones.
#[derive(Clone)]
pub struct Scan {
    servers: Vec<Arc<Server>>,
}

impl Scan {
    /// Over instances of these weights.
    pub fn new(weights: &[f64]) -> Self {
        let server = |weight: &f64| Server { _other: [0; 12], in_flight: AtomicU32::new(0), weight: *weight };
        Self { servers: weights.iter().map(|weight| Arc::new(server(weight))).collect() }
    }

    /// The first of those with the fewest in flight for its weight.
    pub fn pick(&self) -> usize {
        let cost = |server: &Server| f64::from(server.in_flight.load(Ordering::Relaxed)) / server.weight;
        let costs = self.servers.iter().map(|server| cost(server)).enumerate();
        costs.min_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(usize::MAX, |(at, _)| at)
    }

    /// Counts one more in flight there.
    pub fn begin(&self, at: usize) {
        self.servers[at].in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// A call: picked, counted, ended.
    pub fn call(&self) -> usize {
        let at = self.pick();
        self.begin(at);
        self.servers[at].in_flight.fetch_sub(1, Ordering::Relaxed);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::order;

    #[test]
    fn the_fewest_for_its_weight_is_taken() {
        let scan = Scan::new(&[1.0, 2.0, 4.0]);
        let held = order(7, || {
            let at = scan.pick();
            scan.begin(at);
            at
        });
        assert_eq!(held, [0, 1, 2, 2, 1, 2, 2]);
        assert_eq!(order(2, || scan.call()), [0, 0]);
    }
}
