//! A clock that steps back and forth, and what it brings about: who is ejected, and that it is never too many.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pointsman::{Ejection, Pool, Route};

use crate::armed::Aim;
use crate::common::PLAIN;
use crate::harness::Dice;
use crate::load::Counts;
use crate::truth::{IDS, Truth};

/// The share of the list that may be ejected.
const PERCENT: usize = 25;

/// Soon and for a short time, so that many come and go while the list changes.
pub(crate) fn ejection() -> Ejection {
    let mut ejection = Ejection::default();
    ejection.consecutive_failures = Some(3);
    ejection.interval_s = 5.0;
    ejection.base_ejection_s = 2.0;
    ejection.max_ejection_s = 20.0;
    ejection.max_ejection_percent = PERCENT as f64;
    ejection
}

pub(crate) struct Clock<'a> {
    pub(crate) dice: Dice,
    pub(crate) aim: Aim,
    /// The latest time that it has told.
    pub(crate) latest: u64,
    pub(crate) pool: &'a Pool,
    pub(crate) truth: &'a Truth,
    pub(crate) routes: &'a [Route],
    pub(crate) counts: &'a Counts,
}

impl Clock<'_> {
    /// Some ticks while the list is held, since each waits for that as long as for many builds.
    pub(crate) fn step(&mut self, names: &[String]) {
        let truth = self.truth;
        truth.hold(|count| (0..4).for_each(|_| self.tick_among(count)));
        let load = self.dice.unit() * 10.0;
        // It may have left meanwhile.
        let _ = self.pool.report_load_at(&names[self.dice.below(IDS)], load, self.latest / 2);
        std::thread::sleep(Duration::from_millis(1));
    }

    /// Forth by some seconds at most, or back to anywhere.
    fn tick_among(&mut self, count: usize) {
        let dice = &mut self.dice;
        let now = if dice.once_in(3) {
            dice.below(self.latest as usize + 1) as u64
        } else {
            self.latest += dice.bits() >> (30 + dice.below(20));
            self.latest
        };
        let before = self.ejected();
        if self.aim.attempt(&mut self.dice, 2, || self.pool.tick_at(now)).is_none() {
            self.counts.failed_ticks.fetch_add(1, Ordering::Relaxed);
            assert_eq!(self.ejected(), before, "a tick that failed has done something");
            self.pool.tick_at(now);
        }
        let after = self.ejected();
        let fresh = after.difference(&before).count();
        // Whoever was ejected from a longer list stays so; one may always go.
        let most = (count * PERCENT).div_ceil(100).max(1);
        assert!(
            fresh == 0 || after.len() <= most,
            "{fresh} more were ejected, {after:?} in all, of {count}: more than {PERCENT} %"
        );
        self.counts.ejections.fetch_add(fresh as u64, Ordering::Relaxed);
        // Nobody else ticks, so that they stay ejected while the list is held.
        for route in self.routes {
            let pick = route.pick(&PLAIN).expect("somebody is always there");
            assert!(!after.contains(&pick.instance().id), "{:?} is ejected", pick.instance());
        }
    }

    fn ejected(&self) -> BTreeSet<Arc<str>> {
        self.pool.status().ejected.into_iter().map(|ejected| ejected.id).collect()
    }
}
