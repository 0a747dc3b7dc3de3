//! What a pick costs besides time, and how well it distributes.

use serde::{Deserialize, Serialize};

use super::contender::Contender;
use crate::alloc::taken;
use crate::stats::{Prefixes, max_share_error};

/// Picks for each instance, and at most.
const PICKS_EACH: usize = 1_000;
const MOST_PICKS: usize = 200_000;

/// Nanoseconds that the picks may take.
const PATIENCE_NS: f64 = 0.2e9;

/// `None` where a figure does not apply.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Quality {
    pub(crate) allocations_per_pick: Option<f64>,
    pub(crate) bytes_per_instance: Option<f64>,
    /// The largest distance between a share and its ideal.
    pub(crate) largest_share_error: Option<f64>,
    /// The largest distance, in picks, between a count and its ideal at any time.
    pub(crate) prefix_deviation: Option<f64>,
    /// The longest run of picks of the same instance.
    pub(crate) longest_burst: Option<u64>,
    /// Keys that change owners when an instance goes, in multiples of those that have to.
    pub(crate) keys_moved: Option<f64>,
}

/// Judges a contender that picks. `ns` is what a pick takes.
pub(crate) fn judge(contender: &Contender, expected: Option<&[f64]>, ns: f64) -> Quality {
    let mut quality = Quality { bytes_per_instance: contender.bytes, ..Quality::default() };
    let Some(mut pick) = contender.single() else { return quality };
    // The first may allocate once for the thread.
    pick();
    let before = taken().allocations;
    const COUNTED: usize = 16;
    for _ in 0..COUNTED {
        pick();
    }
    quality.allocations_per_pick = Some((taken().allocations - before) as f64 / COUNTED as f64);
    let Some(expected) = expected else { return quality };
    let wanted = (expected.len() * PICKS_EACH).min(MOST_PICKS);
    let picks = wanted.min((PATIENCE_NS / ns.max(1.0)) as usize);
    if picks < expected.len() {
        return quality;
    }
    let Some(mut pick) = contender.single() else { return quality };
    let (mut counts, mut prefixes) = (vec![0_u64; expected.len()], Prefixes::new(expected));
    let (mut last, mut burst, mut longest) = (usize::MAX, 0_u64, 0_u64);
    for _ in 0..picks {
        let at = pick();
        let Some(count) = counts.get_mut(at) else { return quality };
        *count += 1;
        prefixes.add(at);
        burst = if at == last { burst + 1 } else { 1 };
        (last, longest) = (at, longest.max(burst));
    }
    quality.largest_share_error = Some(max_share_error(expected, &counts, picks as u64));
    quality.prefix_deviation = Some(prefixes.finish());
    quality.longest_burst = Some(longest);
    quality
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_of_equals_is_even_and_takes_nothing() {
        let turns = Contender::picks("turns", || {
            let mut at = 3;
            move || {
                at = (at + 1) % 4;
                at
            }
        });
        let quality = judge(&turns, Some(&[0.25; 4]), 1.0);
        assert_eq!(quality.allocations_per_pick, Some(0.0));
        assert_eq!((quality.largest_share_error, quality.longest_burst), (Some(0.0), Some(1)));
        assert!(quality.prefix_deviation.is_some_and(|most| most <= 0.75 + 1e-9));
    }

    #[test]
    fn lists_are_counted() {
        let lists = Contender::picks("lists", || || std::hint::black_box(vec![0_usize; 4])[0]);
        assert_eq!(judge(&lists, None, 1.0).allocations_per_pick, Some(1.0));
    }
}
