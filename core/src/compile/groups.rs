//! Groups: the instances of a tier for one combination of matched values, compiled into a set.

use std::sync::Arc;

use xxhash_rust::xxh64::xxh64;

use super::Context;
use super::bitset::Words;
use super::roster::Roster;
use crate::error::Reason;
use crate::fault;
use crate::policy::table::{Member, Table};
use crate::policy::{Build, Plan, Set};
use crate::position::Position;
use crate::rng::mix2;
use crate::spec::{Health, Policy, Tier};

/// The instances of a tier for one combination of matched values.
pub(crate) struct Group {
    /// In the order of the tier's `match` keys; empty for [`CompiledTier::plain`] and [`CompiledTier::whole`].
    pub(super) values: Box<[Box<str>]>,
    pub(super) matched: Matched,
    pub(crate) members: usize,
    pub(crate) available: usize,
    /// Whether the tier is usable here, or how far it came.
    pub(crate) verdict: Result<(), Reason>,
    /// Draws up to this stay; others go to the next usable tier.
    pub(crate) take: u64,
    /// Whether some member has a limit of requests in flight.
    pub(crate) limited: bool,
    pub(crate) set: Arc<Set>,
    /// Of policies that rotate.
    pub(crate) position: Option<Arc<Position>>,
}

/// Positions in the list of a group's members, available or not.
pub(super) enum Matched {
    Words(Words),
    List(Box<[u32]>),
}

/// The rules of a tier that concern numbers.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) any_health: bool,
    min_available: usize,
    min_percent: f64,
    overflow: Option<f64>,
}

impl Rules {
    pub(super) fn of(tier: &Tier) -> Self {
        Self {
            any_health: tier.health == Health::Any,
            min_available: tier.min_available.max(1) as usize,
            min_percent: tier.min_available_percent,
            overflow: tier.overflow,
        }
    }

    /// Pure arithmetic: how far a tier comes.
    pub(crate) fn verdict(self, members: usize, available: usize, all_drained: bool) -> Result<(), Reason> {
        if members == 0 {
            return Err(Reason::NoMatch);
        }
        if all_drained {
            return Err(Reason::Drained);
        }
        let enough = available >= self.min_available;
        let share_enough = available as f64 * 100.0 >= self.min_percent * members as f64;
        if enough && share_enough { Ok(()) } else { Err(Reason::Unavailable) }
    }

    /// Pure arithmetic: the draws that stay, min(1, factor × available share) of all.
    pub(crate) fn take(self, members: usize, available: usize) -> u64 {
        let Some(factor) = self.overflow else { return u64::MAX };
        let share = factor * (available as f64 / members.max(1) as f64);
        if share >= 1.0 { u64::MAX } else { ((share * 2_f64.powi(64)) as u64).saturating_sub(1) }
    }

    pub(super) fn group(
        self,
        values: Box<[Box<str>]>,
        matched: Matched,
        before: Option<&Group>,
        policy: &Policy,
        place: u64,
        context: &Context<'_>,
    ) -> Group {
        let roster = context.roster;
        let (mut members, mut drained, mut limited) = (0, 0, false);
        let (mut eligible, mut weights) = (Vec::new(), Vec::new());
        matched.for_each(|index| {
            members += 1;
            drained += usize::from(roster.drained.contains(index));
            if !roster.usable.contains(index) || !(self.any_health || roster.up.contains(index)) {
                return;
            }
            let Some(instance) = roster.instance(index) else { return };
            limited |= instance.max_in_flight.is_some();
            eligible.push(Member { index, slot: roster.slot(index) });
            weights.push(if policy.is_weighted() { instance.weight } else { 1.0 });
        });
        if roster.has_ramps() {
            ramp(&mut weights, &eligible, roster);
        }
        fault::point("members");
        let available = eligible.len();
        let key = values.iter().fold(place, |key, value| mix2(key, xxh64(value.as_bytes(), 0)));
        let position = match before.and_then(|group| group.position.clone()) {
            Some(position) => Some(position),
            // The upper bits stay clear, so that a position does not wrap in the lifetime of a machine.
            None if policy.rotates() => Some(context.positions.open(key, context.random(key) >> 2)),
            None => None,
        };
        fault::point("position");
        let set = match before.filter(|group| group.set.table.is(&eligible, &weights)) {
            Some(group) => group.set.clone(),
            None => {
                let stamp = context.stamp();
                let before = before
                    .map(|group| (&*group.set, position.as_ref().map_or(0, |position| position.peek())));
                let random = context.random(mix2(key, stamp));
                let instance = |member: Member| roster.instance(member.index);
                let build = Build { policy, before, stamp, random, instance: &instance };
                Arc::new(Set::build(Table::new(eligible, weights), &build))
            }
        };
        fault::point("set");
        let verdict = self.verdict(members, available, members > 0 && drained == members);
        Group {
            values,
            matched,
            members,
            available,
            verdict,
            take: self.take(members, available),
            limited,
            set,
            position,
        }
    }
}

impl Group {
    /// Puts the shared position at a turn of the rotation, if there is one.
    pub(crate) fn start_at(&self, turn: u64) {
        if let (Some(position), Plan::Rotation(rotation)) = (&self.position, &self.set.plan) {
            position.set(rotation.ticket_for(turn));
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let matched = match &self.matched {
            Matched::Words(words) => words.heap_bytes(),
            Matched::List(list) => size_of_val(&**list),
        };
        let values: usize = self.values.iter().map(|value| value.len() + size_of::<Box<str>>()).sum();
        let position = if self.position.is_some() { size_of::<Position>() } else { 0 };
        size_of::<Self>() + matched + values + position + self.set.heap_bytes()
    }
}

impl Matched {
    pub(super) fn contains(&self, index: u32) -> bool {
        match self {
            Self::Words(words) => words.contains(index),
            Self::List(list) => list.binary_search(&index).is_ok(),
        }
    }

    fn for_each(&self, visit: impl FnMut(u32)) {
        match self {
            Self::Words(words) => words.iter().for_each(visit),
            Self::List(list) => list.iter().copied().for_each(visit),
        }
    }
}

impl Clone for Matched {
    fn clone(&self) -> Self {
        match self {
            Self::Words(words) => Self::Words(words.clone()),
            Self::List(list) => Self::List(list.clone()),
        }
    }
}

/// Lets each take its ramp's share of its weight, relative to the largest ramp of the set.
fn ramp(weights: &mut [f64], eligible: &[Member], roster: &Roster) {
    let largest = eligible.iter().map(|member| roster.ramp(member.index)).fold(0.0, f64::max);
    for (weight, member) in weights.iter_mut().zip(eligible) {
        let ramped = *weight * (roster.ramp(member.index) / largest);
        // A weight that is positive stays so.
        if ramped > 0.0 {
            *weight = ramped;
        }
    }
}
