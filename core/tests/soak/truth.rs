//! What the list of every version was, kept apart from the engine.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::FairMutex;

/// Instances that there can be; few enough for a rendezvous table. The first two are always there and up.
pub(crate) const IDS: usize = 24;

/// One list, a bit for each instance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) present: u64,
    /// Enabled, healthy and not drained, each by itself.
    pub(crate) enabled: u64,
    pub(crate) healthy: u64,
    pub(crate) weighty: u64,
}

impl State {
    pub(crate) fn can_be_picked(self, number: usize) -> bool {
        (self.present & self.enabled & self.healthy & self.weighty) >> number & 1 == 1
    }
}

/// The lists by version, from 1.
pub(crate) struct Truth {
    /// Fair, so that who stands still waits for the engine and not for others' turns at this.
    states: FairMutex<Vec<State>>,
    /// The last version whose update has returned.
    published: AtomicU64,
}

/// A pick that was seen: the version it named, and the instance.
pub(crate) type Seen = (u64, usize);

impl Truth {
    pub(crate) fn new(first: State) -> Self {
        Self { states: FairMutex::new(vec![State::default(), first]), published: AtomicU64::new(1) }
    }

    /// What a pick that begins now must see at least.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Changes the list, one writer after the other. `update` is given the list and its version, and returns the list that
    /// it made and the version that the engine gave it.
    pub(crate) fn change(&self, update: impl FnOnce(State, u64) -> (State, u64)) {
        let mut states = self.states.lock();
        let last = states.len() as u64 - 1;
        let (state, version) = update(states[last as usize], last);
        // An update that changes nothing is no new version.
        assert!(version == last || version == last + 1, "version {version} after {last}");
        if version > last {
            states.push(state);
            self.published.store(version, Ordering::Release);
        }
    }

    /// Does something while nobody changes the list, of which it is given the length.
    pub(crate) fn hold<R>(&self, look: impl FnOnce(usize) -> R) -> R {
        let states = self.states.lock();
        look(states.last().expect("one at least").present.count_ones() as usize)
    }

    /// Looks up whether what was seen could be picked, and forgets it. What is of a version that has not returned stays.
    pub(crate) fn check(&self, seen: &mut Vec<Seen>) {
        check(&self.states.lock(), seen);
    }

    /// The same, unless somebody is at work on the list: a reader waits for no writer.
    pub(crate) fn try_check(&self, seen: &mut Vec<Seen>) {
        if let Some(states) = self.states.try_lock() {
            check(&states, seen);
        }
    }

    pub(crate) fn last(&self) -> State {
        *self.states.lock().last().expect("one at least")
    }

    pub(crate) fn versions(&self) -> usize {
        self.states.lock().len() - 1
    }
}

fn check(states: &[State], seen: &mut Vec<Seen>) {
    seen.retain(|(version, number)| match states.get(*version as usize) {
        Some(state) => {
            assert!(state.can_be_picked(*number), "i{number} of version {version}: {state:?}");
            false
        }
        None => true,
    });
}
