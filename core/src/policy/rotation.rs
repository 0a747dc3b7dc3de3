//! Rotations: `round_robin` and `weighted_round_robin`.
//!
//! A rotation turns a ticket, the next number of a counter, into a member. Three forms, chosen when the set is compiled:
//!
//! *Equal weights*: list order.
//!
//! *Exact*: weights that are integers after multiplication by 10^k, k at most 6, and division by their greatest common
//! divisor, with a cycle of at most 4,096 turns. The cycle is laid out in advance by Tijdeman's rule (R. Tijdeman, "The
//! chairman assignment problem", Discrete Mathematics 32, 1980): member i's next turn is released at the first t with
//! t·w/W − c ≥ 1/(2n−2), is due at the first t with t·w/W − c ≥ 1 − 1/(2n−2), and of those released the earliest due goes
//! first. After every turn of the cycle each member has had its ideal count to within 1 − 1/(2n−2), which is the best
//! possible bound; over any window, to within twice that. Smooth weighted round robin exceeds 1 on some inputs, and
//! earliest-deadline-first and stride schedulers come in bursts.
//!
//! *Golden*: any other weights. The ticket times 2⁶⁴/φ is the point on the roulette's circle. Multiples of the golden ratio
//! fill a circle evenly (V. T. Sós, 1957, the three-distance theorem), so that counts stay within 1 + 0.42 ln N of their
//! ideal after N turns from any start. No table beyond the roulette's.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::modulus::Modulus;
use super::table::{Table, Weights};
use crate::rng::GOLDEN;

/// The longest cycle that is laid out, in turns: 16 KiB.
pub(crate) const MAX_CYCLE: u64 = 4_096;

/// Powers of ten that may turn weights into integers.
const DECIMALS: i32 = 6;

/// How far from an integer counts as one, relative: 0.07 × 100 is 7.000000000000001.
const INTEGER_SLACK: f64 = 1.0 / (1_u64 << 48) as f64;

/// How tickets become members.
#[derive(Debug)]
pub(crate) struct Rotation {
    form: Form,
    /// Positions in the list in the order of turns; empty in the golden form.
    order: Arc<[u32]>,
    turns: Modulus,
    /// Same for two sets exactly when a ticket means the same turn in both.
    pub(crate) cycle: u64,
    /// Added to tickets of the shared position, so that a changed list goes on where the one before was.
    base: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Equal,
    Exact,
    Golden,
}

/// What a new set takes over from the one before it.
pub(crate) struct Before<'a> {
    pub(crate) table: &'a Table,
    pub(crate) rotation: &'a Rotation,
    /// The ticket that is drawn next.
    pub(crate) ticket: u64,
}

impl Rotation {
    /// Lays out the rotation of a set. `cycle` is a number not used before, `random` one drawn for it.
    pub(crate) fn build(table: &Table, before: Option<Before<'_>>, cycle: u64, random: u64) -> Self {
        let indices: Vec<u32> = table.members().map(|member| member.index).collect();
        let (form, order): (Form, Arc<[u32]>) = match table.weights() {
            Weights::Equal(_) => (Form::Equal, indices.into()),
            Weights::Each { weights, .. } => match integers(weights) {
                Some(turns) => {
                    (Form::Exact, lay_out(&turns).iter().map(|rank| indices[usize::from(*rank)]).collect())
                }
                None => (Form::Golden, Arc::default()),
            },
        };
        let turns = Modulus::new(order.len() as u64);
        let fresh = Self { form, order, turns, cycle, base: 0 };
        let Some(before) = before else { return fresh };
        match (before.rotation.form, form) {
            (Form::Golden, Form::Golden) => Self { cycle: before.rotation.cycle, ..fresh },
            (Form::Equal, Form::Equal) => match next_after(&before, table) {
                Some(rank) => {
                    let n = table.len() as u64;
                    Self { base: (rank as u64 + n - before.ticket % n) % n, ..fresh }
                }
                None => Self { base: random, ..fresh },
            },
            (Form::Exact, Form::Exact) if fresh.slots(table).eq(before.rotation.slots(before.table)) => {
                Self { cycle: before.rotation.cycle, base: before.rotation.base, ..fresh }
            }
            _ => Self { base: random, ..fresh },
        }
    }

    /// Turns until the order repeats; `None` for the golden form, which never does.
    #[inline]
    pub(crate) fn turns(&self) -> Option<u64> {
        (self.form != Form::Golden).then_some(self.order.len() as u64)
    }

    /// The positions in the list in the order of turns, where it repeats.
    pub(crate) fn order(&self) -> Option<&Arc<[u32]>> {
        (self.form != Form::Golden).then_some(&self.order)
    }

    /// Who has the turn of a ticket of the shared position, by position in the list; `None` where the set is empty.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn at_ticket(&self, table: &Table, ticket: u64) -> Option<u32> {
        if self.form == Form::Golden {
            return self.at_turn(table, ticket);
        }
        self.order.get(self.turns.of(ticket.wrapping_add(self.base)) as usize).copied()
    }

    /// Who has the turn, by position in the list; `turn` is below [`turns`](Self::turns), or any number in the golden form.
    #[inline(always)]
    #[cfg_attr(all(feature = "__no-panic", not(debug_assertions)), no_panic::no_panic)]
    pub(crate) fn at_turn(&self, table: &Table, turn: u64) -> Option<u32> {
        if self.form == Form::Golden {
            return table.index(table.draw(turn.wrapping_mul(GOLDEN)));
        }
        self.order.get(turn as usize).copied()
    }

    /// The ticket that makes the shared position stand at the given turn.
    pub(crate) fn ticket_for(&self, turn: u64) -> u64 {
        match self.turns() {
            Some(turns) if turns > 0 => (turn % turns + turns - self.base % turns) % turns,
            _ => turn,
        }
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.order)
    }

    /// The slots in the order of turns.
    fn slots<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = Option<u32>> + 'a {
        self.order.iter().map(|index| Some(table.member(table.rank_of(*index)?)?.slot))
    }
}

impl Form {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Exact => "exact",
            Self::Golden => "golden",
        }
    }
}

/// The rank in `table` of the member that was next before, or of the first behind it that is still there.
fn next_after(before: &Before<'_>, table: &Table) -> Option<usize> {
    let n = before.table.len();
    let next = before.ticket.wrapping_add(before.rotation.base).checked_rem(n as u64)? as usize;
    let mut ranks: Vec<(u32, usize)> =
        table.members().enumerate().map(|(rank, member)| (member.slot, rank)).collect();
    ranks.sort_unstable();
    (next..next + n).find_map(|at| {
        let slot = before.table.member(at % n)?.slot;
        let found = ranks.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
        Some(ranks[found].1)
    })
}

/// The weights as integers with greatest common divisor 1 and a sum of at most [`MAX_CYCLE`].
pub(crate) fn integers(weights: &[f64]) -> Option<Vec<u64>> {
    let scaled = (0..=DECIMALS).find_map(|decimals| {
        let factor = 10_f64.powi(decimals);
        weights.iter().map(|weight| integer(weight * factor)).collect::<Option<Vec<u64>>>()
    })?;
    let divisor = scaled.iter().copied().fold(0, gcd);
    let turns: Vec<u64> = scaled.iter().map(|value| value / divisor).collect();
    let sum = turns.iter().try_fold(0_u64, |sum, value| sum.checked_add(*value))?;
    (sum <= MAX_CYCLE).then_some(turns)
}

/// The integer that the value is, within the slack; at least 1 and exact in an `f64`.
fn integer(value: f64) -> Option<u64> {
    let rounded = value.round();
    let fits = (1.0..9e15).contains(&rounded) && (value - rounded).abs() <= rounded * INTEGER_SLACK;
    fits.then_some(rounded as u64)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The cycle of ranks by Tijdeman's rule. Pure arithmetic; O(W log n).
///
/// `turns` are positive with a sum of at most [`MAX_CYCLE`], two or more of them.
pub(crate) fn lay_out(turns: &[u64]) -> Box<[u16]> {
    let total: u64 = turns.iter().sum();
    let unit = (2 * turns.len() as u64 - 2).max(1);
    let mut count = vec![0_u64; turns.len()];
    let release = |rank: usize, count: u64| (total * (count * unit + 1)).div_ceil(turns[rank] * unit);
    let due = |rank: usize, count: u64| (total * (count * unit + unit - 1)).div_ceil(turns[rank] * unit);
    let mut waiting: BinaryHeap<_> = (0..turns.len()).map(|rank| Reverse((release(rank, 0), rank))).collect();
    let mut ready = BinaryHeap::new();
    let mut cycle = Vec::with_capacity(total as usize);
    for turn in 1..=total {
        while let Some(&Reverse((at, rank))) = waiting.peek()
            && at <= turn
        {
            waiting.pop();
            ready.push(Reverse((due(rank, count[rank]), rank)));
        }
        // Tijdeman's theorem: at every turn some member is released.
        let Some(Reverse((_, rank))) = ready.pop() else { break };
        count[rank] += 1;
        cycle.push(rank as u16);
        waiting.push(Reverse((release(rank, count[rank]), rank)));
    }
    cycle.into()
}

#[cfg(test)]
mod tests;
