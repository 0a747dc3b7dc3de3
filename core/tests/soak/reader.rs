//! Threads that pick in every way that there is, and look at each instance that they are given.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pointsman::{Instance, Lease, Outcome, Pick, Picked, Picker, Picks, Request, Route};

use crate::harness::Dice;
use crate::load::{Counts, is_gray, number};
use crate::truth::{IDS, Seen, Truth};

/// Picks by every policy, and looks at what it is given.
pub(crate) struct Reader<'a> {
    dice: Dice,
    truth: &'a Truth,
    hands: Vec<(&'a Route, Picker)>,
    names: &'a [String],
    held: VecDeque<Lease>,
    seen: Vec<Seen>,
    /// How many were left when they were last looked up.
    looked_up_at: usize,
    counts: &'a Counts,
}

/// Picks that a reader keeps at most, while it finds writers at work whenever it would look them up.
const MOST_UNCHECKED: usize = 1 << 18;

const SOMEBODY: &str = "somebody is always there";

const GRAY: &[(&str, &str)] = &[("version", "gray")];

impl<'a> Reader<'a> {
    pub(crate) fn new(
        seed: u64,
        truth: &'a Truth,
        routes: &'a [Route],
        names: &'a [String],
        counts: &'a Counts,
    ) -> Self {
        let hands = routes.iter().map(|route| (route, route.picker())).collect();
        let (dice, held, seen) = (Dice::new(seed), VecDeque::new(), Vec::new());
        Self { dice, truth, hands, names, held, seen, looked_up_at: 0, counts }
    }

    pub(crate) fn step(&mut self) {
        let dice = &mut self.dice;
        let mut id = || 2 + dice.below(IDS - 2);
        // Never the first two, so that there is always somebody.
        let excluded = [id(), id()];
        let ids = excluded.map(|number| &*self.names[number]);
        let key = dice.bits().to_le_bytes();
        let mut request = Request::new();
        let asks_for_gray = dice.once_in(2);
        let requires_gray = asks_for_gray && dice.once_in(4);
        if asks_for_gray {
            request = if requires_gray { request.require(GRAY) } else { request.tags(GRAY) };
        }
        let excludes = dice.once_in(3);
        if excludes {
            request = request.exclude(&ids);
        }
        if dice.once_in(2) {
            request = request.key(&key);
        }
        let at_least = self.truth.published();
        let at = dice.below(self.hands.len());
        let (route, picker) = &mut self.hands[at];
        let (mut out, mut looks) = ([Picked::default(); 3], Looks::default());
        match dice.below(12) {
            0 => {
                let lease = route.lease(&request).expect(SOMEBODY);
                looks.at_lease(&lease);
                self.held.push_back(lease);
            }
            1 => {
                let lease = picker.lease(&request).expect(SOMEBODY);
                looks.at_lease(&lease);
                self.held.push_back(lease);
            }
            2 => looks.at_several(&route.pick_distinct(&request, &mut out).expect(SOMEBODY)),
            3 => looks.at_several(&picker.pick_distinct(&request, &mut out).expect(SOMEBODY)),
            4..=7 => looks.at_pick(&picker.pick(&request).expect(SOMEBODY)),
            _ => looks.at_pick(&route.pick(&request).expect(SOMEBODY)),
        }
        assert!(looks.version >= at_least, "version {} after {at_least} was published", looks.version);
        for (at, (number, tier)) in looks.taken().iter().enumerate() {
            assert!(!(excludes && excluded.contains(number)), "i{number} was excluded");
            // The first two are always there, and one of them is gray; of several, those behind it may be of the tier that
            // asks for no tag, but where the tag is required.
            let may_be_another = at > 0 && *tier > 0 && !requires_gray;
            assert!(!asks_for_gray || is_gray(*number) || may_be_another, "i{number} is not gray");
            self.seen.push((looks.version, *number));
        }
        if self.seen.len() >= self.looked_up_at + 256 {
            match self.seen.len() > MOST_UNCHECKED {
                true => self.truth.check(&mut self.seen),
                false => self.truth.try_check(&mut self.seen),
            }
            self.looked_up_at = self.seen.len();
        }
        if self.held.len() > 8 {
            let lease = self.held.pop_front().expect("eight are held");
            let (number, latency) =
                (number(lease.instance()), Duration::from_micros(dice.below(5_000) as u64));
            match dice.below(3) {
                0 => drop(lease),
                // Those that are always to be there never fail, so that they are not ejected.
                1 if number > 1 => lease.done(Outcome::Failure, None),
                _ => lease.done(Outcome::Success, latency),
            }
        }
        self.counts.picks.fetch_add(looks.taken().len() as u64, Ordering::Relaxed);
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.truth.check(&mut self.seen);
        }
    }
}

/// What one call gave: the version, and each instance with the tier that it is of.
#[derive(Default)]
struct Looks {
    version: u64,
    taken: [(usize, usize); 3],
    count: usize,
}

impl Looks {
    fn taken(&self) -> &[(usize, usize)] {
        &self.taken[..self.count]
    }

    fn at_pick(&mut self, pick: &Pick<'_>) {
        self.version = pick.version();
        self.at(pick.instance(), pick.picked());
    }

    fn at_lease(&mut self, lease: &Lease) {
        self.version = lease.version();
        self.at(lease.instance(), lease.picked());
    }

    fn at_several(&mut self, picks: &Picks<'_>) {
        self.version = picks.version();
        assert!(!picks.is_empty(), "none of several, which is an error");
        picks.iter().zip(picks.picked()).for_each(|(instance, picked)| self.at(instance, *picked));
        let taken = self.taken();
        let differ = taken.iter().enumerate().all(|(at, (one, _))| taken[..at].iter().all(|(n, _)| n != one));
        assert!(differ, "{taken:?} are not distinct");
        // All are of one list, so that who is left of a tier is taken before the next.
        assert!(
            taken.is_sorted_by_key(|(_, tier)| tier),
            "{taken:?} went back to a tier that had nobody left"
        );
    }

    /// An instance as it was in the list of its version, which says that it may be picked.
    fn at(&mut self, instance: &Instance, picked: Picked) {
        let is_up = instance.enabled && instance.healthy && instance.weight > 0.0;
        assert!(is_up, "{instance:?} in version {}", self.version);
        self.taken[self.count] = (number(instance), picked.tier());
        self.count += 1;
    }
}
