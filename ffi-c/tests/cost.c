/* Picks, for counting instructions: cost MODE COUNT. A twin of tests/cost.rs. */

#include "check.h"

int main(int count, char **arguments)
{
    static pointsman_error error = POINTSMAN_ERROR_INIT;
    long picks = count > 2 ? atol(arguments[2]) : 1;
    const char *mode = count > 1 ? arguments[1] : "route";
    pointsman_instance list[64];
    char names[64][16];
    pointsman_pool *pool;
    pointsman_route *route;
    pointsman_picker *picker;
    pointsman_pick pick;
    uint64_t sum = 0;

    for (int i = 0; i < 64; i++) {
        snprintf(names[i], sizeof names[i], "10.0.0.%d:80", i);
        list[i] = instance_of(names[i], 1 + i % 7, (uint64_t)i);
    }
    OK(pointsman_pool_new(NULL, list, 64, &pool, &error));
    OK(pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"weighted_random\", \"tiers\": [{}]}"), &route, &error));
    OK(pointsman_picker_new_seeded(route, 1, &picker, &error));
    if (strcmp(mode, "route") == 0)
        for (long i = 0; i < picks; i++)
            sum += pointsman_route_pick(route, NULL, &pick, &error) == POINTSMAN_OK ? pick.user_data : 0;
    else
        for (long i = 0; i < picks; i++)
            sum += pointsman_picker_pick(picker, NULL, &pick, &error) == POINTSMAN_OK ? pick.user_data : 0;
    printf("%llu\n", (unsigned long long)sum);
    pointsman_picker_free(picker);
    pointsman_route_free(route);
    pointsman_pool_free(pool);
    return 0;
}
