//! Changes of a pool that are committed together.

use pointsman::Edit;

use crate::abi::{Exclusive, Flag, Input, Items, New, OptText, Text, exports};
use crate::instance::{self, pointsman_instance, pointsman_tag};

/// Records changes; `pointsman_pool_commit` applies them. Serves one thread at a time. Later changes see earlier ones.
/// Values are checked when they are recorded, and a bad one is not; that an id is in the pool is checked at the commit.
pub struct pointsman_edit(pub(crate) Edit);

exports! {
    /// Makes an edit without changes.
    fn pointsman_edit_new() -> (edit: New<pointsman_edit>) {
        Ok(pointsman_edit(Edit::default()))
    }

    /// Frees the edit; what it has recorded and was not committed has no effect.
    free fn pointsman_edit_free(edit: pointsman_edit);

    /// Adds an instance behind the others, or puts it in place of the one with its id.
    fn pointsman_edit_upsert(edit: Exclusive<pointsman_edit>, instance: Input<pointsman_instance>) {
        Ok(edit.0.upsert(instance.to_instance()?)?)
    }

    /// Takes an instance out.
    fn pointsman_edit_remove(edit: Exclusive<pointsman_edit>, id: Text) {
        Ok(edit.0.remove(id)?)
    }

    /// Sets the weight; 0 drains.
    fn pointsman_edit_set_weight(edit: Exclusive<pointsman_edit>, id: Text, weight: f64) {
        Ok(edit.0.set_weight(id, weight)?)
    }

    /// Sets whether health checks pass.
    fn pointsman_edit_set_healthy(edit: Exclusive<pointsman_edit>, id: Text, healthy: Flag) {
        Ok(edit.0.set_healthy(id, healthy)?)
    }

    /// Sets whether the instance may be used at all.
    fn pointsman_edit_set_enabled(edit: Exclusive<pointsman_edit>, id: Text, enabled: Flag) {
        Ok(edit.0.set_enabled(id, enabled)?)
    }

    /// Sets all tags, `count` of them.
    fn pointsman_edit_set_tags(
        edit: Exclusive<pointsman_edit>,
        id: Text,
        tags: Items<pointsman_tag>,
        count: usize,
    ) {
        Ok(edit.0.set_tags(id, instance::tags(tags, count)?)?)
    }

    /// Sets the zone; one that is left out is no zone.
    fn pointsman_edit_set_zone(edit: Exclusive<pointsman_edit>, id: Text, zone: OptText) {
        Ok(edit.0.set_zone(id, zone)?)
    }
}
