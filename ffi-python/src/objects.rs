//! The table of a pool's Python objects. The engine knows each by a number, which picks bring back.
//!
//! An object stays until the engine has told that nothing can return its number any more. The engine tells on the thread of
//! an update, so what it told is collected there and the objects go once the update is over, outside every borrow:
//! destructors may use the pool.

use std::cell::RefCell;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors;
use crate::instance::Instance;
use crate::raw::Unfilled;
use crate::raw::attached::Attached;

pub(crate) type Key = u64;

/// The objects of one pool.
pub(crate) struct Objects {
    table: Attached<Table>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Option<Py<Instance>>>,
    free: Vec<usize>,
    /// Calls under way that have keys and not yet their objects.
    holds: usize,
    /// Keys that were released during such calls.
    due: Vec<Key>,
    /// The process that the holds belong to: a forked child has none of its parent's other threads.
    process: u32,
}

/// Keeps every object in the table while keys are taken from the engine by other means than a pick in hand.
pub(crate) struct Held<'a, 'py>(&'a Objects, Python<'py>);

impl Objects {
    pub(crate) fn new() -> Self {
        Self { table: Attached::new(Table { process: std::process::id(), ..Table::default() }) }
    }

    /// The object of a key, which is there for as long as the engine can return the key.
    #[inline(always)]
    pub(crate) fn get(&self, py: Python<'_>, key: Key) -> Option<Py<Instance>> {
        self.table.read(py, |table| Some(table.slots.get(key as usize)?.as_ref()?.clone_ref(py)))
    }

    /// The objects of keys that a hold keeps.
    pub(crate) fn list<'py>(&self, py: Python<'py>, keys: &[Key]) -> PyResult<Bound<'py, PyList>> {
        // Before the table is borrowed: making a list may run the collector.
        let list = Unfilled::new(py, keys.len())?;
        let full = self.table.read(py, |table| {
            let object = |key: &Key| Some(table.slots.get(*key as usize)?.as_ref()?.clone_ref(py));
            list.fill(keys.iter().map_while(object))
        });
        if full { Ok(list.filled()) } else { Err(errors::cleared()) }
    }

    pub(crate) fn put(&self, py: Python<'_>, object: Py<Instance>) -> Key {
        self.table.write(py, |table| {
            let at = table.free.pop().unwrap_or(table.slots.len());
            if at == table.slots.len() {
                table.slots.push(None);
            }
            table.slots[at] = Some(object);
            at as Key
        })
    }

    /// Lets go of the objects of these keys, now or when the last hold ends.
    pub(crate) fn drop_keys(&self, py: Python<'_>, keys: Vec<Key>) {
        let objects = self.table.write(py, |table| {
            table.due.extend(keys);
            table.take_due()
        });
        drop(objects);
    }

    pub(crate) fn hold<'a, 'py>(&'a self, py: Python<'py>) -> Held<'a, 'py> {
        self.table.write(py, |table| {
            table.forget_parent();
            table.holds += 1;
        });
        Held(self, py)
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.table.visit(|table| table.slots.iter().flatten().try_for_each(|object| visit.call(object)))
    }
}

impl Table {
    /// In a child that was forked while its parent held: nobody will end those holds. Comes before the child's first own.
    fn forget_parent(&mut self) {
        let process = std::process::id();
        if self.process != process {
            (self.process, self.holds) = (process, 0);
        }
    }

    #[must_use]
    fn take_due(&mut self) -> Vec<Py<Instance>> {
        if self.holds > 0 {
            self.forget_parent();
        }
        if self.holds > 0 {
            return Vec::new();
        }
        let (slots, free) = (&mut self.slots, &mut self.free);
        let take = |key| {
            free.push(key as usize);
            slots.get_mut(key as usize)?.take()
        };
        self.due.drain(..).filter_map(take).collect()
    }
}

impl Drop for Held<'_, '_> {
    fn drop(&mut self) {
        let objects = self.0.table.write(self.1, |table| {
            table.holds = table.holds.saturating_sub(1);
            table.take_due()
        });
        drop(objects);
    }
}

thread_local! {
    static RELEASED: RefCell<Vec<Key>> = const { RefCell::new(Vec::new()) };
}

/// The hook that the engine calls with the keys nothing can return any more, on the thread that runs the update.
pub(crate) fn released(key: Key) {
    RELEASED.with_borrow_mut(|keys| keys.push(key));
}

/// Runs an update of the engine. Returns the keys that were released by it.
pub(crate) fn collecting<R>(update: impl FnOnce() -> R) -> (R, Vec<Key>) {
    // A pool that went away on this thread told of its keys too; its table went with it.
    RELEASED.with_borrow_mut(Vec::clear);
    let result = update();
    (result, RELEASED.take())
}
