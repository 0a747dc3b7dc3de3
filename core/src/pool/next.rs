//! The list to be: what is kept of the list of now, and what is different.

use std::sync::Arc;

use super::commit::Core;
use super::edit::Draft;
use crate::compile::Change;
use crate::compile::roster::{Entry, Roster};
use crate::fault;
use crate::instance::Instance;
use crate::live::slots::Slot;
use crate::publish::Hold;
use crate::release::Token;

/// The next list, before it is compiled.
pub(super) struct Next {
    pub(super) list: Vec<Hold<Entry>>,
    pub(super) slots: Vec<u32>,
    pub(super) change: Change,
    /// Whether anything is different at all.
    pub(super) changed: bool,
    /// User data that was not in the pool before.
    pub(super) fresh: Vec<Arc<Token>>,
    /// Slots whose ids are new.
    pub(super) arrived: Vec<u32>,
    /// Slots whose instances can be used again.
    pub(super) back: Vec<u32>,
    /// Reports that came with the list.
    pub(super) loads: Vec<(u32, f64)>,
}

impl Next {
    /// What the drafts make of the list.
    pub(super) fn of(core: &Core, roster: &Roster, drafts: Vec<Draft>) -> Self {
        let same_length = drafts.len() == roster.len();
        let mut next = Self {
            list: Vec::with_capacity(drafts.len()),
            slots: Vec::with_capacity(drafts.len()),
            change: Change { same_list: same_length, retagged: false, touched: Vec::new() },
            changed: !same_length,
            fresh: Vec::new(),
            arrived: Vec::new(),
            back: Vec::new(),
            loads: Vec::new(),
        };
        for (index, draft) in drafts.into_iter().enumerate() {
            let was = draft.was();
            let moved = was != Some(index as u32);
            next.change.same_list &= !moved;
            next.changed |= moved;
            let entry = match (draft, was.map(|was| &roster.list[was as usize])) {
                (Draft::Kept(_), Some(old)) => old.clone(),
                (Draft::Changed(_, instance) | Draft::New(instance), old) => {
                    next.entry(core, instance, old, index as u32)
                }
                // A kept instance is one that was there.
                (Draft::Kept(_), None) => continue,
            };
            next.slots.push(entry.slot.number());
            next.list.push(entry);
        }
        next.change.retagged |= !next.change.same_list;
        next
    }

    /// The entry of an instance that an update named: the old one where it is the same.
    fn entry(
        &mut self,
        core: &Core,
        mut instance: Instance,
        old: Option<&Hold<Entry>>,
        index: u32,
    ) -> Hold<Entry> {
        fault::point("entry");
        let slot: Arc<Slot> = match old {
            Some(old) => old.slot.clone(),
            None => {
                let slot = Slot::open(&core.live);
                self.arrived.push(slot.number());
                slot
            }
        };
        if let Some(load) = instance.load {
            self.loads.push((slot.number(), load));
        }
        if let Some(old) = old {
            // A list without a load leaves the last report.
            instance.load = instance.load.or(old.instance.load);
            if instance == old.instance {
                return old.clone();
            }
            let can_be_used = |instance: &Instance| instance.healthy && instance.enabled;
            if can_be_used(&instance) && !can_be_used(&old.instance) {
                self.back.push(slot.number());
            }
            self.change.retagged |= instance.tags != old.instance.tags || instance.zone != old.instance.zone;
        }
        self.changed = true;
        self.change.touched.push(index);
        let carried =
            old.and_then(|old| old.token.clone()).filter(|token| token.user_data() == instance.user_data);
        let token = core.releases.as_ref().map(|releases| {
            carried.unwrap_or_else(|| {
                let token = releases.token(instance.user_data);
                self.fresh.push(token.clone());
                token
            })
        });
        Hold::new(Entry { live: core.live.clone(), instance, token, slot }, &core.retired)
    }
}
