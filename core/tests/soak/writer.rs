//! Threads that change the list, with builds that fail, and keep the truth of it.

use std::sync::atomic::{AtomicU64, Ordering};

use pointsman::{Edit, Instance, Pool, UpdateError};

use crate::armed::Aim;
use crate::harness::Dice;
use crate::load::{Counts, add, instance, number as number_of};
use crate::truth::{IDS, State, Truth};

/// Changes the list at random.
pub(crate) struct Writer<'a> {
    pub(crate) dice: Dice,
    pub(crate) pool: &'a Pool,
    pub(crate) truth: &'a Truth,
    pub(crate) names: &'a [String],
    pub(crate) user_data: &'a AtomicU64,
    pub(crate) counts: &'a Counts,
    /// By the kind of change.
    pub(crate) aims: [Aim; 8],
}

impl Writer<'_> {
    pub(crate) fn step(&mut self) {
        let number = 2 + self.dice.below(IDS - 2);
        let (id, bit) = (&*self.names[number], 1_u64 << number);
        let (what, on) = (self.dice.below(8), self.dice.once_in(2));
        let weight = (self.dice.below(5) as f64) * 1.5;
        let (pool, counts) = (self.pool, self.counts);
        self.truth.change(|state, version| {
            let mut next = state;
            let is_there = state.present & bit > 0;
            let mut fresh = Vec::new();
            let mut new = |number: usize| {
                let user_data = self.user_data.fetch_add(1, Ordering::Relaxed);
                fresh.push(user_data);
                instance(number, user_data)
            };
            type Change<'a> = Box<dyn FnOnce(&mut Edit) -> Result<(), UpdateError> + 'a>;
            let change: Option<Change<'_>> = match what {
                0 if is_there => {
                    set(&mut next.healthy, bit, on);
                    Some(Box::new(move |edit| edit.set_healthy(id, on)))
                }
                1 if is_there => {
                    set(&mut next.enabled, bit, on);
                    Some(Box::new(move |edit| edit.set_enabled(id, on)))
                }
                2 | 3 if is_there => {
                    set(&mut next.weighty, bit, weight > 0.0);
                    Some(Box::new(move |edit| edit.set_weight(id, weight)))
                }
                4 if is_there => {
                    next.present &= !bit;
                    Some(Box::new(move |edit| edit.remove(id)))
                }
                // The same id at once again: another instance, with a count of its own.
                5 if is_there => {
                    up(&mut next, bit);
                    let again = new(number);
                    Some(Box::new(move |edit| {
                        edit.remove(id)?;
                        edit.upsert(again)
                    }))
                }
                6 | 7 if what == 6 || !is_there => {
                    up(&mut next, bit);
                    let instance = new(number);
                    Some(Box::new(move |edit| edit.upsert(instance)))
                }
                _ => None,
            };
            let keep = self.dice.bits() | self.dice.bits() | self.dice.bits() | 0b11;
            let outcome = self.aims[what].attempt(&mut self.dice, 5, || match change {
                Some(change) => pool.edit(change),
                // The whole list in another order, without an eighth of the rest.
                None => {
                    next = State { present: state.present & keep, ..state };
                    let mut list: Vec<Instance> = pool.instances();
                    list.retain(|instance| keep >> number_of(instance) & 1 == 1);
                    list.reverse();
                    pool.replace(list)
                }
            });
            match outcome {
                Some(version) => {
                    fresh.into_iter().for_each(|user_data| add(&counts.published, user_data));
                    (next, version.expect("a good update"))
                }
                None => {
                    counts.failed_builds.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(pool.version(), version, "a build that failed has published");
                    (state, version)
                }
            }
        });
    }
}

fn set(bits: &mut u64, bit: u64, on: bool) {
    if on { *bits |= bit } else { *bits &= !bit }
}

/// A new instance is up in every respect.
fn up(state: &mut State, bit: u64) {
    [&mut state.present, &mut state.enabled, &mut state.healthy, &mut state.weighty]
        .into_iter()
        .for_each(|bits| *bits |= bit);
}
