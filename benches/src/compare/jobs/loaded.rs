//! Load-aware picks: a request is picked for, counted as in flight, and ended.

use std::hint::black_box;
use std::time::{Duration, Instant};

use pointsman::{Outcome, Policy, PowerOfTwo, RouteSpec, Tier};
use pointsman_bench::lists::turns;
use pointsman_bench::peers::least_active::LeastActive;
use pointsman_bench::peers::scan::Scan;
use pointsman_bench::peers::tower::Tower;

use super::{Engine, PLAIN, Setup};
use crate::compare::contender::Contender;
use crate::failure::Failure;

const LATENCY: Duration = Duration::from_millis(2);

/// The longest list that tower is given: it looks at every service when it is made ready.
const LONGEST_TOWER: usize = 10_000;

fn leases(engine: &Engine) -> Vec<Contender> {
    let (route, shared) = (engine.route.clone(), engine.route.clone());
    let picker = move || {
        let mut picker = route.picker_seeded(1);
        move || {
            let Ok(lease) = picker.lease(black_box(&PLAIN)) else { return usize::MAX };
            let at = lease.picked().index();
            lease.done(Outcome::Success, LATENCY);
            at
        }
    };
    let route = move || {
        let route = shared.clone();
        move || {
            let Ok(lease) = route.lease(black_box(&PLAIN)) else { return usize::MAX };
            let at = lease.picked().index();
            lease.done(Outcome::Success, LATENCY);
            at
        }
    };
    vec![
        Contender::picks("pointsman", picker).api("picker").bytes(engine.bytes),
        Contender::picks("pointsman", route).api("route").bytes(engine.bytes),
    ]
}

fn least_active(weights: &[f64]) -> Contender {
    let least = LeastActive::new(weights);
    Contender::picks("dubbo_least_active", move || {
        let least = least.clone();
        move || least.call()
    })
}

pub(super) fn least_request(n: usize) -> Result<Setup, Failure> {
    let engine = Engine::new(&turns(n), RouteSpec::new(Policy::LeastRequest).tier(Tier::new()))?;
    let (ours, expected) = (leases(&engine), engine.expected(&PLAIN));
    let scan = Scan::new(&turns(n));
    let scan = Contender::picks("scan_of_arcs", move || {
        let scan = scan.clone();
        move || scan.call()
    });
    Ok(Setup { ours, peers: vec![least_active(&turns(n)), scan], expected, ..Setup::default() })
}

pub(super) fn power_of_two(n: usize) -> Result<Setup, Failure> {
    let policy = Policy::PowerOfTwo(PowerOfTwo::new());
    let engine = Engine::new(&turns(n), RouteSpec::new(policy).tier(Tier::new()))?;
    let (ours, expected) = (leases(&engine), engine.expected(&PLAIN));
    let mut peers = vec![least_active(&turns(n))];
    if n <= LONGEST_TOWER {
        peers.push(Contender::picks("tower_p2c", move || {
            let mut tower = Tower::new(n);
            move || tower.call()
        }));
    }
    Ok(Setup { ours, peers, expected, ..Setup::default() })
}

/// What a lease costs beside the pick in it.
pub(super) fn lease(n: usize) -> Result<Setup, Failure> {
    let engine = Engine::new(&turns(n), RouteSpec::new(Policy::WeightedRandom).tier(Tier::new()))?;
    let peers = vec![engine.plain_picker("itself_picking"), engine.plain_route("itself_picking")];
    Ok(Setup { ours: leases(&engine), peers, expected: engine.expected(&PLAIN), ..Setup::default() })
}

/// Leases at the pace of a busy caller, a thousand a millisecond on each thread: as much other work between two leases as
/// fills a microsecond. What threads lose to each other is then what they would lose in a service.
pub(super) fn lease_paced(n: usize) -> Result<Setup, Failure> {
    const PACE: Duration = Duration::from_micros(1);
    let engine = Engine::new(&turns(n), RouteSpec::new(Policy::WeightedRandom).tier(Tier::new()))?;
    let a_lease = each_takes(|| drop(engine.route.lease(black_box(&PLAIN))));
    let other_work = PACE.saturating_sub(a_lease).div_duration_f64(each_takes(|| work(100))) * 100.0;
    let (route, other_work) = (engine.route.clone(), other_work as u64);
    let ours = Contender::picks("pointsman", move || {
        let route = route.clone();
        move || {
            work(other_work);
            let Ok(lease) = route.lease(black_box(&PLAIN)) else { return usize::MAX };
            let at = lease.picked().index();
            lease.done(Outcome::Success, LATENCY);
            at
        }
    });
    let alone = Contender::picks("itself_without_leases", move || {
        move || {
            work(other_work);
            0
        }
    });
    let ours = vec![ours.api("route").bytes(engine.bytes)];
    Ok(Setup { ours, peers: vec![alone], expected: engine.expected(&PLAIN), ..Setup::default() })
}

/// Work that shares nothing.
#[inline]
fn work(steps: u64) {
    let mut word = 1_u64;
    for _ in 0..steps {
        word = black_box(word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17));
    }
}

/// What one of many takes: the least of several looks, since all that disturbs adds to it.
fn each_takes(mut what: impl FnMut()) -> Duration {
    const TIMES: u32 = 2_000;
    const LOOKS: usize = 15;
    let look = |_| {
        let begun = Instant::now();
        (0..TIMES).for_each(|_| what());
        begun.elapsed() / TIMES
    };
    (0..LOOKS).map(look).min().unwrap_or_default().max(Duration::from_nanos(1))
}
