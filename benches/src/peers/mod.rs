//! What a user would take instead: kept crates where there are some, else the published algorithm, one to a file.
//!
//! A `usize` is a place in the list; `usize::MAX` says that none was found.
//!
//! Each is written as its source has it, without what the source does besides picking, and has a test of the order or the
//! shares that it is known for.

pub mod drawn;
pub mod edf;
pub mod expanded;
pub mod filter;
pub mod least_active;
#[cfg(feature = "pingora")]
pub mod pingora;
pub mod ring;
pub mod roulette;
pub mod scan;
pub mod smooth;
pub mod stride;
pub mod tower;

/// Counts of so many picks among `n`, for tests.
#[cfg(test)]
pub(crate) fn counts(n: usize, picks: usize, mut pick: impl FnMut() -> usize) -> Vec<usize> {
    let mut counts = vec![0; n];
    (0..picks).for_each(|_| counts[pick()] += 1);
    counts
}

/// The first picks, for tests.
#[cfg(test)]
pub(crate) fn order(picks: usize, mut pick: impl FnMut() -> usize) -> Vec<usize> {
    (0..picks).map(|_| pick()).collect()
}
