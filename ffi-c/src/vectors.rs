//! Golden picks: what Rust picks in cases that C repeats.

use std::fmt::Write;

use pointsman::format::{Options, parse};
use pointsman::{Pool, Request, RouteSpec};

/// Picks of each case.
const PICKS: usize = 64;

/// Instances, route, seed, and how requests differ: `tag` is the value of the tag `version`, and `key` a text that each pick
/// makes its own by its number.
struct Case {
    instances: &'static str,
    route: &'static str,
    seed: u64,
    tag: Option<&'static str>,
    key: Option<&'static str>,
}

const MIXED: &str = r#"[{"address":"a:1","weight":8,"tags":{"version":"stable"}},{"address":"b:1","weight":2,"tags":{"version":"gray"}},{"address":"c:1","weight":1.5,"tags":{"version":"stable"}},{"address":"d:1","weight":0},{"address":"e:1","weight":3,"healthy":false}]"#;

const CASES: [Case; 6] = [
    Case {
        instances: MIXED,
        route: r#"{"policy":"weighted_random","tiers":[{}]}"#,
        seed: 42,
        tag: None,
        key: None,
    },
    Case {
        instances: MIXED,
        route: r#"{"policy":"weighted_round_robin","tiers":[{}]}"#,
        seed: 7,
        tag: None,
        key: None,
    },
    Case {
        instances: MIXED,
        route: r#"{"policy":"round_robin","tiers":[{}]}"#,
        seed: 1,
        tag: None,
        key: None,
    },
    Case {
        instances: MIXED,
        route: r#"{"policy":"random","tiers":[{}]}"#,
        seed: u64::MAX,
        tag: None,
        key: None,
    },
    Case {
        instances: MIXED,
        route: r#"{"policy":"weighted_random","tiers":[{"match":["version"]},{}]}"#,
        seed: 3,
        tag: Some("stable"),
        key: None,
    },
    Case {
        instances: MIXED,
        route: r#"{"policy":"weighted_random","split":[{"name":"gray","percent":30,"tiers":[{"tags":{"version":"gray"}}]},{"name":"stable","percent":70,"tiers":[{"tags":{"version":"stable"}}]}],"by":"key"}"#,
        seed: 9,
        tag: None,
        key: Some("user-"),
    },
];

#[test]
fn golden_picks() {
    let mut text = String::new();
    for case in &CASES {
        let pool = Pool::new(parse(case.instances, &Options::new()).unwrap().instances).unwrap();
        let mut picker =
            pool.route(RouteSpec::from_json(case.route).unwrap()).unwrap().picker_seeded(case.seed);
        let picks = (0..PICKS).map(|number| {
            let key = case.key.map(|key| format!("{key}{number}"));
            let tags = case.tag.map(|value| [("version", value)]);
            let mut request = Request::new();
            if let Some(tags) = &tags {
                request = request.tags(tags);
            }
            if let Some(key) = &key {
                request = request.key(key.as_bytes());
            }
            picker.pick(&request).map_or(-1, |pick| pick.index() as i64)
        });
        let picks: Vec<String> = picks.map(|index| index.to_string()).collect();
        let literal = |text: Option<&str>| text.map_or("NULL".into(), |text| format!("{text:?}"));
        let _ = writeln!(
            text,
            "{{ {}, {}, {}u, {}, {}, {{ {} }} }},",
            literal(Some(case.instances)),
            literal(Some(case.route)),
            case.seed,
            literal(case.tag),
            literal(case.key),
            picks.join(", ")
        );
    }
    if let Some(place) = std::env::var_os("POINTSMAN_GENERATED") {
        std::fs::create_dir_all(&place).expect("the directory can be made");
        std::fs::write(std::path::Path::new(&place).join("vectors.inc"), text)
            .expect("the picks can be written");
    }
}
