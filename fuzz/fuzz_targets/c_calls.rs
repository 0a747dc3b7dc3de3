//! Sequences of C calls with NULLs, bad enumerations, truncated and overlong structs, lengths beyond belief and text that is
//! none: every call gives a code that is known, none panics, an error is whole, results are stored only on success, and the
//! handles work afterwards.
//!
//! The modules are those of `pointsman-capi` at the root of this program, since a library that also is an `rlib` would be built
//! without link-time optimisation.

#![no_main]
#![allow(dead_code, non_camel_case_types, unreachable_pub, reason = "as in ffi-c, which is used in part")]

#[path = "../../ffi-c/src/abi/mod.rs"]
mod abi;
#[path = "../../ffi-c/src/codes.rs"]
mod codes;
#[path = "../../ffi-c/src/discovery.rs"]
mod discovery;
#[path = "../../ffi-c/src/edit.rs"]
mod edit;
#[path = "../../ffi-c/src/error.rs"]
mod error;
#[path = "../../ffi-c/src/instance.rs"]
mod instance;
#[path = "../../ffi-c/src/lease.rs"]
mod lease;
#[path = "../../ffi-c/src/options.rs"]
mod options;
#[path = "../../ffi-c/src/picker.rs"]
mod picker;
#[path = "../../ffi-c/src/pool.rs"]
mod pool;
#[path = "c_calls/raw.rs"]
mod raw;
#[path = "../../ffi-c/src/request.rs"]
mod request;
#[path = "../../ffi-c/src/route.rs"]
mod route;
#[path = "../../ffi-c/src/string.rs"]
mod string;

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance};

use abi::pointsman_str;
use arbitrary::Arbitrary;
use codes::{POINTSMAN_OK, POINTSMAN_PANIC, POINTSMAN_SATURATED, pointsman_result};
use discovery::*;
use edit::*;
use error::pointsman_error;
use lease::*;
use libfuzzer_sys::fuzz_target;
use picker::*;
use pool::*;
use raw::{Arena, DiscoveryOptions, Instance, PoolOptions, Request, Several, Text};
use route::*;
use string::*;

/// Calls of one input.
const CALLS: usize = 40;

/// Most places of an array of picks.
const PLACES: usize = 5;

#[derive(Arbitrary, Debug)]
enum Call {
    Parse(Text, Option<DiscoveryOptions>),
    Discovered(u8, u8),
    FreeDiscovery(u8),
    PoolNew(Option<PoolOptions>, Several<Instance>),
    PoolDiscovered(Option<PoolOptions>, u8),
    FreePool(u8),
    Replace(u8, Several<Instance>, bool),
    ReplaceDiscovered(u8, u8),
    Change(Change),
    Commit(u8, bool),
    Report(u8, Text, f64),
    Tick(u8),
    Look(u8, Text),
    RouteNew(u8, Text),
    FreeRoute(u8),
    RoutePick(u8, Option<Request>, bool),
    RouteDistinct(u8, Option<Request>, u8),
    Explain(u8, Option<Request>),
    Names(u8, u8, u8),
    PickerNew(u8, Option<u64>),
    FreePicker(u8),
    PickerPick(u8, Option<Request>, bool),
    PickerDistinct(u8, Option<Request>, u8),
    PickerTells(u8, u8),
    PickerRests(u8),
    Lease(u8, bool, Option<Request>),
    LeaseTells(u8, Text, u8),
    Done(u8, i32, u64),
    FreeLease(u8),
}

#[derive(Arbitrary, Debug)]
enum Change {
    Upsert(Option<Instance>),
    Remove(Text),
    Weight(Text, f64),
    Healthy(Text, bool),
    Zone(Text, Text),
}

/// Handles of one kind that are not freed.
struct Handles<T>(Vec<*mut T>);

impl<T> Handles<T> {
    /// NULL for the highest number, and where there is none.
    fn get(&self, at: u8) -> *mut T {
        match self.0.len() {
            0 => null_mut(),
            _ if at == u8::MAX => null_mut(),
            len => self.0[usize::from(at) % len],
        }
    }

    fn take(&mut self, at: u8) -> *mut T {
        let handle = self.get(at);
        self.0.retain(|held| *held != handle);
        handle
    }

    /// A new handle where the call made one, and nothing where it did not.
    fn keep(&mut self, result: pointsman_result, handle: *mut T) {
        assert_eq!(result == POINTSMAN_OK, !handle.is_null());
        if !handle.is_null() {
            self.0.push(handle);
        }
    }
}

struct World {
    error: Box<pointsman_error>,
    discoveries: Handles<pointsman_discovery>,
    pools: Handles<pointsman_pool>,
    routes: Handles<pointsman_route>,
    pickers: Handles<pointsman_picker>,
    leases: Handles<pointsman_lease>,
    edit: *mut pointsman_edit,
}

unsafe extern "C" fn released(_: u64, _: *mut c_void) {}

fuzz_target!(|calls: Vec<Call>| {
    let mut world = World::new();
    for call in calls.iter().take(CALLS) {
        // SAFETY: `raw` makes arguments within the promise, and handles are those that were made and not freed.
        unsafe { world.call(call) };
    }
    // SAFETY: as above; each is freed once.
    unsafe { world.end() };
});

fn string(raw: [u64; 2]) -> pointsman_str {
    #[repr(C)]
    struct Raw(*const u8, usize);
    let raw = Raw(without_provenance::<u8>(raw[0] as usize), raw[1] as usize);
    // SAFETY: both are a pointer and a length in C's order, and any bits are a value.
    unsafe { std::mem::transmute::<Raw, pointsman_str>(raw) }
}

fn at<T>(address: u64) -> *const T {
    without_provenance(address as usize)
}

impl World {
    fn new() -> Self {
        // SAFETY: any bits are a value of numbers and characters.
        let error = unsafe { std::mem::zeroed() };
        let mut world = Self {
            error: Box::new(error),
            discoveries: Handles(Vec::new()),
            pools: Handles(Vec::new()),
            routes: Handles(Vec::new()),
            pickers: Handles(Vec::new()),
            leases: Handles(Vec::new()),
            edit: null_mut(),
        };
        // SAFETY: places of results are the world's.
        assert_eq!(unsafe { pointsman_edit_new(&mut world.edit, &mut *world.error) }, POINTSMAN_OK);
        world
    }

    /// What a call gave is known, and the error whole.
    fn came(&self, result: pointsman_result) -> pointsman_result {
        assert_ne!(result, POINTSMAN_PANIC);
        assert!(
            (POINTSMAN_OK..POINTSMAN_PANIC).contains(&result) || (32..=POINTSMAN_SATURATED).contains(&result)
        );
        if result != POINTSMAN_OK {
            assert_eq!(self.error.code, result);
            let end = self.error.message.iter().position(|byte| *byte == 0);
            assert!(end.is_some_and(|end| end > 0), "an error tells something, and ends");
            let text: Vec<u8> =
                self.error.message.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
            assert!(std::str::from_utf8(&text).is_ok() && self.error.field.contains(&0));
        }
        result
    }

    /// Text that the library made is JSON.
    unsafe fn json(&mut self, result: pointsman_result, text: *mut pointsman_string) {
        assert_eq!(self.came(result) == POINTSMAN_OK, !text.is_null());
        if text.is_null() {
            return;
        }
        // SAFETY: the handle was made just now.
        unsafe {
            let data = std::mem::transmute::<abi::CText, *const u8>(pointsman_string_data(text));
            let bytes = std::slice::from_raw_parts(data, pointsman_string_len(text));
            assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
            pointsman_string_free(text);
        }
    }

    /// What the library lends can be read.
    unsafe fn lent(&mut self, result: pointsman_result, text: pointsman_str) {
        if self.came(result) == POINTSMAN_OK {
            assert!(text.opt_text("lent").is_ok());
        }
    }

    unsafe fn call(&mut self, call: &Call) {
        let mut arena = Arena::default();
        let error: *mut pointsman_error = &mut *self.error;
        // SAFETY: the caller's.
        unsafe {
            match call {
                Call::Parse(document, options) => {
                    let (document, options) =
                        (string(arena.text(document)), at(arena.discovery_options(options)));
                    let mut made = null_mut();
                    let result = self.came(pointsman_discovery_parse(document, options, &mut made, error));
                    self.discoveries.keep(result, made);
                }
                Call::Discovered(of, index) => {
                    let discovery = self.discoveries.get(*of);
                    let (mut len, index) = (usize::MAX, usize::from(*index));
                    self.came(pointsman_discovery_len(discovery, &mut len, error));
                    let mut text = pointsman_str::NONE;
                    let result = pointsman_discovery_id(discovery, index, &mut text, error);
                    assert_eq!(result == POINTSMAN_OK, !discovery.is_null() && index < len);
                    self.lent(result, text);
                    self.came(pointsman_discovery_set_user_data(discovery, index, 9, error));
                    let mut json = null_mut();
                    let result = pointsman_discovery_report(discovery, &mut json, error);
                    self.json(result, json);
                }
                Call::FreeDiscovery(of) => pointsman_discovery_free(self.discoveries.take(*of)),
                Call::PoolNew(options, instances) => {
                    let hook = released as *const () as u64;
                    let (options, (list, count)) =
                        (at(arena.pool_options(options, hook)), arena.instances(instances));
                    let mut made = null_mut();
                    let result = self.came(pointsman_pool_new(options, at(list), count, &mut made, error));
                    self.pools.keep(result, made);
                }
                Call::PoolDiscovered(options, of) => {
                    let options = at(arena.pool_options(options, released as *const () as u64));
                    let mut made = null_mut();
                    let discovery = self.discoveries.get(*of);
                    let result =
                        self.came(pointsman_pool_new_discovered(options, discovery, &mut made, error));
                    self.pools.keep(result, made);
                }
                Call::FreePool(of) => pointsman_pool_free(self.pools.take(*of)),
                Call::Replace(of, instances, tells) => {
                    let (list, count) = arena.instances(instances);
                    let mut version = 0;
                    let place = if *tells { &raw mut version } else { null_mut() };
                    let result =
                        self.came(pointsman_pool_replace(self.pools.get(*of), at(list), count, place, error));
                    assert_eq!(version > 0, *tells && result == POINTSMAN_OK);
                }
                Call::ReplaceDiscovered(of, discovery) => {
                    let discovery = self.discoveries.get(*discovery);
                    self.came(pointsman_pool_replace_discovered(
                        self.pools.get(*of),
                        discovery,
                        null_mut(),
                        error,
                    ));
                }
                Call::Change(change) => {
                    let result = self.change(&mut arena, change);
                    self.came(result);
                }
                Call::Commit(of, is_null) => {
                    let edit = if *is_null { null_mut() } else { self.edit };
                    let mut version = 0;
                    let result =
                        self.came(pointsman_pool_commit(self.pools.get(*of), edit, &mut version, error));
                    assert_eq!(version > 0, result == POINTSMAN_OK);
                }
                Call::Report(of, id, load) => {
                    let id = string(arena.text(id));
                    self.came(pointsman_pool_report_load(self.pools.get(*of), id, *load, error));
                }
                Call::Tick(of) => {
                    self.came(pointsman_pool_tick(self.pools.get(*of), null_mut(), error));
                }
                Call::Look(of, id) => {
                    let (pool, id) = (self.pools.get(*of), string(arena.text(id)));
                    let (mut one, mut all, mut status) = (null_mut(), null_mut(), null_mut());
                    let result = pointsman_pool_instance(pool, id, &mut one, error);
                    self.json(result, one);
                    let result = pointsman_pool_instances(pool, &mut all, error);
                    self.json(result, all);
                    let result = pointsman_pool_status(pool, &mut status, error);
                    self.json(result, status);
                }
                Call::RouteNew(of, spec) => {
                    let spec = string(arena.text(spec));
                    let mut made = null_mut();
                    let result = self.came(pointsman_route_new(self.pools.get(*of), spec, &mut made, error));
                    self.routes.keep(result, made);
                }
                Call::FreeRoute(of) => pointsman_route_free(self.routes.take(*of)),
                Call::RoutePick(of, request, is_null) => {
                    let request = at(arena.request(request));
                    let mut pick = std::mem::zeroed();
                    let place = if *is_null { null_mut() } else { &raw mut pick };
                    self.came(pointsman_route_pick(self.routes.get(*of), request, place, error));
                }
                Call::RouteDistinct(of, request, room) => {
                    let request = at(arena.request(request));
                    let mut picks = [const { std::mem::zeroed() }; PLACES];
                    let (mut count, room) = (0, usize::from(*room) % (PLACES + 1));
                    let route = self.routes.get(*of);
                    self.came(pointsman_route_pick_distinct(
                        route,
                        request,
                        picks.as_mut_ptr(),
                        room,
                        &mut count,
                        error,
                    ));
                    assert!(count <= room);
                }
                Call::Explain(of, request) => {
                    let request = at(arena.request(request));
                    let (route, mut told, mut spec) = (self.routes.get(*of), null_mut(), null_mut());
                    let result = pointsman_route_explain(route, request, &mut told, error);
                    self.json(result, told);
                    let result = pointsman_route_spec(route, &mut spec, error);
                    self.json(result, spec);
                }
                Call::Names(of, branch, tier) => {
                    let (mut name, route) = (pointsman_str::NONE, self.routes.get(*of));
                    let result =
                        pointsman_route_tier_name(route, (*branch).into(), (*tier).into(), &mut name, error);
                    self.lent(result, name);
                    let result = pointsman_route_branch_name(route, (*branch).into(), &mut name, error);
                    self.lent(result, name);
                }
                Call::PickerNew(of, seed) => {
                    let (mut made, route) = (null_mut(), self.routes.get(*of));
                    let result = match seed {
                        Some(seed) => pointsman_picker_new_seeded(route, *seed, &mut made, error),
                        None => pointsman_picker_new(route, &mut made, error),
                    };
                    self.came(result);
                    self.pickers.keep(result, made);
                }
                Call::FreePicker(of) => pointsman_picker_free(self.pickers.take(*of)),
                Call::PickerPick(of, request, is_null) => {
                    let request = at(arena.request(request));
                    let mut pick = std::mem::zeroed();
                    let place = if *is_null { null_mut() } else { &raw mut pick };
                    self.came(pointsman_picker_pick(self.pickers.get(*of), request, place, error));
                }
                Call::PickerDistinct(of, request, room) => {
                    let request = at(arena.request(request));
                    let mut picks = [const { std::mem::zeroed() }; PLACES];
                    let (mut count, room) = (0, usize::from(*room) % (PLACES + 1));
                    let picker = self.pickers.get(*of);
                    self.came(pointsman_picker_pick_distinct(
                        picker,
                        request,
                        picks.as_mut_ptr(),
                        room,
                        &mut count,
                        error,
                    ));
                    assert!(count <= room);
                }
                Call::PickerTells(of, nth) => {
                    let (mut text, picker) = (pointsman_str::NONE, self.pickers.get(*of));
                    let result = pointsman_picker_id(picker, (*nth).into(), &mut text, error);
                    self.lent(result, text);
                    let result = pointsman_picker_address(picker, (*nth).into(), &mut text, error);
                    self.lent(result, text);
                }
                Call::PickerRests(of) => {
                    self.came(pointsman_picker_rest(self.pickers.get(*of), error));
                    self.came(pointsman_picker_refresh(self.pickers.get(*of), error));
                }
                Call::Lease(of, by_picker, request) => {
                    let request = at(arena.request(request));
                    let mut made = null_mut();
                    let result = match by_picker {
                        true => pointsman_picker_lease(self.pickers.get(*of), request, &mut made, error),
                        false => pointsman_route_lease(self.routes.get(*of), request, &mut made, error),
                    };
                    self.came(result);
                    self.leases.keep(result, made);
                }
                Call::LeaseTells(of, key, nth) => {
                    let (key, lease) = (string(arena.text(key)), self.leases.get(*of));
                    let (mut text, mut pick) = (pointsman_str::NONE, std::mem::zeroed());
                    self.came(pointsman_lease_pick(lease, &mut pick, error));
                    let result = pointsman_lease_id(lease, &mut text, error);
                    self.lent(result, text);
                    let result = pointsman_lease_tag(lease, key, (*nth).into(), &mut text, error);
                    self.lent(result, text);
                }
                Call::Done(of, outcome, latency) => {
                    let lease = self.leases.get(*of);
                    // A call that fails leaves the lease the caller's.
                    if self.came(pointsman_lease_done(lease, *outcome, *latency, error)) == POINTSMAN_OK {
                        self.leases.0.retain(|held| *held != lease);
                    }
                }
                Call::FreeLease(of) => pointsman_lease_free(self.leases.take(*of)),
            }
        }
    }

    unsafe fn change(&mut self, arena: &mut Arena, change: &Change) -> pointsman_result {
        let error: *mut pointsman_error = &mut *self.error;
        // SAFETY: the caller's.
        unsafe {
            match change {
                Change::Upsert(instance) => pointsman_edit_upsert(self.edit, at(arena.one(instance)), error),
                Change::Remove(id) => pointsman_edit_remove(self.edit, string(arena.text(id)), error),
                Change::Weight(id, weight) => {
                    pointsman_edit_set_weight(self.edit, string(arena.text(id)), *weight, error)
                }
                Change::Healthy(id, healthy) => {
                    pointsman_edit_set_healthy(self.edit, string(arena.text(id)), (*healthy).into(), error)
                }
                Change::Zone(id, zone) => {
                    let (id, zone) = (string(arena.text(id)), string(arena.text(zone)));
                    pointsman_edit_set_zone(self.edit, id, zone, error)
                }
            }
        }
    }

    /// In an order in which things are freed before what they came from, and after it.
    unsafe fn end(self) {
        // SAFETY: the caller's.
        unsafe {
            self.pools.0.into_iter().for_each(|handle| pointsman_pool_free(handle));
            self.leases.0.into_iter().for_each(|handle| pointsman_lease_free(handle));
            self.routes.0.into_iter().for_each(|handle| pointsman_route_free(handle));
            self.pickers.0.into_iter().for_each(|handle| pointsman_picker_free(handle));
            self.discoveries.0.into_iter().for_each(|handle| pointsman_discovery_free(handle));
            pointsman_edit_free(self.edit);
        }
    }
}
