//! loom's atomics behind the names and signatures of the standard library's, with one addition: a *mutant*.
//!
//! A mutant is one operation of the engine, named by its place in the source, that a model is run with a flaw in: a weaker
//! ordering, an operation left out, or one that is no longer atomic. `tests/models/mutants.rs` lists them. A model that does
//! not fail with the flaw would not notice it in the engine either.

// Of what the standard library's types have, the engine uses some here and some there.
#![allow(dead_code)]

use std::panic::Location;
use std::sync::OnceLock;

use loom::sync::atomic as mock;

use super::{Ordering, global};

/// The environment variable that chooses a mutant: `FILE:LINE:FLAW`, the file as the end of its path.
const MUTANT: &str = "POINTSMAN_MUTANT";

/// The environment variable that says, by `exchange`, that readers announce themselves as where there is no writer's barrier.
const PINS: &str = "POINTSMAN_PINS";

/// Whether a fence on either side stands for the writer's barrier; otherwise readers have an exchange, and what has to be in one
/// order with it is one too.
pub(crate) fn has_barrier() -> bool {
    static BARRIER: OnceLock<bool> = OnceLock::new();
    *BARRIER.get_or_init(|| match std::env::var(PINS) {
        Ok(pins) => {
            assert_eq!(pins, "exchange", "{PINS}");
            false
        }
        Err(_) => true,
    })
}

/// What is wrong with an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// It orders nothing.
    Relaxed,
    /// It is not done.
    Skipped,
    /// It reads and writes, but not in one step.
    Split,
}

impl Flaw {
    const ALL: [Self; 3] = [Self::Relaxed, Self::Skipped, Self::Split];

    fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::Skipped => "skipped",
            Self::Split => "split",
        }
    }
}

struct Mutant {
    file: String,
    line: u32,
    flaw: Flaw,
}

fn mutant() -> Option<&'static Mutant> {
    static MUTANT_OF_PROCESS: OnceLock<Option<Mutant>> = OnceLock::new();
    let read = || {
        let text = std::env::var(MUTANT).ok()?;
        let mut parts = text.split(':');
        let (file, line, flaw) = (parts.next(), parts.next(), parts.next());
        let known = |name| Flaw::ALL.into_iter().find(|flaw| flaw.name() == name);
        let parsed = file.zip(line.and_then(|line| line.parse().ok())).zip(flaw.and_then(known));
        let ((file, line), flaw) = parsed.unwrap_or_else(|| panic!("{MUTANT}={text} names no mutant"));
        Some(Mutant { file: file.to_owned(), line, flaw })
    };
    MUTANT_OF_PROCESS.get_or_init(read).as_ref()
}

/// The flaw of the operation at this place.
fn flaw_at(place: &Location<'_>) -> Option<Flaw> {
    let mutant = mutant()?;
    (mutant.line == place.line() && place.file().ends_with(&mutant.file)).then_some(mutant.flaw)
}

/// The ordering that the operation at this place has in the model. Sequentially consistent accesses acquire and release: loom
/// would let them order more than that among themselves, and less than they do. What must be in one order has fences, or changes
/// one word in one step: of two such changes the later one acquires what the earlier one has released.
fn ordering(place: &Location<'_>, given: Ordering, without: Ordering) -> Ordering {
    match given {
        _ if flaw_at(place) == Some(Flaw::Relaxed) => Ordering::Relaxed,
        Ordering::SeqCst => without,
        _ => given,
    }
}

global! {
    /// What fences change, so that the model tries them in either order: loom's own are no steps to it.
    static FENCES: mock::AtomicUsize = mock::AtomicUsize::new(0);
}

/// A full fence.
#[track_caller]
pub(crate) fn fence() {
    FENCES.fetch_add(1, Ordering::Relaxed);
    if flaw_at(Location::caller()) != Some(Flaw::Skipped) {
        mock::fence(Ordering::SeqCst);
    }
}

macro_rules! atomic {
    ($name:ident $(<$parameter:ident>)?, $value:ty) => {
        #[derive(Debug)]
        pub(crate) struct $name $(<$parameter>)? (mock::$name $(<$parameter>)?);

        impl $(<$parameter>)? $name $(<$parameter>)? {
            pub(crate) fn new(value: $value) -> Self {
                Self(mock::$name::new(value))
            }

            #[track_caller]
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(ordering(Location::caller(), order, Ordering::Acquire))
            }

            #[track_caller]
            pub(crate) fn store(&self, value: $value, order: Ordering) {
                let place = Location::caller();
                if flaw_at(place) != Some(Flaw::Skipped) {
                    self.0.store(value, ordering(place, order, Ordering::Release));
                }
            }

            #[track_caller]
            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                let place = Location::caller();
                match flaw_at(place) {
                    Some(Flaw::Skipped) => self.0.load(Ordering::Relaxed),
                    Some(Flaw::Split) => {
                        let old = self.0.load(Ordering::SeqCst);
                        self.0.store(value, Ordering::SeqCst);
                        old
                    }
                    _ => self.0.swap(value, ordering(place, order, Ordering::AcqRel)),
                }
            }

            #[track_caller]
            pub(crate) fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                let place = Location::caller();
                if flaw_at(place) == Some(Flaw::Split) {
                    let old = self.0.load(Ordering::SeqCst);
                    if old != current {
                        return Err(old);
                    }
                    self.0.store(new, Ordering::SeqCst);
                    return Ok(old);
                }
                self.0.compare_exchange(current, new, ordering(place, success, Ordering::AcqRel), failure)
            }

            #[track_caller]
            pub(crate) fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

macro_rules! number {
    ($name:ident, $value:ty, $($method:ident = $change:expr),+) => {
        atomic!($name, $value);

        impl $name {
            $(#[track_caller]
            pub(crate) fn $method(&self, value: $value, order: Ordering) -> $value {
                let place = Location::caller();
                match flaw_at(place) {
                    Some(Flaw::Skipped) => self.0.load(Ordering::Relaxed),
                    Some(Flaw::Split) => {
                        let old = self.0.load(Ordering::SeqCst);
                        let change: fn($value, $value) -> $value = $change;
                        self.0.store(change(old, value), Ordering::SeqCst);
                        old
                    }
                    _ => self.0.$method(value, ordering(place, order, Ordering::AcqRel)),
                }
            })+

            pub(crate) fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.0.fetch_update(set, fetch, change)
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(0)
            }
        }
    };
}

macro_rules! counting {
    ($name:ident, $value:ty) => {
        number!(
            $name,
            $value,
            fetch_add = <$value>::wrapping_add,
            fetch_sub = <$value>::wrapping_sub,
            fetch_max = Ord::max
        );
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicPtr<T>, *mut T);
counting!(AtomicU32, u32);
counting!(AtomicU64, u64);
counting!(AtomicUsize, usize);

/// loom's mutex with the interface of parking_lot's: a panic ends the model, so nobody finds it poisoned.
#[derive(Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Lies in a value that is freed, and tells the model of reads that are not ordered before the end or come after it.
pub(crate) struct Witness {
    /// loom stops at a read and a write of it that are not ordered.
    accesses: loom::cell::UnsafeCell<()>,
    ended: std::sync::atomic::AtomicBool,
}

impl Witness {
    pub(crate) fn new() -> Self {
        let witness = Self { accesses: loom::cell::UnsafeCell::new(()), ended: false.into() };
        // loom does not take the making of a cell for an access.
        witness.accesses.with_mut(|_| ());
        witness
    }

    /// The value is read.
    #[track_caller]
    pub(crate) fn read(&self) {
        assert!(!self.ended.load(Ordering::Relaxed), "read after it was freed");
        self.accesses.with(|_| ());
    }

    /// The value is freed.
    #[track_caller]
    pub(crate) fn end(&self) {
        assert!(!self.ended.swap(true, Ordering::Relaxed), "freed twice");
        self.accesses.with_mut(|_| ());
    }
}
