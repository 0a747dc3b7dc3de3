//! Consistent hashing, through the public interface: who owns a key, and what moves.

use std::collections::BTreeMap;

use pointsman::{
    Algorithm, ConsistentHash, Instance, Lease, Policy, Pool, PoolOptions, Request, Route, RouteSpec, Tier,
};

const ALGORITHMS: [Algorithm; 3] = [Algorithm::Rendezvous, Algorithm::Maglev, Algorithm::Ketama];
const KEYS: usize = 10_000;

fn instances(count: usize) -> Vec<Instance> {
    (0..count).map(|at| Instance::new(format!("10.0.{}.{}:8080", at / 250, at % 250))).collect()
}

fn route_with(pool: &Pool, options: ConsistentHash) -> Route {
    pool.route(RouteSpec::new(Policy::ConsistentHash(options)).tier(Tier::new())).expect("a valid route")
}

fn route(pool: &Pool, algorithm: Algorithm) -> Route {
    route_with(pool, ConsistentHash::new().algorithm(algorithm))
}

fn owner(route: &Route, key: usize) -> String {
    let key = format!("user-{key}");
    route.pick(&Request::new().key(key.as_bytes())).expect("an owner").instance().id.to_string()
}

fn owners(route: &Route, keys: usize) -> Vec<String> {
    (0..keys).map(|key| owner(route, key)).collect()
}

fn counts(owners: &[String]) -> BTreeMap<&str, usize> {
    owners.iter().fold(BTreeMap::new(), |mut counts, owner| {
        *counts.entry(owner.as_str()).or_default() += 1;
        counts
    })
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let list = instances(10);
    for algorithm in ALGORITHMS {
        let mut expected = None;
        let mut shuffle = fastrand::Rng::with_seed(5);
        for _ in 0..20 {
            let mut list = list.clone();
            shuffle.shuffle(&mut list);
            let found = owners(&route(&Pool::new(list).expect("valid"), algorithm), 1_000);
            assert_eq!(expected.get_or_insert(found.clone()), &found, "{algorithm:?}");
        }
    }
}

#[test]
fn one_that_goes_moves_its_own_keys_only_and_gets_them_back() {
    for (algorithm, count) in
        [(Algorithm::Rendezvous, 100), (Algorithm::Ketama, 100), (Algorithm::Maglev, 10)]
    {
        let list = instances(count);
        let pool = Pool::new(list.clone()).expect("valid");
        let route = route(&pool, algorithm);
        let before = owners(&route, KEYS);
        let gone = list[3].clone();
        pool.edit(|edit| edit.remove(&gone.id)).expect("accepted");
        let without = owners(&route, KEYS);
        let owned = before.iter().filter(|owner| ***owner == *gone.id).count();
        let moved = before.iter().zip(&without).filter(|(before, after)| before != after).count();
        match algorithm {
            Algorithm::Maglev => assert!(moved as f64 <= owned as f64 * 1.1, "{moved} moved, {owned} had to"),
            _ => assert_eq!(moved, owned, "{algorithm:?}"),
        }
        assert!(without.iter().all(|owner| **owner != *gone.id));
        pool.edit(|edit| edit.upsert(gone.clone())).expect("accepted");
        assert_eq!(owners(&route, KEYS), before, "{algorithm:?}");
    }
}

#[test]
fn a_raised_weight_only_draws_keys_to_it() {
    for algorithm in [Algorithm::Rendezvous, Algorithm::Ketama] {
        let pool = Pool::new(instances(10)).expect("valid");
        let route = route(&pool, algorithm);
        let before = owners(&route, 4 * KEYS);
        let raised = "10.0.0.4:8080";
        pool.edit(|edit| edit.set_weight(raised, 3.0)).expect("accepted");
        let after = owners(&route, 4 * KEYS);
        let moved = || before.iter().zip(&after).filter(|(before, after)| before != after);
        assert!(moved().all(|(_, after)| after == raised), "{algorithm:?}");
        let share = |owners: &[String]| counts(owners)[raised] as f64 / owners.len() as f64;
        let slack = if algorithm == Algorithm::Rendezvous { 0.015 } else { 0.03 };
        assert!((share(&before) - 0.10).abs() < slack, "{algorithm:?}: {}", share(&before));
        assert!((share(&after) - 0.25).abs() < slack, "{algorithm:?}: {}", share(&after));
    }
}

#[test]
fn shares_follow_the_weights() {
    for (algorithm, slack) in [(Algorithm::Maglev, 0.015), (Algorithm::Rendezvous, 0.04)] {
        let pool = Pool::new(instances(10)).expect("valid");
        let route = route(&pool, algorithm);
        // Many keys, so that what is left is the table's own error and 3 sigma of the keys'.
        let found = owners(&route, 1_000_000);
        for (id, count) in counts(&found) {
            let error = (count as f64 / 100_000.0 - 1.0).abs();
            assert!(error < slack + 0.009, "{algorithm:?}: {id} is {error} off");
        }
    }
    for algorithm in ALGORITHMS {
        let weights = [("a:1", 1_024.0), ("b:1", 1_024.0), ("c:1", 5.0)];
        let pool = Pool::new(weights.map(|(id, weight)| Instance::new(id).weight(weight))).expect("valid");
        let found = owners(&route(&pool, algorithm), 100_000);
        let light = counts(&found)["c:1"];
        assert!((50..=1_000).contains(&light), "{algorithm:?}: {light} of 100,000");
    }
}

#[test]
fn two_instances_share_evenly() {
    for algorithm in ALGORITHMS {
        let found = owners(&route(&Pool::new(instances(2)).expect("valid"), algorithm), KEYS);
        assert!(counts(&found).values().all(|count| (4_500..=5_500).contains(count)), "{algorithm:?}");
        let found = owners(&route(&Pool::new(instances(10)).expect("valid"), algorithm), KEYS);
        let counts = counts(&found);
        assert!(counts.values().all(|count| (800..=1_200).contains(count)), "{algorithm:?}: {counts:?}");
    }
}

#[test]
fn a_key_whose_owner_is_away_has_one_alternate_and_comes_back() {
    for algorithm in ALGORITHMS {
        let pool = Pool::new(instances(3)).expect("valid");
        let route = route(&pool, algorithm);
        let before = owners(&route, 300);
        let away = before[0].clone();
        let key = b"user-0";
        let excluded = |_: usize| {
            route.pick(&Request::new().key(key).exclude(&[&away])).expect("another").instance().id.to_string()
        };
        let alternate = excluded(0);
        assert!((0..100).map(excluded).all(|found| found == alternate), "{algorithm:?}");
        pool.edit(|edit| edit.set_healthy(&away, false)).expect("accepted");
        let down = owners(&route, 300);
        for (key, (before, down)) in before.iter().zip(&down).enumerate() {
            assert!(*before == away || before == down, "{algorithm:?}: key {key} of a live instance moved");
            assert_ne!(*down, away);
        }
        if algorithm != Algorithm::Maglev {
            assert_eq!(down[0], alternate, "{algorithm:?}: down is as excluded");
        }
        pool.edit(|edit| edit.set_healthy(&away, true)).expect("accepted");
        assert_eq!(owners(&route, 300), before, "{algorithm:?}");
    }
}

#[test]
fn an_instance_of_weight_zero_owns_nothing_and_updates_go_on() {
    for algorithm in ALGORITHMS {
        let pool = Pool::new([Instance::new("a:1"), Instance::new("b:1").weight(0.0)]).expect("valid");
        let route = route(&pool, algorithm);
        assert_eq!(counts(&owners(&route, 1_000)), BTreeMap::from([("a:1", 1_000)]));
        pool.replace(["a:1", "c:1"].map(Instance::new)).expect("accepted");
        let found = owners(&route, KEYS);
        assert!(counts(&found)["c:1"].abs_diff(KEYS / 2) < KEYS / 10, "{algorithm:?}");
    }
}

#[test]
fn no_instance_is_loaded_beyond_the_bound() {
    for algorithm in ALGORITHMS {
        let pool = Pool::new(instances(10)).expect("valid");
        let route = route_with(&pool, ConsistentHash::new().algorithm(algorithm).bound(1.25));
        let mut held: Vec<Lease> = Vec::new();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for at in 0..400_usize {
            // One hot key, and others.
            let key = if at % 2 == 0 { "hot".to_owned() } else { format!("user-{at}") };
            let lease = route.lease(&Request::new().key(key.as_bytes())).expect("an instance");
            let count = counts.entry(lease.instance().id.to_string()).or_default();
            *count += 1;
            let most = (1.25 * (at as f64 + 1.0) / 10.0).ceil() as usize;
            assert!(*count <= most, "{algorithm:?}: {count} of {at}, at most {most}");
            held.push(lease);
        }
    }
}

#[test]
fn a_request_without_a_key_is_drawn_by_weight_and_says_so() {
    let pool =
        Pool::with(PoolOptions::new().seed(1), [Instance::new("a:1").weight(3.0), Instance::new("b:1")])
            .expect("valid");
    let route = route(&pool, Algorithm::Rendezvous);
    let mut heavy = 0;
    for _ in 0..4_000 {
        let pick = route.pick(&Request::new()).expect("an instance");
        assert!(pick.keyless());
        heavy += usize::from(pick.index() == 0);
    }
    assert!(heavy.abs_diff(3_000) < 110, "{heavy}");
    assert!(!route.pick(&Request::new().key(b"k")).expect("an instance").keyless());
}

#[test]
fn a_set_too_large_for_its_slots_is_compiled_as_maglev_and_says_so() {
    let pool = Pool::new(instances(40)).expect("valid");
    let route = route_with(&pool, ConsistentHash::new().slots(1_009));
    assert_eq!(route.explain(&Request::new().key(b"k")).branches[0].tiers[0].hashing, Some("maglev"));
    assert_eq!(pool.status().maglev_instead, 1);
    pool.replace(instances(30)).expect("accepted");
    assert_eq!(route.explain(&Request::new().key(b"k")).branches[0].tiers[0].hashing, Some("rendezvous"));
    assert_eq!(pool.status().maglev_instead, 0);
}

#[test]
fn the_format_of_owners_is_a_promise() {
    let pool =
        Pool::new(["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8081"].map(Instance::new)).expect("valid");
    let keys = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"];
    let found = |algorithm| -> String {
        let route = route(&pool, algorithm);
        keys.iter()
            .map(|key| route.pick(&Request::new().key(key.as_bytes())).expect("an owner").index().to_string())
            .collect()
    };
    // Recorded from this implementation; a change of any of them changes every user's mapping.
    assert_eq!(found(Algorithm::Rendezvous), "20020212");
    assert_eq!(found(Algorithm::Maglev), "22010221");
}

#[test]
fn bad_options_are_refused_with_their_place() {
    let check = |policy: &str| {
        let spec = format!(r#"{{"policy": {policy}, "tiers": [{{}}]}}"#);
        RouteSpec::from_json(&spec).expect_err("refused").path().to_owned()
    };
    assert_eq!(check(r#"{"consistent_hash": {"slots": 65536}}"#), "policy.consistent_hash.slots");
    assert_eq!(check(r#"{"consistent_hash": {"slots": 7}}"#), "policy.consistent_hash.slots");
    assert_eq!(check(r#"{"consistent_hash": {"bound": 0.5}}"#), "policy.consistent_hash.bound");
    assert_eq!(check(r#"{"power_of_two": {"choices": 1}}"#), "policy.power_of_two.choices");
    assert_eq!(check(r#"{"peak_ewma": {"choices": 9}}"#), "policy.peak_ewma.choices");
    assert_eq!(check(r#"{"consistent_hash": {"algorithm": "modulo"}}"#), "policy.consistent_hash.algorithm");
}

#[test]
fn memory_does_not_grow_with_updates_or_with_the_scale_of_weights() {
    let pool = Pool::new(instances(10).into_iter().map(|instance| instance.weight(1_000.0))).expect("valid");
    let _routes: Vec<Route> = ALGORITHMS.into_iter().map(|algorithm| route(&pool, algorithm)).collect();
    let bytes = pool.status().bytes;
    assert!(bytes < 8 << 20, "{bytes}");
    for round in 0..200 {
        let id = format!("10.0.0.{}:8080", round % 10);
        pool.edit(|edit| edit.set_weight(&id, f64::from(round % 7 + 1) * 1_000.0)).expect("accepted");
    }
    assert!(pool.retired() <= 2, "{} snapshots wait", pool.retired());
}
