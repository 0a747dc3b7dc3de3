//! Leases: picks that are held until the request ends.

use std::time::Duration;

use pointsman::{Lease, Outcome};

use crate::abi::{Handle, New, OptInput, Out, Owned, Text, exports, pointsman_str};
use crate::codes::{
    POINTSMAN_NO_LATENCY, POINTSMAN_OUTCOME_CANCELLED, POINTSMAN_OUTCOME_FAILURE, POINTSMAN_OUTCOME_SUCCESS,
    pointsman_outcome,
};
use crate::error::Fault;
use crate::request::{self, pointsman_request};
use crate::route::{pointsman_pick, pointsman_route};

/// A pick that is held until the request ends: counts as in flight, and keeps the instance's id, address and user data. May
/// end on another thread than it began on. Serves one thread at a time when it ends, any number before.
pub struct pointsman_lease(pub(crate) Lease);

exports! {
    /// Picks an instance and holds it until the request ends. `request` may be NULL.
    fn pointsman_route_lease(
        route: Handle<pointsman_route>,
        request: OptInput<pointsman_request>,
    ) -> (lease: New<pointsman_lease>) {
        request::with(request, |request| Ok(pointsman_lease(route.0.lease(request)?)))
    }

    /// Ends the request, reports how it went, and frees the lease. `latency_ns` is the time until the answer, or
    /// `POINTSMAN_NO_LATENCY`. On an error the lease is as it was and still the caller's.
    fn pointsman_lease_done(lease: Owned<pointsman_lease>, outcome: pointsman_outcome, latency_ns: u64) {
        let outcome = outcome_of(outcome)?;
        lease.into_box().0.done(outcome, latency_of(latency_ns));
        Ok(())
    }

    /// The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
    fn pointsman_lease_done_at(
        lease: Owned<pointsman_lease>,
        outcome: pointsman_outcome,
        latency_ns: u64,
        now_ns: u64,
    ) {
        let outcome = outcome_of(outcome)?;
        lease.into_box().0.done_at(outcome, latency_of(latency_ns), now_ns);
        Ok(())
    }

    /// Ends the request as cancelled and frees the lease.
    free fn pointsman_lease_free(lease: pointsman_lease);

    /// What `pointsman_route_pick` would have filled in.
    fn pointsman_lease_pick(lease: Handle<pointsman_lease>) -> (pick: Out<pointsman_pick>) {
        Ok(pointsman_pick::new(lease.0.instance().user_data, lease.0.version(), lease.0.picked()))
    }

    /// The instance's id; valid until the lease ends.
    fn pointsman_lease_id(lease: Handle<pointsman_lease>) -> (id: Out<pointsman_str>) {
        Ok(pointsman_str::lend(&lease.0.instance().id))
    }

    /// The instance's address; valid until the lease ends.
    fn pointsman_lease_address(lease: Handle<pointsman_lease>) -> (address: Out<pointsman_str>) {
        Ok(pointsman_str::lend(&lease.0.instance().address))
    }

    /// The instance's zone, with a NULL pointer where it has none; valid until the lease ends.
    fn pointsman_lease_zone(lease: Handle<pointsman_lease>) -> (zone: Out<pointsman_str>) {
        Ok(lease.0.instance().zone.as_deref().map_or(pointsman_str::NONE, pointsman_str::lend))
    }

    /// The `nth` value of a tag's key, from 0, sorted; valid until the lease ends. `POINTSMAN_NOT_FOUND` where there is none.
    fn pointsman_lease_tag(
        lease: Handle<pointsman_lease>,
        key: Text,
        nth: usize,
    ) -> (value: Out<pointsman_str>) {
        let value = lease.0.instance().tags.values(key).nth(nth);
        value.map(pointsman_str::lend).ok_or_else(|| Fault::not_found("key", "the instance has no such value"))
    }
}

fn outcome_of(number: pointsman_outcome) -> Result<Outcome, Fault> {
    match number {
        POINTSMAN_OUTCOME_SUCCESS => Ok(Outcome::Success),
        POINTSMAN_OUTCOME_FAILURE => Ok(Outcome::Failure),
        POINTSMAN_OUTCOME_CANCELLED => Ok(Outcome::Cancelled),
        _ => Err(Fault::bad_enum("outcome", number.into())),
    }
}

fn latency_of(latency_ns: u64) -> Option<Duration> {
    (latency_ns != POINTSMAN_NO_LATENCY).then(|| Duration::from_nanos(latency_ns))
}
