//! Limits of requests in flight under threads: never one lease more, by a count that is not the engine's.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use pointsman::{Instance, Lease, Outcome, Pool, Reason};

use crate::Order;
use crate::common::{PLAIN, plain_route, policies};
use crate::control::{Control, limit_in};
use crate::harness::Dice;

const LIMITS: [u32; 4] = [1, 2, 3, 50];

/// A lease, and its part in the count here, which goes first, so that that count is never above the engine's.
struct Held<'a> {
    counted: Counted<'a>,
    lease: Lease,
}

struct Counted<'a>(&'a AtomicU32);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn run(order: Order) -> Vec<String> {
    let instance =
        |at: usize| Instance::new(format!("i{at}")).max_in_flight(LIMITS[at]).weight(1.0 + at as f64);
    let pool = Pool::new((0..4).map(instance)).expect("a good list");
    let routes: Vec<_> = policies().into_iter().map(|policy| plain_route(&pool, policy)).collect();
    let open: [AtomicU32; 4] = Default::default();
    let refused = AtomicU32::new(0);
    let time = order.time.max(Duration::from_millis(200));
    let control = Control::new(limit_in(time));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (routes, open, refused) = (&routes, &open, &refused);
            let mut dice = Dice::new(order.seed ^ thread);
            let mut held = Vec::new();
            control.spawn(scope, format!("leases {thread}"), move || {
                match routes[dice.below(routes.len())].lease(&PLAIN) {
                    Ok(lease) => {
                        let number = lease.picked().index();
                        let now = open[number].fetch_add(1, Ordering::SeqCst) + 1;
                        assert!(now <= LIMITS[number], "{now} leases on i{number}");
                        held.push(Held { counted: Counted(&open[number]), lease });
                    }
                    Err(none) => {
                        assert_eq!(none.reason, Reason::Saturated);
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                if held.len() > 16 || dice.once_in(2) && !held.is_empty() {
                    let Held { counted, lease } = held.swap_remove(dice.below(held.len()));
                    drop(counted);
                    match dice.below(3) {
                        0 => drop(lease),
                        1 => lease.done(Outcome::Success, Duration::from_micros(50)),
                        _ => lease.done(Outcome::Failure, None),
                    }
                }
            });
        }
        let pool = &pool;
        let mut weight = 1.0;
        control.spawn(scope, "weights".into(), move || {
            weight = if weight > 9.0 { 1.0 } else { weight + 1.0 };
            pool.edit(|edit| edit.set_weight("i3", weight)).expect("a good weight");
        });
        let begin = Instant::now();
        control.run_while(|| begin.elapsed() < time);
    });
    assert!(routes[0].explain(&PLAIN).live.iter().all(|state| state.in_flight == 0), "leases that never end");
    let told = format!("limits held; {} leases refused as saturated", refused.load(Ordering::Relaxed));
    [told].into_iter().chain(control.told()).collect()
}
