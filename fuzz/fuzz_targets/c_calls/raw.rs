//! Arguments as careless C hands them over, within the one promise of `ffi-c/CONVENTIONS.md`: a pointer that is not NULL points
//! to as much as its size or its length says.

use arbitrary::Arbitrary;

/// Keeps what pointers point to for the length of a call.
#[derive(Default)]
pub(crate) struct Arena {
    texts: Vec<Vec<u8>>,
    words: Vec<Vec<u64>>,
}

/// The largest size of a struct that the library believes.
const LARGEST: u64 = 4_096;

const SMALL: [&str; 16] = [
    "a",
    "b",
    "c",
    "d",
    "version",
    "gray",
    "stable",
    "",
    "east",
    "10.0.0.1:80",
    "\0",
    r#"{"policy":"weighted_random","tiers":[{"match":["version"]},{}]}"#,
    r#"{"policy":{"consistent_hash":{"slots":1009,"bound":1.25}},"tiers":[{}]}"#,
    r#"{"policy":"least_request","split":[{"name":"a","percent":100,"tiers":[{}]}]}"#,
    r#"{"zone":"east","keep_last":true}"#,
    r#"[{"address":"a","weight":2},{"address":"b","max_in_flight":1}]"#,
];

#[derive(Arbitrary, Clone, Debug)]
pub(crate) enum Text {
    Absent,
    Small(u8),
    Bytes(Vec<u8>),
    NullOfLength(u16),
    TooLong(u32),
}

#[derive(Arbitrary, Debug)]
pub(crate) enum Several<T> {
    None,
    Some(Vec<T>),
    NullOfLength(u8),
    TooMany(u16),
}

/// What a struct says of its size.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(crate) enum Size {
    Right,
    AlsoRight,
    Zero,
    Truncated(u16),
    Longer(u8),
    Noise(u64),
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Instance {
    size: Size,
    id: Text,
    address: Text,
    zone: Text,
    tags: Several<(Text, Text)>,
    weight: f64,
    load: f64,
    plain: bool,
    limit: u8,
    flags: [u8; 4],
}

#[derive(Arbitrary, Debug)]
pub(crate) struct Request {
    size: Size,
    tags: Several<(Text, Text)>,
    require: Several<(Text, Text)>,
    exclude: Several<Text>,
    key: Text,
    prefer: Text,
    relax: u8,
    reserved: u8,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct PoolOptions {
    size: Size,
    spec: Text,
    seed: u64,
    hook: bool,
    has_seed: u8,
}

#[derive(Arbitrary, Debug)]
pub(crate) struct DiscoveryOptions {
    size: Size,
    service: Text,
    port: Text,
    load_key: Text,
    format: i8,
    family: i32,
    flags: [u8; 2],
}

impl Arena {
    /// Pointer and length.
    pub(crate) fn text(&mut self, text: &Text) -> [u64; 2] {
        let bytes = match text {
            Text::Absent => return [0, 0],
            Text::NullOfLength(length) => return [0, u64::from(*length)],
            Text::Small(at) => SMALL[usize::from(*at) % SMALL.len()].as_bytes().to_vec(),
            Text::Bytes(bytes) => bytes.clone(),
            // Beyond the longest that any field may be, so that nothing is read.
            Text::TooLong(more) => {
                let [pointer, _] = self.keep(vec![b'x']);
                return [pointer, (1 << 30) + 1 + u64::from(*more)];
            }
        };
        self.keep(bytes)
    }

    fn keep(&mut self, mut bytes: Vec<u8>) -> [u64; 2] {
        bytes.shrink_to_fit();
        self.texts.push(bytes);
        let kept = &self.texts[self.texts.len() - 1];
        [kept.as_ptr() as u64, kept.len() as u64]
    }

    fn words(&mut self, mut words: Vec<u64>) -> u64 {
        // The sanitizer does not know what of an allocation is in use.
        words.shrink_to_fit();
        self.words.push(words);
        self.words[self.words.len() - 1].as_ptr() as u64
    }

    /// Pointer and count.
    fn several<T>(
        &mut self,
        several: &Several<T>,
        mut each: impl FnMut(&mut Self, &T) -> Vec<u64>,
    ) -> [u64; 2] {
        match several {
            Several::None => [0, 0],
            Several::NullOfLength(count) => [0, u64::from(*count)],
            Several::TooMany(more) => [self.words(vec![0; 4]), 65_537 + u64::from(*more)],
            Several::Some(items) => {
                let items = &items[..items.len().min(70)];
                let words = items.iter().flat_map(|item| each(self, item)).collect();
                [self.words(words), items.len() as u64]
            }
        }
    }

    fn tags(&mut self, tags: &Several<(Text, Text)>) -> [u64; 2] {
        self.several(tags, |arena, (key, value)| [arena.text(key), arena.text(value)].concat())
    }

    /// A struct of these words behind its size, in as many words as it says that it has, so that whoever reads on is seen; in one
    /// where no struct has such a size and its size alone may be read.
    fn sized(&mut self, size: Size, fields: &[[u64; 2]], last: &[u64]) -> Vec<u64> {
        let mut words = vec![0];
        words.extend(fields.iter().flatten());
        words.extend(last);
        let right = words.len() as u64 * 8;
        words[0] = match size {
            Size::Right | Size::AlsoRight => right,
            Size::Zero => 0,
            Size::Truncated(by) => right.saturating_sub(u64::from(by % 128)),
            Size::Longer(by) => right + u64::from(by),
            Size::Noise(size) => size,
        };
        let room = if (8..=LARGEST).contains(&words[0]) { words[0].div_ceil(8) } else { 1 };
        words.resize(room as usize, if matches!(size, Size::Longer(by) if by % 2 == 1) { 1 } else { 0 });
        words
    }

    pub(crate) fn instance(&mut self, instance: &Instance) -> Vec<u64> {
        let fields = [&instance.id, &instance.address, &instance.zone].map(|text| self.text(text));
        let tags = self.tags(&instance.tags);
        let number =
            |value: f64| if instance.plain { value.abs().min(9.0).to_bits() } else { value.to_bits() };
        let [a, b, c, d] = instance.flags;
        let flags = u64::from(instance.limit) | u64::from(u32::from_le_bytes([a, b, c, d])) << 32;
        let last = [number(instance.weight), number(instance.load), 7, flags];
        self.sized(instance.size, &[fields[0], fields[1], fields[2], tags], &last)
    }

    /// Elements lie one behind the other, each of the size that the first one says.
    pub(crate) fn instances(&mut self, instances: &Several<Instance>) -> (u64, usize) {
        let Several::Some(items) = instances else {
            let [pointer, count] = self.several(instances, |_, _| vec![0]);
            // Its size is read before its number is looked at.
            return (pointer, if pointer == 0 { count as usize } else { count as usize + 1_000_000 });
        };
        let items: Vec<Vec<u64>> = items.iter().take(6).map(|item| self.instance(item)).collect();
        let stride = items.first().map_or(8, |first| first[0]).clamp(8, LARGEST) as usize;
        let mut bytes = vec![0_u8; items.len() * stride];
        for (item, place) in items.iter().zip(bytes.chunks_exact_mut(stride)) {
            let item: Vec<u8> = item.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let held = item.len().min(stride);
            place[..held].copy_from_slice(&item[..held]);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let words =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        (self.words(words.collect()), items.len())
    }

    pub(crate) fn one(&mut self, instance: &Option<Instance>) -> u64 {
        let Some(instance) = instance else { return 0 };
        let words = self.instance(instance);
        self.words(words)
    }

    pub(crate) fn request(&mut self, request: &Option<Request>) -> u64 {
        let Some(request) = request else { return 0 };
        let lists = [self.tags(&request.tags), self.tags(&request.require)];
        let exclude = self.several(&request.exclude, |arena, id| arena.text(id).to_vec());
        let texts = [self.text(&request.key), self.text(&request.prefer)];
        let flags = u64::from(request.relax) | u64::from(request.reserved) << 8;
        let fields = [lists[0], lists[1], exclude, texts[0], texts[1]];
        let words = self.sized(request.size, &fields, &[flags]);
        self.words(words)
    }

    pub(crate) fn pool_options(&mut self, options: &Option<PoolOptions>, hook: u64) -> u64 {
        let Some(options) = options else { return 0 };
        let spec = self.text(&options.spec);
        let last = [options.seed, if options.hook { hook } else { 0 }, 0, u64::from(options.has_seed)];
        let words = self.sized(options.size, &[spec], &last);
        self.words(words)
    }

    pub(crate) fn discovery_options(&mut self, options: &Option<DiscoveryOptions>) -> u64 {
        let Some(options) = options else { return 0 };
        let texts = [&options.service, &options.port, &options.load_key].map(|text| self.text(text));
        let enums = u64::from(i32::from(options.format) as u32) | u64::from(options.family as u32) << 32;
        let flags = u64::from(options.flags[0]) | u64::from(options.flags[1]) << 8;
        let words = self.sized(options.size, &texts, &[enums, flags]);
        self.words(words)
    }
}
