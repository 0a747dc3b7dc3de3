/* The picks of Rust, from C. */

#include "check.h"

#define PICKS 64

static const struct {
    const char *instances, *route;
    unsigned long long seed;
    const char *tag, *key;
    long picks[PICKS];
} cases[] = {
#include "vectors.inc"
};

int main(void)
{
    static pointsman_error error = POINTSMAN_ERROR_INIT;

    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        pointsman_discovery *discovery;
        pointsman_pool *pool;
        pointsman_route *route;
        pointsman_picker *picker;
        pointsman_tag tag = {POINTSMAN_STR_INIT("version"), {NULL, 0}};

        OK(pointsman_discovery_parse(pointsman_str_of(cases[at].instances), NULL, &discovery, &error));
        OK(pointsman_pool_new_discovered(NULL, discovery, &pool, &error));
        OK(pointsman_route_new(pool, pointsman_str_of(cases[at].route), &route, &error));
        OK(pointsman_picker_new_seeded(route, cases[at].seed, &picker, &error));
        for (int i = 0; i < PICKS; i++) {
            pointsman_request request = POINTSMAN_REQUEST_INIT;
            pointsman_pick pick;
            char key[64];

            if (cases[at].tag != NULL) {
                tag.value = pointsman_str_of(cases[at].tag);
                request.tags = &tag;
                request.tag_count = 1;
            }
            if (cases[at].key != NULL) {
                request.key_len = (size_t)snprintf(key, sizeof key, "%s%d", cases[at].key, i);
                request.key = key;
            }
            OK(pointsman_picker_pick(picker, &request, &pick, &error));
            CHECK(pick.index == cases[at].picks[i]);
        }
        pointsman_picker_free(picker);
        pointsman_route_free(route);
        pointsman_pool_free(pool);
        pointsman_discovery_free(discovery);
    }
    return 0;
}
