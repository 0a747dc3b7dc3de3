//! What the policies are known for, on runs that are short, with fixed seeds.

use super::*;
use pointsman::{Load, PeakEwma, PowerOfTwo};

const SEED: u64 = 1;

fn row(scenario: Scenario, policy: Policy, scale: f64) -> Row {
    one(scenario, &policy, scale, SEED).expect("runs")
}

fn two() -> Policy {
    Policy::PowerOfTwo(PowerOfTwo::new())
}

#[track_caller]
fn within(value: f64, wanted: f64, part: f64) {
    assert!((value / wanted - 1.0).abs() <= part, "{value} for {wanted}");
}

/// M. Mitzenmacher, "The power of two choices in randomized load balancing", 2001, table 1.
#[test]
fn two_choices_follow_the_supermarket_model() {
    within(row(Scenario::Equal90, two(), 0.1).mean, 2.61, 0.03);
    within(row(Scenario::Equal99, two(), 0.15).mean, 5.43, 0.06);
}

/// M/M/1: 1 / (1 − load).
#[test]
fn random_draws_follow_the_single_queue() {
    within(row(Scenario::Equal90, Policy::Random, 0.4).mean, 10.0, 0.05);
}

#[test]
fn slow_servers_need_to_be_seen() {
    let p99 = |policy| row(Scenario::SlowThird, policy, 0.05).p99;
    let two = p99(two());
    let (least, eight) = (p99(Policy::LeastRequest), p99(Policy::PowerOfTwo(PowerOfTwo::new().choices(8))));
    assert!(least <= 0.65 * two, "{least} beside {two}");
    assert!(eight <= 0.75 * two, "{eight} beside {two}");
}

#[test]
fn rotation_over_slow_servers_diverges() {
    assert!(row(Scenario::SlowThird, Policy::RoundRobin, 0.05).diverges);
    assert!(!row(Scenario::SlowThird, two(), 0.05).diverges);
    assert!(!row(Scenario::Equal90, Policy::Random, 0.1).diverges);
}

#[test]
fn a_stalled_instance_is_left_alone_by_its_latency() {
    for (scenario, scale) in [(Scenario::Stalled, 0.5), (Scenario::StalledProxies, 0.2)] {
        let over = |policy| 1.0 - row(scenario, policy, scale).within_1s;
        let (peak, least) = (over(Policy::PeakEwma(PeakEwma::new())), over(Policy::LeastRequest));
        let turns = over(Policy::RoundRobin);
        assert!(peak <= 0.3 * least, "{scenario}: {peak} beside {least}");
        assert!(peak <= 0.02 * turns, "{scenario}: {peak} beside {turns}");
    }
}

#[test]
fn old_news_do_not_herd_two_choices() {
    let share = |policy| row(Scenario::StaleReports, policy, 0.1).largest_share;
    let two = share(Policy::PowerOfTwo(PowerOfTwo::new().load(Load::Reported)));
    assert!(two <= 3.0, "{two}");
    let least = share(Policy::LeastLoad);
    assert!(least > 10.0, "{least}");
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let mean = |seed| one(Scenario::Equal90, &two(), 0.005, seed).expect("runs").mean;
    assert_eq!(mean(3).to_bits(), mean(3).to_bits());
    assert_ne!(mean(3).to_bits(), mean(4).to_bits());
}
