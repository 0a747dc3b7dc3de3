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
mod tests {
    use proptest::prelude::*;

    use super::super::table::Member;
    use super::*;

    /// The largest distance from the ideal at any prefix, as a numerator over the cycle's length.
    fn deviation(turns: &[u64], cycle: &[u16]) -> u64 {
        let total: u64 = turns.iter().sum();
        let mut count = vec![0_u64; turns.len()];
        let mut worst = 0;
        for (at, rank) in cycle.iter().enumerate() {
            count[usize::from(*rank)] += 1;
            for (count, weight) in count.iter().zip(turns) {
                worst = worst.max((count * total).abs_diff((at as u64 + 1) * weight));
            }
        }
        worst
    }

    fn assert_bound(turns: &[u64]) {
        let cycle = lay_out(turns);
        let total: u64 = turns.iter().sum();
        let unit = 2 * turns.len() as u64 - 2;
        for (rank, weight) in turns.iter().enumerate() {
            assert_eq!(cycle.iter().filter(|at| usize::from(**at) == rank).count() as u64, *weight);
        }
        assert!(deviation(turns, &cycle) * unit <= total * (unit - 1), "{turns:?}");
    }

    #[test]
    fn cycles_that_other_schedulers_burst_on_stay_within_the_bound() {
        assert_bound(&[5, 1, 1]);
        assert_bound(&[11, 3]);
        assert_bound(&[21, 11]);
        let one_heavy: Vec<u64> = [100].into_iter().chain([1; 20]).collect();
        assert_bound(&one_heavy);
        let three_sizes: Vec<u64> = [1; 32].into_iter().chain([4; 8]).chain([16; 2]).collect();
        assert_bound(&three_sizes);
        assert_bound(&[1, 4_095]);
    }

    proptest! {
        #[test]
        fn every_prefix_is_within_the_bound(turns in proptest::collection::vec(1_u64..60, 2..60)) {
            assert_bound(&turns);
        }

        #[test]
        fn golden_counts_stay_within_the_logarithmic_bound(
            weights in proptest::collection::vec(0.01..10.0_f64, 2..30),
            start in any::<u64>(),
        ) {
            let members = (0..weights.len() as u32).map(|at| Member { index: at, slot: at }).collect();
            let table = Table::new(members, weights.clone());
            let rotation = Rotation { form: Form::Golden, order: Arc::default(), turns: Modulus::new(0), cycle: 0, base: 0 };
            let sum: f64 = weights.iter().sum();
            let mut counts = vec![0_u32; weights.len()];
            for turn in 1..=20_000_u32 {
                let index = rotation.at_ticket(&table, start.wrapping_add(turn.into())).expect("the set is not empty");
                counts[index as usize] += 1;
                if turn.is_power_of_two() || turn % 997 == 0 {
                    for (count, weight) in counts.iter().zip(&weights) {
                        let distance = (f64::from(*count) - f64::from(turn) * weight / sum).abs();
                        prop_assert!(distance <= 1.0 + 0.42 * f64::from(turn).ln(), "{} at {}", distance, turn);
                    }
                }
            }
        }
    }

    #[test]
    fn decimal_weights_are_integers_after_scaling() {
        assert_eq!(integers(&[0.07, 0.93]), Some(vec![7, 93]));
        assert_eq!(integers(&[0.5, 1.0, 2.5]), Some(vec![1, 2, 5]));
        assert_eq!(integers(&[100.0, 200.0, 400.0]), Some(vec![1, 2, 4]));
        assert_eq!(integers(&[1_000_000.0, 3_000_000.0]), Some(vec![1, 3]));
        assert_eq!(integers(&[0.000_001, 0.000_002]), Some(vec![1, 2]));
        assert_eq!(integers(&[1.0, std::f64::consts::PI]), None);
        assert_eq!(integers(&[1.0, 4_096.0]), None, "a cycle of 4,097 turns is too long");
        assert_eq!(integers(&[1e300, 2e300]), None);
    }

    #[test]
    fn equal_members_go_on_with_the_one_that_was_next() {
        let set = |slots: &[u32]| {
            let members =
                slots.iter().enumerate().map(|(at, slot)| Member { index: at as u32, slot: *slot }).collect();
            Table::new(members, vec![1.0; slots.len()])
        };
        let before = set(&[10, 11, 12, 13]);
        let rotation = Rotation::build(&before, None, 1, 0);
        for (ticket, after, next) in [
            (2, &[10, 11, 12][..], 12),
            (3, &[10, 11, 12][..], 10),
            (1, &[13, 12, 10][..], 12),
            (1, &[9, 11][..], 11),
        ] {
            let table = set(after);
            let carried = Before { table: &before, rotation: &rotation, ticket };
            let rotation = Rotation::build(&table, Some(carried), 2, 77);
            let index = rotation.at_ticket(&table, ticket).expect("the set is not empty");
            assert_eq!(
                table.member(index as usize).map(|member| member.slot),
                Some(next),
                "ticket {ticket}, then {after:?}"
            );
        }
    }

    /// A rotation over members in list order, each with its position as its slot.
    fn rotation_of(weights: &[f64], before: Option<Before<'_>>, cycle: u64) -> (Table, Rotation) {
        let members = (0..weights.len() as u32).map(|at| Member { index: at, slot: at }).collect();
        let table = Table::new(members, weights.to_vec());
        let rotation = Rotation::build(&table, before, cycle, 1_000_003);
        (table, rotation)
    }

    const PI: f64 = std::f64::consts::PI;

    #[test]
    fn a_ticket_leads_to_the_turn_that_it_was_made_for() {
        for weights in [&[1.0; 5][..], &[5.0, 1.0, 1.0], &[1.0, PI]] {
            let (table, mut rotation) = rotation_of(weights, None, 1);
            for base in [0, 3, 1_000_003] {
                rotation.base = if rotation.form() == Form::Golden { 0 } else { base };
                for turn in 0..40 {
                    let wrapped = rotation.turns().map_or(turn, |turns| turn % turns);
                    let at_turn = rotation.at_turn(&table, wrapped);
                    assert!(at_turn.is_some());
                    assert_eq!(rotation.at_ticket(&table, rotation.ticket_for(turn)), at_turn);
                }
            }
        }
        let (nobody, rotation) = rotation_of(&[], None, 1);
        assert_eq!(
            (rotation.at_ticket(&nobody, 5), rotation.turns(), rotation.ticket_for(5)),
            (None, Some(0), 5)
        );
    }

    #[test]
    fn forms_follow_from_the_weights_and_only_the_golden_one_has_no_end() {
        let forms = [
            (&[2.0, 2.0][..], "equal", Some(2)),
            (&[2.0, 1.0], "exact", Some(3)),
            (&[1.0, PI], "golden", None),
        ];
        for (weights, form, turns) in forms {
            let (_, rotation) = rotation_of(weights, None, 1);
            assert_eq!((rotation.form().as_str(), rotation.turns()), (form, turns));
            assert_eq!(rotation.order().map(|order| order.len() as u64), turns);
            assert_eq!(rotation.heap_bytes() as u64, turns.unwrap_or(0) * 4);
        }
    }

    #[test]
    fn a_cycle_is_carried_over_where_it_means_the_same_and_begins_afresh_where_not() {
        let carried = |from: &[f64], to: &[f64]| {
            let (table, mut rotation) = rotation_of(from, None, 1);
            rotation.base = if rotation.form() == Form::Golden { 0 } else { 2 };
            let before = Before { table: &table, rotation: &rotation, ticket: 4 };
            let (_, after) = rotation_of(to, Some(before), 2);
            (after.cycle, after.base)
        };
        assert_eq!(carried(&[2.0, 1.0], &[4.0, 2.0]), (1, 2), "the same exact cycle");
        assert_eq!(carried(&[1.0, PI], &[2.0, PI]), (1, 0), "golden goes on");
        assert_eq!(carried(&[2.0, 1.0], &[3.0, 1.0]), (2, 1_000_003), "another exact cycle");
        assert_eq!(carried(&[2.0, 1.0], &[1.0, 1.0]), (2, 1_000_003), "another form");
        assert_eq!(carried(&[1.0, PI], &[2.0, 1.0]), (2, 1_000_003), "another form");
        // Ticket 4 at base 2 is the turn of the third of three: base and ticket together must be its new rank.
        let (cycle, base) = carried(&[1.0; 3], &[1.0; 4]);
        assert_eq!((cycle, (base + 4) % 4), (2, 0));
        assert_eq!(carried(&[1.0; 3], &[]).0, 2);
    }

    #[test]
    fn weights_up_to_the_longest_cycle_are_laid_out_and_longer_ones_not() {
        assert_eq!(integers(&[1.0, 4_095.0]), Some(vec![1, 4_095]));
        assert_eq!(integers(&[0.5, 0.25]), Some(vec![2, 1]));
        assert_eq!(integers(&[0.000_000_1, 1.0]), None, "seven decimals");
        assert_eq!((gcd(12, 18), gcd(0, 5), gcd(7, 0)), (6, 5, 7));
        assert_eq!((integer(3.0), integer(0.4), integer(2.5), integer(9e15)), (Some(3), None, None, None));
        assert_eq!(*lay_out(&[1, 1]), [0, 1]);
        assert_eq!(*lay_out(&[2, 1]), [0, 1, 0]);
    }
}
