//! What leases, failures and time make of instances, in a few plain rules.
//!
//! - An id that stays keeps its counts; one that goes takes them along, and one that comes is new, also under an old name.
//! - So many failures in a row, or more, eject at the next tick, as long as less than the share of the list is out or nobody
//!   is; the n-th time for n times as long. A tick first lets those return whose time is over.
//! - An interval without a failure takes one from that number, unless the instance is out.
//! - One that is new, up again or back takes a tenth of its weight and then the elapsed part of the window, as ticks see it,
//!   and never lags by a twentieth behind them.

/// In nanoseconds, as everything that is a time here.
pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) const FAILURES: u32 = 3;
pub(crate) const INTERVAL: u64 = 10 * SECOND;
pub(crate) const EJECTION: u64 = 30 * SECOND;
pub(crate) const LONGEST: u64 = 100 * SECOND;
pub(crate) const PERCENT: usize = 40;
pub(crate) const WINDOW_S: f64 = 20.0;

/// One instance from its coming to its going.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(crate) open: u32,
    in_a_row: u32,
    failed: u32,
    pub(crate) ejected_until: Option<u64>,
    pub(crate) times: u32,
    /// When the ramp began.
    ramp: Option<u64>,
}

/// A list and the lives of its instances and of those that are gone, by number.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    pub(crate) lives: Vec<Life>,
    pub(crate) now: u64,
    pub(crate) due: bool,
    interval_began: u64,
    /// The time of the last tick.
    ticked: u64,
}

impl Lives {
    /// A new instance. Its number.
    pub(crate) fn comes(&mut self, ramps: bool) -> usize {
        let ramp = ramps.then_some(self.now);
        self.lives.push(Life { ramp, ..Life::default() });
        self.lives.len() - 1
    }

    /// One that can be used again.
    pub(crate) fn is_up_again(&mut self, life: usize) {
        self.lives[life].ramp = Some(self.now);
    }

    pub(crate) fn passes(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// A lease has ended; `failed` where it taught something.
    pub(crate) fn ends(&mut self, life: usize, failed: Option<bool>) {
        let life = &mut self.lives[life];
        life.open -= 1;
        match failed {
            Some(true) => {
                life.failed += 1;
                life.in_a_row += 1;
                self.due |= life.in_a_row >= FAILURES;
            }
            Some(false) => life.in_a_row = 0,
            None => {}
        }
    }

    /// `list` is of the lives in it, in order.
    pub(crate) fn tick(&mut self, now: u64, list: &[usize]) {
        self.passes(now);
        self.due = false;
        let now = self.now;
        for at in list {
            let life = &mut self.lives[*at];
            if life.ejected_until.is_some_and(|until| until <= now) {
                (life.ejected_until, life.ramp) = (None, Some(now));
            }
        }
        if now - self.interval_began >= INTERVAL {
            self.interval_began = now;
            for at in list {
                let life = &mut self.lives[*at];
                if life.failed == 0 && life.ejected_until.is_none() {
                    life.times = life.times.saturating_sub(1);
                }
                life.failed = 0;
            }
        }
        for at in list {
            let out = list.iter().filter(|at| self.lives[**at].ejected_until.is_some()).count();
            let life = &mut self.lives[*at];
            let has_room = out == 0 || out * 100 < PERCENT * list.len();
            if life.in_a_row >= FAILURES && life.ejected_until.is_none() && has_room {
                life.times += 1;
                life.ejected_until = Some(now + (EJECTION * u64::from(life.times)).min(LONGEST));
                (life.in_a_row, life.failed, life.ramp) = (0, 0, None);
            }
        }
        for at in list {
            let life = &mut self.lives[*at];
            if life.ramp.is_some_and(|began| part(now - began) >= 1.0) {
                life.ramp = None;
            }
        }
        self.ticked = now;
    }

    /// The share of its weight that it may take, as far as ticks know; `None` where it takes all.
    pub(crate) fn ramp(&self, life: usize) -> Option<f64> {
        self.lives[life].ramp.map(|began| part(self.ticked.saturating_sub(began)).max(0.1))
    }
}

fn part(elapsed: u64) -> f64 {
    elapsed as f64 / SECOND as f64 / WINDOW_S
}
