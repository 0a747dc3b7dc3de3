//! A thread by which routes come and go, and at times do not come: what failed is no route and leaves nothing.

use std::sync::atomic::Ordering;
use std::time::Duration;

use pointsman::{Pool, RouteSpec, Tier};

use crate::armed::Aim;
use crate::common::{PLAIN, policies};
use crate::harness::Dice;
use crate::load::Counts;

pub(crate) struct Comings<'a> {
    pub(crate) dice: Dice,
    pub(crate) pool: &'a Pool,
    /// How many routes stay. Nobody else makes any.
    pub(crate) lasting: usize,
    pub(crate) counts: &'a Counts,
    /// By policy.
    pub(crate) aims: Vec<Aim>,
}

impl Comings<'_> {
    pub(crate) fn step(&mut self) {
        let mut policies = policies();
        let at = self.dice.below(policies.len());
        let spec =
            RouteSpec::new(policies.swap_remove(at)).tier(Tier::new().matching("version")).tier(Tier::new());
        self.aims.resize(self.aims.len().max(at + 1), Aim::default());
        let made = self.aims[at].attempt(&mut self.dice, 2, || self.pool.route(spec).expect("a good spec"));
        match made {
            Some(route) => {
                assert_eq!(self.pool.status().routes, self.lasting + 1, "with the new one");
                let mut picker = route.picker();
                (0..10).for_each(|_| assert!(route.pick(&PLAIN).is_ok() && picker.pick(&PLAIN).is_ok()));
                self.counts.routes.fetch_add(1, Ordering::Relaxed);
            }
            None => drop(self.counts.failed_routes.fetch_add(1, Ordering::Relaxed)),
        }
        assert_eq!(self.pool.status().routes, self.lasting, "without one that failed or was dropped");
        std::thread::sleep(Duration::from_millis(1));
    }
}
