//! What time brings about: ejection, return, and ramps.

use std::collections::BTreeSet;

use super::commit::{Core, Writer};
use crate::compile::Change;
use crate::compile::roster::{Entry, Roster, Standing};
use crate::fault;
use crate::live::ejection::{Cause, Failures, Interval, has_room, seconds};
use crate::live::slow_start::{FLOOR, STEP, factor, reached_after};
use crate::live::{Live, SECOND};
use crate::spec::{Ejection, PoolSpec, SlowStart};

/// What a pool's clock has brought about, by slot. Writers' own.
#[derive(Clone, Default)]
pub(super) struct Clock {
    records: Vec<Record>,
    /// When the interval of failure percentages began.
    interval_began: u64,
}

#[derive(Clone, Copy, Default)]
struct Record {
    /// When the ramp began, and the factor that the tables were compiled with.
    ramp: Option<(u64, f64)>,
    /// Until when, and why.
    ejected: Option<(u64, Cause)>,
    /// How often it was ejected, less the clean intervals since.
    times: u32,
}

/// What a look at the clock comes to.
#[derive(Default)]
struct Advance {
    /// Positions in the list whose standing has changed.
    touched: BTreeSet<u32>,
    /// What the interval that has ended counted, by slot.
    counted: Vec<(u32, Interval)>,
    /// Slots that begin to count anew.
    ejected: Vec<u32>,
}

impl Advance {
    /// Forgets what was looked at. After the publish, so that a build that fails has lost nothing.
    fn settle(self, live: &Live) {
        let failures = |slot: u32| live.failures(slot);
        self.counted
            .iter()
            .filter_map(|(slot, counted)| Some((failures(*slot)?, *counted)))
            .for_each(|(failures, counted)| failures.forget(counted));
        self.ejected.into_iter().filter_map(failures).for_each(Failures::reset);
    }
}

impl Clock {
    fn record(&mut self, slot: u32) -> &mut Record {
        let at = slot as usize;
        if self.records.len() <= at {
            self.records.resize(at + 1, Record::default());
        }
        &mut self.records[at]
    }

    fn get(&self, slot: u32) -> Record {
        self.records.get(slot as usize).copied().unwrap_or_default()
    }

    /// A slot that has a new id.
    pub(super) fn arrived(&mut self, slot: u32, ramps: bool, now: u64) {
        *self.record(slot) = Record { ramp: ramps.then_some((now, FLOOR)), ..Record::default() };
    }

    /// An instance that can be used again.
    pub(super) fn back(&mut self, slot: u32, ramps: bool, now: u64) {
        self.record(slot).ramp = ramps.then_some((now, FLOOR));
    }

    pub(super) fn standing(&self, entry: &Entry) -> Standing {
        let record = self.get(entry.slot.number());
        Standing { ejected: record.ejected.is_some(), ramp: record.ramp.map_or(1.0, |(_, factor)| factor) }
    }

    /// The instances that are ejected: position in the list, until when, why and how often.
    pub(super) fn ejected<'a>(
        &'a self,
        roster: &'a Roster,
    ) -> impl Iterator<Item = (u32, u64, Cause, u32)> + 'a {
        (0..roster.len() as u32).filter_map(|index| {
            let record = self.get(roster.slot(index));
            record.ejected.map(|(until, cause)| (index, until, cause, record.times))
        })
    }

    /// Brings about what is due at `now`.
    fn advance(&mut self, spec: &PoolSpec, roster: &Roster, live: &Live, now: u64) -> Advance {
        let mut advance = Advance::default();
        for index in 0..roster.len() as u32 {
            let record = self.record(roster.slot(index));
            if record.ejected.is_some_and(|(until, _)| until <= now) {
                record.ejected = None;
                record.ramp = spec.slow_start.is_some().then_some((now, FLOOR));
                advance.touched.insert(index);
            }
        }
        if let Some(ejection) = &spec.ejection {
            self.eject(ejection, roster, live, now, &mut advance);
        }
        if let Some(slow_start) = &spec.slow_start {
            self.ramp(slow_start, roster, now, &mut advance.touched);
        }
        advance
    }

    fn eject(&mut self, spec: &Ejection, roster: &Roster, live: &Live, now: u64, advance: &mut Advance) {
        let mut due: Vec<(u32, Cause)> = Vec::new();
        let slots = || (0..roster.len() as u32).map(|index| (index, roster.slot(index)));
        if let Some(limit) = spec.consecutive_failures {
            let failing =
                slots().filter(|(_, slot)| live.failures(*slot).is_some_and(|held| held.in_a_row() >= limit));
            due.extend(failing.map(|(index, _)| (index, Cause::ConsecutiveFailures)));
        }
        if now.saturating_sub(self.interval_began) >= nanoseconds(spec.interval_s) {
            self.interval_began = now;
            let looked = slots().filter_map(|(index, slot)| Some((index, live.failures(slot)?.interval())));
            let counted: Vec<(u32, Interval)> = looked.collect();
            for (index, interval) in &counted {
                let record = self.record(roster.slot(*index));
                if interval.failures == 0 && record.ejected.is_none() {
                    record.times = record.times.saturating_sub(1);
                }
            }
            if let Some(percentage) = &spec.failure_percentage {
                let busy =
                    counted.iter().filter(|(_, interval)| interval.requests >= percentage.request_volume);
                if busy.count() >= percentage.minimum_hosts as usize {
                    let ejects = |interval: &Interval| {
                        interval.ejects(percentage.threshold, percentage.request_volume)
                    };
                    let failing = counted.iter().filter(|(_, interval)| ejects(interval));
                    due.extend(failing.map(|(index, _)| (*index, Cause::FailurePercentage)));
                }
            }
            advance.counted =
                counted.iter().map(|(index, counted)| (roster.slot(*index), *counted)).collect();
        }
        let mut ejected = self.ejected(roster).count();
        for (index, cause) in due {
            let slot = roster.slot(index);
            if self.get(slot).ejected.is_some() || !has_room(spec, ejected, roster.len()) {
                continue;
            }
            let record = self.record(slot);
            record.times += 1;
            record.ejected = Some((now.saturating_add(nanoseconds(seconds(spec, record.times))), cause));
            record.ramp = None;
            advance.ejected.push(slot);
            ejected += 1;
            advance.touched.insert(index);
        }
    }

    fn ramp(&mut self, spec: &SlowStart, roster: &Roster, now: u64, touched: &mut BTreeSet<u32>) {
        for index in 0..roster.len() as u32 {
            let record = self.record(roster.slot(index));
            let Some((began, applied)) = record.ramp else { continue };
            let elapsed = now.saturating_sub(began);
            let reached = factor(spec, elapsed);
            if reached >= 1.0 {
                record.ramp = None;
                touched.insert(index);
            } else if elapsed >= reached_after(spec, applied + STEP) {
                // By the time that was told to be the next, to the nanosecond.
                record.ramp = Some((began, reached));
                touched.insert(index);
            }
        }
    }

    /// When there is next something to bring about.
    fn next_due(&self, spec: &PoolSpec, roster: &Roster) -> Option<u64> {
        let mut due: Option<u64> = None;
        let mut sooner = |at: u64| due = Some(due.map_or(at, |due| due.min(at)));
        for index in 0..roster.len() as u32 {
            let record = self.get(roster.slot(index));
            if let Some((until, _)) = record.ejected {
                sooner(until);
            }
            if let (Some((began, applied)), Some(spec)) = (record.ramp, &spec.slow_start) {
                sooner(began.saturating_add(reached_after(spec, applied + STEP)));
            }
        }
        if let Some(ejection) = &spec.ejection {
            sooner(self.interval_began.saturating_add(nanoseconds(ejection.interval_s)));
        }
        due
    }
}

/// At least one, so that what is to come is never due already.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND).max(1.0) as u64
}

impl Core {
    /// Brings about what is due, and returns when there is next something to do.
    pub(super) fn tick(&self, now: u64) -> Option<u64> {
        self.write(|writer| {
            let now = self.live.set_now(now);
            // Before the counts are looked at, so that a limit that is reached meanwhile is due again.
            let _due_if_it_fails = DueIfItFails(&self.live, self.live.clear_due());
            let roster = &writer.current.roster;
            let mut clock = writer.clock.clone();
            let advance = clock.advance(&self.spec, roster, &self.live, now);
            fault::point("clock");
            let due = clock.next_due(&self.spec, roster);
            let touched: Vec<u32> = advance.touched.iter().copied().collect();
            if !touched.is_empty() {
                self.restand(writer, &clock, Change { same_list: true, retagged: false, touched });
            }
            writer.clock = clock;
            advance.settle(&self.live);
            due
        })
    }

    /// Publishes the same list with the standing that the clock has it in.
    fn restand(&self, writer: &mut Writer, clock: &Clock, change: Change) {
        let before = &writer.current.roster;
        let (ids, tags) = (Some(before.ids.clone()), Some(before.tags.clone()));
        let standing = |entry: &Entry| clock.standing(entry);
        let roster = Roster::build(
            before.list.clone(),
            before.slots.clone(),
            ids,
            tags,
            before.zone.clone(),
            &standing,
        );
        let snapshot = self.compile(writer, roster, &change, writer.current.version);
        fault::point("before the swap");
        self.publish(writer, snapshot);
    }
}

/// Lets a tick that was due be due again where it panicked.
struct DueIfItFails<'a>(&'a Live, bool);

impl Drop for DueIfItFails<'_> {
    fn drop(&mut self) {
        if self.1 && std::thread::panicking() {
            self.0.set_due();
        }
    }
}
