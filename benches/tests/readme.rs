//! The README's tables name what the engine knows, and its specs are specs. Its examples in Rust are documentation tests.

use pointsman::format::Format;
use pointsman::{Policy, Reason, RouteSpec};

const README: &str = include_str!("../../README.md");

/// The rows of the section's tables, cell by cell, without their heads.
fn rows(section: &str) -> Vec<Vec<&'static str>> {
    let begin = README.find(&format!("## {section}\n")).unwrap() + 3;
    let end = README[begin..].find("\n## ").map_or(README.len(), |length| begin + length);
    let rows = README[begin..end].lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.map(|row| row.split(" | ").collect()).collect()
}

/// What stands between backticks.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_policy_has_a_row() {
    let named: Vec<&str> = rows("Policies").iter().flat_map(|row| quoted(row[0])).collect();
    let known: Vec<&str> = Policy::all().iter().map(Policy::name).collect();
    assert_eq!(named, known);
}

#[test]
fn every_format_has_a_row() {
    let named: Vec<&str> = rows("Formats").iter().flat_map(|row| quoted(row[0])).collect();
    let known: Vec<&str> =
        Format::ALL.iter().filter(|format| **format != Format::Auto).map(|format| format.as_str()).collect();
    assert_eq!(named, known);
}

#[test]
fn every_reason_has_a_row() {
    let named: Vec<&str> = rows("Routes").iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(named, Reason::ALL.map(Reason::as_str));
}

#[test]
fn tiers_and_specs_are_valid() {
    let tiers =
        rows("Routes").into_iter().flat_map(|row| quoted(row[1])).filter(|tier| tier.starts_with('{'));
    let specs = tiers.map(|tier| format!(r#"{{"policy": "random", "tiers": [{tier}]}}"#));
    let blocks = README.split("```json\n").skip(1).filter_map(|block| block.split_once("```"));
    let specs: Vec<String> = specs.chain(blocks.map(|(spec, _)| spec.to_owned())).collect();
    assert!(specs.len() > 10);
    for spec in specs {
        assert_eq!(RouteSpec::from_json(&spec).err(), None, "{spec}");
    }
}
