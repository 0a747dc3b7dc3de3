//! Tags of an instance: keys with one or several values.

use std::fmt;

/// Pairs of key and value, sorted by key, then value, each pair once.
///
/// Two allocations whatever the number of pairs: the text, and the marks that cut it. Comparison is byte-exact and any
/// string is a legal key or value, the empty one too.
///
/// Cost: a look-up is O(number of pairs); [`insert`](Self::insert) rebuilds, O(total length).
///
/// ```
/// use pointsman::Tags;
///
/// let tags = Tags::from_iter([("version", "v1"), ("version", "v2"), ("rack", "r7")]);
/// assert!(tags.contains("version", "v2"));
/// assert_eq!(tags.values("version").collect::<Vec<_>>(), ["v1", "v2"]);
/// assert_eq!(tags.len(), 3);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Tags {
    text: Box<str>,
    marks: Box<[Mark]>,
}

/// Where a pair lies in the text: the key from `start`, the value right behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Mark {
    start: u32,
    key: u32,
    value: u32,
}

impl Tags {
    /// No tags.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Adds a pair. One that is there already is left alone.
    pub fn insert(&mut self, key: &str, value: &str) {
        if !self.contains(key, value) {
            *self = self.iter().chain([(key, value)]).collect();
        }
    }

    /// Every pair, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> + Clone {
        self.marks.iter().map(|mark| self.pair(*mark))
    }

    /// The values of a key, sorted; none where the key is missing.
    pub fn values<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> + Clone {
        let first = self.marks.partition_point(|mark| self.pair(*mark).0 < key);
        let marks = self.marks.get(first..).unwrap_or(&[]);
        let count = marks.iter().take_while(|mark| self.pair(**mark).0 == key).count();
        marks.iter().take(count).map(|mark| self.pair(*mark).1)
    }

    /// Whether the key has at least one value.
    pub fn has_key(&self, key: &str) -> bool {
        self.values(key).next().is_some()
    }

    /// Whether the key has this value.
    pub fn contains(&self, key: &str, value: &str) -> bool {
        self.values(key).any(|held| held == value)
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.len() + std::mem::size_of_val(&*self.marks)
    }

    fn pair(&self, mark: Mark) -> (&str, &str) {
        let start = mark.start as usize;
        let middle = start + mark.key as usize;
        let text = |begin, end| self.text.get(begin..end).unwrap_or("");
        (text(start, middle), text(middle, middle + mark.value as usize))
    }
}

/// Collects pairs in any order; repeated ones count once.
impl<K: AsRef<str>, V: AsRef<str>> FromIterator<(K, V)> for Tags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs: Vec<(K, V)> = pairs.into_iter().collect();
        let mut sorted: Vec<(&str, &str)> =
            pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut text = String::with_capacity(sorted.iter().map(|(key, value)| key.len() + value.len()).sum());
        let mut marks = Vec::with_capacity(sorted.len());
        for (key, value) in sorted {
            marks.push(Mark { start: text.len() as u32, key: key.len() as u32, value: value.len() as u32 });
            text.push_str(key);
            text.push_str(value);
        }
        Self { text: text.into(), marks: marks.into() }
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
