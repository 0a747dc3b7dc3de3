//! Lanes: what the most frequent requests of a route come to, worked out when its snapshot is made, so that a pick is few
//! steps from its table.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::CompiledRoute;
use super::ends::Ends;
use super::groups::Group;
use super::roster::Roster;
use super::tier::CompiledTier;
use crate::live::Live;
use crate::pick::Picked;
use crate::policy::consistent_hash::Hashing;
use crate::policy::eligible::REFUSALS;
use crate::policy::table::Table;
use crate::policy::{Plan, Set, power_of_two};
use crate::position::Position;
use crate::select::Hand;
use crate::select::few::{self, Few};

/// Tags of a request, and `match` keys of a tier, that are dealt with here.
const KEYS: usize = 4;

/// A set that is drawn from without more questions.
#[derive(Clone)]
pub(crate) struct Lane {
    pub(crate) tier: u16,
    /// Whether every request draws from it by weight, whomever it excludes.
    by_weight: bool,
    pub(crate) set: Arc<Set>,
    pub(crate) position: Option<Arc<Position>>,
}

/// The lanes of one route.
#[derive(Default)]
pub(crate) struct Lanes {
    /// What every request without constraints comes to, where that does not depend on a draw.
    pub(crate) plain: Option<Lane>,
    /// Whether no tier reads tags, so that they are no constraint.
    pub(crate) ignores_tags: bool,
    tagged: Tagged,
}

/// What requests come to that give each `match` key of the first tier once, and have no other constraint.
#[derive(Default)]
struct Tagged {
    keys: ArrayVec<Ends, KEYS>,
    combinations: Box<[Combination]>,
}

/// A value for each key.
struct Combination {
    values: [Ends; KEYS],
    /// `None` where the combination's group asks for more than a draw.
    lane: Option<Lane>,
}

impl Lanes {
    pub(super) fn of(route: &CompiledRoute) -> Self {
        let [branch] = &*route.branches else { return Self::default() };
        if route.spec.counters {
            return Self::default();
        }
        let mut tiers = branch.tiers.iter().enumerate();
        // Follows the tiers as a request without constraints does.
        let plain = tiers.find_map(|(number, tier)| {
            let passed_over = tier.plain.verdict.is_err() && !tier.stops(tier.plain.members);
            (!passed_over).then_some((number, &tier.plain))
        });
        Self {
            plain: plain.and_then(|(number, group)| Lane::of(number, group)),
            ignores_tags: branch.tiers.iter().all(|tier| tier.matching.is_empty()),
            tagged: branch.tiers.first().and_then(|tier| Tagged::of(tier)).unwrap_or_default(),
        }
    }

    /// The lane of requests with nothing but these tags; `None` where the long way has to decide.
    #[inline(never)]
    pub(crate) fn tagged(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        if self.ignores_tags { self.plain.as_ref() } else { self.tagged.find(tags) }
    }
}

impl Lane {
    fn of(tier: usize, group: &Group) -> Option<Self> {
        let decided = group.verdict.is_ok() && group.take == u64::MAX && !group.limited;
        let by_weight = matches!(group.set.plan, Plan::Roulette);
        decided.then(|| Self {
            tier: tier as u16,
            by_weight,
            set: group.set.clone(),
            position: group.position.clone(),
        })
    }

    /// Takes one of the set, for policies that need little more than a draw, a turn or the key; `None` for others, with no
    /// number drawn.
    #[inline(always)]
    pub(crate) fn take(&self, live: &Live, key: Option<&[u8]>, hand: &mut impl Hand) -> Option<Picked> {
        let table = &self.set.table;
        let index = match (&self.set.plan, &self.position) {
            (Plan::Roulette, _) => table.index(table.draw(hand.draw()))?,
            (Plan::Rotation(rotation), Some(position)) => hand.turn(position, table, rotation)?,
            (Plan::PowerOfTwo(options), _) if options.choices == 2 => {
                table.index(power_of_two::pick_of_two(options.load, table, live, hand)?)?
            }
            (Plan::ConsistentHash(hashing), _) => owner(hashing, table, key?)?,
            _ => return None,
        };
        Some(self.picked(index))
    }

    /// The same with some excluded, for policies that always draw by weight; `None` for others and for many, with no number
    /// drawn. (A rotation would have to know whether they are in the set: if none is, the request takes its turn.) Ids are
    /// compared, which is less than to look them up; [`Eligible::draw`] draws the same.
    ///
    /// [`Eligible::draw`]: crate::policy::eligible::Eligible::draw
    #[inline]
    pub(crate) fn take_except(
        &self,
        roster: &Roster,
        exclude: &[&str],
        hand: &mut impl Hand,
    ) -> Option<Picked> {
        let table = &self.set.table;
        // Where fewer are excluded than there are, one is left.
        if !self.by_weight || exclude.len() > few::MOST || exclude.len() >= table.len() {
            return None;
        }
        for _ in 0..REFUSALS {
            let index = table.index(table.draw(hand.draw()))?;
            if !roster.is_one_of(index, exclude) {
                return Some(self.picked(index));
            }
        }
        self.take_left(roster, exclude, hand.draw())
    }

    #[cold]
    #[inline(never)]
    fn take_left(&self, roster: &Roster, exclude: &[&str], draw: u64) -> Option<Picked> {
        let table = &self.set.table;
        let rank = table.draw_skipping(draw, &Few::of(exclude, roster).ranks(table));
        Some(self.picked(table.index(rank?)?))
    }

    #[inline(always)]
    pub(crate) fn picked(&self, index: u32) -> Picked {
        Picked { index, tier: self.tier, branch: 0, relaxed: false, keyless: false }
    }
}

/// Out of the way of those that draw.
#[inline(never)]
fn owner(hashing: &Hashing, table: &Table, key: &[u8]) -> Option<u32> {
    table.index(hashing.owner(key)?)
}

impl Tagged {
    fn of(tier: &CompiledTier) -> Option<Self> {
        if tier.matching.is_empty() || tier.matching.len() > KEYS {
            return None;
        }
        let keys: ArrayVec<Ends, KEYS> = tier.matching.iter().map(|key| Ends::of(key)).collect();
        let combination = |group: &Arc<Group>| {
            let mut values = [Ends::default(); KEYS];
            values.iter_mut().zip(&group.values).for_each(|(ends, value)| *ends = Ends::of(value));
            // Others are found the long way.
            values
                .iter()
                .all(|ends| ends.is_whole())
                .then(|| Combination { values, lane: Lane::of(0, group) })
        };
        let whole = keys.iter().all(|key| key.is_whole());
        whole.then(|| Self { keys, combinations: tier.few().iter().filter_map(combination).collect() })
    }

    /// The lane of the tags. A tier's keys differ. Most requests give the keys in the order of the tier and nothing else.
    #[inline(always)]
    fn find(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        let in_order = tags.len() == self.keys.len();
        if in_order && tags.iter().zip(&self.keys).all(|((tag, _), key)| key.are_of(tag)) {
            return self.combination(tags.iter().map(|(_, value)| *value));
        }
        self.find_in_any_order(tags)
    }

    #[inline(never)]
    fn find_in_any_order(&self, tags: &[(&str, &str)]) -> Option<&Lane> {
        if tags.len() > KEYS {
            return None;
        }
        let mut asked = [""; KEYS];
        let mut seen = 0_u32;
        for (tag, value) in tags {
            let Some(at) = self.keys.iter().position(|key| key.are_of(tag)) else { continue };
            if seen & 1 << at != 0 {
                return None;
            }
            seen |= 1 << at;
            *asked.get_mut(at)? = value;
        }
        let asked = asked.get(..self.keys.len())?;
        (seen == (1 << asked.len()) - 1).then(|| self.combination(asked.iter().copied()))?
    }

    /// The lane of a value for each key.
    #[inline(always)]
    fn combination<'a>(&self, asked: impl Iterator<Item = &'a str> + Clone) -> Option<&Lane> {
        let is_asked = |combination: &&Combination| {
            asked.clone().zip(&combination.values).all(|(asked, value)| value.are_of(asked))
        };
        self.combinations.iter().find(is_asked)?.lane.as_ref()
    }
}

#[cfg(test)]
mod tests;
