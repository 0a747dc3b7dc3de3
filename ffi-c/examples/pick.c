/* The smallest program: two backends, one route, ten picks. */

#include <inttypes.h>
#include <stdio.h>

#include <pointsman.h>

static int complain(const char *what, const pointsman_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->message);
    return 1;
}

int main(void)
{
    static const char *const names[] = {"stable", "gray"};
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_pool *pool;
    pointsman_route *route;
    pointsman_instance backends[2] = {POINTSMAN_INSTANCE_INIT, POINTSMAN_INSTANCE_INIT};

    backends[0].address = POINTSMAN_STR("10.0.0.1:8080");
    backends[0].weight = 8;
    backends[0].user_data = 0;
    backends[1].address = POINTSMAN_STR("10.0.0.2:8080");
    backends[1].weight = 2;
    backends[1].user_data = 1;

    if (pointsman_pool_new(NULL, backends, 2, &pool, &error) != POINTSMAN_OK)
        return complain("pool", &error);
    if (pointsman_route_new(pool, POINTSMAN_STR("{\"policy\": \"weighted_random\", \"tiers\": [{}]}"), &route, &error)
        != POINTSMAN_OK)
        return complain("route", &error);

    for (int i = 0; i < 10; i++) {
        pointsman_pick pick;
        if (pointsman_route_pick(route, NULL, &pick, &error) != POINTSMAN_OK)
            return complain("pick", &error);
        printf("%s\n", names[pick.user_data]);
    }

    pointsman_route_free(route);
    pointsman_pool_free(pool);
    return 0;
}
