//! What time brings about: ejection, return, and ramps.

use std::collections::BTreeSet;

use super::commit::{Core, Writer};
use crate::compile::Change;
use crate::compile::roster::{Entry, Roster, Standing};
use crate::live::ejection::{Cause, Interval, has_room, seconds};
use crate::live::slow_start::{FLOOR, STEP, factor, reached_after};
use crate::live::{Live, SECOND};
use crate::spec::{Ejection, PoolSpec, SlowStart};

/// What a pool's clock has brought about, by slot. Writers' own.
#[derive(Default)]
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

    /// Brings about what is due at `now`. Returns the positions in the list whose standing has changed.
    fn advance(&mut self, spec: &PoolSpec, roster: &Roster, live: &Live, now: u64) -> BTreeSet<u32> {
        let mut touched = BTreeSet::new();
        for index in 0..roster.len() as u32 {
            let record = self.record(roster.slot(index));
            if record.ejected.is_some_and(|(until, _)| until <= now) {
                record.ejected = None;
                record.ramp = spec.slow_start.is_some().then_some((now, FLOOR));
                touched.insert(index);
            }
        }
        if let Some(ejection) = &spec.ejection {
            self.eject(ejection, roster, live, now, &mut touched);
        }
        if let Some(slow_start) = &spec.slow_start {
            self.ramp(slow_start, roster, now, &mut touched);
        }
        touched
    }

    fn eject(
        &mut self,
        spec: &Ejection,
        roster: &Roster,
        live: &Live,
        now: u64,
        touched: &mut BTreeSet<u32>,
    ) {
        let mut due: Vec<(u32, Cause)> = Vec::new();
        let slots = || (0..roster.len() as u32).map(|index| (index, roster.slot(index)));
        if let Some(limit) = spec.consecutive_failures {
            let failing =
                slots().filter(|(_, slot)| live.failures(*slot).is_some_and(|held| held.in_a_row() >= limit));
            due.extend(failing.map(|(index, _)| (index, Cause::ConsecutiveFailures)));
        }
        if now.saturating_sub(self.interval_began) >= nanoseconds(spec.interval_s) {
            self.interval_began = now;
            let taken =
                slots().filter_map(|(index, slot)| Some((index, live.failures(slot)?.take_interval())));
            let counted: Vec<(u32, Interval)> = taken.collect();
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
            if let Some(failures) = live.failures(slot) {
                failures.reset();
            }
            ejected += 1;
            touched.insert(index);
        }
    }

    fn ramp(&mut self, spec: &SlowStart, roster: &Roster, now: u64, touched: &mut BTreeSet<u32>) {
        for index in 0..roster.len() as u32 {
            let record = self.record(roster.slot(index));
            let Some((began, applied)) = record.ramp else { continue };
            let reached = factor(spec, now.saturating_sub(began));
            if reached >= 1.0 {
                record.ramp = None;
                touched.insert(index);
            } else if reached - applied >= STEP {
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

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * SECOND) as u64
}

impl Core {
    /// Brings about what is due, and returns when there is next something to do.
    pub(super) fn tick(&self, now: u64) -> Option<u64> {
        self.write(|writer| {
            let now = self.live.set_now(now);
            self.live.clear_due();
            let mut clock = std::mem::take(&mut writer.clock);
            let roster = &writer.current.roster;
            let touched: Vec<u32> = clock.advance(&self.spec, roster, &self.live, now).into_iter().collect();
            let due = clock.next_due(&self.spec, roster);
            writer.clock = clock;
            if !touched.is_empty() {
                self.restand(writer, Change { same_list: true, retagged: false, touched });
            }
            due
        })
    }

    /// Publishes the same list with the standing that the clock has it in.
    fn restand(&self, writer: &mut Writer, change: Change) {
        let before = &writer.current.roster;
        let (ids, tags) = (Some(before.ids.clone()), Some(before.tags.clone()));
        let standing = |entry: &Entry| writer.clock.standing(entry);
        let roster = Roster::build(
            before.list.clone(),
            before.slots.clone(),
            ids,
            tags,
            before.zone.clone(),
            &standing,
        );
        let snapshot = self.compile(writer, roster, &change, writer.current.version);
        self.publish(writer, snapshot);
    }
}
