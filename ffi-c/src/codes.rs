//! Numbers of the interface. Explicit, and a retired one is never used again.

/// What a call came to: `POINTSMAN_OK` or one of the codes below it. Ask `pointsman_result_name` for the name.
pub type pointsman_result = i32;

/// Done.
pub const POINTSMAN_OK: pointsman_result = 0;
/// A pointer that must not be NULL is.
pub const POINTSMAN_NULL: pointsman_result = 1;
/// A struct's `size` is not one that any version of the library has; most often the `..._INIT` macro was left out.
pub const POINTSMAN_BAD_SIZE: pointsman_result = 2;
/// A number is none of an enumeration's.
pub const POINTSMAN_BAD_ENUM: pointsman_result = 3;
/// Text is not UTF-8.
pub const POINTSMAN_BAD_UTF8: pointsman_result = 4;
/// A length or a count is beyond what the field can have.
pub const POINTSMAN_BAD_LENGTH: pointsman_result = 5;
/// A value is outside its limits. An update that has one is refused as a whole.
pub const POINTSMAN_BAD_VALUE: pointsman_result = 6;
/// What was asked for is not there.
pub const POINTSMAN_NOT_FOUND: pointsman_result = 7;
/// A route spec or a pool spec was refused; `field` is the place in it.
pub const POINTSMAN_BAD_SPEC: pointsman_result = 8;
/// A discovery document was refused; `field` is the place in it.
pub const POINTSMAN_BAD_DOCUMENT: pointsman_result = 9;
/// A bug of the library. The call did nothing that shows, and the handle works.
pub const POINTSMAN_PANIC: pointsman_result = 10;

/// No instance: the pool is empty.
pub const POINTSMAN_EMPTY: pointsman_result = 32;
/// No instance: none has what the tiers and the request ask for.
pub const POINTSMAN_NO_MATCH: pointsman_result = 33;
/// No instance: some match, but too few of them are available.
pub const POINTSMAN_UNAVAILABLE: pointsman_result = 34;
/// No instance: some match, and every one has weight zero.
pub const POINTSMAN_DRAINED: pointsman_result = 35;
/// No instance: some are available, and the request excludes them all.
pub const POINTSMAN_EXCLUDED: pointsman_result = 36;
/// No instance: some are available and not excluded, and each has as many requests in flight as it takes.
pub const POINTSMAN_SATURATED: pointsman_result = 37;

/// How a request ended, for `pointsman_lease_done`.
pub type pointsman_outcome = i32;

/// The instance answered.
pub const POINTSMAN_OUTCOME_SUCCESS: pointsman_outcome = 1;
/// The instance is to blame: refused, reset, timed out, an error of the server.
pub const POINTSMAN_OUTCOME_FAILURE: pointsman_outcome = 2;
/// It says nothing of the instance: the client went away, say.
pub const POINTSMAN_OUTCOME_CANCELLED: pointsman_outcome = 3;

/// A kind of discovery document.
pub type pointsman_format = i32;

/// Told from the content.
pub const POINTSMAN_FORMAT_AUTO: pointsman_format = 0;
/// Nacos instance lists: 1.x, 2.x and 3.x.
pub const POINTSMAN_FORMAT_NACOS: pointsman_format = 1;
/// Consul `/v1/health/service/:name`.
pub const POINTSMAN_FORMAT_CONSUL: pointsman_format = 2;
/// Kubernetes `EndpointSlice` and `EndpointSliceList`.
pub const POINTSMAN_FORMAT_KUBERNETES: pointsman_format = 3;
/// Eureka applications as JSON.
pub const POINTSMAN_FORMAT_EUREKA: pointsman_format = 4;
/// Lists of Spring `ServiceInstance`s.
pub const POINTSMAN_FORMAT_SPRING: pointsman_format = 5;
/// pointsman's own list.
pub const POINTSMAN_FORMAT_PLAIN: pointsman_format = 6;

/// A family of addresses.
pub type pointsman_address_family = i32;

/// IPv4 where there are such endpoints, else IPv6.
pub const POINTSMAN_FAMILY_ANY: pointsman_address_family = 0;
/// Addresses such as 10.0.0.1.
pub const POINTSMAN_FAMILY_IPV4: pointsman_address_family = 4;
/// Addresses such as 2001:db8::1.
pub const POINTSMAN_FAMILY_IPV6: pointsman_address_family = 6;

/// A flag of a pick: the request excluded the instance, and it was taken as a last resort.
pub const POINTSMAN_PICK_RELAXED: u32 = 1;
/// A flag of a pick: the route hashes keys and the request had none, so that the instance was drawn by weight.
pub const POINTSMAN_PICK_KEYLESS: u32 = 2;

/// Longest id, address, zone, tag or option, in bytes.
pub const POINTSMAN_MAX_NAME: usize = 1048576;
/// Longest document, spec or key, in bytes.
pub const POINTSMAN_MAX_TEXT: usize = 1073741824;
/// Most tags of an instance, and most tags, requirements or exclusions of a request, before repeated ones are merged.
pub const POINTSMAN_MAX_ITEMS: usize = 65536;
/// Most instances of a pool.
pub const POINTSMAN_MAX_INSTANCES: usize = 1000000;

/// `index` of an error that concerns no element of a list.
pub const POINTSMAN_NO_INDEX: usize = usize::MAX;
/// A latency that was not measured.
pub const POINTSMAN_NO_LATENCY: u64 = u64::MAX;
/// A time that does not come: the pool has nothing to do.
pub const POINTSMAN_NEVER: u64 = u64::MAX;
