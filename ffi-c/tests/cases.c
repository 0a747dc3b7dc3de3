/* What has gone wrong in the field, elsewhere: weights that are no weights, texts that are none, numbers outside enumerations,
 * panics in the middle, and keys that change their owner from process to process. */

#include "check.h"

#include <math.h>

void pointsman_test_panic(uint32_t skip);

static pointsman_error error = POINTSMAN_ERROR_INIT;
static const char by_weight[] = "{\"policy\": \"weighted_random\", \"tiers\": [{}]}";

static pointsman_route *route_of(pointsman_pool *pool, const char *spec)
{
    pointsman_route *route = NULL;
    OK(pointsman_route_new(pool, pointsman_str_of(spec), &route, &error));
    return route;
}

static uint64_t version_of(const pointsman_pool *pool)
{
    uint64_t version = 0;
    OK(pointsman_pool_version(pool, &version, &error));
    return version;
}

/* How often each of up to four instances is picked, by its user data. */
static void count_picks(pointsman_picker *picker, int picks, int counts[4])
{
    memset(counts, 0, 4 * sizeof counts[0]);
    for (int i = 0; i < picks; i++) {
        pointsman_pick pick;
        OK(pointsman_picker_pick(picker, NULL, &pick, &error));
        CHECK(pick.user_data < 4);
        counts[pick.user_data]++;
    }
}

/* No call takes a weight that is none, the error names the instance, and the list in force stays. */
static void impossible_weights_are_refused_and_the_list_stays(void)
{
    static const double wrong[] = {-1, -0.5, NAN, -NAN, INFINITY, -INFINITY, -5e-324};
    pointsman_instance one = instance_of("a:1", 1, 0), list[3];
    pointsman_pool *pool = NULL, *none = NULL;
    pointsman_edit *edit = NULL;
    pointsman_picker *picker = NULL;
    int counts[4];

    OK(pointsman_pool_new(NULL, &one, 1, &pool, &error));
    pointsman_route *route = route_of(pool, by_weight);
    OK(pointsman_picker_new_seeded(route, 1, &picker, &error));
    OK(pointsman_edit_new(&edit, &error));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        list[0] = instance_of("a:1", 2, 1);
        list[1] = instance_of("b:1", wrong[i], 2);
        list[2] = instance_of("c:1", 1, 3);
        GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_replace(pool, list, 3, NULL, &error));
        CHECK(error.index == 1 && strcmp(error.field, "weight") == 0 && strstr(error.message, "b:1") != NULL);
        GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_new(NULL, list, 3, &none, &error));
        CHECK(none == NULL);
        GIVES(POINTSMAN_BAD_VALUE, pointsman_edit_set_weight(edit, POINTSMAN_STR("a:1"), wrong[i], &error));
        GIVES(POINTSMAN_BAD_VALUE, pointsman_edit_upsert(edit, &list[1], &error));
        GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_report_load(pool, POINTSMAN_STR("a:1"), wrong[i], &error));
        CHECK(version_of(pool) == 1);
        count_picks(picker, 1000, counts);
        CHECK(counts[0] == 1000);
    }
    pointsman_edit_free(edit);
    pointsman_picker_free(picker);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

/* 0 is a weight, and not the one that an instance has without one. */
static void zero_is_told_from_missing(void)
{
    static const char *const policies[] = {"weighted_random", "weighted_round_robin", "least_request", "power_of_two"};
    pointsman_instance list[2];
    pointsman_pool *pool = NULL;
    int counts[4];

    list[0] = instance_of("a:1", 0, 0);
    list[1] = instance_of("b:1", 1, 1);
    OK(pointsman_pool_new(NULL, list, 2, &pool, &error));
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        char spec[128];
        pointsman_picker *picker = NULL;
        snprintf(spec, sizeof spec, "{\"policy\": \"%s\", \"tiers\": [{}]}", policies[i]);
        pointsman_route *route = route_of(pool, spec);
        OK(pointsman_picker_new_seeded(route, 1, &picker, &error));
        count_picks(picker, 10000, counts);
        CHECK(counts[0] == 0 && counts[1] == 10000);
        pointsman_picker_free(picker);
        pointsman_route_free(route);
    }

    /* Left as the macro sets it: 1, so that half go to either; 200 is four standard deviations. */
    list[0] = (pointsman_instance)POINTSMAN_INSTANCE_INIT;
    list[0].address = POINTSMAN_STR("a:1");
    pointsman_picker *picker = NULL;
    pointsman_route *route = route_of(pool, by_weight);
    OK(pointsman_pool_replace(pool, list, 2, NULL, &error));
    OK(pointsman_picker_new_seeded(route, 1, &picker, &error));
    count_picks(picker, 10000, counts);
    CHECK(abs(counts[0] - 5000) <= 200);

    /* All drained: that is what it is called. */
    list[0].weight = list[1].weight = 0;
    pointsman_pick pick;
    OK(pointsman_pool_replace(pool, list, 2, NULL, &error));
    GIVES(POINTSMAN_DRAINED, pointsman_picker_pick(picker, NULL, &pick, &error));
    pointsman_picker_free(picker);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

/* In every place of every call that takes texts: a key or a value that is missing, is not UTF-8, or is no memory. */
static void broken_texts_are_refused_and_the_list_stays(void)
{
    static const struct {
        pointsman_str text;
        pointsman_result result;
    } wrong[] = {
        {{NULL, 0}, POINTSMAN_NULL},
        {{NULL, 3}, POINTSMAN_NULL},
        {{"\xff", 1}, POINTSMAN_BAD_UTF8},
        {{"\xc3\x28", 2}, POINTSMAN_BAD_UTF8},
        {{"\xed\xa0\x80", 3}, POINTSMAN_BAD_UTF8}, /* a surrogate */
        {{"x", SIZE_MAX}, POINTSMAN_BAD_LENGTH},
        {{"x", POINTSMAN_MAX_NAME + 1}, POINTSMAN_BAD_LENGTH},
    };
    pointsman_instance one = instance_of("a:1", 1, 0);
    pointsman_pool *pool = NULL;
    pointsman_edit *edit = NULL;
    pointsman_pick pick;

    OK(pointsman_pool_new(NULL, &one, 1, &pool, &error));
    OK(pointsman_edit_new(&edit, &error));
    pointsman_route *route = route_of(pool, by_weight);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (int place = 0; place < 2; place++) {
            pointsman_tag tags[2] = {{POINTSMAN_STR_INIT("k"), POINTSMAN_STR_INIT("v")}, {POINTSMAN_STR_INIT("k"), POINTSMAN_STR_INIT("v")}};
            pointsman_instance list[2];
            pointsman_request request = POINTSMAN_REQUEST_INIT;
            const char *field = place == 0 ? "tags.key" : "tags.value";
            *(place == 0 ? &tags[1].key : &tags[1].value) = wrong[i].text;

            list[0] = one;
            list[1] = instance_of("b:1", 1, 1);
            list[1].tags = tags;
            list[1].tag_count = 2;
            GIVES(wrong[i].result, pointsman_pool_replace(pool, list, 2, NULL, &error));
            CHECK(error.index == 1 && strcmp(error.field, field) == 0);
            GIVES(wrong[i].result, pointsman_edit_upsert(edit, &list[1], &error));
            GIVES(wrong[i].result, pointsman_edit_set_tags(edit, POINTSMAN_STR("a:1"), tags, 2, &error));
            request.tags = tags;
            request.tag_count = 2;
            GIVES(wrong[i].result, pointsman_route_pick(route, &request, &pick, &error));
            request.tags = NULL;
            request.tag_count = 0;
            request.require = tags;
            request.require_count = 2;
            GIVES(wrong[i].result, pointsman_route_pick(route, &request, &pick, &error));
            request.require_count = 0;
            request.exclude = &wrong[i].text;
            request.exclude_count = 1;
            GIVES(wrong[i].result, pointsman_route_pick(route, &request, &pick, &error));
            CHECK(version_of(pool) == 1);
            OK(pointsman_route_pick(route, NULL, &pick, &error));
        }
    pointsman_edit_free(edit);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

/* Numbers become enumerations only where they are of one, and a struct of zeros is no struct. */
static void numbers_outside_enumerations_and_zeroed_structs_are_refused(void)
{
    static const int32_t wrong[] = {-1, 0, 99, 255, INT32_MAX, INT32_MIN};
    pointsman_instance one = instance_of("a:1", 1, 0), zeroed_instance;
    pointsman_pool_options zeroed_options;
    pointsman_discovery_options reading, zeroed_reading;
    pointsman_request zeroed_request;
    pointsman_pool *pool = NULL, *none = NULL;
    pointsman_discovery *discovery = NULL;
    pointsman_lease *lease = NULL;
    pointsman_pick pick;

    OK(pointsman_pool_new(NULL, &one, 1, &pool, &error));
    pointsman_route *route = route_of(pool, by_weight);
    OK(pointsman_route_lease(route, NULL, &lease, &error));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        GIVES(POINTSMAN_BAD_ENUM, pointsman_lease_done(lease, wrong[i], POINTSMAN_NO_LATENCY, &error));
        GIVES(POINTSMAN_BAD_ENUM, pointsman_lease_done_at(lease, wrong[i], POINTSMAN_NO_LATENCY, 1, &error));
        if (wrong[i] != 0) {
            reading = (pointsman_discovery_options)POINTSMAN_DISCOVERY_OPTIONS_INIT;
            reading.format = wrong[i];
            GIVES(POINTSMAN_BAD_ENUM, pointsman_discovery_parse(POINTSMAN_STR("[]"), &reading, &discovery, &error));
            reading = (pointsman_discovery_options)POINTSMAN_DISCOVERY_OPTIONS_INIT;
            reading.address_family = wrong[i];
            GIVES(POINTSMAN_BAD_ENUM, pointsman_discovery_parse(POINTSMAN_STR("[]"), &reading, &discovery, &error));
        }
        CHECK(strcmp(pointsman_result_name(wrong[i]), wrong[i] == 0 ? "POINTSMAN_OK" : "(not a pointsman_result)") == 0);
    }
    GIVES(POINTSMAN_BAD_SPEC, pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": 0, \"tiers\": [{}]}"), &(pointsman_route *){NULL}, &error));
    OK(pointsman_lease_done(lease, POINTSMAN_OUTCOME_CANCELLED, POINTSMAN_NO_LATENCY, &error));

    memset(&zeroed_instance, 0, sizeof zeroed_instance);
    memset(&zeroed_options, 0, sizeof zeroed_options);
    memset(&zeroed_reading, 0, sizeof zeroed_reading);
    memset(&zeroed_request, 0, sizeof zeroed_request);
    GIVES(POINTSMAN_BAD_SIZE, pointsman_pool_new(&zeroed_options, &one, 1, &none, &error));
    CHECK(strstr(error.message, "POINTSMAN_POOL_OPTIONS_INIT") != NULL);
    GIVES(POINTSMAN_BAD_SIZE, pointsman_pool_new(NULL, &zeroed_instance, 1, &none, &error));
    CHECK(strstr(error.message, "POINTSMAN_INSTANCE_INIT") != NULL);
    GIVES(POINTSMAN_BAD_SIZE, pointsman_pool_replace(pool, &zeroed_instance, 1, NULL, &error));
    GIVES(POINTSMAN_BAD_SIZE, pointsman_discovery_parse(POINTSMAN_STR("[]"), &zeroed_reading, &discovery, &error));
    CHECK(strstr(error.message, "POINTSMAN_DISCOVERY_OPTIONS_INIT") != NULL);
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, &zeroed_request, &pick, &error));
    CHECK(strstr(error.message, "POINTSMAN_REQUEST_INIT") != NULL);
    CHECK(none == NULL && discovery == NULL && version_of(pool) == 1);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

static int released[4];

static void release(uint64_t user_data, void *context)
{
    const pointsman_route *route = *(pointsman_route *const *)context;
    pointsman_pick pick;

    released[user_data]++;
    /* A call that panics inside the host's function is an error there, and goes no further. */
    if (route != NULL) {
        pointsman_test_panic(0);
        CHECK(pointsman_route_pick(route, NULL, &pick, NULL) == POINTSMAN_PANIC);
    }
}

static void works(pointsman_pool *pool, pointsman_route *route, pointsman_picker *picker, pointsman_edit *edit)
{
    for (int i = 0; i < 1000; i++) {
        pointsman_pick pick;
        OK(pointsman_route_pick(route, NULL, &pick, &error));
        OK(pointsman_picker_pick(picker, NULL, &pick, &error));
        OK(pointsman_edit_set_weight(edit, POINTSMAN_STR("a:1"), 1 + i % 3, &error));
        OK(pointsman_pool_commit(pool, edit, NULL, &error));
        OK(pointsman_pool_tick(pool, NULL, &error));
    }
}

/* A panic in a pick, in an update, and where an update tells the host: one error, and a thousand calls that work. */
static void a_panic_is_one_error_and_leaves_everything_working(void)
{
    static pointsman_route *inside;
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_instance list[4];
    pointsman_pool *pool = NULL;
    pointsman_edit *edit = NULL;
    pointsman_picker *picker = NULL;
    pointsman_pick pick;

    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"a:1", "b:1", "c:1", "d:1"};
        list[i] = instance_of(names[i], 1, (uint64_t)i);
    }
    options.release = release;
    options.release_context = &inside;
    OK(pointsman_pool_new(&options, list, 4, &pool, &error));
    pointsman_route *route = route_of(pool, by_weight);
    OK(pointsman_edit_new(&edit, &error));
    OK(pointsman_picker_new_seeded(route, 1, &picker, &error));

    pointsman_test_panic(0);
    GIVES(POINTSMAN_PANIC, pointsman_route_pick(route, NULL, &pick, &error));
    works(pool, route, picker, edit);
    pointsman_test_panic(0);
    GIVES(POINTSMAN_PANIC, pointsman_picker_pick(picker, NULL, &pick, &error));
    works(pool, route, picker, edit);
    OK(pointsman_edit_remove(edit, POINTSMAN_STR("b:1"), &error));
    pointsman_test_panic(0);
    GIVES(POINTSMAN_PANIC, pointsman_pool_commit(pool, edit, NULL, &error));
    OK(pointsman_pool_commit(pool, edit, NULL, &error));
    OK(pointsman_picker_refresh(picker, &error));
    OK(pointsman_pool_tick(pool, NULL, &error));
    CHECK(released[1] == 1);
    works(pool, route, picker, edit);

    /* The second thing that may panic in this call is what tells the host: it has had its call, and the rest is told. */
    OK(pointsman_edit_remove(edit, POINTSMAN_STR("c:1"), &error));
    OK(pointsman_picker_rest(picker, &error));
    pointsman_test_panic(1);
    GIVES(POINTSMAN_PANIC, pointsman_pool_commit(pool, edit, NULL, &error));
    works(pool, route, picker, edit);
    CHECK(released[2] == 0);

    inside = route;
    OK(pointsman_edit_remove(edit, POINTSMAN_STR("d:1"), &error));
    OK(pointsman_picker_rest(picker, &error));
    OK(pointsman_pool_commit(pool, edit, NULL, &error));
    inside = NULL;
    CHECK(released[3] == 1);
    works(pool, route, picker, edit);
    pointsman_edit_free(edit);
    pointsman_picker_free(picker);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    CHECK(released[0] == 1 && released[1] == 1 && released[2] == 0 && released[3] == 1);
}

#define KEYS 1000

static const struct {
    const char *algorithm;
    unsigned long long digest;
    unsigned char owners[KEYS];
} owned[] = {
#include "owners.inc"
};

/* The owner of a key is the same in every process and language: what Rust said of these keys, here. */
static void keys_have_the_owners_that_rust_says(void)
{
    char names[10][32];
    pointsman_instance list[10];
    pointsman_pool *pool = NULL;

    for (int i = 0; i < 10; i++) {
        snprintf(names[i], sizeof names[i], "10.0.0.%d:80", i);
        list[i] = instance_of(names[i], 1 + i, (uint64_t)i);
    }
    OK(pointsman_pool_new(NULL, list, 10, &pool, &error));
    CHECK(sizeof owned / sizeof owned[0] == 3);
    for (size_t at = 0; at < 3; at++) {
        char spec[128];
        /* FNV-1a of the owners, one byte each. */
        unsigned long long digest = 0xcbf29ce484222325u;
        snprintf(spec, sizeof spec, "{\"policy\": {\"consistent_hash\": {\"algorithm\": \"%s\"}}, \"tiers\": [{}]}", owned[at].algorithm);
        pointsman_route *route = route_of(pool, spec);
        for (int key = 0; key < KEYS; key++) {
            char text[32];
            pointsman_request request = POINTSMAN_REQUEST_INIT;
            pointsman_pick pick;
            request.key = text;
            request.key_len = (size_t)snprintf(text, sizeof text, "user-%d", key);
            OK(pointsman_route_pick(route, &request, &pick, &error));
            CHECK(pick.user_data == owned[at].owners[key] && pick.flags == 0);
            digest = (digest ^ pick.user_data) * 0x100000001b3u;
        }
        CHECK(digest == owned[at].digest);

        /* Without a key, an instance by weight, and the pick says so. */
        pointsman_pick pick;
        OK(pointsman_route_pick(route, NULL, &pick, &error));
        CHECK(pick.flags == POINTSMAN_PICK_KEYLESS);
        pointsman_route_free(route);
    }
    pointsman_pool_free(pool);
}

int main(void)
{
    impossible_weights_are_refused_and_the_list_stays();
    zero_is_told_from_missing();
    broken_texts_are_refused_and_the_list_stays();
    numbers_outside_enumerations_and_zeroed_structs_are_refused();
    a_panic_is_one_error_and_leaves_everything_working();
    keys_have_the_owners_that_rust_says();
    return 0;
}
