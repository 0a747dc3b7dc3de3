//! Routes, and what a pick tells.

use arrayvec::ArrayVec;
use pointsman::{Pick, Picked, Picks, Route, RouteSpec};

use crate::abi::{Document, Handle, New, OptInput, Out, OutItems, Shared, exports, pointsman_str};
use crate::codes::{POINTSMAN_MAX_INSTANCES, POINTSMAN_PICK_KEYLESS, POINTSMAN_PICK_RELAXED};
use crate::error::Fault;
use crate::pool::pointsman_pool;
use crate::request::{self, pointsman_request};
use crate::string::pointsman_string;

/// A way to choose: a policy and an ordered list of tiers. Follows every update of its pool. Every call may come from any
/// thread, and none waits for an update. Picks do not allocate, but that a thread's first one may once, and requests or
/// results of more than 32 elements do; leases and strings are handles, which take memory.
pub struct pointsman_route(pub(crate) Route);

/// The answer, by value. Nothing in it points into the library.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct pointsman_pick {
    /// The host's own number of the instance. Memory that it names may be freed by `release`; take a lease or a picker then.
    pub user_data: u64,
    /// The version of the list it was picked from.
    pub version: u64,
    /// The instance's position in that list.
    pub index: u32,
    /// `POINTSMAN_PICK_...` flags.
    pub flags: u32,
    /// The tier that was used, by its position in the route or the branch.
    pub tier: u16,
    /// The branch of the split; 0 where the route has none.
    pub branch: u16,
    /// Not used; 0.
    pub reserved: u32,
}

impl pointsman_pick {
    #[inline(always)]
    pub(crate) fn new(user_data: u64, version: u64, picked: Picked) -> Self {
        Self {
            user_data,
            version,
            index: picked.index() as u32,
            flags: (u32::from(picked.relaxed()) * POINTSMAN_PICK_RELAXED)
                | (u32::from(picked.keyless()) * POINTSMAN_PICK_KEYLESS),
            tier: picked.tier() as u16,
            branch: picked.branch() as u16,
            reserved: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn of(pick: &Pick<'_>) -> Self {
        Self::new(pick.instance().user_data, pick.version(), pick.picked())
    }

    pub(crate) fn of_all<'a>(picks: &'a Picks<'_>) -> impl Iterator<Item = Self> + 'a {
        let version = picks.version();
        let both = picks.iter().zip(picks.picked());
        both.map(move |(instance, picked)| Self::new(instance.user_data, version, *picked))
    }
}

/// Room for `count` picks, on the stack where they are few.
pub(crate) fn with_room<R>(
    count: usize,
    f: impl FnOnce(&mut [Picked]) -> Result<R, Fault>,
) -> Result<R, Fault> {
    const ON_STACK: usize = 32;
    let count = count.min(POINTSMAN_MAX_INSTANCES);
    if count <= ON_STACK {
        let mut room: ArrayVec<Picked, ON_STACK> = std::iter::repeat_n(Picked::default(), count).collect();
        return f(&mut room);
    }
    f(&mut vec![Picked::default(); count])
}

exports! {
    /// Compiles a route for the pool's list from a route spec as JSON.
    fn pointsman_route_new(pool: Shared<pointsman_pool>, spec: Document) -> (route: New<pointsman_route>) {
        Ok(pointsman_route(pool.0.route(RouteSpec::from_json(spec)?)?))
    }

    /// Frees the handle. Pickers and leases keep what they need of the route.
    free fn pointsman_route_free(route: pointsman_route);

    /// Picks an instance from the list in force. `request` may be NULL. Never calls `release`.
    fn pointsman_route_pick(
        route: Handle<pointsman_route>,
        request: OptInput<pointsman_request>,
    ) => (pick: pointsman_pick) {
        request::answer(request, pick, #[inline(always)] |request, pick| match route.0.pick(request) {
            Ok(found) => pick.fill(pointsman_pick::of(&found)),
            Err(refused) => pick.refuse(refused.into()),
        })
    }

    /// Fills `picks`, which has room for `room`, with different instances in the order of drawing without replacement, and
    /// `count` with their number, which is smaller where there are no more. `request` may be NULL.
    fn pointsman_route_pick_distinct(
        route: Handle<pointsman_route>,
        request: OptInput<pointsman_request>,
        picks: OutItems<pointsman_pick>,
        room: usize,
    ) -> (count: Out<usize>) {
        request::with(request, |request| {
            with_room(room, |out| {
                let drawn = route.0.pick_distinct(request, out)?;
                picks.put(room, pointsman_pick::of_all(&drawn));
                Ok(drawn.len())
            })
        })
    }

    /// Tier by tier, what the request finds and why, as a JSON object. `request` may be NULL. O(n).
    fn pointsman_route_explain(
        route: Handle<pointsman_route>,
        request: OptInput<pointsman_request>,
    ) -> (json: New<pointsman_string>) {
        request::with(request, |request| pointsman_string::json(&route.0.explain(request)))
    }

    /// The exact share of every instance that such requests can be given, in list order, as a JSON list of objects with `id`
    /// and `share`. `request` may be NULL. O(n).
    fn pointsman_route_shares(
        route: Handle<pointsman_route>,
        request: OptInput<pointsman_request>,
    ) -> (json: New<pointsman_string>) {
        request::with(request, |request| pointsman_string::json(&route.0.shares(request)))
    }

    /// How often each tier was used and each reason given, as a JSON object; `null` unless the spec asks for counters.
    fn pointsman_route_counters(route: Handle<pointsman_route>) -> (json: New<pointsman_string>) {
        pointsman_string::json(&route.0.counters())
    }

    /// The route spec as JSON, fields at their defaults left out.
    fn pointsman_route_spec(route: Handle<pointsman_route>) -> (json: New<pointsman_string>) {
        pointsman_string::new(route.0.spec().to_json())
    }

    /// The name of a tier, empty where it has none; valid until the route is freed.
    fn pointsman_route_tier_name(
        route: Handle<pointsman_route>,
        branch: usize,
        tier: usize,
    ) -> (name: Out<pointsman_str>) {
        let spec = route.0.spec();
        let tiers = spec.split.get(branch).map_or(&spec.tiers, |branch| &branch.tiers);
        let tier = tiers.get(tier).filter(|_| branch == 0 || branch < spec.split.len());
        tier.map(|tier| pointsman_str::lend(&tier.name)).ok_or_else(|| Fault::not_found("tier", "there is no such tier"))
    }

    /// The name of a branch of the split, empty where it has none; valid until the route is freed.
    fn pointsman_route_branch_name(
        route: Handle<pointsman_route>,
        branch: usize,
    ) -> (name: Out<pointsman_str>) {
        let branch = route.0.spec().split.get(branch);
        branch
            .map(|branch| pointsman_str::lend(&branch.name))
            .ok_or_else(|| Fault::not_found("branch", "there is no such branch"))
    }

    /// Puts the shared positions of every set at a turn of their cycles; turn 0 is the canonical start. For tests.
    fn pointsman_route_start_at(route: Handle<pointsman_route>, turn: u64) {
        route.0.start_at(turn);
        Ok(())
    }
}
