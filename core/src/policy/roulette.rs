//! Roulette: one draw to one member, in proportion to the weights.
//!
//! Weights become widths on a circle of 2⁶⁴ points that they cover exactly, and a draw of 64 bits is a point. A member's
//! width comes from its own ratio, not from differences of a running sum, so that it is right to 2⁻⁵⁰ relative, plus one
//! point for each member. Every positive weight has at least one point; weight zero has none.
//!
//! A guide table (H.-C. Chen and Y. Asau, "On generating random variates from an empirical distribution", 1974, the
//! "cutpoint method") says for each of its buckets where in the cumulative table to begin. It has several buckets a member
//! where that stays small, so that most buckets lie inside one member and the first comparison decides; a binary search
//! inside the bucket bounds the worst case at O(log n).
//!
//! The alias method (A. J. Walker, 1974) needs one look-up less in theory, but its tables cannot be cut: leaving out an
//! excluded member, or walking the circle in order as the golden rotation does, needs the cumulative form.
//!
//! The number of bits a draw has is a parameter, so that a test can enumerate every draw there is.

use super::table::Member;

/// Bits of a draw.
pub(crate) const BITS: u32 = 64;

/// In a bucket of more members than this, binary search instead of stepping.
const STEPS: usize = 8;

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
    steps: Box<[Step]>,
    /// For each bucket, the first member whose last point lies in it or behind it; and one more, the last member.
    guide: Box<[u32]>,
    /// A point shifted right by this is its bucket.
    shift: u32,
}

/// A member and its last point. Rising; the last of all is the last point of the circle. Side by side, so that a look-up
/// in a large table misses the cache once for both.
#[derive(Debug)]
struct Step {
    last: u64,
    member: Member,
}

impl Circle {
    /// From widths that cover the circle of 2^`bits` points, at least one.
    pub(crate) fn new(widths: &[u64], members: &[Member], bits: u32) -> Self {
        let n = widths.len();
        let mut end = 0_u64;
        let step = |(width, member): (&u64, &Member)| {
            end = end.wrapping_add(*width);
            Step { last: end.wrapping_sub(1), member: *member }
        };
        let mut steps: Box<[Step]> = widths.iter().zip(members).map(step).collect();
        if let Some(step) = steps.last_mut() {
            step.last = u64::MAX >> (64 - bits);
        }
        let guide_bits = (n * buckets_per_member(n)).next_power_of_two().ilog2().clamp(1, bits);
        let shift = bits - guide_bits;
        let mut guide = Vec::with_capacity((1 << guide_bits) + 1);
        let mut member = 0;
        for bucket in 0..1_u64 << guide_bits {
            let begin = bucket << shift;
            while steps.get(member).is_some_and(|step| step.last < begin) {
                member += 1;
            }
            guide.push(member as u32);
        }
        guide.push(n.saturating_sub(1) as u32);
        Self { steps, guide: guide.into(), shift }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    #[inline]
    pub(crate) fn member(&self, rank: usize) -> Option<Member> {
        self.steps.get(rank).map(|step| step.member)
    }

    /// The member that owns the point. O(1) expected, O(log n) at most.
    #[inline]
    pub(crate) fn find(&self, point: u64) -> usize {
        self.find_step(point).0
    }

    /// The same, and who it is.
    #[inline]
    pub(crate) fn find_member(&self, point: u64) -> Option<Member> {
        self.find_step(point).1.map(|step| step.member)
    }

    #[inline(always)]
    fn find_step(&self, point: u64) -> (usize, Option<&Step>) {
        // At least two buckets, so the shift is below 64.
        let bucket = point.wrapping_shr(self.shift) as usize;
        let begin = self.guide.get(bucket).copied().unwrap_or(0) as usize;
        match self.steps.get(begin) {
            Some(step) if step.last >= point => (begin, Some(step)),
            _ => self.search(point, bucket, begin),
        }
    }

    /// Behind the first member of a bucket.
    fn search(&self, point: u64, bucket: usize, begin: usize) -> (usize, Option<&Step>) {
        let end = self.guide.get(bucket + 1).copied().unwrap_or(0) as usize;
        let mut rank = begin;
        if end.saturating_sub(begin) > STEPS {
            let bucket = self.steps.get(begin..=end).unwrap_or(&[]);
            rank += bucket.partition_point(|step| step.last < point);
        } else {
            while self.last(rank) < point {
                rank += 1;
            }
        }
        (rank, self.steps.get(rank))
    }

    /// The first point of a member.
    #[inline]
    pub(crate) fn first(&self, member: usize) -> u64 {
        if member == 0 { 0 } else { self.last(member - 1).wrapping_add(1) }
    }

    /// How many points a member owns. A single member owns the whole circle, which wraps to 0.
    #[inline]
    pub(crate) fn width(&self, member: usize) -> u64 {
        self.last(member).wrapping_sub(self.first(member)).wrapping_add(1)
    }

    /// Out of range counts as the end, so that no search runs past it.
    #[inline]
    fn last(&self, member: usize) -> u64 {
        self.steps.get(member).map_or(u64::MAX, |step| step.last)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.steps) + size_of_val(&*self.guide)
    }
}

/// Buckets of the guide for each member: many where the guide stays in the first-level cache.
fn buckets_per_member(n: usize) -> usize {
    match n {
        0..=64 => 16,
        65..=1_024 => 4,
        1_025..=16_384 => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn circle(weights: &[f64], bits: u32) -> Circle {
        let members: Vec<Member> =
            (0..weights.len() as u32).map(|index| Member { index, slot: index }).collect();
        Circle::new(&widths(weights, bits), &members, bits)
    }

    /// How many of all 2^bits draws fall on each member.
    fn enumerate(weights: &[f64], bits: u32) -> Vec<u64> {
        let circle = circle(weights, bits);
        let mut counts = vec![0; weights.len()];
        (0..1_u64 << bits).for_each(|draw| counts[circle.find(draw)] += 1);
        counts
    }

    #[test]
    fn every_8_bit_and_16_bit_draw_falls_on_its_owner() {
        let lists: [&[f64]; 7] = [
            &[1.0],
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
            ], 1..400),
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
}
