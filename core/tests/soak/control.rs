//! Threads that go on until they are told to stop, and a look at whether each of them does.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// A thread that makes no step for so long makes none. Wide, for machines that do much else.
const LONGEST_STALL: Duration = Duration::from_secs(20);

/// Counts of threads by name, and the sign to stop.
#[derive(Default)]
pub(crate) struct Control {
    stop: AtomicBool,
    steps: Mutex<Vec<(String, &'static AtomicU64)>>,
}

impl Control {
    pub(crate) fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Starts a thread that makes a step again and again. One that panics stops them all.
    pub(crate) fn spawn<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        name: String,
        mut step: impl FnMut() + Send + 'scope,
    ) {
        // One for the life of the process: the count is read after the thread has gone.
        let steps: &'static AtomicU64 = Box::leak(Box::default());
        self.steps.lock().expect("no panic").push((name, steps));
        scope.spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                while self.goes_on() {
                    step();
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            }));
            if let Err(panic) = outcome {
                self.stop.store(true, Ordering::Relaxed);
                resume_unwind(panic);
            }
        });
    }

    /// Waits, calling `now_and_then` meanwhile, and then stops the threads. Each of them must have gone on all the time.
    pub(crate) fn run_for(&self, time: Duration, mut now_and_then: impl FnMut()) {
        // Also where this panics: the threads would go on, and be waited for.
        let _stop = Stop(&self.stop);
        let begin = Instant::now();
        let steps: Vec<(String, &AtomicU64)> = self.steps.lock().expect("no panic").clone();
        let mut seen: Vec<(u64, Instant)> = vec![(0, begin); steps.len()];
        // Longer where a thread has not made its first step, since a machine may be slow to start it.
        while self.goes_on() && (begin.elapsed() < time || seen.iter().any(|(steps, _)| *steps == 0)) {
            std::thread::sleep(Duration::from_millis(20));
            now_and_then();
            for ((name, steps), seen) in steps.iter().zip(&mut seen) {
                let now = steps.load(Ordering::Relaxed);
                if now != seen.0 {
                    *seen = (now, Instant::now());
                }
                let stands_still = seen.1.elapsed() > LONGEST_STALL;
                assert!(!stands_still, "{name} has made no step for {LONGEST_STALL:?}");
            }
        }
    }

    /// How many steps each has made.
    pub(crate) fn told(&self) -> Vec<String> {
        let steps = self.steps.lock().expect("no panic");
        steps.iter().map(|(name, steps)| format!("{name}: {} steps", steps.load(Ordering::Relaxed))).collect()
    }
}

/// Gives the sign to stop when it goes.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
