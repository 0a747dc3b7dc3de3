use pointsman::format::{AddressFamily, Format, Options, parse, parse_bytes};

use crate::{SAMPLES, read, read_with, refused, refused_with};

#[test]
fn every_sample_is_recognised() {
    for (text, format, service) in SAMPLES {
        let mut options = Options::new();
        options.service = service.map(Into::into);
        assert_eq!(read_with(text, options).report.format, format, "{text}");
    }
}

#[test]
fn a_named_format_reads_its_own_samples_alike() {
    for (text, format, service) in SAMPLES {
        let mut options = Options::new();
        options.service = service.map(Into::into);
        assert_eq!(read_with(text, options.clone()), read_with(text, options.format(format)), "{text}");
    }
}

#[test]
fn a_named_format_refuses_the_samples_of_the_others_and_says_what_they_look_like() {
    for (text, is, _) in SAMPLES {
        for named in Format::ALL.into_iter().filter(|named| *named != is && *named != Format::Auto) {
            for lenient in [false, true] {
                let error = refused_with(text, Options::new().format(named).lenient(lenient));
                let name = match is {
                    Format::Nacos => "Nacos",
                    Format::Consul => "Consul",
                    Format::Kubernetes => "Kubernetes",
                    Format::Eureka => "Eureka",
                    Format::Spring => "Spring",
                    _ => "plain",
                };
                assert!(error.message().contains(&format!("it looks like {name}")), "{named}: {error}");
            }
        }
    }
}

#[test]
fn an_unknown_document_is_an_error_that_says_what_was_looked_for() {
    for (text, found) in [
        ("{}", "found an object with "),
        (r#"{"a": 1, "b": 2}"#, r#"found an object with "a", "b""#),
        ("[{}]", "found a list that begins with {}"),
        ("[1, 2]", "found a list that begins with 1"),
        ("[[]]", "found a list that begins with []"),
        ("null", "found null"),
        ("3", "found a number"),
        ("\"hosts\"", "found text"),
        ("true", "found true or false"),
        (
            r#"{"timestamp": 1, "status": 403, "error": "Forbidden"}"#,
            "found an error with status 403: Forbidden",
        ),
    ] {
        let error = refused(text);
        assert_eq!(error.path(), ".");
        assert!(error.message().starts_with("no known format: looked for Nacos ("), "{error}");
        assert!(error.message().contains(found), "{error}");
        for named in Format::ALL.into_iter().filter(|named| *named != Format::Auto) {
            refused_with(text, Options::new().format(named));
        }
    }
}

#[test]
fn one_bad_entry_at_the_head_does_not_hide_the_format() {
    let text = r#"[null, 5, {}, {"host": "a", "port": 1}]"#;
    let discovered = read_with(text, Options::new().lenient(true));
    assert_eq!(discovered.report.format, Format::Spring);
    assert_eq!((discovered.report.taken, discovered.report.ignored.len()), (1, 3));
    assert_eq!(refused(text).to_string(), "[0]: must be an object, not null");
}

#[test]
fn an_empty_list_is_empty_in_every_format_that_is_a_list() {
    assert_eq!(read("[]").report.format, Format::Plain);
    for named in [Format::Nacos, Format::Consul, Format::Spring, Format::Plain] {
        let discovered = read_with(" [ ] ", Options::new().format(named));
        assert_eq!((discovered.report.format, discovered.report.taken), (named, 0));
    }
    for named in [Format::Kubernetes, Format::Eureka] {
        let error = refused_with("[]", Options::new().format(named));
        assert!(error.message().ends_with("found an empty list"), "{error}");
    }
}

#[test]
fn text_that_is_no_json_is_refused_with_its_place_and_its_words() {
    assert_eq!(refused("").message(), "the document is empty");
    assert_eq!(refused(" \n\t").message(), "the document is empty");
    assert_eq!(refused("\u{feff}").message(), "the document is empty");
    let error = refused("{\"hosts\": [\n{\"ip\": ");
    assert_eq!(error.message(), "not JSON: EOF while parsing a value at line 2 column 7");
    let error = refused("[] []");
    assert_eq!(error.message(), "not JSON: trailing characters at line 1 column 4");
    let error = refused("No cluster leader");
    assert!(error.message().ends_with("the document begins with \"No cluster leader\""), "{error}");
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let discovered = read("\u{feff}[{\"address\": \"a\"}]");
    assert_eq!(discovered.report.taken, 1);
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_position() {
    let error = parse_bytes(b"[{\"address\": \"\xff\"}]", &Options::new()).unwrap_err();
    assert_eq!(error.to_string(), "not UTF-8 from byte 14 on (counted from 0)");
    assert_eq!(parse_bytes(b"[]", &Options::new()), parse("[]", &Options::new()));
}

#[test]
fn words_are_read_and_written_alike() {
    for format in Format::ALL {
        assert_eq!(format.as_str().parse(), Ok(format));
        assert_eq!(format.to_string(), format.as_str());
        assert_eq!(serde_json::to_value(format).unwrap(), format.as_str());
    }
    for family in AddressFamily::ALL {
        assert_eq!(family.as_str().parse(), Ok(family));
    }
    let error = "Nacos".parse::<Format>().unwrap_err();
    assert!(error.message().ends_with("auto, nacos, consul, kubernetes, eureka, spring, plain"), "{error}");
    assert_eq!(
        "v6".parse::<AddressFamily>().unwrap_err().to_string(),
        "address_family: \"v6\" is not one of ipv4, ipv6"
    );
}

#[test]
fn options_without_use_are_noted() {
    let options = Options::new().service("s").port("1").prefer_ip(true).load_key("cpu");
    let notes = read_with(r#"[{"host": "a", "port": 1}]"#, options).report.notes;
    assert_eq!(
        notes,
        [
            "the option service has no use in spring documents",
            "the option port has no use in spring documents",
            "the option prefer_ip has no use in spring documents",
            "no instance has the metadata key \"cpu\" for its load",
        ]
    );
}
