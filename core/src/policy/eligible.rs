//! What of a set may be picked for one request, and the draw by weight among it.

use super::table::{Member, Table};
use crate::rng::Draw;

/// Draws that may fall on what must not be picked, before one that cannot. Each costs a draw; one that cannot costs a look at
/// every skip, or a walk over all that a filter lets through.
pub(crate) const REFUSALS: u32 = 4;

/// What a filter tells of members. Policies know no more of tags, health or zones than this.
pub(crate) trait Filter {
    /// Whether the member may be picked.
    fn allows(&self, member: Member) -> bool;

    /// Calls `visit` with the list positions of everything that may be picked, until it says stop (true): the number of a
    /// word of 64, rising, and those inside as bits.
    fn visit(&self, visit: &mut dyn FnMut(usize, u64) -> bool);
}

/// What of a set may be picked: all but the skipped ranks, as far as the filter allows.
#[derive(Clone, Copy)]
pub(crate) struct Eligible<'a> {
    /// Ranks, rising, each once.
    pub(crate) skips: &'a [u32],
    pub(crate) filter: Option<&'a dyn Filter>,
}

impl Eligible<'_> {
    /// Whether every member may be picked.
    #[inline]
    pub(crate) fn is_all(&self) -> bool {
        self.skips.is_empty() && self.filter.is_none()
    }

    /// Whether the member may be picked.
    #[inline]
    pub(crate) fn allows(&self, rank: usize, member: Member) -> bool {
        (self.skips.is_empty() || self.skips.binary_search(&(rank as u32)).is_err())
            && self.filter.is_none_or(|filter| filter.allows(member))
    }

    /// The ranks that may be picked, in list order.
    pub(crate) fn ranks<'t>(&'t self, table: &'t Table) -> impl Iterator<Item = (usize, Member)> + 't {
        table.members().enumerate().filter(|(rank, member)| self.allows(*rank, *member))
    }

    /// One of what may be picked, by weight. O(skips) expected where the filter lets a fair part through, else one pass
    /// over what it lets through; 1 to 5 random numbers. Skips alone are met by drawing again, as [`Lane`] does, which knows
    /// them by id: the same numbers make the same pick there.
    ///
    /// [`Lane`]: crate::compile::lanes::Lane
    pub(crate) fn draw(&self, table: &Table, draw: &mut impl Draw) -> Option<usize> {
        if self.filter.is_none() {
            if self.skips.len() >= table.len() {
                return None;
            }
            // What a draw from the whole set falls on is distributed as one from those left, so the two may be mixed.
            for _ in 0..REFUSALS {
                let rank = table.draw(draw.draw());
                if self.skips.binary_search(&(rank as u32)).is_err() {
                    return Some(rank);
                }
            }
        }
        self.draw_besides(table, &[], draw)
    }

    /// The same, besides `more` ranks that are skipped too: rising, each once, none of them among `skips`.
    pub(crate) fn draw_besides(&self, table: &Table, more: &[u32], draw: &mut impl Draw) -> Option<usize> {
        if table.len() == 0 {
            return None;
        }
        let draw_left = |draw| match more {
            [] => table.draw_skipping(draw, self.skips),
            _ => table.draw_left(draw, Merged { a: self.skips, b: more }),
        };
        let Some(filter) = self.filter else { return draw_left(draw.draw()) };
        for _ in 0..REFUSALS {
            let rank = draw_left(draw.draw())?;
            if table.member(rank).is_some_and(|member| filter.allows(member)) {
                return Some(rank);
            }
        }
        exact_pass(table, filter, more, self.skips, draw.draw())
    }
}

/// Draws by weight from what the filter allows: once over it for the sum of the widths, once to where the draw falls.
/// The same distribution as that of a draw that was not refused, so the two may be mixed.
fn exact_pass(table: &Table, filter: &dyn Filter, more: &[u32], skips: &[u32], draw: u64) -> Option<usize> {
    let is_skipped =
        |list: &[u32], rank: usize| !list.is_empty() && list.binary_search(&(rank as u32)).is_ok();
    // Calls `take` with the ranks that may be picked, rising, until it says stop.
    let walk = |take: &mut dyn FnMut(usize) -> bool| {
        let mut from = 0;
        filter.visit(&mut |at, mut word| {
            while word != 0 {
                let index = at as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                let Some(rank) = table.rank_onwards(index, &mut from) else { continue };
                if !is_skipped(skips, rank) && !is_skipped(more, rank) && take(rank) {
                    return true;
                }
            }
            false
        });
    };
    let mut total = 0_u128;
    walk(&mut |rank| {
        total += u128::from(table.width(rank));
        false
    });
    let mut left = super::roulette::scale(draw, u64::try_from(total).unwrap_or(u64::MAX));
    let mut found = None;
    walk(&mut |rank| {
        found = Some(rank);
        let width = table.width(rank);
        let here = left < width;
        left = left.wrapping_sub(width);
        here
    });
    found
}

/// Two rising lists as one.
#[derive(Clone)]
struct Merged<'a> {
    a: &'a [u32],
    b: &'a [u32],
}

impl Iterator for Merged<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let from_a = match (self.a.first(), self.b.first()) {
            (Some(a), Some(b)) => a < b,
            (a, _) => a.is_some(),
        };
        let list = if from_a { &mut self.a } else { &mut self.b };
        let (first, rest) = list.split_first()?;
        *list = rest;
        Some(*first as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those at these places of the list.
    struct Only(Vec<u32>);

    impl Filter for Only {
        fn allows(&self, member: Member) -> bool {
            self.0.contains(&member.index)
        }

        fn visit(&self, visit: &mut dyn FnMut(usize, u64) -> bool) {
            let mut words: Vec<(usize, u64)> = Vec::new();
            for index in &self.0 {
                let (at, bit) = (*index as usize / 64, 1 << (index % 64));
                match words.last_mut() {
                    Some((last, word)) if *last == at => *word |= bit,
                    _ => words.push((at, bit)),
                }
            }
            let _ = words.into_iter().any(|(at, word)| visit(at, word));
        }
    }

    /// Gives these numbers, and counts them.
    struct Listed<'a>(&'a [u64], usize);

    impl Draw for Listed<'_> {
        fn draw(&mut self) -> u64 {
            self.1 += 1;
            self.0[self.1 - 1]
        }
    }

    /// Rank r at 30·r of the list, so that some ranks share a word and others do not.
    fn table(weights: &[f64]) -> Table {
        let member = |at: u32| Member { index: at * 30, slot: at };
        Table::new((0..weights.len() as u32).map(member).collect(), weights.to_vec())
    }

    #[test]
    fn skips_and_filter_say_who_may_be_picked() {
        let table = table(&[1.0; 5]);
        let only = Only(vec![0, 30, 120]);
        let told = |skips: &[u32], filter: Option<&dyn Filter>| {
            let eligible = Eligible { skips, filter };
            (eligible.is_all(), eligible.ranks(&table).map(|(rank, _)| rank).collect::<Vec<_>>())
        };
        assert_eq!(told(&[], None), (true, vec![0, 1, 2, 3, 4]));
        assert_eq!(told(&[1, 3], None), (false, vec![0, 2, 4]));
        assert_eq!(told(&[], Some(&only)), (false, vec![0, 1, 4]));
        assert_eq!(told(&[1], Some(&only)), (false, vec![0, 4]));
    }

    #[test]
    fn a_pass_over_what_may_be_picked_draws_by_weight() {
        let draws = 1_u64 << 12;
        let only = Only(vec![0, 30, 60, 61, 90, 210]);
        for weights in [[1.0; 8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]] {
            let table = table(&weights);
            for (more, skips, left) in [
                (&[][..], &[][..], &[0, 1, 2, 3, 7][..]),
                (&[1], &[0, 7], &[2, 3]),
                (&[0, 1, 2, 3], &[7], &[]),
            ] {
                let mut counts = [0_u64; 8];
                for draw in 0..draws {
                    match exact_pass(&table, &only, more, skips, draw << 52) {
                        Some(rank) => counts[rank] += 1,
                        None => assert!(left.is_empty()),
                    }
                }
                let total: f64 = left.iter().map(|rank| weights[*rank]).sum();
                for (rank, count) in counts.iter().enumerate() {
                    let ideal = if left.contains(&rank) { draws as f64 * weights[rank] / total } else { 0.0 };
                    assert!(
                        (*count as f64 - ideal).abs() <= if ideal > 0.0 { 1.0 } else { 0.0 },
                        "{counts:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_refused_is_drawn_again_and_after_four_refusals_comes_a_draw_that_is_not() {
        let table = table(&[1.0; 4]);
        let on = |rank: u64| (rank << 62) + 1;
        let draw = |skips: &[u32], filter: Option<&dyn Filter>, numbers: &[u64]| {
            let mut listed = Listed(numbers, 0);
            (Eligible { skips, filter }.draw(&table, &mut listed), listed.1)
        };
        assert_eq!(draw(&[], None, &[on(3)]), (Some(3), 1));
        assert_eq!(draw(&[1], None, &[on(1), on(1), on(2)]), (Some(2), 3));
        assert_eq!(draw(&[1, 2], None, &[on(1), on(2), on(2), on(1), on(2)]), (Some(3), 5));
        assert_eq!(draw(&[0, 1, 2, 3], None, &[]), (None, 0));
        let only = Only(vec![30, 90]);
        assert_eq!(draw(&[], Some(&only), &[on(0), on(3)]), (Some(3), 2));
        assert_eq!(draw(&[], Some(&only), &[on(0), on(0), on(2), on(2), on(1)]), (Some(1), 5));
        assert_eq!(draw(&[1, 3], Some(&only), &[0; 5]), (None, 5));
        assert_eq!(
            Eligible { skips: &[], filter: Some(&only) }.draw(&self::table(&[]), &mut Listed(&[], 0)),
            None
        );
    }

    #[test]
    fn ranks_drawn_before_are_left_out_beside_those_that_are_skipped() {
        let table = table(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let besides = |skips: &[u32], more: &[u32], filter: Option<&dyn Filter>, number: u64| {
            Eligible { skips, filter }.draw_besides(&table, more, &mut Listed(&[number; 5], 0))
        };
        for number in (0..=255_u64).map(|at| at << 56) {
            assert_eq!(besides(&[0, 2], &[1, 4], None, number), Some(3));
            assert_eq!(besides(&[0, 1, 2], &[3, 4], None, number), None);
            let only = Only(vec![30, 60, 120]);
            assert_eq!(besides(&[1], &[4], Some(&only), number), Some(2));
        }
        let merged: Vec<usize> = Merged { a: &[1, 4, 5, 9], b: &[0, 6, 7] }.collect();
        assert_eq!(merged, [0, 1, 4, 5, 6, 7, 9]);
    }
}
