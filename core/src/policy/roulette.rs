//! Roulette: one draw to one member, in proportion to the weights.
//!
//! Weights become widths on a circle of 2⁶⁴ points that they cover exactly, and a draw of 64 bits is a point. A member's
//! width comes from its own ratio, not from differences of a running sum, so that it is right to 2⁻⁵⁰ relative, plus one
//! point for each member. Every positive weight has at least one point; weight zero has none.
//!
//! A guide table (H.-C. Chen and Y. Asau, "On generating random variates from an empirical distribution", 1974, the
//! "cutpoint method") cuts the circle into buckets, several for each member, so that few of them hold more than one
//! border between members. A bucket knows the member that it begins in and 32 bits of its one border: an entry of eight
//! bytes decides most draws, without a branch that cannot be foreseen, and in a large table the cache is missed once. What
//! it does not decide, a binary search within the bucket does, which bounds the worst case at O(log n).
//!
//! The alias method (A. J. Walker, 1974) needs one look-up less in theory, but its tables cannot be cut: leaving out an
//! excluded member, or walking the circle in order as the golden rotation does, needs the cumulative form.
//!
//! The number of bits a draw has is a parameter, so that a test can enumerate every draw there is.

use std::sync::Arc;

/// Bits of a draw.
pub(crate) const BITS: u32 = 64;

/// Marks a bucket that holds more than one border.
const SEVERAL: u32 = 1 << 31;

/// The widths of the weights on a circle of 2^`bits` points: each at least 1, in sum all of it.
///
/// Pure arithmetic. Weights are positive and finite, and fewer than 2^(bits/2). Widths come from w / S with S by
/// compensated summation (A. Neumaier, 1974); what rounding leaves over is shared out in proportion, and the last points of
/// it, fewer than there are members, go to the heaviest.
pub(crate) fn widths(weights: &[f64], bits: u32) -> Vec<u64> {
    let circle = 1_i128 << bits;
    let Some(heaviest) =
        (0..weights.len()).reduce(|best, at| if weights[at] > weights[best] { at } else { best })
    else {
        return Vec::new();
    };
    // A power of two is exact, and keeps the sum of a million of the largest numbers finite.
    let scale = if weights[heaviest] > 2_f64.powi(900) { 2_f64.powi(-200) } else { 1.0 };
    let sum = compensated_sum(weights.iter().map(|weight| weight * scale));
    let points = 2_f64.powi(bits as i32);
    let ratio = |weight: &f64| weight * scale / sum;
    let mut widths: Vec<i128> =
        weights.iter().map(|weight| ((ratio(weight) * points) as i128).max(1)).collect();
    // What rounding left over is as large as the last bits of the largest ratios: too much for one member to take.
    let left = circle - widths.iter().sum::<i128>();
    for (width, weight) in widths.iter_mut().zip(weights) {
        *width = (*width + (left as f64 * ratio(weight)) as i128).max(1);
    }
    let others: i128 = widths.iter().sum::<i128>() - widths[heaviest];
    widths[heaviest] = (circle - others).max(1);
    // A single member owns 2^64 points, one more than fits; `u64::MAX` stands for the whole circle.
    widths.into_iter().map(|width| u64::try_from(width).unwrap_or(u64::MAX)).collect()
}

/// The sum with the rounding errors added back.
pub(crate) fn compensated_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The high half of the product: scales a draw of 64 bits to 0..`to`, each with ⌊2⁶⁴/to⌋ or ⌈2⁶⁴/to⌉ of the draws.
#[inline]
pub(crate) fn scale(draw: u64, to: u64) -> u64 {
    ((u128::from(draw) * u128::from(to)) >> 64) as u64
}

/// A cumulative table with its guide.
#[derive(Debug)]
pub(crate) struct Circle {
    /// The last point of each member, rising; the last of all is the last point of the circle.
    lasts: Box<[u64]>,
    guide: Guide,
}

/// The part of a circle that decides most draws, also to be kept nearer to a hand.
#[derive(Clone, Debug)]
pub(crate) struct Guide {
    /// 2 to 2³², a power of two: the upper bits of a point number its bucket.
    buckets: Arc<[Bucket]>,
}

/// A stretch of the circle that begins in member `rank`.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The 32 bits behind the bucket's number of its one border; all ones where it has none. Points with smaller bits
    /// there belong to `rank`, with larger ones to the member behind; equal ones say nothing.
    cut: u32,
    /// With [`SEVERAL`], if so.
    rank: u32,
}

impl Circle {
    /// From widths that cover the circle, two or more.
    pub(crate) fn new(widths: &[u64]) -> Self {
        let n = widths.len();
        let mut end = 0_u64;
        let last = |width: &u64| {
            end = end.wrapping_add(*width);
            end.wrapping_sub(1)
        };
        let lasts: Box<[u64]> = widths.iter().map(last).collect();
        let bucket_bits = (n * buckets_per_member(n)).next_power_of_two().ilog2().clamp(1, 32);
        let mut buckets = Vec::with_capacity(1 << bucket_bits);
        let mut rank = 0;
        for number in 0..1_u64 << bucket_bits {
            let begin = number << (BITS - bucket_bits);
            let end = begin + (u64::MAX >> bucket_bits);
            while lasts[rank] < begin {
                rank += 1;
            }
            let borders = lasts[rank..].iter().take(2).take_while(|last| **last < end).count();
            let cut = if borders == 0 { u32::MAX } else { place(lasts[rank], 1 << bucket_bits).1 };
            let several = if borders > 1 { SEVERAL } else { 0 };
            buckets.push(Bucket { cut, rank: rank as u32 | several });
        }
        Self { lasts, guide: Guide { buckets: buckets.into() } }
    }

    pub(crate) fn guide(&self) -> &Guide {
        &self.guide
    }

    /// The member that owns the point. O(1) expected, O(log n) at most.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn find(&self, point: u64) -> usize {
        match self.guide.find(point) {
            Some(rank) => rank,
            None => self.search(point),
        }
    }

    /// Binary search within the bucket.
    // Out of the way of `find`, unless the linker is to see that neither panics.
    #[cfg_attr(not(feature = "__no-panic"), inline(never))]
    #[cfg_attr(feature = "__no-panic", inline(always))]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    fn search(&self, point: u64) -> usize {
        let (number, _) = self.guide.place(point);
        let rank_at =
            |number: usize| self.guide.buckets.get(number).map(|bucket| (bucket.rank & !SEVERAL) as usize);
        let begin = rank_at(number).unwrap_or(0);
        let end = rank_at(number + 1).unwrap_or(self.lasts.len().saturating_sub(1));
        let bucket = self.lasts.get(begin..end).unwrap_or(&[]);
        begin + bucket.partition_point(|last| *last < point)
    }

    /// The first point of a member.
    #[inline]
    pub(crate) fn first(&self, rank: usize) -> u64 {
        if rank == 0 { 0 } else { self.last(rank - 1).wrapping_add(1) }
    }

    /// How many points a member owns.
    #[inline]
    pub(crate) fn width(&self, rank: usize) -> u64 {
        self.last(rank).wrapping_sub(self.first(rank)).wrapping_add(1)
    }

    /// The last points of consecutive members.
    #[inline]
    pub(crate) fn lasts(&self, ranks: std::ops::Range<usize>) -> &[u64] {
        self.lasts.get(ranks).unwrap_or(&[])
    }

    /// Out of range counts as the end of the circle.
    #[inline]
    fn last(&self, rank: usize) -> u64 {
        self.lasts.get(rank).copied().unwrap_or(u64::MAX)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.lasts) + size_of_val(&*self.guide.buckets)
    }
}

impl Guide {
    /// The member that owns the point; `None` where its bucket does not tell.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn find(&self, point: u64) -> Option<usize> {
        let (number, fraction) = self.place(point);
        let bucket = self.buckets.get(number)?;
        (bucket.cut != fraction && bucket.rank < SEVERAL)
            .then(|| (bucket.rank + u32::from(fraction > bucket.cut)) as usize)
    }

    #[inline(always)]
    fn place(&self, point: u64) -> (usize, u32) {
        place(point, self.buckets.len())
    }
}

/// The number of the point's bucket and the 32 bits behind it: by one multiplication, where two shifts by a number that varies
/// take longer.
#[inline(always)]
fn place(point: u64, buckets: usize) -> (usize, u32) {
    let product = u128::from(point) * buckets as u128;
    ((product >> 64) as usize, (product >> 32) as u32)
}

/// Buckets for each member: many where they stay in the first-level cache.
fn buckets_per_member(n: usize) -> usize {
    match n {
        0..=64 => 16,
        65..=1_024 => 4,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A circle whose draws have so many bits: the upper ones of the point.
    fn circle(weights: &[f64], bits: u32) -> Circle {
        let widths: Vec<u64> = widths(weights, bits).iter().map(|width| width << (BITS - bits)).collect();
        Circle::new(&widths)
    }

    /// How many of all 2^bits draws fall on each member.
    fn enumerate(weights: &[f64], bits: u32) -> Vec<u64> {
        let circle = circle(weights, bits);
        let mut counts = vec![0; weights.len()];
        (0..1_u64 << bits).for_each(|draw| counts[circle.find(draw << (BITS - bits))] += 1);
        counts
    }

    #[test]
    fn every_8_bit_and_16_bit_draw_falls_on_its_owner() {
        let lists: [&[f64]; 6] = [
            &[1.0, 1.0],
            &[5.0, 1.0, 1.0],
            &[0.1, 0.2, 0.7],
            &[1.0, 1e18],
            &[5e-324, 5e-324, 1e-323],
            &[f64::MAX, f64::MAX / 2.0, f64::MAX / 4.0],
        ];
        for weights in lists {
            for bits in [8, 16] {
                let counts = enumerate(weights, bits);
                assert_eq!(counts.iter().sum::<u64>(), 1 << bits);
                let heaviest = weights.iter().copied().fold(0.0, f64::max);
                let sum: f64 = weights.iter().map(|weight| weight / heaviest).sum();
                for (count, weight) in counts.iter().zip(weights) {
                    let ideal = weight / heaviest / sum * 2_f64.powi(bits as i32);
                    let slack = if *weight == heaviest { weights.len() as f64 } else { 1.0 };
                    assert!((*count as f64 - ideal).abs() <= slack, "{weights:?} {bits} bits: {counts:?}");
                    assert!(*count >= 1, "{weights:?} {bits} bits: a positive weight without a point");
                }
            }
        }
    }

    #[test]
    fn long_tables_enumerate_exactly_at_16_bits() {
        let weights: Vec<f64> = (1..=200).map(|at| f64::from(at % 7 + 1)).collect();
        assert_eq!(enumerate(&weights, 16), widths(&weights, 16));
        let steep: Vec<f64> = (0..200).map(|at| if at == 100 { 1e9 } else { 1.0 }).collect();
        assert_eq!(enumerate(&steep, 16), widths(&steep, 16));
    }

    proptest! {
        #[test]
        fn at_64_bits_both_sides_of_every_threshold_fall_right(
            weights in proptest::collection::vec(prop_oneof![
                1e-300..1e300_f64, 0.1..10.0_f64, Just(1.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(5e-324),
            ], 2..400),
        ) {
            let circle = circle(&weights, BITS);
            prop_assert_eq!(circle.find(0), 0);
            prop_assert_eq!(circle.find(u64::MAX), weights.len() - 1);
            for member in 0..weights.len() {
                let (first, last) = (circle.first(member), circle.last(member));
                prop_assert!(first <= last);
                prop_assert_eq!(circle.find(first), member);
                prop_assert_eq!(circle.find(last), member);
                if last < u64::MAX {
                    prop_assert_eq!(circle.find(last + 1), member + 1);
                }
            }
        }

        #[test]
        fn widths_are_the_weights_shares(weights in proptest::collection::vec(1e-9..1e9_f64, 1..1_000)) {
            let widths = widths(&weights, BITS);
            let sum = compensated_sum(weights.iter().copied());
            let total: u128 = widths.iter().map(|width| u128::from(*width)).sum();
            prop_assert!(total == 1 << 64 || weights.len() == 1);
            for (width, weight) in widths.iter().zip(&weights) {
                let ideal = weight / sum * 2_f64.powi(64);
                let slack = ideal * 2_f64.powi(-50) + weights.len() as f64;
                prop_assert!((*width as f64 - ideal).abs() <= slack);
            }
        }
    }

    #[test]
    fn a_draw_scales_to_every_value_alike() {
        for to in [1_u64, 3, 7, 10] {
            let mut counts = vec![0_u64; to as usize];
            for draw in 0..1_u64 << 16 {
                counts[scale(draw << 48, to) as usize] += 1;
            }
            let (low, high) = ((1 << 16) / to, (1_u64 << 16).div_ceil(to));
            assert!(counts.iter().all(|count| (low..=high).contains(count)), "{counts:?}");
        }
    }
    #[test]
    fn what_rounding_leaves_over_goes_to_the_first_of_the_heaviest() {
        let third = u64::MAX / 3;
        assert_eq!(widths(&[1.0, 1.0, 1.0], BITS), [third + 1, third, third]);
        assert_eq!(widths(&[1.0, 2.0, 2.0], 8), [51, 103, 102]);
        assert_eq!(widths(&[7.0], BITS), [u64::MAX], "the whole circle");
        assert!(widths(&[], BITS).is_empty());
    }
    #[test]
    fn a_sum_keeps_what_rounding_would_lose() {
        for values in [[1.0, 1e100, 1.0, -1e100], [1e100, 1.0, -1e100, 1.0], [1.0, 1.0, 1e100, -1e100]] {
            assert_eq!(compensated_sum(values.into_iter()), 2.0, "{values:?}");
        }
        assert_eq!(compensated_sum(std::iter::empty()), 0.0);
    }
    #[test]
    fn the_guide_decides_most_draws_and_rightly() {
        for (n, buckets, least) in [(8, 128, 0.93), (500, 2_048, 0.8), (5_000, 16_384, 0.7)] {
            let weights: Vec<f64> = (1..=n).map(|at| f64::from(at % 7 + 1)).collect();
            let circle = circle(&weights, BITS);
            assert_eq!(circle.guide().buckets.len(), buckets);
            assert_eq!(circle.heap_bytes(), 8 * (weights.len() + buckets));
            let points = (0..4_096_u64).map(|draw| draw.wrapping_mul(crate::rng::GOLDEN));
            let decided = points.filter(|point| {
                let found = circle.guide().find(*point);
                found.inspect(|rank| assert_eq!(*rank, circle.search(*point))).is_some()
            });
            let share = decided.count() as f64 / 4_096.0;
            assert!(share > least, "{share} of {n}");
        }
    }
}
