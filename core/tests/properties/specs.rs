//! Specs keep every digit of their numbers.

use pointsman::{Branch, ConsistentHash, Ejection, Policy, PoolSpec, RouteSpec, Tier};
use proptest::prelude::*;

/// Finite and above zero, of every size.
fn positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>().prop_map(f64::abs).prop_filter("finite, above zero", |x| x.is_finite() && *x > 0.0),
        (1_u64..1 << 53, -30_i32..=30).prop_map(|(digits, scale)| digits as f64 * 10_f64.powi(scale)),
    ]
}

fn percent() -> impl Strategy<Value = f64> {
    prop_oneof![positive().prop_filter("a percent", |x| *x <= 100.0), 0.0..=100.0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn what_a_spec_is_written_as_reads_back_equal(
        part in percent(), least in percent(), factor in positive(), bound in positive(), seconds in positive(),
    ) {
        let tier = Tier::new().min_available_percent(least).overflow(factor);
        let mut policy = ConsistentHash::default();
        policy.bound = Some(bound.max(1.0));
        let route = RouteSpec::new(Policy::ConsistentHash(policy))
            .branch(Branch::new("a", part).tier(tier))
            .branch(Branch::new("b", 100.0 - part).tier(Tier::new()));
        prop_assert_eq!(RouteSpec::from_json(&route.to_json()), Ok(route));

        let mut ejection = Ejection::default();
        ejection.base_ejection_s = seconds;
        ejection.max_ejection_percent = least;
        let pool = PoolSpec::new()
            .load_max_age_s(seconds)
            .latency(factor, bound)
            .slow_start(bound, factor)
            .ejection(ejection);
        prop_assert_eq!(PoolSpec::from_json(&pool.to_json()), Ok(pool));
    }

    /// The nearest there is, as Rust's own parser has it, of texts with more digits than a number holds.
    #[test]
    fn a_number_in_a_spec_is_the_nearest_to_its_text(text in r"[1-9][0-9]{0,24}\.[0-9]{1,24}(e-?[0-9]{1,2})?") {
        let read = PoolSpec::from_json(&format!(r#"{{"load": {{"max_age_s": {text}}}}}"#)).map(|spec| spec.load.max_age_s);
        prop_assert_eq!(read.map(f64::to_bits), Ok(text.parse::<f64>().map_or(0, f64::to_bits)), "{}", text);
    }
}
