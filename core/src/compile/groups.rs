//! Tier evaluation: from a tier's rules to one set for each combination of matched values.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use xxhash_rust::xxh64::xxh64;

use super::bitset::Words;
use super::roster::Roster;
use super::{Context, Room};
use crate::error::Reason;
use crate::policy::table::{Member, Table};
use crate::policy::{Build, Plan, Set};
use crate::position::Position;
use crate::request::Request;
use crate::rng::mix2;
use crate::spec::{Health, OnUnavailable, Policy, Tier, WhenAbsent, ZoneRule};

/// A tier over a roster.
pub(crate) struct CompiledTier {
    /// Whom the rules that do not depend on the request accept. `None`: everyone.
    pub(crate) mask: Option<Words>,
    pub(crate) matching: Box<[Box<str>]>,
    pub(crate) untagged: bool,
    pub(crate) any_health: bool,
    stop: bool,
    min_available: usize,
    min_percent: f64,
    overflow: Option<f64>,
    /// For a request that gives none of the `match` keys.
    pub(crate) plain: Arc<Group>,
    /// Everyone whom the mask accepts: where draws for combinations without a table begin.
    pub(crate) whole: Arc<Group>,
    /// One for each full combination of matched values.
    groups: HashTable<Arc<Group>>,
    hasher: RandomState,
    /// Whether some combination found no room and is evaluated at pick time.
    pub(crate) capped: bool,
}

/// The instances of a tier for one combination of matched values.
pub(crate) struct Group {
    /// In the order of the tier's `match` keys; empty for [`CompiledTier::plain`] and [`CompiledTier::whole`].
    values: Box<[Box<str>]>,
    matched: Matched,
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
enum Matched {
    Words(Words),
    List(Box<[u32]>),
}

/// Values of a combination, and the positions in the list that have it.
type Gathered = (Box<[Box<str>]>, Vec<u32>);

/// Where a request's combination is found.
pub(crate) enum Found<'a> {
    Group(&'a Group),
    /// No instance has it.
    Nobody,
    /// It has no table.
    AtPickTime,
}

impl CompiledTier {
    /// Evaluates a tier, taking over from `before` what the change left alone. `place` names the tier within the route.
    pub(super) fn compile(
        tier: &Tier,
        policy: &Policy,
        place: u64,
        before: Option<&Arc<Self>>,
        context: &Context<'_>,
        room: &mut Room,
    ) -> Arc<Self> {
        let change = context.change;
        if let Some(before) = before
            && change.same_list
            && !change.retagged
        {
            return Self::touch(before, policy, place, context);
        }
        let roster = context.roster;
        let mask = mask(tier, roster);
        let maker = Maker { tier, policy, place, context };
        let before = before.map(|before| &**before);
        let everyone = || mask.clone().unwrap_or_else(|| Words::all(roster.len()));
        let whole_before = before.map(|before| &*before.whole);
        let whole = Arc::new(maker.group(Box::new([]), Matched::Words(everyone()), whole_before));
        let untagged = tier.when_absent == WhenAbsent::Untagged;
        let plain = if untagged && !tier.matching.is_empty() {
            let mut without = everyone();
            tier.matching
                .iter()
                .filter_map(|key| roster.tags.key(key))
                .for_each(|set| without.remove_all(set));
            let before = before.map(|before| &*before.plain);
            Arc::new(maker.group(Box::new([]), Matched::Words(without), before))
        } else {
            whole.clone()
        };
        let mut compiled = Self {
            mask,
            matching: tier.matching.iter().map(|key| key.as_str().into()).collect(),
            untagged,
            any_health: tier.health == Health::Any,
            stop: tier.when_unavailable == OnUnavailable::Stop,
            min_available: tier.min_available.max(1) as usize,
            min_percent: tier.min_available_percent,
            overflow: tier.overflow,
            plain,
            whole,
            groups: HashTable::new(),
            hasher: before.map_or_else(RandomState::default, |before| before.hasher.clone()),
            capped: false,
        };
        if !compiled.matching.is_empty() {
            compiled.partition(&maker, before, room);
        }
        Arc::new(compiled)
    }

    /// The tier after a change that left list and tags alone: only the groups with touched members are made anew.
    fn touch(before: &Arc<Self>, policy: &Policy, place: u64, context: &Context<'_>) -> Arc<Self> {
        let touched =
            |group: &Group| context.change.touched.iter().any(|index| group.matched.contains(*index));
        if !touched(&before.whole) {
            return before.clone();
        }
        let rules = Rules::of(before);
        let again = |group: &Arc<Group>| {
            if touched(group) {
                Arc::new(rules.group(
                    group.values.clone(),
                    group.matched.clone(),
                    Some(group),
                    policy,
                    place,
                    context,
                ))
            } else {
                group.clone()
            }
        };
        let whole = again(&before.whole);
        let plain =
            if Arc::ptr_eq(&before.plain, &before.whole) { whole.clone() } else { again(&before.plain) };
        let mut groups = HashTable::with_capacity(before.groups.len());
        for group in &before.groups {
            groups
                .insert_unique(before.hash(&group.values), again(group), |group| before.hash(&group.values));
        }
        Arc::new(Self {
            mask: before.mask.clone(),
            matching: before.matching.clone(),
            plain,
            whole,
            groups,
            hasher: before.hasher.clone(),
            ..**before
        })
    }

    /// One group for each full combination of values that occurs, as long as there is room.
    fn partition(&mut self, maker: &Maker<'_>, before: Option<&Self>, room: &mut Room) {
        let roster = maker.context.roster;
        let mut gathered: HashTable<Gathered> = HashTable::new();
        let accepted = self.mask.clone().unwrap_or_else(|| Words::all(roster.len()));
        for index in accepted.iter() {
            let Some(instance) = roster.instance(index) else { continue };
            let mut combinations: Vec<Vec<&str>> = vec![Vec::new()];
            for key in &self.matching {
                let values: Vec<&str> = instance.tags.values(key).collect();
                let longer = combinations
                    .iter()
                    .flat_map(|so_far| values.iter().map(move |value| extended(so_far, value)));
                combinations = longer.take(room.sets + 1).collect();
            }
            for values in combinations {
                let hash = self.hash(&values);
                let is_it = |(held, _): &Gathered| same(held, &values);
                if let Some((_, members)) = gathered.find_mut(hash, is_it) {
                    members.push(index);
                } else if gathered.len() < room.sets {
                    let values = values.iter().map(|value| Box::from(*value)).collect();
                    gathered.insert_unique(hash, (values, vec![index]), |(values, _)| self.hash(values));
                } else {
                    self.capped = true;
                }
            }
        }
        // In the order of the list, so that what finds room does not depend on hashes.
        let mut gathered: Vec<_> = gathered.into_iter().collect();
        gathered.sort_unstable_by(|(a_values, a), (b_values, b)| {
            a[0].cmp(&b[0]).then_with(|| a_values.cmp(b_values))
        });
        let mut groups = HashTable::with_capacity(gathered.len());
        for (values, members) in gathered {
            let hash = self.hash(&values);
            let before = before.and_then(|before| before.groups.find(hash, |group| group.values == values));
            let matched = Matched::List(members.into());
            let group = maker.group(values, matched, before.map(|group| &**group));
            let bytes = group.heap_bytes();
            if room.sets == 0 || room.bytes < bytes {
                self.capped = true;
                continue;
            }
            room.sets -= 1;
            room.bytes -= bytes;
            groups.insert_unique(hash, Arc::new(group), |group| self.hash(&group.values));
        }
        self.groups = groups;
    }

    /// Where the request's combination of `match` values is found. One look-up, without allocating.
    #[inline]
    pub(crate) fn find<'a>(&'a self, request: &Request<'_>) -> Found<'a> {
        if self.matching.is_empty() || request.tags.is_empty() {
            return Found::Group(&self.plain);
        }
        let mut hasher = self.hasher.build_hasher();
        let mut given = 0;
        for key in &self.matching {
            let mut values = request.tags.iter().filter(|(tag, _)| **tag == **key);
            match (values.next(), values.next()) {
                (None, _) => {}
                (Some((_, value)), None) => {
                    write_value(&mut hasher, value);
                    given += 1;
                }
                (Some(_), Some(_)) => return Found::AtPickTime,
            }
        }
        if given < self.matching.len() {
            return if given == 0 { Found::Group(&self.plain) } else { Found::AtPickTime };
        }
        let has_its_values = |group: &Arc<Group>| {
            let asked = |key: &str| request.tags.iter().find(|(tag, _)| *tag == key).map(|(_, value)| *value);
            self.matching.iter().zip(&group.values).all(|(key, value)| asked(key) == Some(&**value))
        };
        match self.groups.find(hasher.finish(), has_its_values) {
            Some(group) => Found::Group(group),
            None if self.capped => Found::AtPickTime,
            None => Found::Nobody,
        }
    }

    /// Whether the search ends with this tier, which could not serve and has `members` for the request.
    #[inline]
    pub(crate) fn stops(&self, members: usize) -> bool {
        self.stop && members > 0
    }

    /// How far the tier comes with so many members.
    pub(crate) fn verdict(&self, members: usize, available: usize, all_drained: bool) -> Result<(), Reason> {
        Rules::of(self).verdict(members, available, all_drained)
    }

    /// The draws that stay.
    pub(crate) fn take(&self, members: usize, available: usize) -> u64 {
        Rules::of(self).take(members, available)
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group> {
        let plain = (!Arc::ptr_eq(&self.plain, &self.whole)).then_some(&self.plain);
        [&self.whole].into_iter().chain(plain).chain(&self.groups).map(|group| &**group)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let mask = self.mask.as_ref().map_or(0, Words::heap_bytes);
        mask + self.groups.allocation_size() + self.groups().map(Group::heap_bytes).sum::<usize>()
    }

    fn hash<S: AsRef<str>>(&self, values: &[S]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        values.iter().for_each(|value| write_value(&mut hasher, value.as_ref()));
        hasher.finish()
    }
}

fn extended<'a>(values: &[&'a str], value: &'a str) -> Vec<&'a str> {
    values.iter().copied().chain([value]).collect()
}

/// A value with its end, so that two values never run together.
#[inline]
fn write_value(hasher: &mut impl Hasher, value: &str) {
    hasher.write(value.as_bytes());
    hasher.write_u8(0xFF);
}

fn same(held: &[Box<str>], values: &[&str]) -> bool {
    held.iter().map(|value| &**value).eq(values.iter().copied())
}

/// Whom the rules that do not depend on the request accept. `None`: everyone.
fn mask(tier: &Tier, roster: &Roster) -> Option<Words> {
    let zones: Vec<&str> = match &tier.zone {
        ZoneRule::Any => Vec::new(),
        ZoneRule::Local => roster.zone.as_deref().into_iter().collect(),
        ZoneRule::Named(names) => names.iter().map(String::as_str).collect(),
    };
    if zones.is_empty() && tier.tags.is_empty() && tier.not_tags.is_empty() && tier.without.is_empty() {
        return None;
    }
    let mut mask = Words::all(roster.len());
    if !zones.is_empty() {
        mask.keep_any(zones.iter().filter_map(|zone| roster.tags.zone(zone)));
    }
    for (key, values) in &tier.tags {
        mask.keep_any(values.0.iter().filter_map(|value| roster.tags.pair(key, value)));
    }
    for (key, values) in &tier.not_tags {
        values.0.iter().filter_map(|value| roster.tags.pair(key, value)).for_each(|set| mask.remove_all(set));
    }
    tier.without.iter().filter_map(|key| roster.tags.key(key)).for_each(|set| mask.remove_all(set));
    Some(mask)
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

/// The rules of a tier that concern numbers.
#[derive(Clone, Copy)]
struct Rules {
    any_health: bool,
    min_available: usize,
    min_percent: f64,
    overflow: Option<f64>,
}

/// Makes the groups of one tier.
struct Maker<'a> {
    tier: &'a Tier,
    policy: &'a Policy,
    place: u64,
    context: &'a Context<'a>,
}

impl Maker<'_> {
    fn group(&self, values: Box<[Box<str>]>, matched: Matched, before: Option<&Group>) -> Group {
        let rules = Rules {
            any_health: self.tier.health == Health::Any,
            min_available: self.tier.min_available.max(1) as usize,
            min_percent: self.tier.min_available_percent,
            overflow: self.tier.overflow,
        };
        rules.group(values, matched, before, self.policy, self.place, self.context)
    }
}

impl Rules {
    fn of(tier: &CompiledTier) -> Self {
        Self {
            any_health: tier.any_health,
            min_available: tier.min_available,
            min_percent: tier.min_percent,
            overflow: tier.overflow,
        }
    }

    /// Pure arithmetic: how far a tier comes.
    fn verdict(self, members: usize, available: usize, all_drained: bool) -> Result<(), Reason> {
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
    fn take(self, members: usize, available: usize) -> u64 {
        let Some(factor) = self.overflow else { return u64::MAX };
        let share = factor * (available as f64 / members.max(1) as f64);
        if share >= 1.0 { u64::MAX } else { ((share * 2_f64.powi(64)) as u64).saturating_sub(1) }
    }

    fn group(
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
        let available = eligible.len();
        let key = values.iter().fold(place, |key, value| mix2(key, xxh64(value.as_bytes(), 0)));
        let position = match before.and_then(|group| group.position.clone()) {
            Some(position) => Some(position),
            // The upper bits stay clear, so that a position does not wrap in the lifetime of a machine.
            None if policy.rotates() => Some(context.positions.open(key, context.random(key) >> 2)),
            None => None,
        };
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

    fn heap_bytes(&self) -> usize {
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
    fn contains(&self, index: u32) -> bool {
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
