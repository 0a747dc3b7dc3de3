/* What the C tests share. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pointsman.h>

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                           \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

/* The call gives the result; otherwise says what it gave. Uses a variable `error`. */
#define GIVES(expected, call)                                                                                         \
    do {                                                                                                              \
        pointsman_result given = (call);                                                                              \
        if (given != (expected)) {                                                                                    \
            fprintf(stderr, "%s:%d: %s gives %s: %s\n", __FILE__, __LINE__, #call, pointsman_result_name(given),      \
                    given == POINTSMAN_OK ? "" : error.message);                                                      \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

#define OK(call) GIVES(POINTSMAN_OK, call)

static inline pointsman_instance instance_of(const char *address, double weight, uint64_t user_data)
{
    pointsman_instance instance = POINTSMAN_INSTANCE_INIT;
    instance.address = pointsman_str_of(address);
    instance.weight = weight;
    instance.user_data = user_data;
    return instance;
}

static inline bool str_is(pointsman_str str, const char *text)
{
    return str.len == strlen(text) && memcmp(str.data, text, str.len) == 0;
}

#endif
