//! Strings by their ends: a comparison without a call, and for short strings a complete one.

/// Bytes that the two ends cover.
const WHOLE: u32 = 16;

/// The length of a string, and its first and last bytes as numbers. Strings of at most 16 bytes have the same ends only if
/// they are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ends {
    pub(super) head: u64,
    pub(super) tail: u64,
    len: u32,
}

impl Ends {
    #[inline(always)]
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let len = bytes.len();
        let four = |bytes: Option<&[u8; 4]>| bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes).into());
        let eight = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (head, tail) = match len {
            0 => (0, 0),
            1..=3 => {
                let [first, middle, last] = [bytes[0], bytes[len / 2], bytes[len - 1]].map(u64::from);
                (first | middle << 8 | last << 16, 0)
            }
            4..=7 => (four(bytes.first_chunk()), four(bytes.last_chunk())),
            _ => (eight(bytes.first_chunk()), eight(bytes.last_chunk())),
        };
        Self { head, tail, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }

    /// Whether the ends are all of the string.
    #[inline(always)]
    pub(crate) fn is_whole(self) -> bool {
        self.len <= WHOLE
    }

    /// Whether these are the ends of the text. Lengths differ most often, and are looked at first.
    #[inline(always)]
    pub(crate) fn are_of(self, text: &str) -> bool {
        self.len as usize == text.len() && self.is(Self::of(text))
    }

    /// Whether the ends are the same. Without a branch.
    #[inline(always)]
    pub(crate) fn is(self, other: Self) -> bool {
        (self.head ^ other.head) | (self.tail ^ other.tail) | u64::from(self.len ^ other.len) == 0
    }
}

/// The last eight bytes, or all of a shorter string, as a number: what most ids differ in.
#[inline(always)]
pub(crate) fn last(text: &str) -> u64 {
    match text.as_bytes().last_chunk() {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => last_of_short(text),
    }
}

#[inline(never)]
fn last_of_short(text: &str) -> u64 {
    text.bytes().fold(0, |number, byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whole_ends_are_the_same_only_if_the_strings_are(
            a in "[ab]{0,20}", b in "[ab]{0,20}", at in 0_usize..20,
        ) {
            let mut changed = a.clone().into_bytes();
            if at < changed.len() {
                changed[at] ^= 1;
            }
            let changed = String::from_utf8(changed).expect("ASCII");
            for b in [&b, &changed] {
                let (ends, others) = (Ends::of(&a), Ends::of(b));
                prop_assert_eq!(ends.is_whole(), a.len() <= 16);
                prop_assert_eq!(ends.are_of(b), ends.is(others));
                if a == *b {
                    prop_assert!(ends.is(others));
                } else if ends.is_whole() {
                    prop_assert!(!ends.is(others));
                }
            }
        }
    }
    #[test]
    fn short_strings_and_those_that_differ_in_one_byte_have_ends_of_their_own() {
        let mut texts = vec![String::new()];
        for len in 1..=16 {
            let plain = "a".repeat(len);
            let changed = (0..len).map(|at| format!("{}b{}", &plain[..at], &plain[at + 1..]));
            texts.extend(changed.chain([plain.clone()]));
        }
        for (number, one) in texts.iter().enumerate() {
            for (other, another) in texts.iter().enumerate() {
                assert_eq!(Ends::of(one).is(Ends::of(another)), number == other, "{one:?} {another:?}");
            }
        }
    }
    #[test]
    fn the_last_bytes_are_the_last_eight_or_all_there_are() {
        assert_eq!(last("abcdefghij"), u64::from_le_bytes(*b"cdefghij"));
        assert_eq!([last("ab"), last("b"), last("")], [0x6162, 0x62, 0]);
    }
}
