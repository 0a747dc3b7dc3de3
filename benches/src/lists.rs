//! The lists that are picked from, and what requests ask of them.

use pointsman::{Instance, Policy, RouteSpec, Tier};

/// Tags of a request, which some instances have both of.
pub const TAGS: [(&str, &str); 2] = [("version", "gray"), ("env", "prod")];
/// Requirements that few instances meet.
pub const REQUIRE: [(&str, &str); 3] = [("version", "gray"), ("env", "prod"), ("arch", "arm")];
/// The first three instances.
pub const EXCLUDE: [&str; 3] = ["10.0.0.0:8080", "10.0.0.1:8080", "10.0.0.2:8080"];
/// The zone of every third instance.
pub const ZONE: &str = "a";

/// Weights that need a table: no two neighbours alike, and no short cycle.
pub fn weights(n: usize) -> Vec<f64> {
    (0..n).map(|at| ((at * 7_919) % 97 + 1) as f64 + 0.123).collect()
}

/// Weights with a short cycle.
pub fn turns(n: usize) -> Vec<f64> {
    (0..n).map(|at| (at % 7 + 1) as f64).collect()
}

/// The address of the instance at this place, which is its id too.
pub fn address(at: usize) -> String {
    format!("10.{}.{}.{}:8080", at >> 16, at >> 8 & 255, at & 255)
}

/// Instances with a zone and three tags each.
pub fn instances(weights: &[f64]) -> Vec<Instance> {
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

/// Four routes that a service may well have, for updates to keep.
pub fn four_routes() -> [RouteSpec; 4] {
    [
        RouteSpec::new(Policy::WeightedRandom).tier(Tier::new()),
        RouteSpec::new(Policy::WeightedRoundRobin).tier(Tier::new()),
        RouteSpec::new(Policy::WeightedRandom).tier(Tier::new().matching("version")).tier(Tier::new()),
        RouteSpec::new(Policy::LeastRequest).tier(Tier::new().tag("env", "prod")),
    ]
}
