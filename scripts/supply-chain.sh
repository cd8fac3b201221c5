#!/usr/bin/env bash
# Checks what the program is made of: module checksums, known vulnerabilities of the code that is really called, and the licences of everything it is linked with.
# Writes docs/licences.md. It needs the Go module proxy, and for the vulnerabilities https://vuln.go.dev; so it is run by hand before a release, not by CI.
#
#   scripts/supply-chain.sh              everything
#   scripts/supply-chain.sh licences     the licences alone
#
# Exit codes: 0 all is well, 1 something was found, 2 something could not be checked.
set -euo pipefail
cd "$(dirname "$0")/.."

GOVULNCHECK=golang.org/x/vuln/cmd/govulncheck@v1.9.0
GO_LICENSES=github.com/google/go-licenses@v1.6.0
TAGS=duckdb_arrow
ALLOWED='Apache-2.0|BSD-2-Clause|BSD-3-Clause|MIT|ISC|MPL-2.0|Unlicense|CC0-1.0|0BSD'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# tool builds a pinned tool outside of the module, so that go.mod stays as it is.
tool() { (cd "$work" && GOBIN=$work GOFLAGS= go install "$1"); }

vulnerabilities() {
	echo "== vulnerabilities ($GOVULNCHECK)"
	tool "$GOVULNCHECK"
	local code=0
	"$work/govulncheck" -tags "$TAGS" ./cmd/microbatch >"$work/found" 2>&1 || code=$?
	cat "$work/found"
	case $code in
	0) return 0 ;;
	3) echo "known vulnerabilities are reachable: update the modules named above" >&2; return 1 ;;
	esac
	if grep -qE 'vuln\.go\.dev|dial tcp|no such host|connection refused|timeout' "$work/found"; then
		echo "the vulnerability database https://vuln.go.dev cannot be reached from here: NOTHING WAS CHECKED for vulnerabilities" >&2
	else
		echo "govulncheck failed with exit code $code: NOTHING WAS CHECKED for vulnerabilities" >&2
	fi
	return 2
}

licences() {
	echo "== licences ($GO_LICENSES)"
	tool "$GO_LICENSES"
	# The addresses of the licence files are looked up in the network and are of no interest: without it they are "Unknown".
	GOROOT=$(go env GOROOT) GOFLAGS=-tags=$TAGS "$work/go-licenses" report ./cmd/microbatch --ignore microbatch 2>"$work/log" >"$work/report" || { cat "$work/log" >&2; return 2; }
	{
		echo '# Licences'
		echo
		echo 'What the program `microbatch` is linked with, written by `scripts/supply-chain.sh`. The static library of DuckDB holds third-party code of its own, under'
		echo 'permissive licences that its [repository](https://github.com/duckdb/duckdb/tree/main/third_party) lists. Test-only modules, among them fakes of Kafka and S3, are not part of the program.'
		echo
		echo '| library | licence |'
		echo '|---|---|'
		cut -d, -f1,3 "$work/report" | LC_ALL=C sort -u | awk -F, '{print "| `" $1 "` | " $2 " |"}'
	} >docs/licences.md
	if cut -d, -f1,3 "$work/report" | grep -vE ",($ALLOWED)\$"; then
		echo "these licences are not on the list of those that the program may be linked with" >&2
		return 1
	fi
	echo "$(wc -l <"$work/report") libraries, all under permissive licences: docs/licences.md"
}

result=0
run() { local code=0; "$@" || code=$?; if ((code == 1 || code == 2 && result == 0)); then result=$code; fi; }

if [[ ${1:-} != licences ]]; then
	echo "== checksums"
	run go mod verify
	run vulnerabilities
fi
run licences
exit "$result"
