//! Pools.

use pointsman::format::to_plain;
use pointsman::{Pool, PoolError, PoolOptions};

use crate::abi::{
    Exclusive, Flag, Handle, Items, New, OptInput, OptOut, Out, Shared, Text, exports, pointsman_str,
};
use crate::codes::{POINTSMAN_MAX_INSTANCES, POINTSMAN_NEVER};
use crate::discovery::pointsman_discovery;
use crate::edit::pointsman_edit;
use crate::error::{Fault, cut};
use crate::instance::{list, pointsman_instance};
use crate::options::pointsman_pool_options;
use crate::string::pointsman_string;

/// The instances of one service, their live state, and the routes compiled for them. Every call may come from any thread.
pub struct pointsman_pool(pub(crate) Pool);

fn make(
    options: OptInput<pointsman_pool_options>,
    instances: Vec<pointsman::Instance>,
) -> Result<pointsman_pool, Fault> {
    let options =
        options.get("options")?.map_or_else(|| Ok(PoolOptions::new()), pointsman_pool_options::to_options)?;
    let pool = Pool::with(options, instances).map_err(|error| match error {
        PoolError::Spec(refused) => Fault::from(refused),
        PoolError::Update(refused) => Fault::from(refused),
        other => Fault::new(crate::codes::POINTSMAN_BAD_VALUE, "", other.to_string()),
    })?;
    Ok(pointsman_pool(pool))
}

exports! {
    /// Makes a pool of `count` instances, which are copied. `options` may be NULL.
    fn pointsman_pool_new(
        options: OptInput<pointsman_pool_options>,
        instances: Items<pointsman_instance>,
        count: usize,
    ) -> (pool: New<pointsman_pool>) {
        make(options, list(instances, count)?)
    }

    /// Makes a pool of the instances that a discovery document gave. `options` may be NULL.
    fn pointsman_pool_new_discovered(
        options: OptInput<pointsman_pool_options>,
        discovery: Handle<pointsman_discovery>,
    ) -> (pool: New<pointsman_pool>) {
        make(options, discovery.instances())
    }

    /// Frees the handle. Routes, pickers and leases keep what they need of the pool.
    free fn pointsman_pool_free(pool: pointsman_pool);

    /// Replaces the list, all of it or nothing. `version`, which may be NULL, gets the version in force afterwards; an
    /// identical list leaves it.
    fn pointsman_pool_replace(
        pool: Shared<pointsman_pool>,
        instances: Items<pointsman_instance>,
        count: usize,
    ) -> (version: OptOut<u64>) {
        Ok(pool.0.replace(list(instances, count)?)?)
    }

    /// The same with the instances that a discovery document gave.
    fn pointsman_pool_replace_discovered(
        pool: Shared<pointsman_pool>,
        discovery: Handle<pointsman_discovery>,
    ) -> (version: OptOut<u64>) {
        Ok(pool.0.replace(discovery.instances())?)
    }

    /// Applies the changes that `edit` has recorded, all of them or nothing, and empties it either way; it can record others
    /// then. `version`, which may be NULL, gets the version in force afterwards.
    fn pointsman_pool_commit(
        pool: Shared<pointsman_pool>,
        edit: Exclusive<pointsman_edit>,
    ) -> (version: OptOut<u64>) {
        let recorded = std::mem::take(&mut edit.0);
        Ok(pool.0.edit(|edit| {
            *edit = recorded;
            Ok(())
        })?)
    }

    /// The version in force: 1 at creation, one more for each change of the list.
    fn pointsman_pool_version(pool: Handle<pointsman_pool>) -> (version: Out<u64>) {
        Ok(pool.0.version())
    }

    /// Number of instances.
    fn pointsman_pool_len(pool: Handle<pointsman_pool>) -> (len: Out<usize>) {
        Ok(pool.0.len())
    }

    /// The list in force as pointsman's own JSON list, which `pointsman_discovery_parse` reads back.
    fn pointsman_pool_instances(pool: Handle<pointsman_pool>) -> (json: New<pointsman_string>) {
        pointsman_string::new(to_plain(&pool.0.instances()))
    }

    /// One instance in the same form, as a list of one. `POINTSMAN_NOT_FOUND` where no instance has the id.
    fn pointsman_pool_instance(pool: Handle<pointsman_pool>, id: Text) -> (json: New<pointsman_string>) {
        let Some(instance) = pool.0.get(id) else { return Err(unknown(id)) };
        pointsman_string::new(to_plain(&[instance]))
    }

    /// Version, age, whether the list is stale, the last refused update, and sizes, as a JSON object.
    fn pointsman_pool_status(pool: Handle<pointsman_pool>) -> (json: New<pointsman_string>) {
        pointsman_string::json(&pool.0.status())
    }

    /// The pool spec as JSON, fields at their defaults left out.
    fn pointsman_pool_spec(pool: Handle<pointsman_pool>) -> (json: New<pointsman_string>) {
        pointsman_string::new(pool.0.spec().to_json())
    }

    /// Values that wait to be freed by the next update or tick, or when the last pick that reads them is over.
    fn pointsman_pool_retired(pool: Handle<pointsman_pool>) -> (count: Out<usize>) {
        Ok(pool.0.retired())
    }

    /// Sets an instance's reported load, without a publish. `POINTSMAN_NOT_FOUND` where no instance has the id.
    fn pointsman_pool_report_load(pool: Shared<pointsman_pool>, id: Text, load: f64) {
        Ok(pool.0.report_load(id, load)?)
    }

    /// The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
    fn pointsman_pool_report_load_at(pool: Shared<pointsman_pool>, id: Text, load: f64, now_ns: u64) {
        Ok(pool.0.report_load_at(id, load, now_ns)?)
    }

    /// Sets the reported loads of `count` ids, all or none.
    fn pointsman_pool_report_loads(
        pool: Shared<pointsman_pool>,
        ids: Items<pointsman_str>,
        loads: Items<f64>,
        count: usize,
    ) {
        let texts = ids.get(count, POINTSMAN_MAX_INSTANCES, "ids")?.iter().enumerate();
        let texts = texts.map(|(at, id)| id.text("ids").map_err(|fault| fault.at(at)));
        let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
        let loads = loads.get(count, POINTSMAN_MAX_INSTANCES, "loads")?.iter().copied();
        Ok(pool.0.report_loads(texts.into_iter().zip(loads))?)
    }

    /// Does what time demands: ejections, returns, ramps, and freeing what nobody reads. `wait_ns`, which may be NULL, gets
    /// the time until the pool next has work, or `POINTSMAN_NEVER`. Without ticks nothing is ejected or ramped.
    fn pointsman_pool_tick(pool: Shared<pointsman_pool>) -> (wait_ns: OptOut<u64>) {
        let wait = pool.0.tick();
        Ok(wait.map_or(POINTSMAN_NEVER, |wait| u64::try_from(wait.as_nanos()).unwrap_or(POINTSMAN_NEVER)))
    }

    /// The same at a given time, in nanoseconds since the pool was made; `next_ns`, which may be NULL, gets the time at which
    /// it next has work, or `POINTSMAN_NEVER`.
    fn pointsman_pool_tick_at(pool: Shared<pointsman_pool>, now_ns: u64) -> (next_ns: OptOut<u64>) {
        Ok(pool.0.tick_at(now_ns).unwrap_or(POINTSMAN_NEVER))
    }

    /// Whether a failure limit was reached, so that a tick has work at once. One relaxed load.
    fn pointsman_pool_tick_due(pool: Handle<pointsman_pool>) -> (due: Out<Flag>) {
        Ok(pool.0.tick_due().into())
    }
}

fn unknown(id: &str) -> Fault {
    Fault::not_found("id", format!("no instance has the id {:?}", cut(id, 120)))
}
