/* What calls refuse, and that they say which argument, which element, which field and which limit. */

#include "check.h"

static pointsman_error error = POINTSMAN_ERROR_INIT;

static pointsman_pool *pool_of_two(void)
{
    pointsman_pool *pool = NULL;
    pointsman_instance list[2];

    list[0] = instance_of("a:1", 8, 0);
    list[1] = instance_of("b:1", 2, 1);
    OK(pointsman_pool_new(NULL, list, 2, &pool, &error));
    return pool;
}

static pointsman_route *route_of(pointsman_pool *pool, const char *spec)
{
    pointsman_route *route = NULL;
    OK(pointsman_route_new(pool, pointsman_str_of(spec), &route, &error));
    return route;
}

static void bad_arguments_are_refused(void)
{
    pointsman_pool *pool = pool_of_two();
    pointsman_route *route = route_of(pool, "{\"policy\": \"weighted_random\", \"tiers\": [{}]}");
    pointsman_request request;
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_discovery_options reading = POINTSMAN_DISCOVERY_OPTIONS_INIT;
    pointsman_discovery *discovery = NULL;
    pointsman_pool *other = NULL;
    pointsman_instance list[2];
    pointsman_lease *lease = NULL;
    pointsman_tag tags[2] = {{POINTSMAN_STR_INIT("k"), POINTSMAN_STR_INIT("v")}, {{NULL, 0}, {NULL, 0}}};
    pointsman_str wrong = {"\xff\xfe", 2}, endless = {"x", (size_t)1 << 60}, hollow = {NULL, 3};
    pointsman_pick pick;
    size_t *short_one;
    struct {
        pointsman_request request;
        uint64_t later;
    } grown = {POINTSMAN_REQUEST_INIT, 0};

    memset(&request, 0, sizeof request);
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, &request, &pick, &error));
    CHECK(strstr(error.message, "POINTSMAN_REQUEST_INIT") != NULL);
    request.size = 8;
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, &request, &pick, &error));
    request.size = SIZE_MAX;
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, &request, &pick, &error));
    /* Of a struct that is too short only the size is read: nothing lies behind it. */
    short_one = malloc(sizeof *short_one);
    CHECK(short_one != NULL);
    *short_one = sizeof *short_one;
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, (const pointsman_request *)short_one, &pick, &error));
    GIVES(POINTSMAN_BAD_SIZE,
          pointsman_pool_new((const pointsman_pool_options *)short_one, list, 0, &other, &error));
    GIVES(POINTSMAN_BAD_SIZE,
          pointsman_pool_new(NULL, (const pointsman_instance *)short_one, 1, &other, &error));
    free(short_one);
    grown.request.size = sizeof grown;
    OK(pointsman_route_pick(route, &grown.request, &pick, &error));
    grown.later = 1;
    GIVES(POINTSMAN_BAD_SIZE, pointsman_route_pick(route, &grown.request, &pick, &error));

    request = (pointsman_request)POINTSMAN_REQUEST_INIT;
    request.prefer = wrong;
    GIVES(POINTSMAN_BAD_UTF8, pointsman_route_pick(route, &request, &pick, &error));
    request.prefer = endless;
    GIVES(POINTSMAN_BAD_LENGTH, pointsman_route_pick(route, &request, &pick, &error));
    request.prefer = hollow;
    GIVES(POINTSMAN_NULL, pointsman_route_pick(route, &request, &pick, &error));
    request = (pointsman_request)POINTSMAN_REQUEST_INIT;
    request.tags = tags;
    request.tag_count = SIZE_MAX;
    GIVES(POINTSMAN_BAD_LENGTH, pointsman_route_pick(route, &request, &pick, &error));
    request.tag_count = 2;
    GIVES(POINTSMAN_NULL, pointsman_route_pick(route, &request, &pick, &error));
    CHECK(error.index == 1 && strcmp(error.field, "tags.key") == 0);

    list[0] = list[1] = instance_of("a:1", 1, 9);
    list[1].id = wrong;
    GIVES(POINTSMAN_BAD_UTF8, pointsman_pool_replace(pool, list, 2, NULL, &error));
    CHECK(error.index == 1 && strcmp(error.field, "id") == 0);
    list[1].id = POINTSMAN_STR("other");
    list[1].tags = tags;
    list[1].tag_count = 2;
    GIVES(POINTSMAN_NULL, pointsman_pool_replace(pool, list, 2, NULL, &error));
    CHECK(error.index == 1);
    list[1].tag_count = 1;
    list[1].size = 0;
    GIVES(POINTSMAN_BAD_SIZE, pointsman_pool_replace(pool, list, 2, NULL, &error));
    CHECK(error.index == 1 && strstr(error.message, "POINTSMAN_INSTANCE_INIT") != NULL);
    GIVES(POINTSMAN_BAD_LENGTH, pointsman_pool_replace(pool, list, SIZE_MAX, NULL, &error));
    list[1] = instance_of("", 1, 9);
    GIVES(POINTSMAN_BAD_VALUE, pointsman_pool_replace(pool, list, 2, NULL, &error));

    options.spec = POINTSMAN_STR("{\"zones\": 1}");
    GIVES(POINTSMAN_BAD_SPEC, pointsman_pool_new(&options, list, 1, &other, &error));
    CHECK(other == NULL);
    GIVES(POINTSMAN_BAD_SPEC,
          pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"random\", \"tiers\": [{\"zones\": 1}]}"), &route, &error));
    CHECK(strcmp(error.field, "tiers[0].zones") == 0);

    reading.format = 99;
    GIVES(POINTSMAN_BAD_ENUM, pointsman_discovery_parse(POINTSMAN_STR("[]"), &reading, &discovery, &error));
    reading.format = POINTSMAN_FORMAT_PLAIN;
    reading.address_family = 5;
    GIVES(POINTSMAN_BAD_ENUM, pointsman_discovery_parse(POINTSMAN_STR("[]"), &reading, &discovery, &error));
    GIVES(POINTSMAN_BAD_DOCUMENT, pointsman_discovery_parse(POINTSMAN_STR("<xml/>"), NULL, &discovery, &error));

    OK(pointsman_route_lease(route, NULL, &lease, &error));
    GIVES(POINTSMAN_BAD_ENUM, pointsman_lease_done(lease, 0, POINTSMAN_NO_LATENCY, &error));
    GIVES(POINTSMAN_BAD_ENUM, pointsman_lease_done(lease, 255, POINTSMAN_NO_LATENCY, &error));
    OK(pointsman_lease_done(lease, POINTSMAN_OUTCOME_SUCCESS, 1000, &error));

    /* An error that was not initialised serves too. */
    {
        pointsman_error raw;
        memset(&raw, 0xa5, sizeof raw);
        CHECK(pointsman_route_pick(NULL, NULL, &pick, &raw) == POINTSMAN_NULL);
        CHECK(raw.code == POINTSMAN_NULL && strcmp(raw.message, "route is NULL") == 0);
        CHECK(pointsman_route_pick(NULL, NULL, &pick, NULL) == POINTSMAN_NULL);
    }
    pointsman_route_free(route);
    pointsman_pool_free(pool);
}

int main(void)
{
    bad_arguments_are_refused();
    return 0;
}
