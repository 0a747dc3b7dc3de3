//! Sizes, places and numbers as Rust has them, for C and C++ to be compared with.

use std::fmt::Write;
use std::mem::offset_of;

use crate::abi::pointsman_str;
use crate::codes::*;
use crate::error::pointsman_error;
use crate::instance::{pointsman_instance, pointsman_tag};
use crate::options::{pointsman_discovery_options, pointsman_pool_options};
use crate::request::pointsman_request;
use crate::route::pointsman_pick;

macro_rules! structs {
    ($text:expr; $($name:ident { $($field:ident),* })*) => {$(
        let _ = writeln!($text, "SIZE({}, {})", stringify!($name), size_of::<$name>());
        $(let _ = writeln!($text, "OFFSET({}, {}, {})", stringify!($name), stringify!($field), offset_of!($name, $field));)*
        // Names every field, or does not compile.
        #[allow(dead_code)]
        fn $name(value: &$name) {
            let $name { $($field: _),* } = value;
        }
    )*};
}

macro_rules! numbers {
    ($text:expr; $($name:ident),* $(,)?) => {$(
        let _ = writeln!($text, "VALUE({}, {}u)", stringify!($name), $name);
    )*};
}

#[test]
fn layout_and_numbers() {
    let mut text = String::new();
    structs! { text;
        pointsman_tag { key, value }
        pointsman_instance {
            size, id, address, zone, tags, tag_count, weight, load, user_data, max_in_flight, healthy, enabled, has_load,
            reserved
        }
        pointsman_request {
            size, tags, tag_count, require, require_count, exclude, exclude_count, key, key_len, prefer, relax, reserved
        }
        pointsman_pool_options { size, spec, seed, release, release_context, has_seed, reserved }
        pointsman_discovery_options {
            size, service, port, load_key, format, address_family, lenient, prefer_ip, reserved
        }
        pointsman_pick { user_data, version, index, flags, tier, branch, reserved }
        pointsman_error { size, code, branch, index, field, message }
    }
    let _ = writeln!(text, "SIZE(pointsman_str, {})", size_of::<pointsman_str>());
    let _ = writeln!(text, "SIZE(pointsman_result, {})", size_of::<pointsman_result>());
    let _ = writeln!(text, "SIZE(pointsman_outcome, {})", size_of::<pointsman_outcome>());
    let _ = writeln!(text, "SIZE(pointsman_format, {})", size_of::<pointsman_format>());
    let _ = writeln!(text, "SIZE(pointsman_address_family, {})", size_of::<pointsman_address_family>());
    numbers! { text;
        POINTSMAN_OK, POINTSMAN_NULL, POINTSMAN_BAD_SIZE, POINTSMAN_BAD_ENUM, POINTSMAN_BAD_UTF8,
        POINTSMAN_BAD_LENGTH, POINTSMAN_BAD_VALUE, POINTSMAN_NOT_FOUND, POINTSMAN_BAD_SPEC, POINTSMAN_BAD_DOCUMENT,
        POINTSMAN_PANIC, POINTSMAN_EMPTY, POINTSMAN_NO_MATCH, POINTSMAN_UNAVAILABLE, POINTSMAN_DRAINED,
        POINTSMAN_EXCLUDED, POINTSMAN_SATURATED, POINTSMAN_OUTCOME_SUCCESS, POINTSMAN_OUTCOME_FAILURE,
        POINTSMAN_OUTCOME_CANCELLED, POINTSMAN_FORMAT_AUTO, POINTSMAN_FORMAT_NACOS, POINTSMAN_FORMAT_CONSUL,
        POINTSMAN_FORMAT_KUBERNETES, POINTSMAN_FORMAT_EUREKA, POINTSMAN_FORMAT_SPRING, POINTSMAN_FORMAT_PLAIN,
        POINTSMAN_FAMILY_ANY, POINTSMAN_FAMILY_IPV4, POINTSMAN_FAMILY_IPV6, POINTSMAN_PICK_RELAXED,
        POINTSMAN_PICK_KEYLESS,
        POINTSMAN_MAX_NAME, POINTSMAN_MAX_TEXT, POINTSMAN_MAX_ITEMS, POINTSMAN_MAX_INSTANCES, POINTSMAN_NO_INDEX,
        POINTSMAN_NO_LATENCY, POINTSMAN_NEVER,
    }
    if let Some(place) = std::env::var_os("POINTSMAN_GENERATED") {
        std::fs::create_dir_all(&place).expect("the directory can be made");
        std::fs::write(std::path::Path::new(&place).join("layout.inc"), text)
            .expect("the layout can be written");
    }
}
