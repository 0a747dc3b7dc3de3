/* The vectors of core/tests/vectors, from C: each case is run as its steps say, and gives what they promise. */

#include <dirent.h>
#include <math.h>

#include <jansson.h>

#include "check.h"

#define MOST 256
#define ROOM 16

typedef struct world {
    pointsman_pool *pool;
    size_t route_count, picker_count, lease_count;
    pointsman_route *routes[ROOM];
    pointsman_picker *pickers[ROOM];
    pointsman_lease *leases[MOST];
    const char *lease_names[MOST];
} world;

/* The ids by user data. */
static char ids[MOST][64];
static size_t id_count;
/* Where the parts of one call are built. */
static pointsman_tag tag_room[MOST];
static size_t tags_used;
static pointsman_error error = POINTSMAN_ERROR_INIT;

static pointsman_str str_of(const json_t *text)
{
    pointsman_str str = {json_string_value(text), json_string_length(text)};
    return str;
}

static size_t size_of(const json_t *object, const char *field)
{
    return (size_t)json_integer_value(json_object_get(object, field));
}

static double number_of(const json_t *object, const char *field, double otherwise)
{
    json_t *number = json_object_get(object, field);
    return number == NULL ? otherwise : json_number_value(number);
}

static bool flag_of(const json_t *object, const char *field, bool otherwise)
{
    json_t *flag = json_object_get(object, field);
    return flag == NULL ? otherwise : json_is_true(flag);
}

static uint64_t seed_of(const json_t *object)
{
    return strtoull(json_string_value(json_object_get(object, "seed")), NULL, 10);
}

static void add_tag(const char *key, const json_t *value)
{
    CHECK(tags_used < MOST);
    tag_room[tags_used].key = pointsman_str_of(key);
    tag_room[tags_used++].value = str_of(value);
}

/* The pairs of an object whose values are texts or lists of them. */
static const pointsman_tag *tags_of(json_t *object, size_t *count)
{
    size_t begin = tags_used, at;
    const char *key;
    json_t *values, *value;

    json_object_foreach(object, key, values) {
        if (json_is_string(values)) {
            add_tag(key, values);
            continue;
        }
        json_array_foreach(values, at, value) add_tag(key, value);
    }
    *count = tags_used - begin;
    return &tag_room[begin];
}

static uint64_t user_data_of(pointsman_str id)
{
    for (size_t at = 0; at < id_count; at++)
        if (str_is(id, ids[at])) return at;
    CHECK(id_count < MOST && id.len < sizeof ids[0]);
    memcpy(ids[id_count], id.data, id.len);
    ids[id_count][id.len] = 0;
    return id_count++;
}

static pointsman_instance described(json_t *json)
{
    pointsman_instance instance = POINTSMAN_INSTANCE_INIT;
    json_t *id = json_object_get(json, "id"), *zone = json_object_get(json, "zone");

    instance.address = str_of(json_object_get(json, "address"));
    if (id != NULL) instance.id = str_of(id);
    if (zone != NULL) instance.zone = str_of(zone);
    instance.tags = tags_of(json_object_get(json, "tags"), &instance.tag_count);
    instance.weight = number_of(json, "weight", 1);
    instance.has_load = json_object_get(json, "load") != NULL;
    instance.load = number_of(json, "load", 0);
    instance.max_in_flight = (uint32_t)size_of(json, "max_in_flight");
    instance.healthy = flag_of(json, "healthy", true);
    instance.enabled = flag_of(json, "enabled", true);
    instance.user_data = user_data_of(id != NULL ? instance.id : instance.address);
    return instance;
}

static size_t all_described(json_t *list, pointsman_instance *instances)
{
    size_t at;
    json_t *one;

    tags_used = 0;
    json_array_foreach(list, at, one) {
        CHECK(at < MOST);
        instances[at] = described(one);
    }
    return json_array_size(list);
}

static pointsman_request requested(json_t *json, const json_t *key)
{
    static pointsman_str excluded[MOST];
    pointsman_request request = POINTSMAN_REQUEST_INIT;
    json_t *exclude = json_object_get(json, "exclude"), *id;
    size_t at;

    tags_used = 0;
    request.tags = tags_of(json_object_get(json, "tags"), &request.tag_count);
    request.require = tags_of(json_object_get(json, "require"), &request.require_count);
    json_array_foreach(exclude, at, id) {
        CHECK(at < MOST);
        excluded[at] = str_of(id);
    }
    request.exclude = excluded;
    request.exclude_count = json_array_size(exclude);
    if (key == NULL) key = json_object_get(json, "key");
    if (key != NULL) {
        request.key = json_string_value(key);
        request.key_len = json_string_length(key);
    }
    if (json_object_get(json, "prefer") != NULL) request.prefer = str_of(json_object_get(json, "prefer"));
    request.relax = flag_of(json, "relax", false);
    return request;
}

static void open_case(world *world, json_t *json)
{
    static pointsman_instance instances[MOST];
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    json_t *spec = json_object_get(json, "pool"), *one;
    char *text = spec == NULL ? NULL : json_dumps(spec, 0);
    size_t count = all_described(json_object_get(json, "instances"), instances), at;

    memset(world, 0, sizeof *world);
    options.spec = pointsman_str_of(text);
    options.has_seed = json_object_get(json, "seed") != NULL;
    if (options.has_seed) options.seed = seed_of(json);
    OK(pointsman_pool_new(&options, instances, count, &world->pool, &error));
    free(text);
    json_array_foreach(json_object_get(json, "routes"), at, one) {
        CHECK(at < ROOM);
        text = json_dumps(one, 0);
        OK(pointsman_route_new(world->pool, pointsman_str_of(text), &world->routes[at], &error));
        free(text);
        world->route_count++;
    }
    json_array_foreach(json_object_get(json, "pickers"), at, one) {
        const pointsman_route *route = world->routes[size_of(one, "route")];
        CHECK(at < ROOM);
        OK(pointsman_picker_new_seeded(route, seed_of(one), &world->pickers[at], &error));
        world->picker_count++;
    }
}

static void close_case(world *world)
{
    for (size_t at = 0; at < world->lease_count; at++) pointsman_lease_free(world->leases[at]);
    for (size_t at = 0; at < world->picker_count; at++) pointsman_picker_free(world->pickers[at]);
    for (size_t at = 0; at < world->route_count; at++) pointsman_route_free(world->routes[at]);
    pointsman_pool_free(world->pool);
}

/* `id@branch.tier`, with ` relaxed` behind it where that is so; `!reason@branch.tier` where there is no instance. */
static json_t *outcome_of(pointsman_result result, const pointsman_pick *pick)
{
    static const char *const reasons[] = {"empty", "no_match", "unavailable", "drained", "excluded", "saturated"};

    if (pointsman_is_no_instance(result))
        return json_sprintf("!%s@%u.%zu", reasons[result - POINTSMAN_EMPTY], (unsigned)error.branch, error.index);
    OK(result);
    return json_sprintf("%s@%u.%u%s", ids[pick->user_data], (unsigned)pick->branch, (unsigned)pick->tier,
                        pick->flags & POINTSMAN_PICK_RELAXED ? " relaxed" : "");
}

static json_t *pick(world *world, json_t *step, const json_t *key)
{
    pointsman_request request = requested(json_object_get(step, "request"), key);
    pointsman_pick found;
    pointsman_result result =
        json_object_get(step, "picker") != NULL
            ? pointsman_picker_pick(world->pickers[size_of(step, "picker")], &request, &found, &error)
            : pointsman_route_pick(world->routes[size_of(step, "route")], &request, &found, &error);
    return outcome_of(result, &found);
}

static json_t *picks(world *world, json_t *step)
{
    json_t *outcomes = json_array(), *keys = json_object_get(step, "keys"), *key;
    size_t at, times = size_of(step, "times");

    json_array_foreach(keys, at, key) json_array_append_new(outcomes, pick(world, step, key));
    for (at = 0; keys == NULL && at < times; at++) json_array_append_new(outcomes, pick(world, step, NULL));
    return outcomes;
}

static json_t *distinct(world *world, json_t *step)
{
    pointsman_request request = requested(json_object_get(step, "request"), NULL);
    const pointsman_route *route = world->routes[size_of(step, "route")];
    pointsman_pick found[ROOM];
    size_t count, room = size_of(step, "times");
    json_t *outcomes = json_array();
    pointsman_result result;

    CHECK(room <= ROOM);
    result = pointsman_route_pick_distinct(route, &request, found, room, &count, &error);
    if (result != POINTSMAN_OK) {
        json_array_append_new(outcomes, outcome_of(result, NULL));
        return outcomes;
    }
    for (size_t at = 0; at < count; at++) json_array_append_new(outcomes, json_string(ids[found[at].user_data]));
    return outcomes;
}

static json_t *leases(world *world, json_t *step)
{
    json_t *outcomes = json_array(), *name;
    size_t at;

    json_array_foreach(json_object_get(step, "hold"), at, name) {
        pointsman_request request = requested(json_object_get(step, "request"), NULL);
        pointsman_lease *lease = NULL;
        pointsman_pick found;
        pointsman_result result =
            json_object_get(step, "picker") != NULL
                ? pointsman_picker_lease(world->pickers[size_of(step, "picker")], &request, &lease, &error)
                : pointsman_route_lease(world->routes[size_of(step, "route")], &request, &lease, &error);
        if (result == POINTSMAN_OK) {
            pointsman_str id;
            OK(pointsman_lease_pick(lease, &found, &error));
            OK(pointsman_lease_id(lease, &id, &error));
            CHECK(str_is(id, ids[found.user_data]) && world->lease_count < MOST);
            world->lease_names[world->lease_count] = json_string_value(name);
            world->leases[world->lease_count++] = lease;
        }
        json_array_append_new(outcomes, outcome_of(result, &found));
    }
    return outcomes;
}

static void done(world *world, json_t *step)
{
    const char *name = json_string_value(json_object_get(step, "lease"));
    const char *word = json_string_value(json_object_get(step, "outcome"));
    pointsman_outcome outcome = strcmp(word, "success") == 0   ? POINTSMAN_OUTCOME_SUCCESS
                                : strcmp(word, "failure") == 0 ? POINTSMAN_OUTCOME_FAILURE
                                                               : POINTSMAN_OUTCOME_CANCELLED;
    double latency_s = number_of(step, "latency_s", -1);
    uint64_t latency_ns = latency_s < 0 ? POINTSMAN_NO_LATENCY : (uint64_t)llround(latency_s * 1e9);

    for (size_t at = 0; at < world->lease_count; at++) {
        if (strcmp(world->lease_names[at], name) == 0) {
            OK(pointsman_lease_done(world->leases[at], outcome, latency_ns, &error));
            world->lease_count--;
            world->leases[at] = world->leases[world->lease_count];
            world->lease_names[at] = world->lease_names[world->lease_count];
            return;
        }
    }
    CHECK(!"the lease is open");
}

/* What an update or a spec came to: `version` where there is one, or what was refused and where. */
static json_t *come_to(pointsman_result result, const uint64_t *version)
{
    if (result != POINTSMAN_OK) {
        CHECK(result == POINTSMAN_BAD_VALUE || result == POINTSMAN_NOT_FOUND || result == POINTSMAN_BAD_SPEC);
        return json_pack("{s:s, s:s}", "error", error.message, "at", error.field);
    }
    return version == NULL ? json_object() : json_pack("{s:I}", "version", (json_int_t)*version);
}

static pointsman_result change(pointsman_edit *edit, json_t *json)
{
    const char *verb;
    json_t *value;
    pointsman_instance instance;

    json_object_foreach(json, verb, value) {
        json_t *to = json_array_get(value, 1);
        pointsman_str id = str_of(json_is_array(value) ? json_array_get(value, 0) : value);
        if (strcmp(verb, "upsert") == 0) {
            tags_used = 0;
            instance = described(value);
            return pointsman_edit_upsert(edit, &instance, &error);
        }
        if (strcmp(verb, "remove") == 0) return pointsman_edit_remove(edit, id, &error);
        if (strcmp(verb, "set_weight") == 0)
            return pointsman_edit_set_weight(edit, id, json_number_value(to), &error);
        if (strcmp(verb, "set_healthy") == 0) return pointsman_edit_set_healthy(edit, id, json_is_true(to), &error);
        if (strcmp(verb, "set_enabled") == 0) return pointsman_edit_set_enabled(edit, id, json_is_true(to), &error);
    }
    CHECK(!"a change that is known");
    return POINTSMAN_OK;
}

static json_t *edited(world *world, json_t *step)
{
    pointsman_edit *edit;
    pointsman_result result = POINTSMAN_OK;
    uint64_t version = 0;
    size_t at;
    json_t *one;

    OK(pointsman_edit_new(&edit, &error));
    json_array_foreach(json_object_get(step, "changes"), at, one) {
        if (result == POINTSMAN_OK) result = change(edit, one);
    }
    if (result == POINTSMAN_OK) result = pointsman_pool_commit(world->pool, edit, &version, &error);
    pointsman_edit_free(edit);
    return come_to(result, &version);
}

static json_t *replaced(world *world, json_t *step)
{
    static pointsman_instance instances[MOST];
    uint64_t version = 0;
    size_t count = all_described(json_object_get(step, "instances"), instances);

    return come_to(pointsman_pool_replace(world->pool, instances, count, &version, &error), &version);
}

static json_t *explained(world *world, json_t *step)
{
    pointsman_request request = requested(json_object_get(step, "request"), NULL);
    pointsman_string *text;
    json_t *json;

    OK(pointsman_route_explain(world->routes[size_of(step, "route")], &request, &text, &error));
    json = json_loadb(pointsman_string_data(text), pointsman_string_len(text), 0, NULL);
    pointsman_string_free(text);
    return json;
}

static json_t *route_of(world *world, pointsman_str spec)
{
    pointsman_route *route = NULL;
    json_t *gave = come_to(pointsman_route_new(world->pool, spec, &route, &error), NULL);
    pointsman_route_free(route);
    return gave;
}

static json_t *pool_of(pointsman_str spec)
{
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_pool *pool = NULL;
    json_t *gave;

    options.spec = spec;
    gave = come_to(pointsman_pool_new(&options, NULL, 0, &pool, &error), NULL);
    pointsman_pool_free(pool);
    return gave;
}

/* What the step gave; NULL for one that promises nothing. */
static json_t *run(world *world, json_t *step)
{
    const char *verb = json_string_value(json_object_get(step, "do"));
    json_t *spec = json_object_get(step, "spec");

    if (strcmp(verb, "pick") == 0) return picks(world, step);
    if (strcmp(verb, "pick_distinct") == 0) return distinct(world, step);
    if (strcmp(verb, "lease") == 0) return leases(world, step);
    if (strcmp(verb, "edit") == 0) return edited(world, step);
    if (strcmp(verb, "replace") == 0) return replaced(world, step);
    if (strcmp(verb, "explain") == 0) return explained(world, step);
    if (strcmp(verb, "route") == 0) return route_of(world, str_of(spec));
    if (strcmp(verb, "pool") == 0) return pool_of(str_of(spec));
    if (strcmp(verb, "report") == 0) {
        pointsman_str id = str_of(json_object_get(step, "id"));
        return come_to(pointsman_pool_report_load(world->pool, id, number_of(step, "load", 0), &error), NULL);
    }
    if (strcmp(verb, "done") == 0) {
        done(world, step);
        return NULL;
    }
    CHECK(strcmp(verb, "tick") == 0);
    OK(pointsman_pool_tick(world->pool, NULL, &error));
    return NULL;
}

/* An error's message has room for 255 bytes; a longer promise is held against so many. */
static void cut(json_t *promised)
{
    json_t *message = json_object_get(promised, "error");
    size_t room = sizeof error.message - 1;

    if (json_string_length(message) > room)
        json_object_set_new(promised, "error", json_stringn(json_string_value(message), room));
}

static size_t run_file(const char *path)
{
    json_error_t where;
    json_t *file = json_load_file(path, 0, &where), *one, *step;
    size_t at, number, kept = 0;
    world world;

    if (file == NULL) {
        fprintf(stderr, "%s:%d: %s\n", path, where.line, where.text);
        exit(1);
    }
    CHECK(size_of(file, "format") == 1);
    json_array_foreach(json_object_get(file, "cases"), at, one) {
        open_case(&world, one);
        json_array_foreach(json_object_get(one, "steps"), number, step) {
            json_t *promised = json_object_get(step, "gives"), *gave = run(&world, step);
            cut(promised);
            if (gave == NULL ? promised != NULL : !json_equal(promised, gave)) {
                const char *name = json_string_value(json_object_get(one, "name"));
                fprintf(stderr, "%s, %s, step %zu:\n  promised ", path, name, number);
                json_dumpf(promised, stderr, JSON_ENCODE_ANY | JSON_COMPACT);
                fprintf(stderr, "\n  gave     ");
                json_dumpf(gave, stderr, JSON_ENCODE_ANY | JSON_COMPACT);
                fprintf(stderr, "\n");
                exit(1);
            }
            kept += promised != NULL;
            json_decref(gave);
        }
        close_case(&world);
    }
    json_decref(file);
    return kept;
}

int main(void)
{
    DIR *place = opendir(VECTORS);
    struct dirent *entry;
    size_t kept = 0;

    CHECK(place != NULL);
    while ((entry = readdir(place)) != NULL) {
        char path[4096];
        const char *ending = strrchr(entry->d_name, '.');
        if (ending == NULL || strcmp(ending, ".json") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", VECTORS, entry->d_name);
        kept += run_file(path);
    }
    closedir(place);
    CHECK(kept > 0);
    printf("%zu promises kept\n", kept);
    return 0;
}
