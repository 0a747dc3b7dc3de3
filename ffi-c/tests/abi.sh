#!/bin/sh
# Exported symbols and the ABI, against what is committed: abi.sh LIBRARY [--update]
set -eu
library=$1
here=$(cd "$(dirname "$0")" && pwd)
dump=$here/abi/libpointsman.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only pointsman_ leaves the library, and none of the tests' own.
others=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^pointsman_' || true)
[ -z "$others" ] || { echo "exported besides: $others"; exit 1; }
! nm -D --defined-only "$library" | grep -q pointsman_test || { echo "exports a function of the tests"; exit 1; }

# Every function of the header is there, and nothing else.
nm -D --defined-only "$library" | awk '{print $3}' | sort > "$work/exported"
grep -o 'pointsman_[a-z_]*(' "$here/../include/pointsman.h" | tr -d '(' | sort -u \
    | grep -v -x -e pointsman_str_of -e pointsman_is_no_instance > "$work/declared"
diff "$work/declared" "$work/exported" || { echo "header and library differ"; exit 1; }

# The declarations as the header has them: a program that refers to every function carries their types.
soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
abi=$(sed -n 's/^#define POINTSMAN_ABI //p' "$here/../include/pointsman.h")
[ "$soname" = "libpointsman.so.$abi" ] || { echo "SONAME $soname, ABI $abi"; exit 1; }

{
    echo '#include <pointsman.h>'
    awk '/^(const char|uint32_t|size_t|void|pointsman_result) [*]?pointsman_[a-z_]*\(/ {on=1} on {print} on && /;$/ {on=0}' \
        "$here/../include/pointsman.h" | sed 's/;$/ STUB/'
} > "$work/stub.c.in"
sed -e 's/^void \(.*\) STUB/void \1 {}/' -e 's/ STUB$/ { return 0; }/' "$work/stub.c.in" > "$work/stub.c"
cc -w -g -fPIC -shared -Wl,-soname,"$soname" -I"$here/../include" -o "$work/libpointsman.so" "$work/stub.c"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed "$work/libpointsman.so" > "$work/now.abi"
# Where it was made is no part of it.
sed -i "s|$work/||g" "$work/now.abi"

if [ "${2:-}" = --update ]; then
    mkdir -p "$(dirname "$dump")"
    cp "$work/now.abi" "$dump"
fi
# Additions change nothing for who is linked already, but belong into the dump.
abidiff "$dump" "$work/now.abi" || { echo "the ABI differs from tests/abi/libpointsman.abi; make abi writes it"; exit 1; }
echo "the ABI is as committed"
