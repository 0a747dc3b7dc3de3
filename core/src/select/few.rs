//! A few excluded ids: where they stand in the list, and in a set.

use arrayvec::ArrayVec;

use crate::compile::roster::Roster;
use crate::policy::table::Table;

/// Exclusions that are dealt with on the way.
pub(crate) const MOST: usize = 8;

/// Where the excluded stand in the list: rising, each once, then `NOWHERE`.
pub(crate) struct Few([u32; MOST]);

const NOWHERE: u32 = u32::MAX;

impl Few {
    /// Of at most [`MOST`] ids. Those that the list does not hold are left out.
    #[inline(always)]
    pub(crate) fn of(exclude: &[&str], roster: &Roster) -> Self {
        let mut places = [NOWHERE; MOST];
        for mut index in exclude.iter().filter_map(|id| roster.index_of(id)) {
            for place in &mut places {
                if *place == index {
                    break;
                }
                if index < *place {
                    std::mem::swap(place, &mut index);
                }
            }
        }
        Self(places)
    }

    /// The ranks of those that are in the set, rising.
    #[inline(always)]
    pub(crate) fn ranks(&self, table: &Table) -> ArrayVec<u32, MOST> {
        let mut ranks = ArrayVec::new();
        let listed = self.0.iter().take_while(|index| **index != NOWHERE);
        for rank in listed.filter_map(|index| table.rank_of(*index)) {
            let _ = ranks.try_push(rank as u32);
        }
        ranks
    }
}
