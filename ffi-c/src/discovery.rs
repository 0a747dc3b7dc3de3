//! Discovery documents.

use pointsman::Instance;
use pointsman::format::{Discovered, Options, parse, to_plain};

use crate::abi::{Document, Exclusive, Handle, New, OptInput, Out, exports, pointsman_str};
use crate::error::Fault;
use crate::options::pointsman_discovery_options;
use crate::string::pointsman_string;

/// The instances that a registry's document gave, and the report on how they came about.
pub struct pointsman_discovery(Discovered);

impl pointsman_discovery {
    pub(crate) fn instances(&self) -> Vec<Instance> {
        self.0.instances.clone()
    }

    fn at(&self, index: usize) -> Result<&Instance, Fault> {
        self.0.instances.get(index).ok_or_else(|| beyond(index, self.0.instances.len()))
    }
}

fn beyond(index: usize, len: usize) -> Fault {
    Fault::not_found("index", format!("there is no number {index} among {len} instances")).at(index)
}

exports! {
    /// Reads a discovery document. `options` may be NULL: the format is told from the content then.
    fn pointsman_discovery_parse(
        document: Document,
        options: OptInput<pointsman_discovery_options>,
    ) -> (discovery: New<pointsman_discovery>) {
        let options = options.get("options")?.map_or_else(|| Ok(Options::new()), pointsman_discovery_options::to_options)?;
        Ok(pointsman_discovery(parse(document, &options)?))
    }

    /// Frees it. Pools have copied what they need.
    free fn pointsman_discovery_free(discovery: pointsman_discovery);

    /// Number of instances.
    fn pointsman_discovery_len(discovery: Handle<pointsman_discovery>) -> (len: Out<usize>) {
        Ok(discovery.0.instances.len())
    }

    /// The id of the instance at a position; valid until the discovery is freed.
    fn pointsman_discovery_id(
        discovery: Handle<pointsman_discovery>,
        index: usize,
    ) -> (id: Out<pointsman_str>) {
        discovery.at(index).map(|instance| pointsman_str::lend(&instance.id))
    }

    /// The address of the instance at a position; valid until the discovery is freed.
    fn pointsman_discovery_address(
        discovery: Handle<pointsman_discovery>,
        index: usize,
    ) -> (address: Out<pointsman_str>) {
        discovery.at(index).map(|instance| pointsman_str::lend(&instance.address))
    }

    /// Sets the host's own number of the instance at a position, before the list goes to a pool.
    fn pointsman_discovery_set_user_data(
        discovery: Exclusive<pointsman_discovery>,
        index: usize,
        user_data: u64,
    ) {
        let len = discovery.0.instances.len();
        let instance = discovery.0.instances.get_mut(index).ok_or_else(|| beyond(index, len))?;
        instance.user_data = user_data;
        Ok(())
    }

    /// What was taken, merged and left out, as a JSON object.
    fn pointsman_discovery_report(discovery: Handle<pointsman_discovery>) -> (json: New<pointsman_string>) {
        pointsman_string::json(&discovery.0.report)
    }

    /// The instances as pointsman's own JSON list.
    fn pointsman_discovery_instances(discovery: Handle<pointsman_discovery>) -> (json: New<pointsman_string>) {
        pointsman_string::new(to_plain(&discovery.0.instances))
    }
}
