//! Owners of keys: what Rust says of those that C repeats.

use std::fmt::Write;

use pointsman::{Instance, Pool, Request, RouteSpec};

const KEYS: usize = 1_000;

/// The digest of each algorithm's owners. The table of a hash policy is a promise to every process, language and version.
const DIGESTS: [(&str, u64); 3] = [
    ("rendezvous", 0xf555_8fd8_f005_56ff),
    ("maglev", 0x220d_810e_7793_6d8b),
    ("ketama", 0x99e8_dc31_8e9e_464b),
];

#[test]
fn keys_have_the_owners_that_were_promised() {
    let list = (0..10).map(|id| Instance::new(format!("10.0.0.{id}:80")).weight(f64::from(1 + id)));
    let pool = Pool::new(list).expect("the list is sound");
    let mut text = String::new();
    let mut digests = Vec::new();
    for (algorithm, _) in DIGESTS {
        let spec = format!(
            r#"{{"policy": {{"consistent_hash": {{"algorithm": "{algorithm}"}}}}, "tiers": [{{}}]}}"#
        );
        let route =
            pool.route(RouteSpec::from_json(&spec).expect("the spec is sound")).expect("there is room");
        let owners: Vec<usize> = (0..KEYS)
            .map(|key| {
                let key = format!("user-{key}");
                route.pick(&Request::new().key(key.as_bytes())).expect("somebody owns it").index()
            })
            .collect();
        // FNV-1a of the owners, one byte each.
        let digest = owners.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &owner| {
            (hash ^ owner as u64).wrapping_mul(0x100_0000_01b3)
        });
        let _ = writeln!(text, "{{\"{algorithm}\", 0x{digest:016x}u, {{");
        for owner in owners {
            let _ = write!(text, "{owner},");
        }
        text.push_str("}},\n");
        digests.push((algorithm, digest));
    }
    assert_eq!(digests, DIGESTS, "as literals: {digests:#018x?}");
    if let Some(place) = std::env::var_os("POINTSMAN_GENERATED") {
        std::fs::create_dir_all(&place).expect("the directory can be made");
        std::fs::write(std::path::Path::new(&place).join("owners.inc"), text)
            .expect("the owners can be written");
    }
}
