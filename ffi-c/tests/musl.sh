#!/bin/sh
# A static program with musl: the library built for it and installed, and linked by what pkg-config says: musl.sh SOURCE BUILD
set -eu
source=$1
build=$2
target=$(uname -m)-unknown-linux-musl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$source" -B "$build" -DPOINTSMAN_TARGET="$target" -DPOINTSMAN_SHARED=OFF -DPOINTSMAN_PROFILE=dev \
    -DPOINTSMAN_FEATURES=test-panic \
    -DPOINTSMAN_TARGET_DIR="$build/cargo" -DCMAKE_C_COMPILER=musl-gcc > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$build"
cmake --install "$build" --prefix "$work/prefix" > /dev/null
export PKG_CONFIG_PATH="$(dirname "$(find "$work/prefix" -name pointsman.pc)")"
musl-gcc -static "$source/examples/pick.c" $(pkg-config --static --cflags --libs pointsman) -o "$work/pick"
! readelf -d "$work/pick" | grep -q NEEDED || { echo "the program is not static"; exit 1; }
[ "$("$work/pick" | wc -l)" = 10 ] || { echo "the program does not work"; exit 1; }

# Panics unwind there too.
cat > "$work/panic.c" <<'C'
#include <pointsman.h>
void pointsman_test_panic(uint32_t skip);
int main(void)
{
    pointsman_edit *edit = NULL;
    pointsman_test_panic(0);
    if (pointsman_edit_new(&edit, NULL) != POINTSMAN_PANIC || edit != NULL)
        return 1;
    return pointsman_edit_new(&edit, NULL) == POINTSMAN_OK ? 0 : 2;
}
C
musl-gcc -static "$work/panic.c" $(pkg-config --static --cflags --libs pointsman) -o "$work/panic"
"$work/panic" 2> /dev/null || { echo "a panic is not caught"; exit 1; }
echo "links with musl"
