//! A picker that can be asked for the instances of its last pick.

use std::ptr::NonNull;

use pointsman::{Instance, NoInstance, Picked, Picker, Picks, Request};

use super::outputs::{Answer, Slot};
use crate::route::pointsman_pick;

/// A picker with its last answer.
///
/// | state | instances of the last answer |
/// |---|---|
/// | after a pick | in the snapshot that the picker holds until it is next used |
/// | after `refresh`, `rest`, or a pick that found none | none |
pub(crate) struct HeldPicker {
    first: Option<NonNull<Instance>>,
    /// Behind the first, where several were picked.
    others: Vec<NonNull<Instance>>,
    picker: Picker,
}

// SAFETY: the pointers are to instances of the picker's own snapshot, which moves with it and is `Send` and `Sync`.
unsafe impl Send for HeldPicker {}

impl HeldPicker {
    pub(crate) fn new(picker: Picker) -> Self {
        Self { first: None, others: Vec::new(), picker }
    }

    /// The picker, for what ends the last answer.
    pub(crate) fn forget(&mut self) -> &mut Picker {
        self.first = None;
        self.others.clear();
        &mut self.picker
    }

    #[inline(always)]
    pub(crate) fn pick(&mut self, request: &Request<'_>, place: Slot<pointsman_pick>) -> Answer {
        // First, so that a panic leaves no pointer into a list that was let go.
        self.first = None;
        self.others.clear();
        match self.picker.pick(request) {
            Ok(pick) => {
                let instance = pick.instance();
                self.first = Some(NonNull::from(instance));
                place.fill(pointsman_pick::new(instance.user_data, pick.version(), pick.picked()))
            }
            Err(refused) => place.refuse(refused.into()),
        }
    }

    /// Hands the picks to `put`, and returns how many there are.
    pub(crate) fn pick_distinct(
        &mut self,
        request: &Request<'_>,
        room: &mut [Picked],
        put: impl FnOnce(&Picks<'_>),
    ) -> Result<usize, NoInstance> {
        self.first = None;
        self.others.clear();
        let picks = self.picker.pick_distinct(request, room)?;
        let mut instances = picks.iter().map(NonNull::from);
        self.first = instances.next();
        self.others.extend(instances);
        put(&picks);
        Ok(picks.len())
    }

    /// An instance of the last answer.
    pub(crate) fn instance(&self, nth: usize) -> Option<&Instance> {
        let pointer = if nth == 0 { self.first } else { self.others.get(nth - 1).copied() };
        // SAFETY: the table above: the picker was not used since, so it holds the snapshot in which the instance lies.
        pointer.map(|pointer| unsafe { pointer.as_ref() })
    }

    /// Lets every cursor that was not used yet begin at this turn.
    pub(crate) fn start_at(&mut self, turn: u64) {
        let picker = self.forget();
        let stand_in = picker.route().picker_seeded(0);
        *picker = std::mem::replace(picker, stand_in).start_at(turn);
    }
}
