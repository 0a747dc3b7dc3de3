#!/bin/sh
# The installed library links with nothing but what its package files say: install.sh SOURCE BUILD DEBUG_LIBRARY
set -eu
source=$1
build=$2
debug=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: "${CC:=cc}"

cmake --install "$build" --prefix "$work/first" > /dev/null
# A prefix can be moved.
mv "$work/first" "$work/prefix"
pkg=$(dirname "$(find "$work/prefix" -name pointsman.pc)")
lib=$(dirname "$pkg")
export PKG_CONFIG_PATH=$pkg
[ "$(pkg-config --modversion pointsman)" = "$(sed -n 's/^#define POINTSMAN_VERSION "\(.*\)"/\1/p' "$source/include/pointsman.h")" ]

# Shared, by pkg-config.
"$CC" "$source/examples/pick.c" $(pkg-config --cflags --libs pointsman) -o "$work/shared"
readelf -d "$work/shared" | grep -q 'NEEDED.*libpointsman\.so\.[0-9]*\]'
[ "$(LD_LIBRARY_PATH=$lib "$work/shared" | wc -l)" = 10 ]

# Static, by pkg-config, from a prefix without the shared library.
cp -r "$work/prefix" "$work/static"
rm "$work/static/${lib#"$work"/prefix/}"/libpointsman.so*
(
    export PKG_CONFIG_PATH=$work/static/${pkg#"$work"/prefix/}
    "$CC" "$source/examples/pick.c" $(pkg-config --static --cflags --libs pointsman) -o "$work/alone"
)
! readelf -d "$work/alone" | grep -q 'NEEDED.*libpointsman'
[ "$("$work/alone" | wc -l)" = 10 ]

# By find_package, and as a part of another project.
for way in package subdirectory; do
    mkdir "$work/$way"
    {
        echo 'cmake_minimum_required(VERSION 3.20)'
        echo 'project(user LANGUAGES C CXX)'
        if [ $way = package ]; then
            echo 'find_package(pointsman 0.1 REQUIRED)'
        else
            echo "add_subdirectory($source pointsman)"
        fi
        for target in pointsman pointsman_static; do
            echo "add_executable(use_$target $source/examples/pick.c)"
            echo "target_link_libraries(use_$target PRIVATE pointsman::$target)"
        done
    } > "$work/$way/CMakeLists.txt"
    # Cargo's folder of the release: the same library once more.
    cmake -S "$work/$way" -B "$work/$way/build" "-DCMAKE_PREFIX_PATH=$work/prefix" "-DPOINTSMAN_TARGET_DIR=$build/cargo" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    cmake --build "$work/$way/build" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    for target in pointsman pointsman_static; do
        [ "$("$work/$way/build/use_$target" | wc -l)" = 10 ]
    done
done

# Two Rust static libraries in one program, and two shared ones in one process.
mkdir "$work/second"
cat > "$work/second/lib.rs" <<'R'
#[unsafe(no_mangle)]
pub extern "C" fn second_sum(count: u32) -> u64 {
    std::panic::catch_unwind(|| (0..u64::from(count)).map(|n| format!("{n}").len() as u64).sum()).unwrap_or(0)
}
R
cat > "$work/second/main.c" <<'C'
#include <pointsman.h>
#include <stdio.h>
unsigned long long second_sum(unsigned count);
int main(void)
{
    pointsman_pool *pool;
    pointsman_instance one = POINTSMAN_INSTANCE_INIT;
    one.address = POINTSMAN_STR("a:1");
    if (pointsman_pool_new(NULL, &one, 1, &pool, NULL) != POINTSMAN_OK)
        return 1;
    pointsman_pool_free(pool);
    return second_sum(12) == 14 ? 0 : 2;
}
C
cd "$work/second"
rustc -O --edition 2024 --crate-name second --crate-type cdylib -o libsecond.so lib.rs
"$CC" main.c $(pkg-config --cflags --libs pointsman) -L. -lsecond -o both_shared
LD_LIBRARY_PATH=$lib:. ./both_shared
natives=$(PKG_CONFIG_PATH=$work/static/${pkg#"$work"/prefix/} pkg-config --static --libs-only-l pointsman | sed 's/-lpointsman//')
both() {
    "$CC" main.c -I"$work/prefix/include" "$@" $natives -o both_static
    ./both_static
}
second() {
    rustc "$@" --edition 2024 --crate-name second --crate-type staticlib -o libsecond.a lib.rs
}
# As they are, where both are for release or both for debugging.
second -O
both "$lib/libpointsman.a" libsecond.a
second -C opt-level=0 -C debuginfo=2
both "$debug" libsecond.a
# Else, and of different compilers, with the second library's symbols made local but for its own. An optimiser that looks at a
# whole library splits the standard one in its own way, and the linker would find parts of it twice.
for how in '-C opt-level=0' '-O' '-O -C lto=fat'; do
    second $how
    ld -r --force-group-allocation --whole-archive libsecond.a -o second.o
    objcopy --wildcard --keep-global-symbol='second_*' second.o
    both second.o "$lib/libpointsman.a"
    both second.o "$debug"
done
echo "installs and links"
