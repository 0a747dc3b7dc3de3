/* The engine from C: what calls do, what they refuse, and what they leave alone. */

#include "check.h"

#include <math.h>

static pointsman_error error = POINTSMAN_ERROR_INIT;
static const char any[] = "{\"policy\": \"weighted_random\", \"tiers\": [{}]}";

static int released[16];

static void release(uint64_t user_data, void *context)
{
    CHECK(context == released);
    CHECK(user_data < 16);
    released[user_data]++;
}

static pointsman_pool *pool_of_three(void)
{
    pointsman_pool *pool = NULL;
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_tag gray = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("gray")};
    pointsman_instance list[3];

    list[0] = instance_of("a:1", 8, 0);
    list[1] = instance_of("b:1", 2, 1);
    list[1].tags = &gray;
    list[1].tag_count = 1;
    list[1].zone = POINTSMAN_STR("z1");
    list[2] = instance_of("c:1", 1, 2);
    list[2].id = POINTSMAN_STR("third");
    options.release = release;
    options.release_context = released;
    memset(released, 0, sizeof released);
    OK(pointsman_pool_new(&options, list, 3, &pool, &error));
    return pool;
}

static pointsman_route *route_of(pointsman_pool *pool, const char *spec)
{
    pointsman_route *route = NULL;
    OK(pointsman_route_new(pool, pointsman_str_of(spec), &route, &error));
    return route;
}

static void picks_follow_tags_exclusions_and_preference(void)
{
    pointsman_pool *pool = pool_of_three();
    pointsman_route *route = route_of(pool, "{\"policy\": \"weighted_random\", \"tiers\": [{\"match\": [\"version\"]}, {}]}");
    pointsman_request request = POINTSMAN_REQUEST_INIT;
    pointsman_tag gray = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("gray")};
    pointsman_tag rare = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("none such")};
    pointsman_str ids[40];
    pointsman_pick pick, picks[4];
    size_t count = 77;

    request.tags = &gray;
    request.tag_count = 1;
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.user_data == 1 && pick.index == 1 && pick.tier == 0 && pick.branch == 0 && pick.flags == 0);
    CHECK(pick.version == 1);

    request.tags = &rare;
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.tier == 1);

    request = (pointsman_request)POINTSMAN_REQUEST_INIT;
    request.require = &rare;
    request.require_count = 1;
    memset(&pick, 0x5a, sizeof pick);
    GIVES(POINTSMAN_NO_MATCH, pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.user_data == 0x5a5a5a5a5a5a5a5aULL);
    CHECK(pointsman_is_no_instance(error.code) && error.index == 0 && error.message[0] != 0);
    request.require = &gray;
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.user_data == 1);

    request = (pointsman_request)POINTSMAN_REQUEST_INIT;
    ids[0] = POINTSMAN_STR("a:1");
    ids[1] = POINTSMAN_STR("third");
    request.exclude = ids;
    request.exclude_count = 2;
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.user_data == 1);
    for (int i = 0; i < 40; i++)
        ids[i] = i < 20 ? POINTSMAN_STR("a:1") : i < 30 ? POINTSMAN_STR("third") : POINTSMAN_STR("b:1");
    request.exclude_count = 40;
    GIVES(POINTSMAN_EXCLUDED, pointsman_route_pick(route, &request, &pick, &error));
    request.relax = true;
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.flags == POINTSMAN_PICK_RELAXED);

    request = (pointsman_request)POINTSMAN_REQUEST_INIT;
    request.prefer = POINTSMAN_STR("third");
    OK(pointsman_route_pick(route, &request, &pick, &error));
    CHECK(pick.user_data == 2);

    OK(pointsman_route_pick_distinct(route, NULL, picks, 4, &count, &error));
    CHECK(count == 3 && picks[0].index != picks[1].index && picks[1].index != picks[2].index);
    CHECK(picks[0].index + picks[1].index + picks[2].index == 3);
    count = 77;
    OK(pointsman_route_pick_distinct(route, NULL, picks, 2, &count, &error));
    CHECK(count == 2);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

static void updates_are_whole_and_errors_name_the_place(void)
{
    pointsman_pool *pool = pool_of_three();
    pointsman_edit *edit = NULL;
    pointsman_string *json = NULL;
    pointsman_instance list[2];
    uint64_t version = 0;
    size_t len = 0;

    list[0] = instance_of("a:1", 1, 3);
    list[1] = instance_of("b:1", NAN, 4);
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_replace(pool, list, 2, &version, &error));
    CHECK(version == 0 && error.index == 1 && strcmp(error.field, "weight") == 0);
    CHECK(strstr(error.message, "b:1") != NULL && strstr(error.message, "NaN") != NULL);
    list[1].weight = -1;
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_replace(pool, list, 2, &version, &error));
    list[1] = list[0];
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_replace(pool, list, 2, &version, &error));
    CHECK(strcmp(error.field, "id") == 0);
    OK(pointsman_pool_version(pool, &version, &error));
    CHECK(version == 1);

    OK(pointsman_pool_status(pool, &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"stale\":true") != NULL);
    CHECK(strlen(pointsman_string_data(json)) == pointsman_string_len(json));
    pointsman_string_free(json);

    OK(pointsman_edit_new(&edit, &error));
    GIVES(POINTSMAN_BAD_VALUE, pointsman_edit_set_weight(edit, POINTSMAN_STR("a:1"), -1, &error));
    OK(pointsman_edit_set_weight(edit, POINTSMAN_STR("a:1"), 3, &error));
    OK(pointsman_edit_remove(edit, POINTSMAN_STR("none such"), &error));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_pool_commit(pool, edit, &version, &error));
    OK(pointsman_edit_set_weight(edit, POINTSMAN_STR("a:1"), 3, &error));
    OK(pointsman_edit_set_healthy(edit, POINTSMAN_STR("b:1"), false, &error));
    OK(pointsman_edit_set_enabled(edit, POINTSMAN_STR("b:1"), true, &error));
    OK(pointsman_edit_set_zone(edit, POINTSMAN_STR("a:1"), POINTSMAN_STR("z9"), &error));
    OK(pointsman_edit_set_tags(edit, POINTSMAN_STR("b:1"), NULL, 0, &error));
    OK(pointsman_edit_remove(edit, POINTSMAN_STR("third"), &error));
    list[0] = instance_of("d:1", 1, 5);
    OK(pointsman_edit_upsert(edit, list, &error));
    OK(pointsman_pool_commit(pool, edit, &version, &error));
    CHECK(version == 2);
    pointsman_edit_free(edit);

    OK(pointsman_pool_len(pool, &len, &error));
    CHECK(len == 3);
    OK(pointsman_pool_instance(pool, POINTSMAN_STR("a:1"), &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"zone\":\"z9\"") != NULL);
    pointsman_string_free(json);
    GIVES(POINTSMAN_NOT_FOUND, pointsman_pool_instance(pool, POINTSMAN_STR("third"), &json, &error));
    OK(pointsman_pool_instances(pool, &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"d:1\"") != NULL);
    pointsman_string_free(json);
    CHECK(released[2] == 1);

    OK(pointsman_pool_replace(pool, NULL, 0, &version, &error));
    CHECK(version == 3);
    pointsman_pool_free(pool);
    for (int i = 0; i < 16; i++)
        CHECK(released[i] == (i == 0 || i == 1 || i == 2 || i == 5));
}

static void user_data_outlives_what_holds_it(void)
{
    pointsman_pool *pool = pool_of_three();
    pointsman_route *route = route_of(pool, any);
    pointsman_picker *picker = NULL;
    pointsman_lease *lease = NULL;
    pointsman_request request = POINTSMAN_REQUEST_INIT;
    pointsman_str text;
    pointsman_pick pick;
    size_t retired;

    OK(pointsman_picker_new(route, &picker, &error));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_picker_id(picker, 0, &text, &error));
    request.prefer = POINTSMAN_STR("third");
    OK(pointsman_picker_pick(picker, &request, &pick, &error));
    request.prefer = POINTSMAN_STR("b:1");
    OK(pointsman_route_lease(route, &request, &lease, &error));
    OK(pointsman_pool_replace(pool, NULL, 0, NULL, &error));
    OK(pointsman_pool_tick(pool, NULL, &error));
    CHECK(released[1] == 0 && released[2] == 0);
    OK(pointsman_picker_id(picker, 0, &text, &error));
    CHECK(str_is(text, "third"));
    OK(pointsman_picker_address(picker, 0, &text, &error));
    CHECK(str_is(text, "c:1"));
    OK(pointsman_lease_address(lease, &text, &error));
    CHECK(str_is(text, "b:1"));
    OK(pointsman_lease_zone(lease, &text, &error));
    CHECK(str_is(text, "z1"));
    OK(pointsman_lease_tag(lease, POINTSMAN_STR("version"), 0, &text, &error));
    CHECK(str_is(text, "gray"));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_lease_tag(lease, POINTSMAN_STR("version"), 1, &text, &error));
    OK(pointsman_lease_pick(lease, &pick, &error));
    CHECK(pick.user_data == 1 && pick.version == 1);

    OK(pointsman_picker_rest(picker, &error));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_picker_id(picker, 0, &text, &error));
    OK(pointsman_pool_tick(pool, NULL, &error));
    CHECK(released[0] == 1 && released[1] == 0 && released[2] == 1);
    OK(pointsman_lease_done(lease, POINTSMAN_OUTCOME_FAILURE, POINTSMAN_NO_LATENCY, &error));
    OK(pointsman_pool_tick(pool, NULL, &error));
    CHECK(released[1] == 1);
    GIVES(POINTSMAN_EMPTY, pointsman_picker_pick(picker, NULL, &pick, &error));
    OK(pointsman_pool_retired(pool, &retired, &error));

    /* In any order. */
    pointsman_pool_free(pool);
    pointsman_route_free(route);
    GIVES(POINTSMAN_EMPTY, pointsman_picker_pick(picker, NULL, &pick, &error));
    pointsman_picker_free(picker);
    CHECK(released[0] == 1 && released[1] == 1 && released[2] == 1);
}

static void a_refused_pool_releases_nothing(void)
{
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_pool *pool = NULL;
    pointsman_instance list[2];

    options.release = release;
    options.release_context = released;
    memset(released, 0, sizeof released);
    list[0] = list[1] = instance_of("a:1", 1, 4);
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_new(&options, list, 2, &pool, &error));
    CHECK(pool == NULL && released[4] == 0);
}

static void pickers_show_what_they_drew(void)
{
    pointsman_pool *pool = pool_of_three();
    pointsman_route *route = route_of(pool, "{\"policy\": \"round_robin\", \"tiers\": [{\"name\": \"all\"}], \"counters\": true}");
    pointsman_picker *one = NULL, *two = NULL;
    pointsman_lease *lease = NULL;
    pointsman_pick a, b, many[40];
    pointsman_str id, name;
    size_t count;

    OK(pointsman_picker_new_seeded(route, 5, &one, &error));
    OK(pointsman_picker_new_seeded(route, 5, &two, &error));
    for (int i = 0; i < 100; i++) {
        OK(pointsman_picker_pick(one, NULL, &a, &error));
        OK(pointsman_picker_pick(two, NULL, &b, &error));
        CHECK(memcmp(&a, &b, sizeof a) == 0);
    }
    pointsman_picker_free(two);
    OK(pointsman_picker_new_seeded(route, 5, &two, &error));
    OK(pointsman_picker_start_at(two, 0, &error));
    OK(pointsman_picker_pick(two, NULL, &b, &error));
    CHECK(b.index == 0);
    OK(pointsman_picker_pick_distinct(one, NULL, many, 40, &count, &error));
    CHECK(count == 3);
    for (size_t i = 0; i < count; i++) {
        static const char *const ids[] = {"a:1", "b:1", "third"};
        OK(pointsman_picker_id(one, i, &id, &error));
        CHECK(str_is(id, ids[many[i].index]));
    }
    GIVES(POINTSMAN_NOT_FOUND, pointsman_picker_id(one, 3, &id, &error));
    OK(pointsman_picker_lease(one, NULL, &lease, &error));
    pointsman_lease_free(lease);
    OK(pointsman_picker_refresh(one, &error));
    OK(pointsman_route_start_at(route, 0, &error));
    OK(pointsman_route_pick(route, NULL, &a, &error));
    CHECK(a.index == 0);
    OK(pointsman_route_tier_name(route, 0, 0, &name, &error));
    CHECK(str_is(name, "all"));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_route_tier_name(route, 1, 0, &name, &error));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_route_branch_name(route, 0, &name, &error));
    pointsman_picker_free(one);
    pointsman_picker_free(two);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

static void documents_become_pools(void)
{
    static const char nacos[] = "{\"hosts\": [{\"ip\": \"10.0.0.1\", \"port\": 80, \"weight\": 2, \"healthy\": true,"
                                "\"metadata\": {\"version\": \"gray\", \"cpu\": \"0.4\"}},"
                                "{\"ip\": \"10.0.0.2\", \"port\": 80, \"weight\": \"NaN\"}]}";
    pointsman_discovery_options options = POINTSMAN_DISCOVERY_OPTIONS_INIT;
    pointsman_discovery *discovery = NULL;
    pointsman_pool *pool = NULL;
    pointsman_route *route;
    pointsman_string *json = NULL;
    pointsman_str address;
    pointsman_pick pick;
    size_t len = 0;

    GIVES(POINTSMAN_BAD_DOCUMENT, pointsman_discovery_parse(pointsman_str_of(nacos), NULL, &discovery, &error));
    CHECK(strcmp(error.field, "hosts[1].weight") == 0);
    options.lenient = true;
    options.load_key = POINTSMAN_STR("cpu");
    OK(pointsman_discovery_parse(pointsman_str_of(nacos), &options, &discovery, &error));
    OK(pointsman_discovery_len(discovery, &len, &error));
    CHECK(len == 1);
    OK(pointsman_discovery_address(discovery, 0, &address, &error));
    CHECK(str_is(address, "10.0.0.1:80"));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_discovery_address(discovery, 1, &address, &error));
    OK(pointsman_discovery_set_user_data(discovery, 0, 7, &error));
    OK(pointsman_discovery_report(discovery, &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"format\":\"nacos\"") != NULL);
    CHECK(strstr(pointsman_string_data(json), "hosts[1].weight") != NULL);
    pointsman_string_free(json);
    OK(pointsman_discovery_instances(discovery, &json, &error));
    pointsman_string_free(json);
    OK(pointsman_pool_new_discovered(NULL, discovery, &pool, &error));
    OK(pointsman_pool_replace_discovered(pool, discovery, NULL, &error));
    pointsman_discovery_free(discovery);
    route = route_of(pool, "{\"policy\": \"least_load\", \"tiers\": [{}], \"counters\": true}");
    OK(pointsman_route_pick(route, NULL, &pick, &error));
    CHECK(pick.user_data == 7);
    OK(pointsman_pool_report_load(pool, POINTSMAN_STR("10.0.0.1:80"), 0.5, &error));
    GIVES(POINTSMAN_NOT_FOUND, pointsman_pool_report_load(pool, POINTSMAN_STR("x"), 0.5, &error));
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_report_load(pool, POINTSMAN_STR("10.0.0.1:80"), -0.5, &error));
    OK(pointsman_route_explain(route, NULL, &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"policy\":\"least_load\"") != NULL);
    pointsman_string_free(json);
    OK(pointsman_route_shares(route, NULL, &json, &error));
    CHECK(strcmp(pointsman_string_data(json), "[{\"id\":\"10.0.0.1:80\",\"share\":1.0}]") == 0);
    pointsman_string_free(json);
    OK(pointsman_route_counters(route, &json, &error));
    CHECK(strstr(pointsman_string_data(json), "\"picks\":1") != NULL);
    pointsman_string_free(json);
    OK(pointsman_route_spec(route, &json, &error));
    pointsman_string_free(json);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

static void the_library_is_that_of_the_header(void)
{
    CHECK(strcmp(pointsman_version(), POINTSMAN_VERSION) == 0);
    CHECK(pointsman_abi() == POINTSMAN_ABI);
    CHECK(strcmp(pointsman_result_name(POINTSMAN_SATURATED), "POINTSMAN_SATURATED") == 0);
    CHECK(strcmp(pointsman_result_name(1000), "(not a pointsman_result)") == 0);
}

int main(void)
{
    picks_follow_tags_exclusions_and_preference();
    updates_are_whole_and_errors_name_the_place();
    user_data_outlives_what_holds_it();
    a_refused_pool_releases_nothing();
    pickers_show_what_they_drew();
    documents_become_pools();
    the_library_is_that_of_the_header();
    return 0;
}
