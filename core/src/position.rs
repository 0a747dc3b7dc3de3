//! Positions of rotations: one for each compiled set, living in the route and not in the snapshot, so that an update does
//! not restart them and traffic for one set does not step through another's turns.

use std::sync::{Arc, Weak};

use crossbeam_utils::CachePadded;

use crate::live::Arena;
use crate::policy::rotation::{Form, Rotation};
use crate::policy::table::Table;
use crate::publish::CommitGate;
use crate::rng::mix2;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// How far from the last instance's place in the list a picker looks for it after an update.
const REACH: usize = 64;

/// The cycle of a cursor that was never used. Cycles are numbered from 1.
const UNUSED: u64 = 0;

/// The position of one set of a route: the tier and the matched values.
pub(crate) struct Position {
    /// The next ticket.
    ticket: CachePadded<AtomicU64>,
    /// Made of the tier and the values; the same in every process.
    pub(crate) key: u64,
    /// Differs between the positions a route ever had.
    serial: u64,
    /// Which cursor of a picker belongs to it.
    cursor: u32,
    book: Arc<PositionBook>,
}

/// What a route knows of its positions and pickers. Locked by writers and by the making of pickers only.
#[derive(Default)]
pub(crate) struct PositionBook {
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    serials: u64,
    free: Vec<u32>,
    cursors: u32,
    pickers: Vec<Weak<Cursors>>,
}

/// A picker's cursors, by the number that positions carry. Room is made by whoever publishes.
pub(crate) type Cursors = Arena<Cursor>;

/// A picker's own position in one set. Written by its picker alone; atomic so that the writer can make room beside it.
pub(crate) struct Cursor {
    /// The position's serial combined with the picker's seed, so that a new seed starts afresh too.
    serial: AtomicU64,
    /// The rotation's cycle.
    cycle: AtomicU64,
    /// The next turn.
    turn: AtomicU64,
    /// The list position and, in the upper half, the slot of the instance that had the last turn.
    last: AtomicU64,
}

impl Position {
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        self.ticket.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn peek(&self) -> u64 {
        self.ticket.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, ticket: u64) {
        self.ticket.store(ticket, Ordering::Relaxed);
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        self.book.pages.lock().free.push(self.cursor);
    }
}

impl PositionBook {
    /// A position for a new set.
    pub(crate) fn open(self: &Arc<Self>, key: u64, ticket: u64) -> Arc<Position> {
        let mut pages = self.pages.lock();
        pages.serials += 1;
        let cursor = pages.free.pop().unwrap_or_else(|| {
            pages.cursors += 1;
            pages.cursors - 1
        });
        let ticket = CachePadded::new(AtomicU64::new(ticket));
        Arc::new(Position { ticket, key, serial: pages.serials, cursor, book: self.clone() })
    }

    /// Keeps the lock, for a test to see who waits for it.
    #[cfg(test)]
    pub(crate) fn keep_locked(&self) -> impl Sized + '_ {
        self.pages.lock()
    }

    /// Makes room in every picker for the positions there are. Before they are published.
    pub(crate) fn make_room(&self) {
        let mut pages = self.pages.lock();
        let count = pages.cursors as usize;
        pages.pickers.retain(|picker| match picker.upgrade() {
            Some(cursors) => {
                cursors.grow(count);
                true
            }
            None => false,
        });
    }

    /// Cursors for a new picker.
    pub(crate) fn cursors(&self) -> Arc<Cursors> {
        let _gate = CommitGate::enter();
        let mut pages = self.pages.lock();
        let cursors = Arc::new(Cursors::new());
        cursors.grow(pages.cursors as usize);
        pages.pickers.push(Arc::downgrade(&cursors));
        cursors
    }
}

/// What a picker's turn depends on beside the set.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) seed: u64,
    /// The turn that every set begins with, instead of one made of the seed.
    pub(crate) turn: Option<u64>,
}

impl Default for Cursor {
    fn default() -> Self {
        let unused = || AtomicU64::new(0);
        Self {
            serial: unused(),
            cycle: AtomicU64::new(UNUSED),
            turn: unused(),
            last: AtomicU64::new(u64::MAX),
        }
    }
}

impl Cursor {
    /// Takes the next turn.
    #[inline]
    pub(crate) fn next(
        &self,
        position: &Position,
        table: &Table,
        rotation: &Rotation,
        start: Start,
    ) -> Option<u32> {
        let turn = self.turn(position, table, rotation, start);
        self.put(turn.wrapping_add(1), table, rotation);
        rotation.at_turn(table, turn)
    }

    /// The next turn. A cursor that finds its set changed goes on with the instance behind the last, as far as the form
    /// allows.
    #[inline]
    pub(crate) fn turn(&self, position: &Position, table: &Table, rotation: &Rotation, start: Start) -> u64 {
        let same = self.serial.load(Ordering::Relaxed) == position.serial ^ start.seed
            && self.cycle.load(Ordering::Relaxed) == rotation.cycle;
        if same { self.turn.load(Ordering::Relaxed) } else { self.settle(position, table, rotation, start) }
    }

    /// Sets the next turn.
    #[inline]
    pub(crate) fn put(&self, turn: u64, table: &Table, rotation: &Rotation) {
        let turn = match rotation.turns() {
            Some(turns) if turn >= turns => 0,
            _ => turn,
        };
        self.turn.store(turn, Ordering::Relaxed);
        if rotation.form() == Form::Equal {
            let last = if turn == 0 { table.len() as u64 } else { turn } - 1;
            if let Some(member) = table.member(last as usize) {
                self.last.store(u64::from(member.slot) << 32 | u64::from(member.index), Ordering::Relaxed);
            }
        }
    }

    #[cold]
    fn settle(&self, position: &Position, table: &Table, rotation: &Rotation, start: Start) -> u64 {
        let used = self.cycle.load(Ordering::Relaxed) != UNUSED;
        let known = used && self.serial.load(Ordering::Relaxed) == position.serial ^ start.seed;
        self.serial.store(position.serial ^ start.seed, Ordering::Relaxed);
        self.cycle.store(rotation.cycle, Ordering::Relaxed);
        let turn = if known && rotation.form() == Form::Equal && self.last.load(Ordering::Relaxed) != u64::MAX
        {
            after(self.last.load(Ordering::Relaxed), table)
        } else if known {
            mix2(start.seed ^ position.key, rotation.cycle)
        } else {
            start.turn.unwrap_or_else(|| mix2(start.seed, position.key))
        };
        self.last.store(u64::MAX, Ordering::Relaxed);
        let turn = rotation.turns().map_or(turn, |turns| turn % turns.max(1));
        self.put(turn, table, rotation);
        turn
    }
}

/// The rank behind the instance that had the last turn: behind its new place if it is near the old one, else behind the
/// old place.
fn after(last: u64, table: &Table) -> u64 {
    let (slot, index) = ((last >> 32) as u32, last as u32);
    let rank = table.rank_from(index);
    let is_it = |at: &usize| table.member(*at).is_some_and(|member| member.slot == slot);
    let near = (rank..rank.saturating_add(REACH)).find(is_it);
    let near = near.or_else(|| (rank.saturating_sub(REACH)..rank).rev().find(is_it));
    near.map_or(rank, |rank| rank + 1) as u64
}

impl Arena<Cursor> {
    #[inline]
    pub(crate) fn of(&self, position: &Position) -> Option<&Cursor> {
        self.get(position.cursor as usize)
    }
}
