#!/bin/sh
# Instructions of a pick from C and from Rust, counted: cost.sh C_PROGRAM RUST_PROGRAM
# Fails beyond 1.3 times.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of many picks less those of none, so that the start does not count.
count() {
    valgrind --tool=none "$1" "$2" 1 > /dev/null 2>&1 || exit 1
    few=$(valgrind --tool=lackey --basic-counts=yes "$1" "$2" 1000 2>&1 > /dev/null | sed -n 's/.*guest instrs: *//p' | tr -d ',')
    many=$(valgrind --tool=lackey --basic-counts=yes "$1" "$2" 11000 2>&1 > /dev/null | sed -n 's/.*guest instrs: *//p' | tr -d ',')
    echo $(((many - few) / 100))
}

for mode in route picker; do
    c=$(count "$1" $mode)
    rust=$(count "$2" $mode)
    echo "$mode: C $((c / 100)).$((c % 100)), Rust $((rust / 100)).$((rust % 100)) instructions a pick"
    [ $((c * 10)) -le $((rust * 13)) ] || { echo "more than 1.3 times"; exit 1; }
done
