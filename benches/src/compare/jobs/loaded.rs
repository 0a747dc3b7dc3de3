//! Load-aware picks: a request is picked for, counted as in flight, and ended.

use std::hint::black_box;
use std::time::Duration;

use pointsman::{Outcome, Policy, PowerOfTwo, Request, RouteSpec, Tier};

use super::{Engine, Setup};
use crate::compare::contender::Contender;
use crate::compare::lists::turns;
use crate::failure::Failure;
use crate::peers::least_active::LeastActive;
use crate::peers::tower::Tower;

const PLAIN: Request<'static> = Request::new();
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
    Ok(Setup { ours, peers: vec![least_active(&turns(n))], expected, ..Setup::default() })
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
