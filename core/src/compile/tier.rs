//! Tier evaluation: from a tier's rules to one group for each combination of matched values.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrayvec::ArrayVec;
use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::bitset::Words;
use super::groups::{Group, Matched, Rules};
use super::roster::Roster;
use super::{Context, Room};
use crate::fault;
use crate::request::Request;
use crate::rng::mix;
use crate::spec::{MAX_MATCH_KEYS, OnUnavailable, Policy, Tier, WhenAbsent, ZoneRule};

/// Groups that are looked at one after the other.
const FEW: usize = 8;

/// A tier over a roster.
pub(crate) struct CompiledTier {
    /// Whom the rules that do not depend on the request accept. `None`: everyone.
    pub(crate) mask: Option<Words>,
    pub(crate) matching: Box<[Box<str>]>,
    pub(crate) untagged: bool,
    stop: bool,
    pub(crate) rules: Rules,
    /// For a request that gives none of the `match` keys.
    pub(crate) plain: Arc<Group>,
    /// Everyone whom the mask accepts: where draws for combinations without a table begin.
    pub(crate) whole: Arc<Group>,
    /// One for each full combination of matched values.
    groups: HashTable<Arc<Group>>,
    /// The same, where they are so few that looking at each costs less than a hash.
    few: Box<[Arc<Group>]>,
    hasher: RandomState,
    /// Whether some combination found no room and is evaluated at pick time.
    pub(crate) capped: bool,
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

/// Makes the groups of one tier.
struct Maker<'a> {
    rules: Rules,
    policy: &'a Policy,
    place: u64,
    context: &'a Context<'a>,
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
        fault::point("tier");
        let roster = context.roster;
        let mask = mask(tier, roster);
        let rules = Rules::of(tier);
        let maker = Maker { rules, policy, place, context };
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
            stop: tier.when_unavailable == OnUnavailable::Stop,
            rules,
            plain,
            whole,
            groups: HashTable::new(),
            few: Box::default(),
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
        let maker = Maker { rules: before.rules, policy, place, context };
        let again = |group: &Arc<Group>| {
            if touched(group) {
                Arc::new(maker.group(group.values.clone(), group.matched.clone(), Some(group)))
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
            few: few(&groups),
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
            // Sets there is room for: no more than that were gathered.
            if room.bytes < bytes {
                self.capped = true;
                continue;
            }
            room.sets -= 1;
            room.bytes -= bytes;
            groups.insert_unique(hash, Arc::new(group), |group| self.hash(&group.values));
        }
        self.few = few(&groups);
        self.groups = groups;
    }

    /// Where the request's combination of `match` values is found. One look-up, without allocating.
    #[inline]
    pub(crate) fn find<'a>(&'a self, request: &Request<'_>) -> Found<'a> {
        if self.matching.is_empty() || request.tags.is_empty() {
            return Found::Group(&self.plain);
        }
        let mut asked = ArrayVec::<&str, MAX_MATCH_KEYS>::new();
        for key in &self.matching {
            let mut value = None;
            for (tag, held) in request.tags {
                if equal(tag, key) && value.replace(*held).is_some() {
                    return Found::AtPickTime;
                }
            }
            if let Some(value) = value {
                // A checked spec has no more keys than there is room for.
                let _ = asked.try_push(value);
            }
        }
        if asked.len() < self.matching.len() {
            return if asked.is_empty() { Found::Group(&self.plain) } else { Found::AtPickTime };
        }
        let has_its_values =
            |group: &Arc<Group>| group.values.iter().zip(&asked).all(|(held, value)| equal(held, value));
        let found = if self.few.is_empty() {
            self.groups.find(self.hash(&asked), has_its_values)
        } else {
            self.few.iter().find(|group| has_its_values(group))
        };
        match found {
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

    /// The groups of combinations in the order of their values; none where they are many.
    pub(super) fn few(&self) -> &[Arc<Group>] {
        &self.few
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
        values.iter().fold(0, |hash, value| self.hash_with(hash, value.as_ref()))
    }

    /// The hash of a combination with one more value. Each is hashed by itself, so that two never run together.
    #[inline(always)]
    fn hash_with(&self, hash: u64, value: &str) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(value.as_bytes());
        mix(hash ^ hasher.finish())
    }
}

impl Maker<'_> {
    fn group(&self, values: Box<[Box<str>]>, matched: Matched, before: Option<&Group>) -> Group {
        self.rules.group(values, matched, before, self.policy, self.place, self.context)
    }
}

fn extended<'a>(values: &[&'a str], value: &'a str) -> Vec<&'a str> {
    values.iter().copied().chain([value]).collect()
}

/// The groups as a list in the order of their values, unless they are many.
fn few(groups: &HashTable<Arc<Group>>) -> Box<[Arc<Group>]> {
    if groups.len() > FEW {
        return Box::default();
    }
    let mut list: Vec<Arc<Group>> = groups.iter().cloned().collect();
    list.sort_unstable_by(|a, b| a.values.cmp(&b.values));
    list.into()
}

/// Whether two strings are equal. Short ones, as tags are, without a call: their first and last bytes cover them.
#[inline(always)]
fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    match a.len() {
        0 => true,
        1..=3 => a[0] == b[0] && a[a.len() / 2] == b[a.len() / 2] && a[a.len() - 1] == b[a.len() - 1],
        4..=7 => a.first_chunk::<4>() == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>(),
        8..=16 => a.first_chunk::<8>() == b.first_chunk::<8>() && a.last_chunk::<8>() == b.last_chunk::<8>(),
        _ => a == b,
    }
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

#[cfg(test)]
mod tests;
