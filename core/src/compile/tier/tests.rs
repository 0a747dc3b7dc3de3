//! Combinations of matched values, the room for them, and what a tier shares with the one before.

use proptest::prelude::*;

use super::*;
use crate::compile::{Change, Snapshot};
use crate::position::PositionBook;
use crate::sync::AtomicU64;
use crate::{Instance, Pool};

const ENOUGH: usize = 1 << 30;

proptest! {
    #[test]
    fn equal_is_equality(a in "[ab]{0,20}", b in "[ab]{0,20}", at in 0_usize..20) {
        prop_assert_eq!(equal(&a, &b), a == b);
        let mut changed = a.clone().into_bytes();
        if at < changed.len() {
            changed[at] ^= 1;
        }
        let changed = String::from_utf8(changed).expect("ASCII");
        prop_assert_eq!(equal(&a, &changed), a == changed);
    }
}

#[test]
fn every_byte_of_a_string_counts() {
    for length in 0..40 {
        let text = "a".repeat(length);
        assert!(equal(&text, &text.clone()));
        for at in 0..length {
            let other = format!("{}b{}", &text[..at], &text[at + 1..]);
            assert!(!equal(&text, &other) && !equal(&other, &text), "{other}");
        }
        assert!(!equal(&text, &format!("{text}a")));
    }
}

/// The tier over the instances of a snapshot, compiled from nothing.
fn compiled(tier: &Tier, snapshot: &Snapshot, room: &mut Room) -> Arc<CompiledTier> {
    let change = Change { same_list: false, retagged: true, touched: Vec::new() };
    let (positions, stamps) = (Arc::new(PositionBook::default()), AtomicU64::new(0));
    let roster = &snapshot.roster;
    let context = Context { roster, change: &change, positions: &positions, stamps: &stamps, seed: Some(1) };
    CompiledTier::compile(tier, &Policy::Random, 0, None, &context, room)
}

/// Instances whose tag has these values.
fn tagged(values: &[&[&str]]) -> Pool {
    let instance = |(at, values): (usize, &&[&str])| {
        values.iter().fold(Instance::new(format!("i{at}")), |instance, value| instance.tag("v", value))
    };
    Pool::new(values.iter().enumerate().map(instance)).expect("a good list")
}

/// The values that have a group, one letter for each, in the order of the values.
fn with_a_group(tier: &CompiledTier) -> String {
    let mut values: Vec<&str> = tier.groups.iter().map(|group| &*group.values[0]).collect();
    values.sort_unstable();
    values.concat()
}

/// What the tier answers a request for this value.
fn found(tier: &CompiledTier, value: &str) -> &'static str {
    match tier.find(&Request::new().tags(&[("v", value)])) {
        Found::Group(group) if group.values.is_empty() => "everyone",
        Found::Group(_) => "its group",
        Found::Nobody => "nobody",
        Found::AtPickTime => "at pick time",
    }
}

#[test]
fn as_many_combinations_have_groups_as_there_is_room_for_sets() {
    let tier = Tier::new().matching("v");
    let one = tagged(&[&["a", "b", "c", "d"]]);
    let several = tagged(&[&["b", "d"], &["b"], &["a", "c"]]);
    // The first in the list come first, and of one instance those first in order.
    for (pool, rooms) in [
        (one, [(0, ""), (1, "a"), (3, "abc"), (4, "abcd"), (5, "abcd")]),
        (several, [(0, ""), (1, "b"), (3, "abd"), (4, "abcd"), (5, "abcd")]),
    ] {
        let snapshot = pool.core().published.load();
        for (sets, expected) in rooms {
            let mut room = Room { sets, bytes: ENOUGH };
            let compiled = compiled(&tier, &snapshot, &mut room);
            assert_eq!(with_a_group(&compiled), expected);
            assert_eq!((room.sets, compiled.capped), (sets - expected.len(), sets < 4));
            for value in ["a", "b", "c", "d", "x"] {
                let otherwise = if sets < 4 { "at pick time" } else { "nobody" };
                let answer = if expected.contains(value) { "its group" } else { otherwise };
                assert_eq!(found(&compiled, value), answer, "{value} with room for {sets}");
            }
        }
    }
}

#[test]
fn combinations_have_groups_as_long_as_their_bytes_fit() {
    let tier = Tier::new().matching("v");
    let pool = tagged(&[&["a"], &["b"], &["c"]]);
    let snapshot = pool.core().published.load();
    let mut room = Room { sets: 9, bytes: ENOUGH };
    let whole = compiled(&tier, &snapshot, &mut room);
    let one = whole.groups.iter().next().expect("there are three").heap_bytes();
    assert_eq!(room.bytes, ENOUGH - 3 * one);
    for (bytes, expected, left) in
        [(one - 1, "", one - 1), (one, "a", 0), (2 * one + 1, "ab", 1), (3 * one, "abc", 0)]
    {
        let mut room = Room { sets: 9, bytes };
        let compiled = compiled(&tier, &snapshot, &mut room);
        assert_eq!(with_a_group(&compiled), expected);
        assert_eq!((room.bytes, compiled.capped), (left, expected != "abc"));
    }
}

#[test]
fn a_small_combination_has_its_group_behind_one_too_large() {
    let values: Vec<&[&str]> = (0..200).map(|at| if at == 199 { &["b"][..] } else { &["a"] }).collect();
    let pool = tagged(&values);
    let snapshot = pool.core().published.load();
    let mut room = Room { sets: 9, bytes: 2_000 };
    let compiled = compiled(&Tier::new().matching("v"), &snapshot, &mut room);
    assert_eq!((with_a_group(&compiled), compiled.capped), ("b".to_owned(), true));
}

#[test]
fn a_tier_that_stops_does_so_only_where_it_has_members() {
    let pool = tagged(&[&["a"]]);
    let snapshot = pool.core().published.load();
    for (ends, expected) in [(OnUnavailable::Next, false), (OnUnavailable::Stop, true)] {
        let tier = Tier::new().when_unavailable(ends);
        let compiled = compiled(&tier, &snapshot, &mut Room { sets: 9, bytes: ENOUGH });
        assert_eq!([0, 1, 9].map(|members| compiled.stops(members)), [false, expected, expected]);
    }
}

#[test]
fn combinations_stand_in_a_list_up_to_eight() {
    let letters: Vec<String> = (0..12).map(|at| format!("v{at:02}")).collect();
    for count in [1, FEW, FEW + 1, 12] {
        let list = letters.iter().take(count).map(|value| Instance::new(value.as_str()).tag("v", value));
        let pool = Pool::new(list).expect("a good list");
        let snapshot = pool.core().published.load();
        let tier = Tier::new().matching("v");
        let compiled = compiled(&tier, &snapshot, &mut Room { sets: 99, bytes: ENOUGH });
        let listed: Vec<&str> = compiled.few().iter().map(|group| &*group.values[0]).collect();
        assert_eq!(listed, &letters[..if count <= FEW { count } else { 0 }]);
        for value in &letters[..count] {
            assert_eq!(found(&compiled, value), "its group");
        }
        assert_eq!(found(&compiled, "v99"), "nobody");
    }
}

#[test]
fn a_request_finds_the_group_of_its_combination() {
    let list = ["ax", "ay", "bx"].map(|tags| Instance::new(tags).tag("v", &tags[..1]).tag("w", &tags[1..]));
    let pool = Pool::new(list).expect("a good list");
    let snapshot = pool.core().published.load();
    let tier = Tier::new().matching("v").matching("w");
    let compiled = compiled(&tier, &snapshot, &mut Room { sets: 9, bytes: ENOUGH });
    let found = |tags: &[(&str, &str)]| match compiled.find(&Request::new().tags(tags)) {
        Found::Group(group) => Some(group.values.concat()),
        Found::Nobody => None,
        Found::AtPickTime => Some("at pick time".to_owned()),
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(found(&[("v", "a"), ("w", "x")]), some("ax"));
    assert_eq!(found(&[("w", "y"), ("other", "b"), ("v", "a")]), some("ay"));
    assert_eq!(found(&[("v", "b"), ("w", "y")]), None);
    // Tags that the tier does not match by leave it at everyone; some of the keys, or one of them twice, need a search.
    assert_eq!(found(&[("other", "a")]), some(""));
    assert_eq!(found(&[]), some(""));
    assert_eq!(found(&[("v", "a")]), some("at pick time"));
    assert_eq!(found(&[("v", "a"), ("v", "b"), ("w", "x")]), some("at pick time"));
    let without_keys = self::compiled(&Tier::new(), &snapshot, &mut Room { sets: 9, bytes: ENOUGH });
    assert_eq!(self::found(&without_keys, "a"), "everyone");
}

#[test]
fn combinations_have_hashes_of_their_own() {
    let pool = tagged(&[&["a"]]);
    let snapshot = pool.core().published.load();
    let tier = compiled(&Tier::new().matching("v"), &snapshot, &mut Room { sets: 9, bytes: ENOUGH });
    let values: Vec<String> = (0..32).map(|at| format!("v{at}")).collect();
    let pairs = values.iter().flat_map(|a| values.iter().map(move |b| vec![a.as_str(), b.as_str()]));
    let run_together = [vec!["ab", "c"], vec!["a", "bc"], vec!["abc"], vec!["", "abc"], vec!["abc", ""]];
    let hashes: Vec<u64> = pairs.chain(run_together).map(|values| tier.hash(&values)).collect();
    let distinct: std::collections::BTreeSet<u64> = hashes.iter().copied().collect();
    assert_eq!(distinct.len(), 32 * 32 + 5);
}

#[test]
fn bytes_of_a_tier_are_those_of_its_mask_its_table_and_its_groups() {
    let pool = tagged(&[&["a"][..]; 200]);
    let snapshot = pool.core().published.load();
    for (tier, mask) in [(Tier::new(), 0), (Tier::new().tag("v", "a"), 200_usize.div_ceil(64) * 8)] {
        let compiled = compiled(&tier.matching("v"), &snapshot, &mut Room { sets: 9, bytes: ENOUGH });
        let groups: usize = compiled.groups().map(Group::heap_bytes).sum();
        assert!(groups > 0 && compiled.groups.allocation_size() > 0);
        assert_eq!(compiled.heap_bytes(), mask + compiled.groups.allocation_size() + groups);
    }
}
