/* Every exported function with NULL in each position, and with a forced panic: an error, and the handles work afterwards. */

#include "check.h"

void pointsman_test_panic(uint32_t skip);

static pointsman_error error;
static const pointsman_str nothing = {NULL, 0};
static const pointsman_str valid_id = POINTSMAN_STR_INIT("a:1"), valid_key = POINTSMAN_STR_INIT("k");
static const pointsman_str valid_zone = POINTSMAN_STR_INIT("z");
static const pointsman_str valid_document = POINTSMAN_STR_INIT("[{\"address\": \"a:1\"}]");
static const pointsman_str valid_spec = POINTSMAN_STR_INIT(
    "{\"policy\": \"random\", \"split\": [{\"name\": \"one\", \"percent\": 100, \"tiers\": [{\"name\": \"all\"}]}]}");

static const pointsman_pool_options valid_pool_options = POINTSMAN_POOL_OPTIONS_INIT;
static const pointsman_discovery_options valid_discovery_options = POINTSMAN_DISCOVERY_OPTIONS_INIT;
static const pointsman_request valid_request = POINTSMAN_REQUEST_INIT;
static const pointsman_tag valid_tag = {POINTSMAN_STR_INIT("k"), POINTSMAN_STR_INIT("v")};
static const pointsman_str valid_str = POINTSMAN_STR_INIT("a:1");
static const double valid_f64 = 1;
static pointsman_instance valid_instance = POINTSMAN_INSTANCE_INIT;

static pointsman_discovery *valid_discovery, *new_discovery;
static pointsman_pool *valid_pool, *new_pool;
static pointsman_edit *valid_edit, *new_edit;
static pointsman_route *valid_route, *new_route;
static pointsman_picker *valid_picker, *new_picker;
static pointsman_lease *valid_lease, *new_lease;
static pointsman_string *new_string;

static pointsman_str out_str;
static pointsman_pick out_pick, out_picks[1];
static uint64_t out_u64;
static size_t out_usize;
static bool out_flag;

static void begin(void)
{
    static const pointsman_error fresh = POINTSMAN_ERROR_INIT;

    error = fresh;
    valid_instance.address = valid_id;
    valid_instance.tags = &valid_tag;
    valid_instance.tag_count = 1;
    OK(pointsman_discovery_parse(valid_document, NULL, &valid_discovery, &error));
    OK(pointsman_pool_new(NULL, &valid_instance, 1, &valid_pool, &error));
    OK(pointsman_edit_new(&valid_edit, &error));
    OK(pointsman_route_new(valid_pool, valid_spec, &valid_route, &error));
    OK(pointsman_picker_new(valid_route, &valid_picker, &error));
    OK(pointsman_picker_pick(valid_picker, NULL, &out_pick, &error));
    OK(pointsman_route_lease(valid_route, NULL, &valid_lease, &error));
    new_discovery = NULL;
    new_pool = NULL;
    new_edit = NULL;
    new_route = NULL;
    new_picker = NULL;
    new_lease = NULL;
    new_string = NULL;
}

/* Asks every handle for something, and frees all. */
static void end(void)
{
    OK(pointsman_discovery_len(valid_discovery, &out_usize, &error));
    OK(pointsman_edit_upsert(valid_edit, &valid_instance, &error));
    OK(pointsman_pool_commit(valid_pool, valid_edit, NULL, &error));
    OK(pointsman_route_pick(valid_route, NULL, &out_pick, &error));
    OK(pointsman_picker_pick(valid_picker, NULL, &out_pick, &error));
    pointsman_discovery_free(valid_discovery);
    pointsman_discovery_free(new_discovery);
    pointsman_pool_free(valid_pool);
    pointsman_pool_free(new_pool);
    pointsman_edit_free(valid_edit);
    pointsman_edit_free(new_edit);
    pointsman_route_free(valid_route);
    pointsman_route_free(new_route);
    pointsman_picker_free(valid_picker);
    pointsman_picker_free(new_picker);
    pointsman_lease_free(valid_lease);
    pointsman_lease_free(new_lease);
    pointsman_string_free(new_string);
}

static bool ends_the_lease(const char *call)
{
    return strncmp(call, "pointsman_lease_done", 20) == 0;
}

#define MUST_NOT_BE_NULL(call, name)                                                                                  \
    begin();                                                                                                          \
    GIVES(POINTSMAN_NULL, call);                                                                                      \
    CHECK(error.code == POINTSMAN_NULL && strcmp(error.field, name) == 0);                                            \
    CHECK(strcmp(error.message, name " is NULL") == 0 || strncmp(error.message, name " is NULL,", strlen(name) + 9) == 0); \
    CHECK(new_pool == NULL && new_route == NULL && new_picker == NULL && new_lease == NULL && new_string == NULL);    \
    end();

#define MAY_BE_NULL(call, name)                                                                                       \
    begin();                                                                                                          \
    OK(call);                                                                                                         \
    end();

#define PANICS(call)                                                                                                  \
    begin();                                                                                                          \
    pointsman_test_panic(0);                                                                                          \
    GIVES(POINTSMAN_PANIC, call);                                                                                     \
    CHECK(error.code == POINTSMAN_PANIC && strstr(error.message, "a forced panic") != NULL);                          \
    OK(call);                                                                                                         \
    if (ends_the_lease(#call))                                                                                        \
        valid_lease = NULL;                                                                                           \
    end();

#define FREES(name)                                                                                                   \
    name(NULL);                                                                                                       \
    pointsman_test_panic(0);                                                                                          \
    name(NULL);

#define PLAIN(call)                                                                                                   \
    (void)call;                                                                                                       \
    pointsman_test_panic(0);                                                                                          \
    CHECK(!call);                                                                                                     \
    (void)call;

int main(void)
{
#include "null_calls.inc"
    return 0;
}
