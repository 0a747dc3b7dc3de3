/* Eight threads pick, two change the list, one frees and makes routes; the release hook picks, too. Every thread gets on.
 *
 * With SHARED_PICKER all use one picker, which serves one thread at a time: what a thread sanitizer must find. */

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define THREADS 11
#define ROUNDS 20

static pointsman_pool *pool;
static pointsman_route *route;
static atomic_bool stop;
static atomic_ulong told;
/* How far each thread has come. Counted without any order, which would hide races from the sanitizer. */
static atomic_ulong rounds[THREADS];
#ifdef SHARED_PICKER
static pointsman_picker *shared;
#endif

static void count(atomic_ulong *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static bool stopped(void)
{
    return atomic_load_explicit(&stop, memory_order_relaxed);
}

/* User code that uses the pool while an update tells it of what has gone. */
static void release(uint64_t user_data, void *context)
{
    pointsman_pick pick;
    pointsman_route *const *place = context;

    (void)user_data;
    if (*place != NULL)
        (void)pointsman_route_pick(*place, NULL, &pick, NULL);
    (void)pointsman_pool_tick(pool, NULL, NULL);
    count(&told);
}

static void *pick_all_the_time(void *argument)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_picker *picker;
    size_t number = (size_t)argument;
    bool leases = number % 2 == 1;

#ifdef SHARED_PICKER
    picker = shared;
#else
    OK(pointsman_picker_new(route, &picker, &error));
#endif
    while (!stopped()) {
        pointsman_pick pick;
        pointsman_str id;
        OK(pointsman_route_pick(route, NULL, &pick, &error));
        OK(pointsman_picker_pick(picker, NULL, &pick, &error));
        OK(pointsman_picker_id(picker, 0, &id, &error));
        CHECK(id.len == 7 && id.data[0] == 'h');
        CHECK(pick.user_data < 100);
        if (leases) {
            pointsman_lease *lease;
            OK(pointsman_picker_lease(picker, NULL, &lease, &error));
            OK(pointsman_lease_done(lease, POINTSMAN_OUTCOME_FAILURE, 5, &error));
        }
        count(&rounds[number]);
    }
#ifndef SHARED_PICKER
    pointsman_picker_free(picker);
#endif
    return NULL;
}

static void *change_all_the_time(void *argument)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    size_t number = (size_t)argument;
    unsigned long round = number % 2 * 45;
    pointsman_edit *edit;

    OK(pointsman_edit_new(&edit, &error));
    while (!stopped()) {
        char name[32];
        pointsman_instance instance;
        snprintf(name, sizeof name, "h%02lu:80!", round % 90);
        name[7] = 0;
        instance = instance_of(name, 1, round % 90);
        OK(pointsman_edit_upsert(edit, &instance, &error));
        OK(pointsman_pool_commit(pool, edit, NULL, &error));
        OK(pointsman_edit_remove(edit, pointsman_str_of(name), &error));
        pointsman_result result = pointsman_pool_commit(pool, edit, NULL, &error);
        CHECK(result == POINTSMAN_OK || result == POINTSMAN_NOT_FOUND);
        round++;
        count(&rounds[number]);
    }
    pointsman_edit_free(edit);
    return NULL;
}

static void *make_routes(void *argument)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    while (!stopped()) {
        pointsman_route *other;
        pointsman_pick pick;
        OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"round_robin\", \"tiers\": [{}]}"), &other, &error));
        OK(pointsman_route_pick(other, NULL, &pick, &error));
        pointsman_route_free(other);
        OK(pointsman_pool_tick(pool, NULL, &error));
        count(&rounds[(size_t)argument]);
    }
    return NULL;
}

static bool all_got_on(void)
{
    for (size_t i = 0; i < THREADS; i++)
        if (atomic_load_explicit(&rounds[i], memory_order_relaxed) < ROUNDS)
            return false;
    return atomic_load_explicit(&told, memory_order_relaxed) > 0;
}

int main(int count, char **arguments)
{
    static pointsman_error error = POINTSMAN_ERROR_INIT;
    static pointsman_route *known;
    unsigned seconds = count > 1 ? (unsigned)atoi(arguments[1]) : 3;
    pointsman_instance list[2];
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pthread_t threads[THREADS];

    list[0] = instance_of("h98:80!", 1, 98);
    list[1] = instance_of("h99:80!", 2, 99);
    options.release = release;
    options.release_context = &known;
    OK(pointsman_pool_new(&options, list, 2, &pool, &error));
    OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"weighted_round_robin\", \"tiers\": [{}]}"), &route, &error));
    known = route;
#ifdef SHARED_PICKER
    OK(pointsman_picker_new(route, &shared, &error));
#endif
    for (size_t i = 0; i < THREADS; i++) {
        void *(*body)(void *) = i < 8 ? pick_all_the_time : i < 10 ? change_all_the_time : make_routes;
        CHECK(pthread_create(&threads[i], NULL, body, (void *)i) == 0);
    }
    /* The watchdog: whoever waits for ever keeps all from getting on. */
    alarm(seconds + 600);
    sleep(seconds);
    while (!all_got_on())
        usleep(10000);
    atomic_store(&stop, true);
    for (size_t i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        printf("thread %zu: %lu rounds\n", i, atomic_load(&rounds[i]));
    }
    printf("%lu releases\n", atomic_load(&told));
    known = NULL;
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    return 0;
}
