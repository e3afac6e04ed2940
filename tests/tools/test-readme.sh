#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C program that README.md shows compiles, and follows a command to its end.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk '/^```c$/ { n++; inside = n == 2; next } /^```$/ { inside = 0 } inside' "$srcdir/README.md" >"$dir/sample.c"
grep -q 'int main' "$dir/sample.c"
# shellcheck disable=SC2086 # flags are words
${CC:-cc} -std=gnu11 -Wall -Wextra -Werror ${SANITIZE_FLAGS-} -I"$srcdir/include" "$dir/sample.c" \
	-o "$dir/sample" -L.libs -lgputrace -Wl,-rpath,"$PWD/.libs"

GPUTRACE_AGENT=$PWD/.libs/libgputrace-agent.so
export GPUTRACE_AGENT
"$dir/sample" true
if "$dir/sample" 2>"$dir/error"; then
	echo "it did without a command"
	exit 1
fi
grep -q '^usage: .* COMMAND' "$dir/error"
if "$dir/sample" ./no-such-command 2>"$dir/error"; then
	echo "a command that does not exist was run"
	exit 1
fi
grep -q 'no-such-command' "$dir/error"
