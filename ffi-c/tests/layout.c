/* Sizes, places and numbers as Rust has them; compiled as C and C++, also with short enumerations. */

#include <stddef.h>

#include <pointsman.h>

#ifdef __cplusplus
#define ASSERT(condition, text) static_assert(condition, text)
#else
#define ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define SIZE(type, size) ASSERT(sizeof(type) == size, "the size of " #type);
#define OFFSET(type, field, offset) ASSERT(offsetof(type, field) == offset, "the place of " #type "." #field);
#define VALUE(name, value) ASSERT(name == value, "the number " #name);

#include "layout.inc"

int main(void)
{
    return 0;
}
