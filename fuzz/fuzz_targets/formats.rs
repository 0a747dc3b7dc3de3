//! Discovery documents of every format: whatever is read, printed as the plain format, reads back as the same instances, field
//! by field and bit by bit; what the strict way takes, the lenient one takes alike; and a pool takes it.
//!
//! The first byte chooses the format and the options, so that corpus files are a letter and a document.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use pointsman::Pool;
use pointsman::format::{AddressFamily, Format, Options, parse, parse_bytes, to_plain};

fuzz_target!(|input: &[u8]| -> Corpus {
    let Some((choice, document)) = input.split_first() else { return Corpus::Reject };
    let format = Format::ALL[usize::from(*choice) % Format::ALL.len()];
    let mut options = Options::new().format(format);
    // Letters up to `v` choose a format alone.
    let more = usize::from(choice.saturating_sub(b'p')) / Format::ALL.len();
    if more & 1 != 0 {
        options = options.load_key("load").prefer_ip(true);
    }
    if more & 2 != 0 {
        options = options.service("cart").port("http").address_family(AddressFamily::ALL[more >> 2 & 1]);
    }
    let strict = parse_bytes(document, &options);
    let lenient = parse_bytes(document, &options.clone().lenient(true));
    let Ok(found) = strict else {
        // The place and the message can be shown.
        let error = strict.unwrap_err();
        assert!(!error.message().is_empty() && !error.path().is_empty());
        if let Ok(found) = lenient {
            assert!(!found.report.ignored.is_empty(), "refused strictly: {error}");
            reads_back(&found.instances);
        }
        return Corpus::Keep;
    };
    assert_eq!(lenient.as_ref().map(|found| &found.instances), Ok(&found.instances));
    assert_eq!(found.report.taken, found.instances.len());
    reads_back(&found.instances);
    Corpus::Keep
});

fn reads_back(instances: &[pointsman::Instance]) {
    let plain = to_plain(instances);
    let again = parse(&plain, &Options::new().format(Format::Plain)).expect("what was printed reads back");
    assert_eq!(again.instances, instances);
    for (again, instance) in again.instances.iter().zip(instances) {
        assert_eq!(again.weight.to_bits(), instance.weight.to_bits());
        assert_eq!(again.load.map(f64::to_bits), instance.load.map(f64::to_bits));
        assert_eq!(again.user_data, instance.user_data);
    }
    assert_eq!(Pool::new(again.instances).expect("a pool takes what was read").len(), instances.len());
}
