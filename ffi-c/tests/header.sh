#!/bin/sh
# The headers compile alone and twice, in every standard that they promise, and from C++ the names are C's: header.sh INCLUDE_DIR
set -eu
include=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-I$include -Wall -Wextra -Werror -pedantic"
: "${CC:=cc}" "${CXX:=c++}"

printf '#include <pointsman.h>\n' > "$dir/once.c"
printf '#include <pointsman.h>\n#include <pointsman.h>\n' > "$dir/twice.c"
printf '#include <pointsman.hpp>\n#include <pointsman.hpp>\n#include <pointsman.h>\n' > "$dir/wrapper.cpp"
for file in once twice; do
    # C23 by the name that older compilers have for it too.
    for std in c99 c11 c17 c2x; do
        "$CC" $flags -fsyntax-only -std=$std "$dir/$file.c"
        "$CC" $flags -fsyntax-only -std=$std -fshort-enums "$dir/$file.c"
    done
    for std in c++11 c++14 c++17 c++20; do
        "$CXX" $flags -fsyntax-only -std=$std -x c++ "$dir/$file.c"
    done
done
for std in c++17 c++20; do
    "$CXX" $flags -fsyntax-only -std=$std "$dir/wrapper.cpp"
    "$CXX" $flags -fsyntax-only -std=$std -fno-exceptions -fno-rtti "$dir/wrapper.cpp"
done
for part in "$include"/pointsman/*.hpp; do
    "$CXX" $flags -fsyntax-only -std=c++17 -x c++ -include "$part" /dev/null
done

# Every macro that initialises, and a call, in the oldest C++ that includes the header.
cat > "$dir/use.cpp" <<'C'
#include <pointsman.h>
int main()
{
    pointsman_error error = POINTSMAN_ERROR_INIT;
    pointsman_request request = POINTSMAN_REQUEST_INIT;
    pointsman_instance instance = POINTSMAN_INSTANCE_INIT;
    pointsman_pool_options options = POINTSMAN_POOL_OPTIONS_INIT;
    pointsman_discovery_options reading = POINTSMAN_DISCOVERY_OPTIONS_INIT;
    pointsman_str text = POINTSMAN_STR_INIT("a:1");
    pointsman_pool *pool = 0;
    instance.address = text;
    instance.id = POINTSMAN_STR("a");
    instance.zone = pointsman_str_of("z");
    return pointsman_pool_new(&options, &instance, 1, &pool, &error) + (request.size == reading.size);
}
C
"$CXX" $flags -std=c++11 -c "$dir/use.cpp" -o "$dir/use.o"
nm -u "$dir/use.o" | grep -q ' pointsman_pool_new$' || { echo "C++ does not call pointsman_pool_new by that name"; exit 1; }
echo "headers compile"
