#!/bin/sh
# cargo-c builds and installs the same library as CMake does: release.sh SOURCE BUILD CARGO_C_FOLDER
# BUILD is that of CMake's release. cargo-c is built first where the folder has none, which takes a quarter of an hour.
set -eu
source=$1
build=$2
tools=$3
version=0.10.19+cargo-0.93.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=cc}"

if ! "$tools/bin/cargo-cinstall" --version 2>/dev/null | grep -q "${version%+*}"; then
    CARGO_PROFILE_DEV_DEBUG=0 cargo install --locked --debug --root "$tools" "cargo-c@$version"
fi

PATH=$tools/bin:$PATH cargo cinstall --manifest-path "$source/Cargo.toml" --locked --release \
    --target-dir "$build/cargo-c" --prefix /usr --libdir lib --destdir "$work/theirs"
cmake --install "$build" --prefix "$work/ours" > /dev/null

# The same headers, and nothing else in their place.
diff -r "$work/ours/include" "$work/theirs/usr/include"

# One SONAME, and the same functions.
lib=$work/theirs/usr/lib
soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
symbols() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }
ours=$(find "$work/ours" -name 'libpointsman.so')
[ "$(soname "$lib/libpointsman.so")" = "$(soname "$ours")" ] || { echo "SONAME $(soname "$lib/libpointsman.so")"; exit 1; }
symbols "$ours" > "$work/ours.symbols"
symbols "$lib/libpointsman.so" > "$work/theirs.symbols"
diff "$work/ours.symbols" "$work/theirs.symbols"

# Programs link by its package file, shared and static.
export PKG_CONFIG_LIBDIR="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/theirs"
[ "$(pkg-config --modversion pointsman)" = "$(sed -n 's/^#define POINTSMAN_VERSION "\(.*\)"/\1/p' "$source/include/pointsman.h")" ]
"$CC" "$source/examples/pick.c" $(pkg-config --cflags --libs pointsman) -o "$work/shared"
[ "$(LD_LIBRARY_PATH=$lib "$work/shared" | wc -l)" = 10 ]
rm "$lib"/libpointsman.so*
"$CC" "$source/examples/pick.c" $(pkg-config --static --cflags --libs pointsman) -o "$work/static"
[ "$("$work/static" | wc -l)" = 10 ]
echo "cargo-c installs the same library"
