#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the headers declare, what the version script exports and what the library
# defines are the same functions; the agent shows no more than its version script says.
set -eu
srcdir=${srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

sed 's:/\*.*\*/::' "$srcdir"/include/gputrace/*.h | tr '\n' ' ' | grep -oE 'GPUTRACE_API [^;]*;' |
	grep -oE 'gputrace_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$work/headers"
grep -oE '^	gputrace_[a-z0-9_]+' "$srcdir/lib/libgputrace.map" | tr -d '\t' | sort -u >"$work/map"
nm -D --defined-only .libs/libgputrace.so | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' |
	sort -u >"$work/library"
nm -D --defined-only .libs/libgputrace-agent.so | awk '$2 != "A" { print $3 }' |
	grep -vE '^(__asan|__ubsan|__odr)' | sort -u >"$work/agent"

compare() {
	if ! diff "$work/$1" "$work/$2" >"$work/diff"; then
		echo "FAILED: $1 (<) and $2 (>) differ:"
		cat "$work/diff"
		failed=1
	fi
}

[ "$(wc -l <"$work/headers")" -gt 50 ] || { echo "FAILED: too few functions found in the headers"; failed=1; }
compare headers map
compare map library
grep -oE '^	[A-Za-z0-9_]+;' "$srcdir/lib/agent/agent.map" | tr -d '\t;' | sort -u >"$work/agent-map"
compare agent-map agent
if ldd .libs/libgputrace-agent.so | grep -vE 'linux-vdso|libc\.so|ld-linux|libasan|libubsan|libm\.so|libgcc_s|libstdc' | grep -q .; then
	echo "FAILED: the agent needs more than libc:"
	ldd .libs/libgputrace-agent.so
	failed=1
fi
echo "$(wc -l <"$work/headers") public functions"
exit $failed
