//! Pickers: one thread's private hand.

use pointsman::Instance;

use crate::abi::{Exclusive, Handle, HeldPicker, New, OptInput, Out, OutItems, exports, pointsman_str};
use crate::error::Fault;
use crate::lease::pointsman_lease;
use crate::request::{self, pointsman_request};
use crate::route::{pointsman_pick, pointsman_route, with_room};

/// One thread's private hand: its own generator, its own rotation cursors, and the list it last saw. The fastest way to pick,
/// and deterministic from a seed. May move between threads and serves one at a time.
pub struct pointsman_picker(HeldPicker);

impl pointsman_picker {
    fn nth(&self, nth: usize) -> Result<&Instance, Fault> {
        self.0
            .instance(nth)
            .ok_or_else(|| Fault::not_found("nth", format!("the last pick has no number {nth}")).at(nth))
    }
}

exports! {
    /// Makes a picker with a seed that nobody else has. A forked child draws other numbers than its parent.
    fn pointsman_picker_new(route: Handle<pointsman_route>) -> (picker: New<pointsman_picker>) {
        Ok(pointsman_picker(HeldPicker::new(route.0.picker())))
    }

    /// Makes a deterministic picker: the same seed, commits and requests give the same picks, in every language.
    fn pointsman_picker_new_seeded(
        route: Handle<pointsman_route>,
        seed: u64,
    ) -> (picker: New<pointsman_picker>) {
        Ok(pointsman_picker(HeldPicker::new(route.0.picker_seeded(seed))))
    }

    /// Frees the picker.
    free fn pointsman_picker_free(picker: pointsman_picker);

    /// Lets every cursor that was not used yet begin at this turn of its cycle; turn 0 is the canonical start.
    fn pointsman_picker_start_at(picker: Exclusive<pointsman_picker>, turn: u64) {
        picker.0.start_at(turn);
        Ok(())
    }

    /// Picks an instance from the list in force. `request` may be NULL. Never calls `release`.
    fn pointsman_picker_pick(
        picker: Exclusive<pointsman_picker>,
        request: OptInput<pointsman_request>,
    ) => (pick: pointsman_pick) {
        request::answer(request, pick, #[inline(always)] |request, pick| picker.0.pick(request, pick))
    }

    /// Fills `picks` with different instances, as `pointsman_route_pick_distinct` does.
    fn pointsman_picker_pick_distinct(
        picker: Exclusive<pointsman_picker>,
        request: OptInput<pointsman_request>,
        picks: OutItems<pointsman_pick>,
        room: usize,
    ) -> (count: Out<usize>) {
        request::with(request, |request| {
            with_room(room, |out| {
                Ok(picker.0.pick_distinct(request, out, |drawn| picks.put(room, pointsman_pick::of_all(drawn)))?)
            })
        })
    }

    /// The id of the instance that was last picked; of the `nth` behind `pick_distinct`, from 0. Valid until the next call on
    /// the picker that is not one of these two. `POINTSMAN_NOT_FOUND` where there is none.
    fn pointsman_picker_id(picker: Exclusive<pointsman_picker>, nth: usize) -> (id: Out<pointsman_str>) {
        picker.nth(nth).map(|instance| pointsman_str::lend(&instance.id))
    }

    /// Its address, in the same way.
    fn pointsman_picker_address(picker: Exclusive<pointsman_picker>, nth: usize) -> (address: Out<pointsman_str>) {
        picker.nth(nth).map(|instance| pointsman_str::lend(&instance.address))
    }

    /// Picks an instance and holds it until the request ends, as `pointsman_route_lease` does.
    fn pointsman_picker_lease(
        picker: Exclusive<pointsman_picker>,
        request: OptInput<pointsman_request>,
    ) -> (lease: New<pointsman_lease>) {
        request::with(request, |request| Ok(pointsman_lease(picker.0.forget().lease(request)?)))
    }

    /// Takes up the list in force, and lets go of the last pick.
    fn pointsman_picker_refresh(picker: Exclusive<pointsman_picker>) {
        picker.0.forget().refresh();
        Ok(())
    }

    /// Lets go of the last pick and of the list it came from. Call it before a picker idles.
    fn pointsman_picker_rest(picker: Exclusive<pointsman_picker>) {
        rest(picker.0.forget());
        Ok(())
    }
}

/// Holds nothing until the next call.
fn rest(picker: &mut pointsman::Picker) {
    picker.rest();
}
