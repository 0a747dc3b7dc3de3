//! What one request asks of a tier beyond its tables: requirements, and `match` values whose combination has no table.
//! Answered from the tag index, word by word, without allocating.

use arrayvec::ArrayVec;

use super::bitset::{Bits, Words, ones};
use super::roster::Roster;
use super::tier::CompiledTier;
use crate::error::Reason;
use crate::live::Live;
use crate::pick::Picked;
use crate::policy::eligible::Filter;
use crate::policy::table::Member;
use crate::request::Request;

/// Values that are looked up in the index. A request with more of them is answered by comparing strings.
const TERMS: usize = 24;

/// The clauses that an instance must meet all of, and ids that it must not have.
pub(crate) struct Query<'a> {
    roster: &'a Roster,
    mask: Option<&'a Words>,
    /// Alternatives of one clause stand side by side.
    terms: ArrayVec<Term<'a>, TERMS>,
    /// Everything that the terms say, for when there is no room for them.
    by_name: Option<ByName<'a>>,
    /// Ids beyond those that are skipped by rank.
    more_excluded: &'a [&'a str],
    /// What was drawn before, beyond those that are skipped by rank.
    more_drawn: &'a [Picked],
    /// Where full instances are to be passed over.
    limits: Option<&'a Live>,
}

#[derive(Clone, Copy)]
struct Term<'a> {
    clause: u16,
    /// The clause asks that the set does not hold the instance.
    negated: bool,
    set: Option<&'a Bits>,
}

#[derive(Clone, Copy)]
struct ByName<'a> {
    request: &'a Request<'a>,
    /// The tier whose `match` keys count; `None` where a table answers for them.
    tier: Option<&'a CompiledTier>,
}

/// What matches a query, before exclusions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) members: usize,
    pub(crate) available: usize,
    pub(crate) all_drained: bool,
}

impl<'a> Query<'a> {
    /// The request's requirements over a tier, and its `match` values if `with_match`.
    pub(crate) fn new(
        roster: &'a Roster,
        tier: &'a CompiledTier,
        request: &'a Request<'a>,
        with_match: bool,
    ) -> Self {
        let mut query = Self {
            roster,
            mask: tier.mask.as_ref(),
            terms: ArrayVec::new(),
            by_name: None,
            more_excluded: &[],
            more_drawn: &[],
            limits: None,
        };
        let fits = query.add_require(request) && (!with_match || query.add_match(tier, request));
        if !fits {
            query.by_name = Some(ByName { request, tier: with_match.then_some(tier) });
        }
        query
    }

    /// Leaves out what finds no room among the ranks that are skipped.
    pub(crate) fn leaving_out(mut self, ids: &'a [&'a str], drawn: &'a [Picked]) -> Self {
        (self.more_excluded, self.more_drawn) = (ids, drawn);
        self
    }

    /// Passes over instances that have as many leases in flight as they take.
    pub(crate) fn within_limits(mut self, live: &'a Live) -> Self {
        self.limits = Some(live);
        self
    }

    /// Whether the member may be picked, as far as its leases go.
    fn has_room(&self, member: Member) -> bool {
        let Some(live) = self.limits else { return true };
        let limit = self.roster.instance(member.index).and_then(|instance| instance.max_in_flight);
        limit.is_none_or(|limit| live.in_flight(member.slot) < limit)
    }

    /// Whether it may be picked, as far as everything else goes.
    pub(crate) fn allows_but_for_limits(&self, member: Member) -> bool {
        let index = member.index;
        let meets = match &self.by_name {
            Some(names) => names.meets(self.roster, index),
            None => self.terms.chunk_by(|a, b| a.clause == b.clause).all(|clause| {
                let holds = clause.iter().filter_map(|term| term.set).any(|set| set.contains(index));
                holds != clause[0].negated
            }),
        };
        let left_out = || {
            let id = self.roster.instance(index).map(|instance| &*instance.id);
            self.more_drawn.iter().any(|picked| picked.index == index)
                || id.is_some_and(|id| self.more_excluded.contains(&id))
        };
        meets && !left_out()
    }

    fn add_require(&mut self, request: &'a Request<'a>) -> bool {
        request.require.iter().enumerate().all(|(at, (key, _))| {
            let seen = request.require.iter().take(at).any(|(before, _)| before == key);
            seen || self.add_clause(key, request.require)
        })
    }

    fn add_match(&mut self, tier: &'a CompiledTier, request: &'a Request<'a>) -> bool {
        tier.matching.iter().all(|key| {
            if request.tags.iter().any(|(tag, _)| *tag == &**key) {
                return self.add_clause(key, request.tags);
            }
            let clause = self.next_clause();
            let term = Term { clause, negated: true, set: self.roster.tags.key(key) };
            !tier.untagged || self.terms.try_push(term).is_ok()
        })
    }

    /// The instance has one of the key's values among the pairs.
    fn add_clause(&mut self, key: &str, pairs: &'a [(&'a str, &'a str)]) -> bool {
        let clause = self.next_clause();
        let mut values = pairs.iter().filter(|(held, _)| *held == key);
        values.all(|(key, value)| {
            let set = self.roster.tags.pair(key, value);
            self.terms.try_push(Term { clause, negated: false, set }).is_ok()
        })
    }

    fn next_clause(&self) -> u16 {
        self.terms.last().map_or(0, |term| term.clause + 1)
    }

    /// The members from 64·`at` on that meet the clauses, as bits.
    fn word(&self, at: usize) -> u64 {
        let n = self.roster.len();
        let all = if n - (at * 64).min(n) >= 64 { u64::MAX } else { (1 << (n % 64)) - 1 };
        let accepted = self.mask.map_or(all, |mask| mask.word(at));
        if accepted == 0 {
            return 0;
        }
        if let Some(names) = &self.by_name {
            return ones(at, accepted)
                .filter(|index| names.meets(self.roster, *index))
                .fold(0, |word, index| word | 1 << (index % 64));
        }
        self.terms.chunk_by(|a, b| a.clause == b.clause).fold(accepted, |word, clause| {
            if word == 0 {
                return 0;
            }
            let union = clause.iter().filter_map(|term| term.set).fold(0, |union, set| union | set.word(at));
            word & if clause[0].negated { !union } else { union }
        })
    }

    /// How many match, and how many of them are available.
    pub(crate) fn counts(&self, any_health: bool) -> Counts {
        let roster = self.roster;
        let mut counts = Counts { all_drained: true, ..Counts::default() };
        for at in 0..roster.len().div_ceil(64) {
            let matching = self.word(at);
            let up = if any_health { u64::MAX } else { roster.up.word(at) };
            counts.members += matching.count_ones() as usize;
            counts.available += (matching & roster.usable.word(at) & up).count_ones() as usize;
            counts.all_drained &= matching & !roster.drained.word(at) == 0;
        }
        counts.all_drained &= counts.members > 0;
        counts
    }

    /// The clause whose one value the fewest instances have, if it has its own list.
    fn rarest(&self) -> Option<&'a [u32]> {
        if self.by_name.is_some() {
            return None;
        }
        let lists = self.terms.chunk_by(|a, b| a.clause == b.clause).filter_map(|clause| match clause {
            [Term { negated: false, set: Some(Bits::Sparse(members)), .. }] => Some(&**members),
            [Term { negated: false, set: None, .. }] => Some(&[][..]),
            _ => None,
        });
        lists.min_by_key(|members| members.len())
    }
}

impl Filter for Query<'_> {
    fn allows(&self, member: Member) -> bool {
        self.has_room(member) && self.allows_but_for_limits(member)
    }

    fn visit(&self, visit: &mut dyn FnMut(usize, u64) -> bool) {
        let by_words = self.limits.is_none() && self.more_excluded.is_empty() && self.more_drawn.is_empty();
        let mut see = |at| {
            let mut word = self.word(at);
            if !by_words {
                let allowed = ones(at, word)
                    .filter(|index| self.allows(Member { index: *index, slot: self.roster.slot(*index) }));
                word = allowed.fold(0, |word, index| word | 1 << (index % 64));
            }
            word != 0 && visit(at, word)
        };
        if let Some(members) = self.rarest() {
            let words = members.chunk_by(|a, b| a / 64 == b / 64).filter_map(|chunk| chunk.first());
            let _ = words.map(|index| *index as usize / 64).any(see);
        } else {
            let _ = (0..self.roster.len().div_ceil(64)).any(&mut see);
        }
    }
}

impl ByName<'_> {
    /// The same rules, by comparing strings.
    fn meets(&self, roster: &Roster, index: u32) -> bool {
        let Some(instance) = roster.instance(index) else { return false };
        let has_one = |key: &str, pairs: &[(&str, &str)]| {
            pairs.iter().any(|(held, value)| *held == key && instance.tags.contains(key, value))
        };
        let required = self.request.require.iter().all(|(key, _)| has_one(key, self.request.require));
        let matched = |tier: &CompiledTier| {
            tier.matching.iter().all(|key| {
                let given = self.request.tags.iter().any(|(tag, _)| *tag == &**key);
                if given {
                    has_one(key, self.request.tags)
                } else {
                    !tier.untagged || !instance.tags.has_key(key)
                }
            })
        };
        required && self.tier.is_none_or(matched)
    }
}

impl Counts {
    /// How far these counts come, where nothing was left to pick.
    pub(crate) fn reason(self) -> Reason {
        match self {
            Self { members: 0, .. } => Reason::NoMatch,
            Self { all_drained: true, .. } => Reason::Drained,
            Self { available: 0, .. } => Reason::Unavailable,
            _ => Reason::Excluded,
        }
    }
}

#[cfg(test)]
mod tests;
