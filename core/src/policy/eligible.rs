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
