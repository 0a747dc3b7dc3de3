/* Forked children draw other numbers than their parent and than each other, without the host's help; and a child that is
 * forked while threads publish and hold leases goes on working, with flat memory. */

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* A rotation has some PICKS * INSTANCES sequences of this length, so that two alike by chance are rarer than 1 in 50,000 runs. */
#define PICKS 2000
#define INSTANCES 400
#define CHILDREN 5

static pointsman_error error = POINTSMAN_ERROR_INIT;
static atomic_bool stop;
static atomic_int started;
static pointsman_pool *pool;
static pointsman_route *route;

static void draw(pointsman_route *route, pointsman_picker *picker, uint32_t *out)
{
    pointsman_pick pick;
    for (int i = 0; i < PICKS; i++) {
        OK(picker ? pointsman_picker_pick(picker, NULL, &pick, &error) : pointsman_route_pick(route, NULL, &pick, &error));
        out[i] = pick.index;
    }
}

static void children_differ(const char *spec, bool with_picker)
{
    uint32_t drawn[CHILDREN + 1][PICKS];
    pointsman_picker *picker = NULL;
    pointsman_route *route = NULL;

    OK(pointsman_route_new(pool, pointsman_str_of(spec), &route, &error));
    if (with_picker)
        OK(pointsman_picker_new(route, &picker, &error));
    draw(route, picker, drawn[0]);
    for (int child = 0; child < CHILDREN; child++) {
        int ends[2];
        CHECK(pipe(ends) == 0);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            uint32_t mine[PICKS];
            draw(route, picker, mine);
            CHECK(write(ends[1], mine, sizeof mine) == (ssize_t)sizeof mine);
            _exit(0);
        }
        CHECK(read(ends[0], drawn[child], sizeof drawn[child]) == (ssize_t)sizeof drawn[child]);
        close(ends[0]);
        close(ends[1]);
        CHECK(waitpid(pid, NULL, 0) == pid);
    }
    draw(route, picker, drawn[CHILDREN]);
    for (int one = 0; one <= CHILDREN; one++)
        for (int two = 0; two < one; two++)
            if (memcmp(drawn[one], drawn[two], sizeof drawn[one]) == 0) {
                fprintf(stderr, "%s, %s: process %d draws what %d draws\n", spec, with_picker ? "picker" : "route", one, two);
                exit(1);
            }
    pointsman_picker_free(picker);
    pointsman_route_free(route);
}

static void publish(int round)
{
    pointsman_instance list[40];
    char names[40][32];
    for (int i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "10.0.%d.%d:80", (round + i) % 50, i);
        list[i] = instance_of(names[i], 1 + i % 5, (uint64_t)i);
    }
    OK(pointsman_pool_replace(pool, list, 40, NULL, &error));
}

/* The allocator of gcc 12's address sanitizer takes no locks around a fork: a child that was forked while another thread
 * allocated waits for ever inside it. There, the threads beside the fork do only what does not allocate; the plain program
 * publishes and holds leases. */
#ifdef __SANITIZE_ADDRESS__
#define MAY_ALLOCATE 0
#else
#define MAY_ALLOCATE 1
#endif

/* Pages that a child may grow by. A list that is never freed would be three for each update; what the sanitizer keeps of freed
 * memory takes its time to level off. */
#define GROWTH (MAY_ALLOCATE ? 512 : 4096)

static void *publisher(void *unused)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    for (int round = 0; !atomic_load(&stop); round++) {
        if (MAY_ALLOCATE)
            publish(round);
        else
            OK(pointsman_pool_report_load(pool, POINTSMAN_STR("b1:80"), round % 100, &error));
        if (round == 0)
            atomic_fetch_add(&started, 1);
    }
    return unused;
}

static void hold_leases(void)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_lease *leases[8];
    for (int i = 0; i < 8; i++)
        OK(pointsman_route_lease(route, NULL, &leases[i], &error));
    for (int i = 0; i < 8; i++)
        OK(pointsman_lease_done(leases[i], POINTSMAN_OUTCOME_SUCCESS, 1000, &error));
}

static void *holder(void *unused)
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_pick pick;
    for (int round = 0; !atomic_load(&stop); round++) {
        if (MAY_ALLOCATE)
            hold_leases();
        else
            OK(pointsman_route_pick(route, NULL, &pick, &error));
        if (round == 0)
            atomic_fetch_add(&started, 1);
    }
    return unused;
}

static long resident_pages(void)
{
    long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2);
    fclose(file);
    return resident;
}

static void child_works(int updates)
{
    long before = 0;
    for (int round = 0; round < updates; round++) {
        pointsman_lease *lease;
        publish(round);
        OK(pointsman_route_lease(route, NULL, &lease, &error));
        OK(pointsman_lease_done(lease, POINTSMAN_OUTCOME_SUCCESS, 1000, &error));
        if (round == updates / 10)
            before = resident_pages();
    }
    long after = resident_pages();
    if (after > before + GROWTH) {
        fprintf(stderr, "the child grew from %ld to %ld pages\n", before, after);
        _exit(1);
    }
    _exit(0);
}

static void fork_under_load(int updates)
{
    pthread_t threads[10];
    int status;

    for (int i = 0; i < 10; i++)
        CHECK(pthread_create(&threads[i], NULL, i < 2 ? publisher : holder, NULL) == 0);
    while (atomic_load(&started) < 10)
        usleep(1000);
    usleep(50 * 1000);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        alarm(600);
        child_works(updates);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    atomic_store(&stop, true);
    for (int i = 0; i < 10; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int count, char **arguments)
{
    int updates = count > 1 ? atoi(arguments[1]) : 10000;
    pointsman_instance list[INSTANCES];
    char names[INSTANCES][32];

    alarm(900);
    for (int i = 0; i < INSTANCES; i++) {
        snprintf(names[i], sizeof names[i], "b%d:80", i);
        /* No cycle of whole turns, which would leave a rotation few places to start at. */
        list[i] = instance_of(names[i], 1 + i * 0.6180339887, (uint64_t)i);
    }
    OK(pointsman_pool_new(NULL, list, INSTANCES, &pool, &error));
    children_differ("{\"policy\": \"weighted_random\", \"tiers\": [{}]}", false);
    children_differ("{\"policy\": \"weighted_random\", \"tiers\": [{}]}", true);
    children_differ("{\"policy\": \"weighted_round_robin\", \"tiers\": [{}]}", true);
    OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"random\", \"tiers\": [{}]}"), &route, &error));
    fork_under_load(updates);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    return 0;
}
