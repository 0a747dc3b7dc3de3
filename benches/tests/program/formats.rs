//! Every format, from a file and from stdin.

use crate::{fed, pointsman, sample};

const SAMPLES: [(&str, &str); 9] = [
    ("nacos", "nacos-v1.json"),
    ("nacos", "nacos-v2.json"),
    ("nacos", "nacos-v3.json"),
    ("nacos", "nacos-compatible.json"),
    ("consul", "consul.json"),
    ("kubernetes", "kubernetes-list.json"),
    ("eureka", "eureka-one.json"),
    ("spring", "spring.json"),
    ("plain", "plain.json"),
];

#[test]
fn formats_are_recognised_and_can_be_named() {
    for (format, name) in SAMPLES {
        let path = sample(name);
        let told = pointsman(&["inspect", "--json", &path]).json();
        assert_eq!(told["source"], format, "{name}");
        assert!(told["taken"].as_u64() > Some(0), "{name}");
        let named = pointsman(&["inspect", "--json", "--format", format, &path]).json();
        assert_eq!(named, told, "{name}");
        let text = std::fs::read(&path).unwrap();
        assert_eq!(fed(&["inspect", "--json", "-"], &text).json(), told, "{name}");
    }
}

#[test]
fn every_format_runs() {
    for (format, name) in SAMPLES {
        let report =
            pointsman(&["run", &sample(name), "--json", "--picks", "1000", "--policy", "random"]).json();
        assert_eq!(report["source"], format, "{name}");
        assert_eq!(report["runs"][0]["picks"], 1_000, "{name}");
    }
}

#[test]
fn a_service_is_named_where_there_are_several() {
    let path = sample("eureka.json");
    let error = pointsman(&["inspect", &path]);
    assert!(error.error(2).starts_with(&path), "{}", error.err);
    let path = sample("kubernetes-services.json");
    assert!(pointsman(&["inspect", &path]).error(2).contains("service"));
}

#[test]
fn a_wrong_format_and_a_servers_error_are_refused() {
    let path = sample("consul.json");
    let said = pointsman(&["inspect", "--format", "nacos", &path]);
    assert!(said.error(2).contains("it looks like Consul"), "{}", said.err);
    let path = sample("nacos-error.json");
    assert!(pointsman(&["inspect", &path]).error(2).starts_with(&path));
}
