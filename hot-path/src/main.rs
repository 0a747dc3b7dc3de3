//! The calls of the hot path, each as a function of its own, for those who look at the emitted code.

use std::hint::black_box;
use std::time::Duration;

use pointsman::{
    Instance, Lease, NoInstance, Outcome, Picked, Picker, Policy, Pool, Request, Route, RouteSpec, Tier,
};

type Answer = Result<usize, NoInstance>;

#[inline(never)]
fn route_pick(route: &Route, request: &Request<'_>) -> Answer {
    route.pick(request).map(|pick| pick.index())
}

#[inline(never)]
fn route_pick_instance(route: &Route, request: &Request<'_>) -> Result<u64, NoInstance> {
    route.pick(request).map(|pick| pick.instance().user_data)
}

#[inline(never)]
fn route_pick_distinct(route: &Route, request: &Request<'_>, room: &mut [Picked]) -> Answer {
    route.pick_distinct(request, room).map(|picks| picks.len())
}

#[inline(never)]
fn route_lease(route: &Route, request: &Request<'_>) -> Result<Lease, NoInstance> {
    route.lease(request)
}

#[inline(never)]
fn picker_pick(picker: &mut Picker, request: &Request<'_>) -> Answer {
    picker.pick(request).map(|pick| pick.index())
}

#[inline(never)]
fn picker_pick_distinct(picker: &mut Picker, request: &Request<'_>, room: &mut [Picked]) -> Answer {
    picker.pick_distinct(request, room).map(|picks| picks.len())
}

#[inline(never)]
fn picker_lease(picker: &mut Picker, request: &Request<'_>) -> Result<Lease, NoInstance> {
    picker.lease(request)
}

#[inline(never)]
fn lease_done(lease: Lease, outcome: Outcome, latency: Duration, now_ns: u64) {
    lease.done_at(outcome, latency, now_ns);
}

/// One that may panic: the checks must find it.
#[inline(never)]
#[cfg_attr(feature = "planted", no_panic::no_panic)]
fn may_panic(list: &[u64], at: usize) -> u64 {
    list[at]
}

/// The calls as pointers, which the optimizer does not see through when they come out of a black box: so that it takes no
/// argument for a constant.
struct Calls {
    route_pick: fn(&Route, &Request<'_>) -> Answer,
    route_pick_instance: fn(&Route, &Request<'_>) -> Result<u64, NoInstance>,
    route_pick_distinct: fn(&Route, &Request<'_>, &mut [Picked]) -> Answer,
    route_lease: fn(&Route, &Request<'_>) -> Result<Lease, NoInstance>,
    picker_pick: fn(&mut Picker, &Request<'_>) -> Answer,
    picker_pick_distinct: fn(&mut Picker, &Request<'_>, &mut [Picked]) -> Answer,
    picker_lease: fn(&mut Picker, &Request<'_>) -> Result<Lease, NoInstance>,
    lease_done: fn(Lease, Outcome, Duration, u64),
    may_panic: fn(&[u64], usize) -> u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = black_box(Calls {
        route_pick,
        route_pick_instance,
        route_pick_distinct,
        route_lease,
        picker_pick,
        picker_pick_distinct,
        picker_lease,
        lease_done,
        may_panic,
    });
    let pool = Pool::new((0..10).map(|at| Instance::new(format!("i{at}")).weight(1.0 + f64::from(at))))?;
    let mut room = [Picked::default(); 3];
    for policy in Policy::all() {
        let route = pool.route(RouteSpec::new(policy).tier(Tier::new()))?;
        let mut picker = route.picker();
        let request = black_box(Request::new().key(b"somebody"));
        (calls.route_pick)(&route, &request)?;
        (calls.route_pick_instance)(&route, &request)?;
        (calls.route_pick_distinct)(&route, &request, &mut room)?;
        (calls.picker_pick)(&mut picker, &request)?;
        (calls.picker_pick_distinct)(&mut picker, &request, &mut room)?;
        for lease in [(calls.route_lease)(&route, &request)?, (calls.picker_lease)(&mut picker, &request)?] {
            (calls.lease_done)(lease, Outcome::Success, Duration::from_millis(1), 1);
        }
    }
    assert_eq!((calls.may_panic)(&[1, 2], 1), 2);
    Ok(())
}
