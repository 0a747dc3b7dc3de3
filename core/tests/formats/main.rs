//! Discovery documents become the instances that their registries mean.

mod consul;
mod detection;
mod entries;
mod eureka;
mod hostile;
mod kubernetes;
mod nacos;
mod plain;
mod spring;

use pointsman::format::{Discovered, Format, Options, parse};
use pointsman::{FormatError, Instance};

/// Every sample that is a list of instances, with its format and the service to take from it.
const SAMPLES: [(&str, Format, Option<&str>); 13] = [
    (include_str!("../samples/nacos-v1.json"), Format::Nacos, None),
    (include_str!("../samples/nacos-v2.json"), Format::Nacos, None),
    (include_str!("../samples/nacos-v3.json"), Format::Nacos, None),
    (include_str!("../samples/nacos-compatible.json"), Format::Nacos, None),
    (include_str!("../samples/nacos-empty.json"), Format::Nacos, None),
    (include_str!("../samples/consul.json"), Format::Consul, None),
    (include_str!("../samples/kubernetes-slice.json"), Format::Kubernetes, None),
    (include_str!("../samples/kubernetes-list.json"), Format::Kubernetes, None),
    (include_str!("../samples/kubernetes-services.json"), Format::Kubernetes, Some("cart")),
    (include_str!("../samples/eureka.json"), Format::Eureka, Some("cart")),
    (include_str!("../samples/eureka-one.json"), Format::Eureka, None),
    (include_str!("../samples/spring.json"), Format::Spring, None),
    (include_str!("../samples/plain.json"), Format::Plain, None),
];

fn read(text: &str) -> Discovered {
    read_with(text, Options::new())
}

fn read_with(text: &str, options: Options) -> Discovered {
    match parse(text, &options) {
        Ok(discovered) => discovered,
        Err(error) => panic!("refused: {error}"),
    }
}

fn refused(text: &str) -> FormatError {
    refused_with(text, Options::new())
}

fn refused_with(text: &str, options: Options) -> FormatError {
    match parse(text, &options) {
        Ok(discovered) => panic!("taken: {:?}", discovered.instances),
        Err(error) => error,
    }
}

#[track_caller]
fn assert_refused(text: &str, path: &str, message: &str) {
    let error = refused(text);
    assert_eq!((error.path(), error.message()), (path, message));
}

fn ids(discovered: &Discovered) -> Vec<&str> {
    discovered.instances.iter().map(|instance| &*instance.id).collect()
}

/// The tags as `k=v`, sorted.
fn tags(instance: &Instance) -> Vec<String> {
    instance.tags.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Weight, healthy, enabled.
fn state(instance: &Instance) -> (f64, bool, bool) {
    (instance.weight, instance.healthy, instance.enabled)
}

fn ignored(discovered: &Discovered) -> Vec<&str> {
    discovered.report.ignored.iter().map(|ignored| &*ignored.path).collect()
}
