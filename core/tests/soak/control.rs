//! Threads that go on until they are told to stop, and a look at how long each of them ever stood still.
//!
//! A thread notes the time of each of its steps. None may stand still for longer than a limit, and whatever the limit, the rest
//! go on until each has made one more step behind the end of the time: one that starves under load does not get its step from
//! the others' having stopped.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::{Duration, Instant};

use crate::Order;

/// So much of a round nobody may stand still.
const SHARE: u32 = 4;

/// The limit in short rounds, some ten times the longest stall that was seen on two cores that were busy otherwise too, at a
/// load of six to twenty: 0.26 s in rounds of a second, 0.36 s in those of a minute's soak. A host takes cores away for longer.
const SHORTEST_LIMIT: Duration = Duration::from_secs(4);

/// The longest stall of all that were told, measured by its limit, and what to tell of it.
static LONGEST: Mutex<(f64, String)> = Mutex::new((0.0, String::new()));

/// The longest stall of all rounds.
pub(crate) fn longest_stall() -> String {
    LONGEST.lock().expect("no panic").1.clone()
}

/// How long a thread may stand still in a round of this length.
pub(crate) fn limit_in(round: Duration) -> Duration {
    (round / SHARE).max(SHORTEST_LIMIT)
}

/// The threads, and the sign to stop.
pub(crate) struct Control {
    limit: Duration,
    begin: Instant,
    stop: AtomicBool,
    threads: Mutex<Vec<Arc<Progress>>>,
}

/// A thread, and what it notes of itself. Alone in its cache lines, since it is written at every step.
#[repr(align(128))]
pub(crate) struct Progress {
    name: String,
    limit: Duration,
    steps: AtomicU64,
    /// When the last step ended, in nanoseconds since the beginning.
    last: AtomicU64,
    /// The longest time between two steps, or before the first.
    longest: AtomicU64,
}

impl Progress {
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    fn step(&self, now: u64) {
        let stall = now.saturating_sub(self.last.load(Ordering::Relaxed));
        if stall > self.longest.load(Ordering::Relaxed) {
            self.longest.store(stall, Ordering::Relaxed);
        }
        self.last.store(now, Ordering::Relaxed);
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// The longest stall of those that are over.
    fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest.load(Ordering::Relaxed))
    }

    /// What is wrong, where it stands or once stood still for longer than it may.
    fn stall(&self, now: u64) -> Option<String> {
        let stands = Duration::from_nanos(now.saturating_sub(self.last.load(Ordering::Relaxed)));
        let (longest, limit) = (self.longest().max(stands), self.limit);
        (longest > limit)
            .then(|| format!("{} has made no step for {longest:.2?}, limit {limit:?}", self.name))
    }
}

impl Control {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, begin: Instant::now(), stop: AtomicBool::new(false), threads: Mutex::default() }
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn threads(&self) -> Vec<Arc<Progress>> {
        self.threads.lock().expect("no panic").clone()
    }

    /// Starts a thread that makes a step again and again. One that panics stops them all.
    pub(crate) fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: String,
        step: impl FnMut() + Send + 'scope,
    ) -> Arc<Progress> {
        self.spawn_within(scope, name, self.limit, step)
    }

    /// The same, with a limit of its own.
    pub(crate) fn spawn_within<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: String,
        limit: Duration,
        mut step: impl FnMut() + Send + 'scope,
    ) -> Arc<Progress> {
        let [steps, last, longest] = [0, self.now(), 0].map(AtomicU64::new);
        let progress = Arc::new(Progress { name, limit, steps, last, longest });
        self.threads.lock().expect("no panic").push(progress.clone());
        let notes = progress.clone();
        scope.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                while self.goes_on() {
                    step();
                    notes.step(self.now());
                }
            }));
            if let Err(panic) = outcome {
                self.stop.store(true, Ordering::Relaxed);
                resume_unwind(panic);
            }
        });
        progress
    }

    /// Waits as long as `is_time`, which is asked now and then, and then stops the threads. Panics where one of them has not
    /// gone on all the time.
    pub(crate) fn run_while(&self, is_time: impl FnMut() -> bool) {
        if let Err(stalls) = self.watch(is_time) {
            panic!("{stalls}");
        }
    }

    fn watch(&self, mut is_time: impl FnMut() -> bool) -> Result<(), String> {
        // Also where this panics: the threads would go on, and be waited for.
        let _stop = Stop(&self.stop);
        while self.goes_on() && is_time() {
            std::thread::sleep(Duration::from_millis(20));
            self.stalls()?;
        }
        let end = self.threads();
        let end: Vec<(u64, &Progress)> = end.iter().map(|thread| (thread.steps(), &**thread)).collect();
        while self.goes_on() && end.iter().any(|(steps, thread)| thread.steps() == *steps) {
            std::thread::sleep(Duration::from_millis(1));
            self.stalls()?;
        }
        Ok(())
    }

    /// An error that names who has stood still for longer than it may.
    fn stalls(&self) -> Result<(), String> {
        let now = self.now();
        let stalls: Vec<String> = self.threads().iter().filter_map(|thread| thread.stall(now)).collect();
        if stalls.is_empty() { Ok(()) } else { Err(stalls.join("; ")) }
    }

    /// How many steps each has made, and its longest stall; of threads that have ended. Panics where one was too long, which
    /// then ended behind the sign to stop.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = |thread: &Arc<Progress>| {
            let Progress { name, limit, .. } = &**thread;
            let longest = thread.longest();
            assert!(longest <= *limit, "{name} has made no step for {longest:.2?}, limit {limit:?}");
            let mut known = LONGEST.lock().expect("no panic");
            let share = longest.as_secs_f64() / limit.as_secs_f64();
            if share > known.0 {
                *known = (share, format!("{longest:.0?} of {name}, limit {limit:.1?}"));
            }
            format!("{name}: {} steps, longest stall {longest:.0?}, limit {limit:.1?}", thread.steps())
        };
        self.threads().iter().map(told).collect()
    }
}

/// Gives the sign to stop when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whether the watch sees a thread that stands still, in all the ways that there are.
pub(crate) fn run(_order: Order) -> Vec<String> {
    const LIMIT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(60);
    let seen = [
        // Who goes on is not found fault with, and is seen to have made a step.
        (watched(LONG, Duration::from_millis(1), |_, _| ()), None),
        // From its first step on, from its second, and within a time that is shorter than the limit.
        (watched(LIMIT, LONG, |control, _| stand(control, LONG)), Some("thread")),
        (watched(LIMIT, LONG, |control, at| stand(control, LONG * at.min(1))), Some("thread")),
        (watched(LIMIT, LIMIT / 4, |control, at| stand(control, LONG * at.min(1))), Some("thread")),
        // For a while.
        (watched(LIMIT, LONG, |control, at| stand(control, LIMIT * 2 * u32::from(at == 3))), Some("thread")),
    ];
    for (at, (outcome, named)) in seen.iter().enumerate() {
        let is_right = match (outcome, named) {
            (Ok(()), None) => true,
            (Err(stalls), Some(name)) => stalls.contains(name),
            _ => false,
        };
        assert!(is_right, "watch {at}: {outcome:?}, but should name {named:?}");
    }
    vec![format!("{} watches of a thread that stands still or goes on, each as it should", seen.len())]
}

/// What the watch says of a thread that is told how many steps it has made.
fn watched(limit: Duration, time: Duration, step: impl Fn(&Control, u32) + Sync) -> Result<(), String> {
    let control = Control::new(limit);
    std::thread::scope(|scope| {
        let (control, step, mut at) = (&control, &step, 0);
        let thread = control.spawn(scope, "thread".into(), move || {
            step(control, at);
            at += 1;
        });
        let begin = Instant::now();
        control.watch(|| begin.elapsed() < time).inspect(|()| assert!(thread.steps() > 0, "no step"))
    })
}

/// Stands still, but for the sign to stop.
fn stand(control: &Control, time: Duration) {
    let begin = Instant::now();
    while control.goes_on() && begin.elapsed() < time {
        std::thread::sleep(Duration::from_millis(1));
    }
}
