//! The walk of one request over a route: which branch, which tier, and who of its set.

pub(crate) mod few;

use arrayvec::ArrayVec;
use xxhash_rust::xxh64::xxh64;

use crate::compile::groups::Group;
use crate::compile::query::Query;
use crate::compile::tier::{CompiledTier, Found};
use crate::compile::{CompiledRoute, Snapshot};
use crate::error::{NoInstance, Reason};
use crate::live::Live;
use crate::pick::Picked;
use crate::policy::eligible::{Eligible, Filter};
use crate::policy::rotation::Rotation;
use crate::policy::table::{Member, Table};
use crate::position::Position;
use crate::request::Request;
use crate::rng::Draw;
use crate::select::few::Few;
use crate::spec::SplitBy;

/// Members that are skipped by rank. More are left out by comparing.
pub(crate) const SKIPS: usize = 64;

/// Where draws and turns come from: a thread's hand, or a picker's.
pub(crate) trait Hand: Draw {
    /// Who has the turn, by position in the list, and the turn is taken.
    fn turn(&mut self, position: &Position, table: &Table, rotation: &Rotation) -> Option<u32>;
}

/// Instances that may not be picked.
#[derive(Clone, Copy)]
pub(crate) struct Barred<'a> {
    /// Positions in the list, rising, each once.
    indices: &'a [u32],
    /// Ids and positions for which there was no room.
    more_ids: &'a [&'a str],
    more_drawn: &'a [Picked],
}

/// Takes one instance for the request. `drawn` were taken before and may not come again.
pub(crate) fn select(
    route: &CompiledRoute,
    snapshot: &Snapshot,
    live: &Live,
    request: &Request<'_>,
    drawn: &[Picked],
    hand: &mut impl Hand,
) -> Result<Picked, NoInstance> {
    if let Some(picked) = select_quickly(route, snapshot, live, request, drawn, hand) {
        return Ok(picked);
    }
    select_fully(route, snapshot, live, request, drawn, hand)
}

/// The same for every request. By itself, so that the quick way has little to set up.
#[inline(never)]
fn select_fully(
    route: &CompiledRoute,
    snapshot: &Snapshot,
    live: &Live,
    request: &Request<'_>,
    drawn: &[Picked],
    hand: &mut impl Hand,
) -> Result<Picked, NoInstance> {
    let walk = Walk { route, snapshot, live, request };
    let first = walk.first_branch(hand);
    let room = walk.room(drawn, true);
    let refused = match walk.branches(first, walk.barred(&room, drawn, true), hand) {
        Ok(picked) => return Ok(picked),
        Err(refused) => refused,
    };
    if !request.relax || request.exclude.is_empty() {
        return Err(refused);
    }
    let room = walk.room(drawn, false);
    match walk.branches(first, walk.barred(&room, drawn, false), hand) {
        Ok(picked) => Ok(Picked { relaxed: true, ..picked }),
        Err(_) => Err(refused),
    }
}

/// The same for a request that requires and prefers nothing and excludes little, where tables decide everything. `None` where they do not,
/// with no number drawn and no turn taken.
#[inline]
fn select_quickly(
    route: &CompiledRoute,
    snapshot: &Snapshot,
    live: &Live,
    request: &Request<'_>,
    drawn: &[Picked],
    hand: &mut impl Hand,
) -> Option<Picked> {
    let [branch] = &*route.branches else { return None };
    let few = request.exclude.len() <= few::MOST;
    if !(request.require.is_empty() && few && request.prefer.is_none() && drawn.is_empty()) {
        return None;
    }
    let indices = Few::of(request.exclude, &snapshot.roster);
    for (number, tier) in branch.tiers.iter().enumerate() {
        let group = match tier.find(request) {
            Found::Group(group) => group,
            Found::Nobody => continue,
            Found::AtPickTime => return None,
        };
        if group.verdict.is_err() {
            if tier.stops(group.members) {
                return None;
            }
            continue;
        }
        if group.take < u64::MAX || group.limited {
            return None;
        }
        let set = &group.set;
        let skips = indices.ranks(&set.table);
        if skips.len() == set.table.len() {
            return None;
        }
        let eligible = Eligible { skips: &skips, filter: None };
        let index = set.pick(&eligible, request.key, live, group.position.as_deref(), hand)?;
        let keyless = group.set.hashes() && request.key.is_none();
        return Some(Picked { index, tier: number as u16, branch: 0, relaxed: false, keyless });
    }
    None
}

/// Inserts in order, each once.
fn bar(barred: &mut ArrayVec<u32, SKIPS>, index: u32) {
    if let Err(at) = barred.binary_search(&index) {
        // There is room for half of the ids and half of what was drawn.
        let _ = barred.try_insert(at, index);
    }
}

/// One request over one route.
pub(crate) struct Walk<'a> {
    pub(crate) route: &'a CompiledRoute,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) live: &'a Live,
    pub(crate) request: &'a Request<'a>,
}

/// The furthest that any tier came so far.
struct Furthest(Option<NoInstance>);

impl Furthest {
    fn note(&mut self, reason: Reason, tier: usize, branch: usize) {
        if self.0.is_none_or(|furthest| reason > furthest.reason) {
            self.0 = Some(NoInstance { reason, tier: tier as u16, branch: branch as u16 });
        }
    }
}

/// Positions in the list of barred instances, rising, each once.
pub(crate) type Room = ArrayVec<u32, SKIPS>;

impl<'a> Walk<'a> {
    /// What was drawn, and what the request excludes, as far as it is barred by rank.
    pub(crate) fn room(&self, drawn: &[Picked], exclude: bool) -> Room {
        let mut room = Room::new();
        drawn.iter().take(SKIPS / 2).for_each(|picked| bar(&mut room, picked.index));
        if exclude {
            let ids = self.request.exclude.iter().take(SKIPS / 2);
            ids.filter_map(|id| self.snapshot.roster.index_of(id)).for_each(|index| bar(&mut room, index));
        }
        room
    }

    /// All that is barred.
    pub(crate) fn barred<'b>(&'b self, room: &'b Room, drawn: &'b [Picked], exclude: bool) -> Barred<'b> {
        let ids = if exclude { self.request.exclude } else { &[] };
        Barred {
            indices: room,
            more_ids: ids.get(SKIPS / 2..).unwrap_or(&[]),
            more_drawn: drawn.get(SKIPS / 2..).unwrap_or(&[]),
        }
    }

    fn first_branch(&self, hand: &mut impl Hand) -> usize {
        if self.route.branches.len() < 2 {
            return 0;
        }
        let point = match (self.route.by, self.request.key) {
            (SplitBy::Key, Some(key)) => xxh64(key, 0),
            _ => hand.draw(),
        };
        self.route.branch_at(point)
    }

    /// The branch, and where it may spill, those after it round the end.
    fn branches(&self, first: usize, barred: Barred<'_>, hand: &mut impl Hand) -> Result<Picked, NoInstance> {
        let count = self.route.branches.len();
        let mut furthest = Furthest(None);
        for step in 0..count {
            let at = (first + step) % count;
            if let Some(choice) = self.tiers(at, barred, hand, &mut furthest) {
                return Ok(choice);
            }
            if !self.route.branches.get(at).is_some_and(|branch| branch.spill) {
                break;
            }
        }
        let nobody = NoInstance { reason: Reason::NoMatch, tier: 0, branch: first as u16 };
        let refused = furthest.0.unwrap_or(nobody);
        let reason = if self.snapshot.roster.len() == 0 { Reason::Empty } else { refused.reason };
        Err(NoInstance { reason, ..refused })
    }

    fn tiers(
        &self,
        branch: usize,
        barred: Barred<'_>,
        hand: &mut impl Hand,
        furthest: &mut Furthest,
    ) -> Option<Picked> {
        let tiers = &self.route.branches.get(branch)?.tiers;
        let mut overflowed = None;
        for (number, tier) in tiers.iter().enumerate() {
            let asked = Asked::new(self, tier);
            let mut came = asked.verdict.map(|()| 0);
            if came.is_ok() {
                let stays = asked.take == u64::MAX || hand.draw() <= asked.take;
                came = if stays { self.pick(&asked, barred, hand) } else { self.anybody(&asked, barred) };
                match came {
                    Ok(index) if stays => return Some(self.choice(&asked, index, number, branch)),
                    Ok(_) => {
                        overflowed = overflowed.or(Some(number));
                        continue;
                    }
                    Err(_) => {}
                }
            }
            let reason = came.err().unwrap_or(Reason::NoMatch);
            furthest.note(reason, number, branch);
            // What matches here for this request; none where it was only the requirements that nobody met.
            if reason > Reason::NoMatch && tier.stops(asked.members()) {
                break;
            }
        }
        // Nobody behind takes what a tier gave away.
        let number = overflowed?;
        let asked = Asked::new(self, tiers.get(number)?);
        let index = self.pick(&asked, barred, hand).ok()?;
        Some(self.choice(&asked, index, number, branch))
    }

    /// Somebody who may be picked, by position in the list.
    fn anybody(&self, asked: &Asked<'_>, barred: Barred<'_>) -> Result<u32, Reason> {
        self.among(asked, barred, |group, eligible| {
            eligible.ranks(&group.set.table).next().map(|(_, member)| member.index)
        })
    }

    fn choice(&self, asked: &Asked<'_>, index: u32, tier: usize, branch: usize) -> Picked {
        let hashes = asked.group.is_some_and(|group| group.set.hashes());
        let keyless = hashes && self.request.key.is_none();
        Picked { index, tier: tier as u16, branch: branch as u16, relaxed: false, keyless }
    }

    /// One of the tier's set for this request.
    fn pick(&self, asked: &Asked<'_>, barred: Barred<'_>, hand: &mut impl Hand) -> Result<u32, Reason> {
        self.among(asked, barred, |group, eligible| {
            let table = &group.set.table;
            if let Some(rank) = self.preferred(eligible, table) {
                return table.index(rank);
            }
            group.set.pick(eligible, self.request.key, self.live, group.position.as_deref(), hand)
        })
    }

    /// Hands the set of the tier, and what of it may be picked, to `take`, or says how far the tier came where it takes
    /// none.
    pub(crate) fn among<T>(
        &self,
        asked: &Asked<'_>,
        barred: Barred<'_>,
        take: impl FnOnce(&Group, &Eligible<'_>) -> Option<T>,
    ) -> Result<T, Reason> {
        let group = asked.group.ok_or(Reason::NoMatch)?;
        let table = &group.set.table;
        let skips: ArrayVec<u32, SKIPS> =
            barred.indices.iter().filter_map(|index| table.rank_of(*index)).map(|rank| rank as u32).collect();
        let more = !barred.more_ids.is_empty() || !barred.more_drawn.is_empty();
        let asks = asked.at_pick_time || group.limited || more || !self.request.require.is_empty();
        let query = asks.then(|| {
            let query = Query::new(&self.snapshot.roster, asked.tier, self.request, asked.at_pick_time)
                .leaving_out(barred.more_ids, barred.more_drawn);
            if group.limited { query.within_limits(self.live) } else { query }
        });
        let eligible = Eligible { skips: &skips, filter: query.as_ref().map(|query| query as &dyn Filter) };
        take(group, &eligible).ok_or_else(|| {
            let Some(query) = &query else { return Reason::Excluded };
            let full = |(rank, member): (usize, Member)| {
                skips.binary_search(&(rank as u32)).is_err() && query.allows_but_for_limits(member)
            };
            // The values that a table stands for count here too.
            let all = Query::new(&self.snapshot.roster, asked.tier, self.request, true);
            match all.counts(asked.tier.rules.any_health).reason() {
                Reason::Excluded if group.limited && table.members().enumerate().any(full) => {
                    Reason::Saturated
                }
                reason => reason,
            }
        })
    }

    /// The rank of the instance that the request prefers, where it may be picked.
    pub(crate) fn preferred(&self, eligible: &Eligible<'_>, table: &Table) -> Option<usize> {
        let index = self.snapshot.roster.index_of(self.request.prefer?)?;
        let rank = table.rank_of(index)?;
        eligible.allows(rank, table.member(rank)?).then_some(rank)
    }
}

/// What the request asks of a tier, and how far the tier comes.
pub(crate) struct Asked<'a> {
    pub(crate) tier: &'a CompiledTier,
    /// Where the draw begins; `None` where nobody matches.
    pub(crate) group: Option<&'a Group>,
    /// The `match` values have no table.
    pub(crate) at_pick_time: bool,
    pub(crate) verdict: Result<(), Reason>,
    pub(crate) take: u64,
    counted: usize,
}

impl<'a> Asked<'a> {
    #[inline]
    fn new(walk: &Walk<'a>, tier: &'a CompiledTier) -> Self {
        Self::of(&walk.snapshot.roster, walk.request, tier)
    }

    /// Looks the request's combination up. Members are counted before exclusions and requirements.
    pub(crate) fn of(
        roster: &'a crate::compile::roster::Roster,
        request: &'a Request<'a>,
        tier: &'a CompiledTier,
    ) -> Self {
        match tier.find(request) {
            Found::Group(group) => Self {
                tier,
                group: Some(group),
                at_pick_time: false,
                verdict: group.verdict,
                take: group.take,
                counted: group.members,
            },
            Found::Nobody => Self {
                tier,
                group: None,
                at_pick_time: false,
                verdict: Err(Reason::NoMatch),
                take: u64::MAX,
                counted: 0,
            },
            Found::AtPickTime => {
                let without_require = Request { require: &[], ..*request };
                let counts = Query::new(roster, tier, &without_require, true).counts(tier.rules.any_health);
                Self {
                    tier,
                    group: Some(&tier.whole),
                    at_pick_time: true,
                    verdict: tier.rules.verdict(counts.members, counts.available, counts.all_drained),
                    take: tier.rules.take(counts.members, counts.available),
                    counted: counts.members,
                }
            }
        }
    }

    pub(crate) fn members(&self) -> usize {
        self.counted
    }
}
