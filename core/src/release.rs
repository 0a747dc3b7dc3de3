//! The release hook: telling the host that user data is out of reach.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::publish::CommitGate;
use crate::sync::{AtomicBool, Mutex, Ordering};

/// What the host wants to be told. Called on a writer's thread, outside every lock.
pub(crate) type Hook = Box<dyn Fn(u64) + Send + Sync>;

/// The hook, and the user data it has not been told of yet.
pub(crate) struct Releases {
    hook: Hook,
    due: Mutex<VecDeque<u64>>,
}

/// Stands for one instance value that the host handed over. Entries that an edit made from it share it, and so does the
/// same user data handed over again for the same id while the first is still in the list.
pub(crate) struct Token {
    user_data: u64,
    /// Whether its value was ever published. The user data of a refused update stays the host's own.
    taken: AtomicBool,
    releases: Arc<Releases>,
}

impl Releases {
    pub(crate) fn new(hook: Hook) -> Arc<Self> {
        Arc::new(Self { hook, due: Mutex::default() })
    }

    pub(crate) fn token(self: &Arc<Self>, user_data: u64) -> Arc<Token> {
        Arc::new(Token { user_data, taken: AtomicBool::new(false), releases: self.clone() })
    }

    /// Keeps the lock, for a test to see who waits for it.
    #[cfg(test)]
    pub(crate) fn keep_locked(&self) -> impl Sized + '_ {
        self.due.lock()
    }

    /// Tells the host of everything that is due. A hook that panics has had its call; the rest is told by the next.
    pub(crate) fn tell(&self) {
        loop {
            // In a block of its own, so that lock and gate are given back before the hook runs.
            let next = {
                let _gate = CommitGate::enter();
                self.due.lock().pop_front()
            };
            match next {
                Some(user_data) => (self.hook)(user_data),
                None => return,
            }
        }
    }
}

impl Token {
    pub(crate) fn user_data(&self) -> u64 {
        self.user_data
    }

    /// Marks the value as published. Under the writer's lock, which orders it before the drop.
    pub(crate) fn take(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.taken.load(Ordering::Relaxed) {
            self.releases.due.lock().push_back(self.user_data);
        }
    }
}
