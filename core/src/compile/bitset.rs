//! Sets of list positions: words of 64 where they are dense, a sorted list where they are sparse.

/// A set of list positions, frozen.
///
/// | form | memory | `contains` | chosen |
/// |---|---|---|---|
/// | dense | n / 8 bytes | O(1) | at n / 32 members or more |
/// | sparse | 4 bytes a member | O(log members) | below |
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    Dense(Box<[u64]>),
    Sparse(Box<[u32]>),
}

impl Bits {
    /// From sorted positions below `n`.
    pub(crate) fn from_sorted(members: Vec<u32>, n: usize) -> Self {
        if members.len() < n / 32 {
            return Self::Sparse(members.into());
        }
        let mut words = Words::none(n);
        members.iter().for_each(|&member| words.insert(member as usize));
        Self::Dense(words.0.into())
    }

    #[inline]
    pub(crate) fn contains(&self, index: u32) -> bool {
        match self {
            Self::Dense(words) => {
                words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
            }
            Self::Sparse(members) => members.binary_search(&index).is_ok(),
        }
    }

    /// The members from 64·`at` on, as bits.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        match self {
            Self::Dense(words) => words.get(at).copied().unwrap_or(0),
            Self::Sparse(members) => {
                let first = members.partition_point(|&member| (member as usize) < at * 64);
                let inside = members[first..].iter().take_while(|&&member| member as usize / 64 == at);
                inside.fold(0, |word, member| word | 1 << (member % 64))
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Dense(words) => size_of_val(&**words),
            Self::Sparse(members) => size_of_val(&**members),
        }
    }
}

/// A set of list positions, dense, to compute with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(Vec<u64>);

impl Words {
    pub(crate) fn none(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }

    pub(crate) fn all(n: usize) -> Self {
        let mut words = vec![u64::MAX; n.div_ceil(64)];
        if let Some(last) = words.last_mut()
            && !n.is_multiple_of(64)
        {
            *last = (1 << (n % 64)) - 1;
        }
        Self(words)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn word(&self, at: usize) -> u64 {
        self.0.get(at).copied().unwrap_or(0)
    }

    pub(crate) fn insert(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    pub(crate) fn set(&mut self, index: usize, member: bool) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word = *word & !(1 << (index % 64)) | u64::from(member) << (index % 64);
        }
    }

    #[inline]
    pub(crate) fn contains(&self, index: u32) -> bool {
        self.word(index as usize / 64) >> (index % 64) & 1 == 1
    }

    /// Keeps what one of the given sets has; nothing where there are none.
    pub(crate) fn keep_any<'a>(&mut self, sets: impl Iterator<Item = &'a Bits> + Clone) {
        for (at, word) in self.0.iter_mut().enumerate() {
            if *word != 0 {
                *word &= sets.clone().fold(0, |union, set| union | set.word(at));
            }
        }
    }

    pub(crate) fn remove_all(&mut self, set: &Bits) {
        self.0.iter_mut().enumerate().for_each(|(at, word)| *word &= !set.word(at));
    }

    /// The members in rising order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| ones(at, word))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }
}

/// The positions of the bits that are set in word number `at`, rising.
#[inline]
pub(crate) fn ones(at: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if word == 0 {
            return None;
        }
        let bit = word.trailing_zeros();
        word &= word - 1;
        Some(at as u32 * 64 + bit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_forms_hold_what_was_put_in(members in proptest::collection::btree_set(0_u32..500, 0..60), n in 500_usize..3_000) {
            let sorted: Vec<u32> = members.iter().copied().collect();
            let dense = Bits::from_sorted(sorted.clone(), 500);
            let sparse = Bits::from_sorted(sorted, n.max(60 * 32 + 32));
            prop_assert!(matches!(sparse, Bits::Sparse(_)));
            for index in 0..n as u32 {
                prop_assert_eq!(dense.contains(index), members.contains(&index));
                prop_assert_eq!(sparse.contains(index), members.contains(&index));
            }
            for at in 0..n.div_ceil(64) {
                prop_assert_eq!(dense.word(at), sparse.word(at));
                let listed: Vec<u32> = members.iter().copied().filter(|member| *member as usize / 64 == at).collect();
                prop_assert_eq!(ones(at, dense.word(at)).collect::<Vec<_>>(), listed);
            }
        }
    }

    #[test]
    fn all_has_exactly_n_members() {
        for n in [0, 1, 63, 64, 65, 128, 1_000] {
            assert_eq!(Words::all(n).iter().count(), n);
        }
    }

    #[test]
    fn words_take_members_in_and_out() {
        let mut words = Words::none(130);
        assert_eq!((words.len(), words.iter().count(), words.heap_bytes()), (3, 0, 24));
        [0, 63, 64, 129].into_iter().for_each(|index| words.insert(index));
        words.insert(1_000);
        words.set(5, true);
        words.set(63, false);
        words.set(1_000, true);
        assert_eq!(words.iter().collect::<Vec<_>>(), [0, 5, 64, 129]);
        assert!(words.contains(5) && words.contains(129) && !words.contains(63) && !words.contains(1_000));
        words.set(5, true);
        words.set(6, false);
        assert_eq!(words.iter().count(), 4, "what is so stays so");
    }

    #[test]
    fn keeping_is_the_meet_with_the_union_and_removing_is_the_difference() {
        let dense = Bits::from_sorted((0..70).collect(), 200);
        let sparse = Bits::from_sorted(vec![3, 64, 199], 200);
        assert!(matches!((&dense, &sparse), (Bits::Dense(_), Bits::Sparse(_))));
        let mut words = Words::none(200);
        [3, 69, 70, 150, 199].into_iter().for_each(|index| words.insert(index));
        let mut kept = words.clone();
        kept.keep_any([&dense, &sparse].into_iter());
        assert_eq!(kept.iter().collect::<Vec<_>>(), [3, 69, 199]);
        kept.keep_any(std::iter::empty());
        assert_eq!(kept, Words::none(200));
        words.remove_all(&sparse);
        assert_eq!(words.iter().collect::<Vec<_>>(), [69, 70, 150]);
        words.remove_all(&dense);
        assert_eq!(words.iter().collect::<Vec<_>>(), [70, 150]);
    }

    #[test]
    fn a_set_is_dense_from_one_in_32_on_and_knows_its_bytes() {
        let below = Bits::from_sorted((0..9).collect(), 320);
        let at = Bits::from_sorted((0..10).collect(), 320);
        assert!(matches!((&below, &at), (Bits::Sparse(_), Bits::Dense(_))));
        assert_eq!((below.heap_bytes(), at.heap_bytes()), (36, 40));
    }
}
