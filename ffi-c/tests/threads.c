/* Eight threads pick, two change the list, one frees and makes routes; the release hook picks, too. Nobody waits for ever. */

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pointsman_pool *pool;
static pointsman_route *route;
static atomic_bool stop;
static atomic_ulong picked, changed, told;

/* User code that uses the pool while an update tells it of what has gone. */
static void release(uint64_t user_data, void *context)
{
    pointsman_pick pick;
    pointsman_route *const *place = context;

    (void)user_data;
    if (*place != NULL)
        (void)pointsman_route_pick(*place, NULL, &pick, NULL);
    (void)pointsman_pool_tick(pool, NULL, NULL);
    atomic_fetch_add(&told, 1);
}

static void *pick_all_the_time(void *argument)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_picker *picker;
    bool leases = argument != NULL;

    OK(pointsman_picker_new(route, &picker, &error));
    while (!atomic_load(&stop)) {
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
        atomic_fetch_add(&picked, 1);
    }
    pointsman_picker_free(picker);
    return NULL;
}

static void *change_all_the_time(void *argument)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    unsigned long round = (unsigned long)(size_t)argument;
    pointsman_edit *edit;

    OK(pointsman_edit_new(&edit, &error));
    while (!atomic_load(&stop)) {
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
        atomic_fetch_add(&changed, 1);
    }
    pointsman_edit_free(edit);
    return NULL;
}

static void *make_routes(void *unused)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    while (!atomic_load(&stop)) {
        pointsman_route *other;
        pointsman_pick pick;
        OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"round_robin\", \"tiers\": [{}]}"), &other, &error));
        OK(pointsman_route_pick(other, NULL, &pick, &error));
        pointsman_route_free(other);
        OK(pointsman_pool_tick(pool, NULL, &error));
    }
    return unused;
}

int main(int count, char **arguments)
{
    static pointsman_error error = POINTSMAN_ERROR_INIT;
    static pointsman_route *known;
    unsigned seconds = count > 1 ? (unsigned)atoi(arguments[1]) : 3;
    pointsman_instance list[2];
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pthread_t threads[11];

    alarm(seconds + 60);
    list[0] = instance_of("h98:80!", 1, 98);
    list[1] = instance_of("h99:80!", 2, 99);
    options.release = release;
    options.release_context = &known;
    OK(pointsman_pool_new(&options, list, 2, &pool, &error));
    OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"weighted_round_robin\", \"tiers\": [{}]}"), &route, &error));
    known = route;
    for (size_t i = 0; i < 11; i++) {
        void *(*body)(void *) = i < 8 ? pick_all_the_time : i < 10 ? change_all_the_time : make_routes;
        CHECK(pthread_create(&threads[i], NULL, body, (void *)(i % 2 * 45)) == 0);
    }
    sleep(seconds);
    atomic_store(&stop, true);
    for (int i = 0; i < 11; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    printf("%lu picks, %lu changes, %lu releases\n", atomic_load(&picked), atomic_load(&changed), atomic_load(&told));
    CHECK(atomic_load(&picked) > 0 && atomic_load(&changed) > 0 && atomic_load(&told) > 0);
    known = NULL;
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    return 0;
}
