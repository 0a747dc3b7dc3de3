#!/bin/sh
# Instructions of a pick from C and from Rust, counted: cost.sh C_PROGRAM RUST_PROGRAM
# Fails where C takes more than 1.3 times as many.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of many picks less those of none, so that the start does not count.
count() {
    few=$(valgrind --tool=lackey --basic-counts=yes "$1" "$2" 1000 2>&1 > /dev/null | sed -n 's/.*guest instrs: *//p' | tr -d ',')
    many=$(valgrind --tool=lackey --basic-counts=yes "$1" "$2" 11000 2>&1 > /dev/null | sed -n 's/.*guest instrs: *//p' | tr -d ',')
    echo $(((many - few) / 100))
}

for mode in route picker; do
    most=130
    c=$(count "$1" $mode)
    rust=$(count "$2" $mode)
    [ "$rust" -gt 0 ] || { echo "nothing was counted"; exit 1; }
    ratio=$((c * 1000 / rust))
    printf '%s: C %d.%02d, Rust %d.%02d instructions a pick, %d.%03d times\n' "$mode" $((c / 100)) $((c % 100)) \
        $((rust / 100)) $((rust % 100)) $((ratio / 1000)) $((ratio % 1000))
    [ "$c" -gt 0 ] && [ $((c * 100)) -le $((rust * most)) ] || { echo "more than $most %"; exit 1; }
done
