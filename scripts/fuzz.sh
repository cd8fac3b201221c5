#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   scripts/fuzz.sh 30s      each for 30 seconds
#
# A run that ends with a bare "context deadline exceeded" and has written no failing input is run again, twice at most: up to Go 1.26 the fuzzing engine reports the
# end of its own time as a failure when it meets a worker that is being stopped (https://go.dev/issue/75804). A slow target is no such case: it prints what it was doing.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?how long each target runs, for example 30s}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

fuzz() {
	go test -tags failpoints,duckdb_arrow -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 20x -parallel 1 "$1" 2>&1 | tee "$out"
}

# ended_late: the engine's own end was all that failed.
ended_late() {
	grep -qx '    context deadline exceeded' "$out" && ! grep -qE 'Failing input|panic|_test.go:' "$out"
}

targets=$(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | sed -E 's|/[^/]*:func | |' | sort)
while read -r package target; do
	echo "== $package $target"
	for try in 1 2 3; do
		if fuzz "$package" "$target" </dev/null; then
			continue 2
		fi
		ended_late || exit 1
	done
	exit 1
done <<<"$targets"
