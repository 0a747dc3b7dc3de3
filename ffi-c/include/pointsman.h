/**
 * @file pointsman.h
 * pointsman: given a service's instances, with weights, tags, zones, health and load, it says which one takes the next
 * request. It opens no socket and starts no thread.
 *
 * Made from the sources of the library; changes are overwritten.
 *
 * - Functions that can fail return a `pointsman_result` and take a `pointsman_error *` last, which may be NULL. Results are
 *   written only on success, the error only on failure.
 * - Every struct with a `size` is initialised by its `POINTSMAN_..._INIT`; a size of 0 is refused.
 * - Arguments must not be NULL unless their function says so. Texts are UTF-8 and are copied where they are kept.
 * - `..._new` gives a handle, `..._free` takes it back and accepts NULL. Handles may be freed in any order.
 * - Pools, routes and discoveries serve any number of threads at a time; pickers and edits one at a time, and what changes a
 *   discovery or ends a lease has it alone. Nothing is to be done at `fork`: a child draws other numbers than its parent.
 * - A panic, which is a bug, becomes `POINTSMAN_PANIC` and leaves the handle usable.
 */
#ifndef POINTSMAN_H
#define POINTSMAN_H


#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The version of this header, to be compared with `pointsman_version()`. */
#define POINTSMAN_VERSION_MAJOR 0
#define POINTSMAN_VERSION_MINOR 1
#define POINTSMAN_VERSION_PATCH 0
#define POINTSMAN_VERSION "0.1.0"
/** The ABI's number, that of the SONAME, apart from the version. To be compared with `pointsman_abi()`. */
#define POINTSMAN_ABI 1

/** `index` of an error that concerns no element of a list. */
#define POINTSMAN_NO_INDEX SIZE_MAX

/**
 * A flag of a pick: the request excluded the instance, and it was taken as a last resort.
 */
#define POINTSMAN_PICK_RELAXED 1

/**
 * A flag of a pick: the route hashes keys and the request had none, so that the instance was drawn by weight.
 */
#define POINTSMAN_PICK_KEYLESS 2

/**
 * Longest id, address, zone, tag or option, in bytes.
 */
#define POINTSMAN_MAX_NAME 1048576

/**
 * Longest document, spec or key, in bytes.
 */
#define POINTSMAN_MAX_TEXT 1073741824

/**
 * Most tags of an instance, and most tags, requirements or exclusions of a request, before repeated ones are merged.
 */
#define POINTSMAN_MAX_ITEMS 65536

/**
 * Most instances of a pool.
 */
#define POINTSMAN_MAX_INSTANCES 1000000



/**
 * A latency that was not measured.
 */
#define POINTSMAN_NO_LATENCY UINT64_MAX

/**
 * A time that does not come: the pool has nothing to do.
 */
#define POINTSMAN_NEVER UINT64_MAX

/**
 * The instances that a registry's document gave, and the report on how they came about.
 */
typedef struct pointsman_discovery pointsman_discovery;

/**
 * Records changes; `pointsman_pool_commit` applies them. Serves one thread at a time. Later changes see earlier ones.
 * Values are checked when they are recorded, and a bad one is not; that an id is in the pool is checked at the commit.
 */
typedef struct pointsman_edit pointsman_edit;

/**
 * A pick that is held until the request ends: counts as in flight, and keeps the instance's id, address and user data. May
 * end on another thread than it began on. Serves one thread at a time when it ends, any number before.
 */
typedef struct pointsman_lease pointsman_lease;

/**
 * One thread's private hand: its own generator, its own rotation cursors, and the list it last saw. The fastest way to pick,
 * and deterministic from a seed. May move between threads and serves one at a time.
 */
typedef struct pointsman_picker pointsman_picker;

/**
 * The instances of one service, their live state, and the routes compiled for them. Every call may come from any thread.
 */
typedef struct pointsman_pool pointsman_pool;

/**
 * A way to choose: a policy and an ordered list of tiers. Follows every update of its pool. Every call may come from any
 * thread, and none waits for an update. Picks do not allocate, but that a thread's first one may once, and requests or
 * results of more than 32 elements do; leases and strings are handles, which take memory.
 */
typedef struct pointsman_route pointsman_route;

/**
 * A text that the library made: JSON, which ends in a zero byte and holds none.
 */
typedef struct pointsman_string pointsman_string;

/**
 * What a call came to: `POINTSMAN_OK` or one of the codes below it. Ask `pointsman_result_name` for the name.
 */
typedef int32_t pointsman_result;

/**
 * UTF-8 text: a pointer and a length in bytes. It need not end in a zero byte and may hold some. A NULL pointer with length
 * 0 means that nothing is given; a pointer to no bytes is the empty text.
 */
typedef struct pointsman_str {
    /**
     * The first byte.
     */
    const char *data;
    /**
     * Number of bytes.
     */
    size_t len;
} pointsman_str;

/**
 * A kind of discovery document.
 */
typedef int32_t pointsman_format;

/**
 * A family of addresses.
 */
typedef int32_t pointsman_address_family;

/**
 * How to read a discovery document. What is left out is at its default.
 */
typedef struct pointsman_discovery_options {
    /**
     * Size of the struct, set by `POINTSMAN_DISCOVERY_OPTIONS_INIT`.
     */
    size_t size;
    /**
     * The service to take from a document that holds several.
     */
    struct pointsman_str service;
    /**
     * The port to take where an instance has several: its name, or its number.
     */
    struct pointsman_str port;
    /**
     * The metadata key whose number is the instance's load.
     */
    struct pointsman_str load_key;
    /**
     * The document's format, one of `POINTSMAN_FORMAT_...`.
     */
    pointsman_format format;
    /**
     * The family of the addresses to take, one of `POINTSMAN_FAMILY_...`.
     */
    pointsman_address_family address_family;
    /**
     * Leaves bad entries out and lists them in the report, where one of them would refuse the whole list.
     */
    bool lenient;
    /**
     * Takes an IP address before a host name.
     */
    bool prefer_ip;
    /**
     * Not used.
     */
    uint8_t reserved[6];
} pointsman_discovery_options;

/**
 * What went wrong, written by a call that fails. The caller's own, on the stack say; a call that succeeds leaves it alone.
 */
typedef struct pointsman_error {
    /**
     * Size of the struct, set by `POINTSMAN_ERROR_INIT`.
     */
    size_t size;
    /**
     * What the call returned.
     */
    pointsman_result code;
    /**
     * Where there is no instance: the branch of the split that came furthest. Else 0.
     */
    uint32_t branch;
    /**
     * The element of a list that is at fault, or the tier that came furthest where there is no instance. Else
     * `POINTSMAN_NO_INDEX`.
     */
    size_t index;
    /**
     * The argument, the field or the place in a document that is at fault; may be empty. Ends in a zero byte.
     */
    char field[64];
    /**
     * What is wrong, in English, with the value and the limit. Ends in a zero byte; a long one is cut.
     */
    char message[256];
} pointsman_error;

/**
 * Told of the user data of an instance that has left and that nothing can return any more. Called once for each, on the
 * thread of an edit, replace, tick or free, outside every lock: it may use the pool. It must not throw or jump out.
 */
typedef void (*pointsman_release)(uint64_t user_data, void *context);

/**
 * What a pool is made with, besides its instances.
 */
typedef struct pointsman_pool_options {
    /**
     * Size of the struct, set by `POINTSMAN_POOL_OPTIONS_INIT`.
     */
    size_t size;
    /**
     * Pool spec as JSON; left out, the defaults.
     */
    struct pointsman_str spec;
    /**
     * Makes every choice reproducible, also in forked children. Read only where `has_seed` is set. For tests.
     */
    uint64_t seed;
    /**
     * Told of user data that nothing can return any more; may be NULL.
     */
    pointsman_release release;
    /**
     * Handed to `release`.
     */
    void *release_context;
    /**
     * Whether `seed` is set.
     */
    bool has_seed;
    /**
     * Not used.
     */
    uint8_t reserved[7];
} pointsman_pool_options;

/**
 * A tag: a key and one of its values. A key with several values stands in several tags.
 */
typedef struct pointsman_tag {
    /**
     * The key. Any text, the empty one too.
     */
    struct pointsman_str key;
    /**
     * The value. Any text, the empty one too.
     */
    struct pointsman_str value;
} pointsman_tag;

/**
 * One address that can take requests. The library copies what it needs.
 */
typedef struct pointsman_instance {
    /**
     * Size of the struct, set by `POINTSMAN_INSTANCE_INIT`.
     */
    size_t size;
    /**
     * Identity; left out, the address. Two instances with one id are the same instance.
     */
    struct pointsman_str id;
    /**
     * Where requests go, at least one byte. The engine never looks inside.
     */
    struct pointsman_str address;
    /**
     * Where the instance runs; may be left out.
     */
    struct pointsman_str zone;
    /**
     * `tag_count` tags, at most 64 different ones.
     */
    const struct pointsman_tag *tags;
    /**
     * Number of tags.
     */
    size_t tag_count;
    /**
     * Share of the traffic relative to the other instances: finite, not negative. 0 drains.
     */
    double weight;
    /**
     * Load that the registry reports, finite and not negative. Read only where `has_load` is set.
     */
    double load;
    /**
     * The host's own number or pointer, which comes back with every pick.
     */
    uint64_t user_data;
    /**
     * Most leases at one time; 0 is no limit.
     */
    uint32_t max_in_flight;
    /**
     * Whether health checks pass.
     */
    bool healthy;
    /**
     * Whether the instance may be used at all.
     */
    bool enabled;
    /**
     * Whether `load` is set. A list that sets none leaves the last report.
     */
    bool has_load;
    /**
     * Not used.
     */
    uint8_t reserved;
} pointsman_instance;

/**
 * What the caller knows of the request that is to be sent. NULL in its place, and every field left out, means no
 * constraints.
 */
typedef struct pointsman_request {
    /**
     * Size of the struct, set by `POINTSMAN_REQUEST_INIT`.
     */
    size_t size;
    /**
     * What the request is. Only keys that a tier's `match` names are read; tags with one key are alternatives.
     */
    const struct pointsman_tag *tags;
    /**
     * Number of tags.
     */
    size_t tag_count;
    /**
     * What the instance must have, in every tier, for this pick; tags with one key are alternatives.
     */
    const struct pointsman_tag *require;
    /**
     * Number of requirements.
     */
    size_t require_count;
    /**
     * Ids to keep away from. Up to 32 cost little.
     */
    const struct pointsman_str *exclude;
    /**
     * Number of ids.
     */
    size_t exclude_count;
    /**
     * Bytes that a hash policy or a split by key uses; NULL is no key.
     */
    const void *key;
    /**
     * Number of bytes.
     */
    size_t key_len;
    /**
     * An id to take where it is eligible; may be left out.
     */
    struct pointsman_str prefer;
    /**
     * Whether excluded instances may be taken as a last resort, which marks the pick.
     */
    bool relax;
    /**
     * Not used.
     */
    uint8_t reserved[7];
} pointsman_request;

/**
 * The answer, by value. Nothing in it points into the library.
 */
typedef struct pointsman_pick {
    /**
     * The host's own number of the instance. Memory that it names may be freed by `release`; take a lease or a picker then.
     */
    uint64_t user_data;
    /**
     * The version of the list it was picked from.
     */
    uint64_t version;
    /**
     * The instance's position in that list.
     */
    uint32_t index;
    /**
     * `POINTSMAN_PICK_...` flags.
     */
    uint32_t flags;
    /**
     * The tier that was used, by its position in the route or the branch.
     */
    uint16_t tier;
    /**
     * The branch of the split; 0 where the route has none.
     */
    uint16_t branch;
    /**
     * Not used; 0.
     */
    uint32_t reserved;
} pointsman_pick;

/**
 * How a request ended, for `pointsman_lease_done`.
 */
typedef int32_t pointsman_outcome;

/**
 * Done.
 */
#define POINTSMAN_OK 0

/**
 * A pointer that must not be NULL is.
 */
#define POINTSMAN_NULL 1

/**
 * A struct's `size` is not one that any version of the library has; most often the `..._INIT` macro was left out.
 */
#define POINTSMAN_BAD_SIZE 2

/**
 * A number is none of an enumeration's.
 */
#define POINTSMAN_BAD_ENUM 3

/**
 * Text is not UTF-8.
 */
#define POINTSMAN_BAD_UTF8 4

/**
 * A length or a count is beyond what the field can have.
 */
#define POINTSMAN_BAD_LENGTH 5

/**
 * A value is outside its limits. An update that has one is refused as a whole.
 */
#define POINTSMAN_BAD_VALUE 6

/**
 * What was asked for is not there.
 */
#define POINTSMAN_NOT_FOUND 7

/**
 * A route spec or a pool spec was refused; `field` is the place in it.
 */
#define POINTSMAN_BAD_SPEC 8

/**
 * A discovery document was refused; `field` is the place in it.
 */
#define POINTSMAN_BAD_DOCUMENT 9

/**
 * A bug of the library. The call did nothing that shows, and the handle works.
 */
#define POINTSMAN_PANIC 10

/**
 * No instance: the pool is empty.
 */
#define POINTSMAN_EMPTY 32

/**
 * No instance: none has what the tiers and the request ask for.
 */
#define POINTSMAN_NO_MATCH 33

/**
 * No instance: some match, but too few of them are available.
 */
#define POINTSMAN_UNAVAILABLE 34

/**
 * No instance: some match, and every one has weight zero.
 */
#define POINTSMAN_DRAINED 35

/**
 * No instance: some are available, and the request excludes them all.
 */
#define POINTSMAN_EXCLUDED 36

/**
 * No instance: some are available and not excluded, and each has as many requests in flight as it takes.
 */
#define POINTSMAN_SATURATED 37

/**
 * The instance answered.
 */
#define POINTSMAN_OUTCOME_SUCCESS 1

/**
 * The instance is to blame: refused, reset, timed out, an error of the server.
 */
#define POINTSMAN_OUTCOME_FAILURE 2

/**
 * It says nothing of the instance: the client went away, say.
 */
#define POINTSMAN_OUTCOME_CANCELLED 3

/**
 * Told from the content.
 */
#define POINTSMAN_FORMAT_AUTO 0

/**
 * Nacos instance lists: 1.x, 2.x and 3.x.
 */
#define POINTSMAN_FORMAT_NACOS 1

/**
 * Consul `/v1/health/service/:name`.
 */
#define POINTSMAN_FORMAT_CONSUL 2

/**
 * Kubernetes `EndpointSlice` and `EndpointSliceList`.
 */
#define POINTSMAN_FORMAT_KUBERNETES 3

/**
 * Eureka applications as JSON.
 */
#define POINTSMAN_FORMAT_EUREKA 4

/**
 * Lists of Spring `ServiceInstance`s.
 */
#define POINTSMAN_FORMAT_SPRING 5

/**
 * pointsman's own list.
 */
#define POINTSMAN_FORMAT_PLAIN 6

/**
 * IPv4 where there are such endpoints, else IPv6.
 */
#define POINTSMAN_FAMILY_ANY 0

/**
 * Addresses such as 10.0.0.1.
 */
#define POINTSMAN_FAMILY_IPV4 4

/**
 * Addresses such as 2001:db8::1.
 */
#define POINTSMAN_FAMILY_IPV6 6

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that runs, `POINTSMAN_VERSION` of its own header. Never NULL, never freed.
 */
const char *pointsman_version(void);

/**
 * The ABI's number of the library that runs, `POINTSMAN_ABI` of its own header.
 */
uint32_t pointsman_abi(void);

/**
 * The name of a result, `POINTSMAN_OK` say. Never NULL, never freed.
 */
const char *pointsman_result_name(pointsman_result result);

/**
 * The text, which ends in a zero byte; valid until the string is freed. NULL for NULL.
 */
const char *pointsman_string_data(const struct pointsman_string *string);

/**
 * Number of bytes before the zero byte. 0 for NULL.
 */
size_t pointsman_string_len(const struct pointsman_string *string);

/**
 * Frees the string.
 */
void pointsman_string_free(struct pointsman_string *string);

/**
 * Reads a discovery document. `options` may be NULL: the format is told from the content then.
 */
pointsman_result pointsman_discovery_parse(struct pointsman_str document,
                                           const struct pointsman_discovery_options *options,
                                           struct pointsman_discovery **discovery,
                                           struct pointsman_error *error);

/**
 * Frees it. Pools have copied what they need.
 */
void pointsman_discovery_free(struct pointsman_discovery *discovery);

/**
 * Number of instances.
 */
pointsman_result pointsman_discovery_len(const struct pointsman_discovery *discovery,
                                         size_t *len,
                                         struct pointsman_error *error);

/**
 * The id of the instance at a position; valid until the discovery is freed.
 */
pointsman_result pointsman_discovery_id(const struct pointsman_discovery *discovery,
                                        size_t index,
                                        struct pointsman_str *id,
                                        struct pointsman_error *error);

/**
 * The address of the instance at a position; valid until the discovery is freed.
 */
pointsman_result pointsman_discovery_address(const struct pointsman_discovery *discovery,
                                             size_t index,
                                             struct pointsman_str *address,
                                             struct pointsman_error *error);

/**
 * Sets the host's own number of the instance at a position, before the list goes to a pool.
 */
pointsman_result pointsman_discovery_set_user_data(struct pointsman_discovery *discovery,
                                                   size_t index,
                                                   uint64_t user_data,
                                                   struct pointsman_error *error);

/**
 * What was taken, merged and left out, as a JSON object.
 */
pointsman_result pointsman_discovery_report(const struct pointsman_discovery *discovery,
                                            struct pointsman_string **json,
                                            struct pointsman_error *error);

/**
 * The instances as pointsman's own JSON list.
 */
pointsman_result pointsman_discovery_instances(const struct pointsman_discovery *discovery,
                                               struct pointsman_string **json,
                                               struct pointsman_error *error);

/**
 * Makes a pool of `count` instances, which are copied. `options` may be NULL.
 */
pointsman_result pointsman_pool_new(const struct pointsman_pool_options *options,
                                    const struct pointsman_instance *instances,
                                    size_t count,
                                    struct pointsman_pool **pool,
                                    struct pointsman_error *error);

/**
 * Makes a pool of the instances that a discovery document gave. `options` may be NULL.
 */
pointsman_result pointsman_pool_new_discovered(const struct pointsman_pool_options *options,
                                               const struct pointsman_discovery *discovery,
                                               struct pointsman_pool **pool,
                                               struct pointsman_error *error);

/**
 * Frees the handle. Routes, pickers and leases keep what they need of the pool.
 */
void pointsman_pool_free(struct pointsman_pool *pool);

/**
 * Replaces the list, all of it or nothing. `version`, which may be NULL, gets the version in force afterwards; an
 * identical list leaves it.
 */
pointsman_result pointsman_pool_replace(struct pointsman_pool *pool,
                                        const struct pointsman_instance *instances,
                                        size_t count,
                                        uint64_t *version,
                                        struct pointsman_error *error);

/**
 * The same with the instances that a discovery document gave.
 */
pointsman_result pointsman_pool_replace_discovered(struct pointsman_pool *pool,
                                                   const struct pointsman_discovery *discovery,
                                                   uint64_t *version,
                                                   struct pointsman_error *error);

/**
 * Applies the changes that `edit` has recorded, all of them or nothing, and empties it either way; it can record others
 * then. `version`, which may be NULL, gets the version in force afterwards.
 */
pointsman_result pointsman_pool_commit(struct pointsman_pool *pool,
                                       struct pointsman_edit *edit,
                                       uint64_t *version,
                                       struct pointsman_error *error);

/**
 * The version in force: 1 at creation, one more for each change of the list.
 */
pointsman_result pointsman_pool_version(const struct pointsman_pool *pool,
                                        uint64_t *version,
                                        struct pointsman_error *error);

/**
 * Number of instances.
 */
pointsman_result pointsman_pool_len(const struct pointsman_pool *pool,
                                    size_t *len,
                                    struct pointsman_error *error);

/**
 * The list in force as pointsman's own JSON list, which `pointsman_discovery_parse` reads back.
 */
pointsman_result pointsman_pool_instances(const struct pointsman_pool *pool,
                                          struct pointsman_string **json,
                                          struct pointsman_error *error);

/**
 * One instance in the same form, as a list of one. `POINTSMAN_NOT_FOUND` where no instance has the id.
 */
pointsman_result pointsman_pool_instance(const struct pointsman_pool *pool,
                                         struct pointsman_str id,
                                         struct pointsman_string **json,
                                         struct pointsman_error *error);

/**
 * Version, age, whether the list is stale, the last refused update, and sizes, as a JSON object.
 */
pointsman_result pointsman_pool_status(const struct pointsman_pool *pool,
                                       struct pointsman_string **json,
                                       struct pointsman_error *error);

/**
 * The pool spec as JSON, fields at their defaults left out.
 */
pointsman_result pointsman_pool_spec(const struct pointsman_pool *pool,
                                     struct pointsman_string **json,
                                     struct pointsman_error *error);

/**
 * Values that wait to be freed by the next update or tick, or when the last pick that reads them is over.
 */
pointsman_result pointsman_pool_retired(const struct pointsman_pool *pool,
                                        size_t *count,
                                        struct pointsman_error *error);

/**
 * Sets an instance's reported load, without a publish. `POINTSMAN_NOT_FOUND` where no instance has the id.
 */
pointsman_result pointsman_pool_report_load(struct pointsman_pool *pool,
                                            struct pointsman_str id,
                                            double load,
                                            struct pointsman_error *error);

/**
 * The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
 */
pointsman_result pointsman_pool_report_load_at(struct pointsman_pool *pool,
                                               struct pointsman_str id,
                                               double load,
                                               uint64_t now_ns,
                                               struct pointsman_error *error);

/**
 * Sets the reported loads of `count` ids, all or none.
 */
pointsman_result pointsman_pool_report_loads(struct pointsman_pool *pool,
                                             const struct pointsman_str *ids,
                                             const double *loads,
                                             size_t count,
                                             struct pointsman_error *error);

/**
 * Does what time demands: ejections, returns, ramps, and freeing what nobody reads. `wait_ns`, which may be NULL, gets
 * the time until the pool next has work, or `POINTSMAN_NEVER`. Without ticks nothing is ejected or ramped.
 */
pointsman_result pointsman_pool_tick(struct pointsman_pool *pool,
                                     uint64_t *wait_ns,
                                     struct pointsman_error *error);

/**
 * The same at a given time, in nanoseconds since the pool was made; `next_ns`, which may be NULL, gets the time at which
 * it next has work, or `POINTSMAN_NEVER`.
 */
pointsman_result pointsman_pool_tick_at(struct pointsman_pool *pool,
                                        uint64_t now_ns,
                                        uint64_t *next_ns,
                                        struct pointsman_error *error);

/**
 * Whether a failure limit was reached, so that a tick has work at once. One relaxed load.
 */
pointsman_result pointsman_pool_tick_due(const struct pointsman_pool *pool,
                                         bool *due,
                                         struct pointsman_error *error);

/**
 * Makes an edit without changes.
 */
pointsman_result pointsman_edit_new(struct pointsman_edit **edit, struct pointsman_error *error);

/**
 * Frees the edit; what it has recorded and was not committed has no effect.
 */
void pointsman_edit_free(struct pointsman_edit *edit);

/**
 * Adds an instance behind the others, or puts it in place of the one with its id.
 */
pointsman_result pointsman_edit_upsert(struct pointsman_edit *edit,
                                       const struct pointsman_instance *instance,
                                       struct pointsman_error *error);

/**
 * Takes an instance out.
 */
pointsman_result pointsman_edit_remove(struct pointsman_edit *edit,
                                       struct pointsman_str id,
                                       struct pointsman_error *error);

/**
 * Sets the weight; 0 drains.
 */
pointsman_result pointsman_edit_set_weight(struct pointsman_edit *edit,
                                           struct pointsman_str id,
                                           double weight,
                                           struct pointsman_error *error);

/**
 * Sets whether health checks pass.
 */
pointsman_result pointsman_edit_set_healthy(struct pointsman_edit *edit,
                                            struct pointsman_str id,
                                            bool healthy,
                                            struct pointsman_error *error);

/**
 * Sets whether the instance may be used at all.
 */
pointsman_result pointsman_edit_set_enabled(struct pointsman_edit *edit,
                                            struct pointsman_str id,
                                            bool enabled,
                                            struct pointsman_error *error);

/**
 * Sets all tags, `count` of them.
 */
pointsman_result pointsman_edit_set_tags(struct pointsman_edit *edit,
                                         struct pointsman_str id,
                                         const struct pointsman_tag *tags,
                                         size_t count,
                                         struct pointsman_error *error);

/**
 * Sets the zone; one that is left out is no zone.
 */
pointsman_result pointsman_edit_set_zone(struct pointsman_edit *edit,
                                         struct pointsman_str id,
                                         struct pointsman_str zone,
                                         struct pointsman_error *error);

/**
 * Compiles a route for the pool's list from a route spec as JSON.
 */
pointsman_result pointsman_route_new(struct pointsman_pool *pool,
                                     struct pointsman_str spec,
                                     struct pointsman_route **route,
                                     struct pointsman_error *error);

/**
 * Frees the handle. Pickers and leases keep what they need of the route.
 */
void pointsman_route_free(struct pointsman_route *route);

/**
 * Picks an instance from the list in force. `request` may be NULL. Never calls `release`.
 */
pointsman_result pointsman_route_pick(const struct pointsman_route *route,
                                      const struct pointsman_request *request,
                                      struct pointsman_pick *pick,
                                      struct pointsman_error *error);

/**
 * Fills `picks`, which has room for `room`, with different instances in the order of drawing without replacement, and
 * `count` with their number, which is smaller where there are no more. `request` may be NULL.
 */
pointsman_result pointsman_route_pick_distinct(const struct pointsman_route *route,
                                               const struct pointsman_request *request,
                                               struct pointsman_pick *picks,
                                               size_t room,
                                               size_t *count,
                                               struct pointsman_error *error);

/**
 * Tier by tier, what the request finds and why, as a JSON object. `request` may be NULL. O(n).
 */
pointsman_result pointsman_route_explain(const struct pointsman_route *route,
                                         const struct pointsman_request *request,
                                         struct pointsman_string **json,
                                         struct pointsman_error *error);

/**
 * The exact share of every instance that such requests can be given, in list order, as a JSON list of objects with `id`
 * and `share`. `request` may be NULL. O(n).
 */
pointsman_result pointsman_route_shares(const struct pointsman_route *route,
                                        const struct pointsman_request *request,
                                        struct pointsman_string **json,
                                        struct pointsman_error *error);

/**
 * How often each tier was used and each reason given, as a JSON object; `null` unless the spec asks for counters.
 */
pointsman_result pointsman_route_counters(const struct pointsman_route *route,
                                          struct pointsman_string **json,
                                          struct pointsman_error *error);

/**
 * The route spec as JSON, fields at their defaults left out.
 */
pointsman_result pointsman_route_spec(const struct pointsman_route *route,
                                      struct pointsman_string **json,
                                      struct pointsman_error *error);

/**
 * The name of a tier, empty where it has none; valid until the route is freed.
 */
pointsman_result pointsman_route_tier_name(const struct pointsman_route *route,
                                           size_t branch,
                                           size_t tier,
                                           struct pointsman_str *name,
                                           struct pointsman_error *error);

/**
 * The name of a branch of the split, empty where it has none; valid until the route is freed.
 */
pointsman_result pointsman_route_branch_name(const struct pointsman_route *route,
                                             size_t branch,
                                             struct pointsman_str *name,
                                             struct pointsman_error *error);

/**
 * Puts the shared positions of every set at a turn of their cycles; turn 0 is the canonical start. For tests.
 */
pointsman_result pointsman_route_start_at(const struct pointsman_route *route,
                                          uint64_t turn,
                                          struct pointsman_error *error);

/**
 * Makes a picker with a seed that nobody else has. A forked child draws other numbers than its parent.
 */
pointsman_result pointsman_picker_new(const struct pointsman_route *route,
                                      struct pointsman_picker **picker,
                                      struct pointsman_error *error);

/**
 * Makes a deterministic picker: the same seed, commits and requests give the same picks, in every language.
 */
pointsman_result pointsman_picker_new_seeded(const struct pointsman_route *route,
                                             uint64_t seed,
                                             struct pointsman_picker **picker,
                                             struct pointsman_error *error);

/**
 * Frees the picker.
 */
void pointsman_picker_free(struct pointsman_picker *picker);

/**
 * Lets every cursor that was not used yet begin at this turn of its cycle; turn 0 is the canonical start.
 */
pointsman_result pointsman_picker_start_at(struct pointsman_picker *picker,
                                           uint64_t turn,
                                           struct pointsman_error *error);

/**
 * Picks an instance from the list in force. `request` may be NULL. Never calls `release`.
 */
pointsman_result pointsman_picker_pick(struct pointsman_picker *picker,
                                       const struct pointsman_request *request,
                                       struct pointsman_pick *pick,
                                       struct pointsman_error *error);

/**
 * Fills `picks` with different instances, as `pointsman_route_pick_distinct` does.
 */
pointsman_result pointsman_picker_pick_distinct(struct pointsman_picker *picker,
                                                const struct pointsman_request *request,
                                                struct pointsman_pick *picks,
                                                size_t room,
                                                size_t *count,
                                                struct pointsman_error *error);

/**
 * The id of the instance that was last picked; of the `nth` behind `pick_distinct`, from 0. Valid until the next call on
 * the picker that is not one of these two. `POINTSMAN_NOT_FOUND` where there is none.
 */
pointsman_result pointsman_picker_id(struct pointsman_picker *picker,
                                     size_t nth,
                                     struct pointsman_str *id,
                                     struct pointsman_error *error);

/**
 * Its address, in the same way.
 */
pointsman_result pointsman_picker_address(struct pointsman_picker *picker,
                                          size_t nth,
                                          struct pointsman_str *address,
                                          struct pointsman_error *error);

/**
 * Picks an instance and holds it until the request ends, as `pointsman_route_lease` does.
 */
pointsman_result pointsman_picker_lease(struct pointsman_picker *picker,
                                        const struct pointsman_request *request,
                                        struct pointsman_lease **lease,
                                        struct pointsman_error *error);

/**
 * Takes up the list in force, and lets go of the last pick.
 */
pointsman_result pointsman_picker_refresh(struct pointsman_picker *picker, struct pointsman_error *error);

/**
 * Lets go of the last pick and of the list it came from. Call it before a picker idles.
 */
pointsman_result pointsman_picker_rest(struct pointsman_picker *picker, struct pointsman_error *error);

/**
 * Picks an instance and holds it until the request ends. `request` may be NULL.
 */
pointsman_result pointsman_route_lease(const struct pointsman_route *route,
                                       const struct pointsman_request *request,
                                       struct pointsman_lease **lease,
                                       struct pointsman_error *error);

/**
 * Ends the request, reports how it went, and frees the lease. `latency_ns` is the time until the answer, or
 * `POINTSMAN_NO_LATENCY`. On an error the lease is as it was and still the caller's.
 */
pointsman_result pointsman_lease_done(struct pointsman_lease *lease,
                                      pointsman_outcome outcome,
                                      uint64_t latency_ns,
                                      struct pointsman_error *error);

/**
 * The same at a given time, in nanoseconds since the pool was made. A step back is ignored.
 */
pointsman_result pointsman_lease_done_at(struct pointsman_lease *lease,
                                         pointsman_outcome outcome,
                                         uint64_t latency_ns,
                                         uint64_t now_ns,
                                         struct pointsman_error *error);

/**
 * Ends the request as cancelled and frees the lease.
 */
void pointsman_lease_free(struct pointsman_lease *lease);

/**
 * What `pointsman_route_pick` would have filled in.
 */
pointsman_result pointsman_lease_pick(const struct pointsman_lease *lease,
                                      struct pointsman_pick *pick,
                                      struct pointsman_error *error);

/**
 * The instance's id; valid until the lease ends.
 */
pointsman_result pointsman_lease_id(const struct pointsman_lease *lease,
                                    struct pointsman_str *id,
                                    struct pointsman_error *error);

/**
 * The instance's address; valid until the lease ends.
 */
pointsman_result pointsman_lease_address(const struct pointsman_lease *lease,
                                         struct pointsman_str *address,
                                         struct pointsman_error *error);

/**
 * The instance's zone, with a NULL pointer where it has none; valid until the lease ends.
 */
pointsman_result pointsman_lease_zone(const struct pointsman_lease *lease,
                                      struct pointsman_str *zone,
                                      struct pointsman_error *error);

/**
 * The `nth` value of a tag's key, from 0, sorted; valid until the lease ends. `POINTSMAN_NOT_FOUND` where there is none.
 */
pointsman_result pointsman_lease_tag(const struct pointsman_lease *lease,
                                     struct pointsman_str key,
                                     size_t nth,
                                     struct pointsman_str *value,
                                     struct pointsman_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

/* Initialisers: for `T name = ..._INIT;`. */

#define POINTSMAN_ERROR_INIT { sizeof(pointsman_error), POINTSMAN_OK, 0, POINTSMAN_NO_INDEX, { 0 }, { 0 } }
#define POINTSMAN_INSTANCE_INIT { sizeof(pointsman_instance), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL, 0, 1.0, 0.0, 0, 0, true, true, false, 0 }
#define POINTSMAN_REQUEST_INIT { sizeof(pointsman_request), NULL, 0, NULL, 0, NULL, 0, NULL, 0, { NULL, 0 }, false, { 0 } }
#define POINTSMAN_POOL_OPTIONS_INIT { sizeof(pointsman_pool_options), { NULL, 0 }, 0, NULL, NULL, false, { 0 } }
#define POINTSMAN_DISCOVERY_OPTIONS_INIT { sizeof(pointsman_discovery_options), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, POINTSMAN_FORMAT_AUTO, POINTSMAN_FAMILY_ANY, false, false, { 0 } }

/** A `pointsman_str` of a literal: as an argument, or in an assignment. */
#ifdef __cplusplus
#define POINTSMAN_STR(literal) (pointsman_str { "" literal, sizeof(literal) - 1 })
#else
#define POINTSMAN_STR(literal) ((pointsman_str) { "" literal, sizeof(literal) - 1 })
#endif

/** The same as an initialiser of a field, also in static storage. */
#define POINTSMAN_STR_INIT(literal) { "" literal, sizeof(literal) - 1 }

/** A `pointsman_str` of a text that ends in a zero byte; nothing given for NULL. */
static inline pointsman_str pointsman_str_of(const char *text)
{
    pointsman_str str = { text, 0 };
    if (text != NULL)
        str.len = strlen(text);
    return str;
}

/** Whether a result says that no instance can take the request. */
static inline bool pointsman_is_no_instance(pointsman_result result)
{
    return result >= POINTSMAN_EMPTY && result <= POINTSMAN_SATURATED;
}

#endif /* POINTSMAN_H */
