/* From a thread's second pick on, picks neither allocate nor free, whatever the policy and the request, and whatever the answer.
 *
 * The program's own malloc, of which every object of the process takes its memory, counts for each thread. */

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define INSTANCES 64
#define ITEMS 32
#define ROUNDS 200

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static _Thread_local unsigned long calls;

void *malloc(size_t size)
{
    calls++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    calls++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    calls++;
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    calls++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    calls++;
    *memory = __libc_memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

void free(void *memory)
{
    calls++;
    __libc_free(memory);
}

static pointsman_error error = POINTSMAN_ERROR_INIT;
static pointsman_pool *pool;
static char names[INSTANCES][32];
static pointsman_tag tags[ITEMS];
static pointsman_str ids[INSTANCES];

enum { PLAIN, TAGS, REQUIRE, EXCLUDE, KEY, PREFER, RELAX, ALL_EXCLUDED, NO_SUCH_TAG, KINDS };

static pointsman_request request_of(int kind)
{
    pointsman_request request = POINTSMAN_REQUEST_INIT;
    static const pointsman_tag gray = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("gray")};
    static const pointsman_tag rare = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("none such")};

    switch (kind) {
    case TAGS:
        request.tags = tags;
        request.tag_count = ITEMS;
        break;
    case REQUIRE:
        request.require = &gray;
        request.require_count = 1;
        break;
    case EXCLUDE:
        request.exclude = ids;
        request.exclude_count = ITEMS;
        break;
    case KEY:
        request.key = "a session's key";
        request.key_len = 15;
        break;
    case PREFER:
        request.prefer = ids[5];
        break;
    case RELAX:
        request.relax = true; /* falls through */
    case ALL_EXCLUDED:
        request.require = &gray;
        request.require_count = 1;
        request.exclude = ids;
        request.exclude_count = ITEMS;
        break;
    case NO_SUCH_TAG:
        request.require = &rare;
        request.require_count = 1;
        break;
    default:
        break;
    }
    return request;
}

static pointsman_result right_answer(int kind)
{
    return kind == ALL_EXCLUDED ? POINTSMAN_EXCLUDED : kind == NO_SUCH_TAG ? POINTSMAN_NO_MATCH : POINTSMAN_OK;
}

static void picks_take_no_memory(const char *policy, const char *rest)
{
    char spec[256];
    pointsman_route *route = NULL;
    pointsman_picker *picker = NULL;

    snprintf(spec, sizeof spec, "{\"policy\": %s, %s}", policy, rest);
    OK(pointsman_route_new(pool, pointsman_str_of(spec), &route, &error));
    OK(pointsman_picker_new(route, &picker, &error));
    for (int kind = PLAIN; kind < KINDS; kind++) {
        pointsman_request request = request_of(kind);
        pointsman_pick pick, picks[ITEMS];
        pointsman_str id;
        size_t count;

        /* The first picks of this thread, and the first ones that come to a set. */
        GIVES(right_answer(kind), pointsman_route_pick(route, &request, &pick, &error));
        GIVES(right_answer(kind), pointsman_picker_pick(picker, &request, &pick, &error));
        unsigned long before = calls;
        for (int i = 0; i < ROUNDS; i++) {
            GIVES(right_answer(kind), pointsman_route_pick(route, kind == PLAIN ? NULL : &request, &pick, &error));
            GIVES(right_answer(kind), pointsman_picker_pick(picker, kind == PLAIN ? NULL : &request, &pick, &error));
            if (right_answer(kind) == POINTSMAN_OK) {
                OK(pointsman_picker_id(picker, 0, &id, &error));
                OK(pointsman_route_pick_distinct(route, &request, picks, ITEMS, &count, &error));
            }
        }
        if (calls != before) {
            fprintf(stderr, "%s, request %d: %lu calls of the allocator in %d rounds\n", spec, kind, calls - before, ROUNDS);
            exit(1);
        }
    }
    pointsman_picker_free(picker);
    pointsman_route_free(route);
}

static pointsman_route *watched;
static atomic_bool stop;
static atomic_ulong rounds;

/* What updates leave behind is freed by who updates. */
static void *pick_while_lists_change(void *unused)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_picker *picker = NULL;
    pointsman_pick pick;

    OK(pointsman_picker_new(watched, &picker, &error));
    OK(pointsman_route_pick(watched, NULL, &pick, &error));
    OK(pointsman_picker_pick(picker, NULL, &pick, &error));
    unsigned long before = calls;
    while (!atomic_load(&stop)) {
        OK(pointsman_route_pick(watched, NULL, &pick, &error));
        OK(pointsman_picker_pick(picker, NULL, &pick, &error));
        atomic_fetch_add(&rounds, 1);
    }
    CHECK(calls == before);
    pointsman_picker_free(picker);
    return unused;
}

static void picks_take_no_memory_while_lists_change(void)
{
    pthread_t thread;
    pointsman_edit *edit = NULL;

    OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"weighted_random\", \"tiers\": [{}]}"), &watched, &error));
    OK(pointsman_edit_new(&edit, &error));
    CHECK(pthread_create(&thread, NULL, pick_while_lists_change, NULL) == 0);
    unsigned long before = calls;
    for (int round = 0; round < 1000 || atomic_load(&rounds) < 1000; round++) {
        OK(pointsman_edit_set_weight(edit, ids[round % INSTANCES], 1 + round % 5, &error));
        OK(pointsman_pool_commit(pool, edit, NULL, &error));
    }
    /* The counter counts: an update does allocate. */
    CHECK(calls > before + 1000);
    atomic_store(&stop, true);
    CHECK(pthread_join(thread, NULL) == 0);
    pointsman_edit_free(edit);
    pointsman_route_free(watched);
}

int main(void)
{
    static const char *const policies[] = {
        "\"random\"", "\"weighted_random\"", "\"round_robin\"", "\"weighted_round_robin\"", "\"least_load\"",
        "\"least_request\"", "\"power_of_two\"", "{\"power_of_two\": {\"choices\": 8}}", "\"peak_ewma\"",
        "\"consistent_hash\"", "{\"consistent_hash\": {\"algorithm\": \"maglev\", \"bound\": 1.25}}",
        "{\"consistent_hash\": {\"algorithm\": \"ketama\"}}",
    };
    static const pointsman_tag gray = {POINTSMAN_STR_INIT("version"), POINTSMAN_STR_INIT("gray")};
    pointsman_instance list[INSTANCES];

    for (int i = 0; i < INSTANCES; i++) {
        snprintf(names[i], sizeof names[i], "10.0.0.%d:80", i);
        ids[i] = pointsman_str_of(names[i]);
        list[i] = instance_of(names[i], 1 + i % 7, (uint64_t)i);
        if (i < 8) {
            list[i].tags = &gray;
            list[i].tag_count = 1;
        }
    }
    tags[0] = gray;
    for (int i = 1; i < ITEMS; i++) {
        static const pointsman_tag other = {POINTSMAN_STR_INIT("unread"), POINTSMAN_STR_INIT("value")};
        tags[i] = other;
    }
    OK(pointsman_pool_new(NULL, list, INSTANCES, &pool, &error));
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        picks_take_no_memory(policies[i], "\"tiers\": [{\"match\": [\"version\"], \"when_absent\": \"any\"}, {}]");
    picks_take_no_memory("\"weighted_random\"",
                         "\"split\": [{\"percent\": 5, \"tiers\": [{}], \"spill\": true}, {\"percent\": 95, \"tiers\": [{}]}], "
                         "\"by\": \"key\", \"counters\": true");
    picks_take_no_memory_while_lists_change();
    pointsman_pool_free(pool);
    return 0;
}
