#!/bin/sh
# The headers compile alone and twice, in every standard that they promise: header.sh INCLUDE_DIR
set -eu
include=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-I$include -Wall -Wextra -Werror -pedantic -fsyntax-only"

printf '#include <pointsman.h>\n' > "$dir/once.c"
printf '#include <pointsman.h>\n#include <pointsman.h>\n' > "$dir/twice.c"
printf '#include <pointsman.hpp>\n#include <pointsman.hpp>\n#include <pointsman.h>\n' > "$dir/wrapper.cpp"
for file in once twice; do
    for std in c99 c11 c17; do
        "${CC:-cc}" $flags -std=$std "$dir/$file.c"
        "${CC:-cc}" $flags -std=$std -fshort-enums "$dir/$file.c"
    done
    for std in c++17 c++20; do
        "${CXX:-c++}" $flags -std=$std -x c++ "$dir/$file.c"
    done
done
for std in c++17 c++20; do
    "${CXX:-c++}" $flags -std=$std "$dir/wrapper.cpp"
    "${CXX:-c++}" $flags -std=$std -fno-exceptions -fno-rtti "$dir/wrapper.cpp"
done
echo "headers compile"
