#!/bin/sh
# The thread sanitizer finds the race of a picker that threads share, in the library: race.sh PROGRAM
set -eu
log=$(mktemp)
trap 'rm -f "$log" "$log.accesses"' EXIT

status=0
TSAN_OPTIONS="halt_on_error=1 exitcode=66" "$1" > "$log" 2>&1 || status=$?
[ "$status" = 66 ] || { cat "$log"; echo "ended with $status, not with the 66 of the sanitizer"; exit 1; }
grep -q 'WARNING: ThreadSanitizer: data race' "$log" || { cat "$log"; echo "no data race was told of"; exit 1; }
# Seen by what the compiler put into the library. One that is not watched shows only in calls that the runtime intercepts.
sed '/Location is/,$d' "$log" > "$log.accesses"
grep -q 'pointsman_capi::' "$log.accesses" || { cat "$log"; echo "the race is not in the library"; exit 1; }
! grep '#0 ' "$log.accesses" | grep -v '#0 __tsan_' | grep -q tsan_interceptors || { cat "$log"; echo "the library is not watched"; exit 1; }
echo "the race was found"
