#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The public headers: pedantic C11, C++, and no way to include a part alone.
set -eu
cc=${CC:-cc}
include=${srcdir:-.}/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

try() {
	what=$1
	shift
	if "$@" >"$work/out" 2>&1; then
		echo "ok: $what"
	else
		echo "FAILED: $what"
		cat "$work/out"
		failed=1
	fi
}

echo '#include <gputrace/gputrace.h>
int main(void) { return gputrace_version() == 0; }' >"$work/all.c"
try "C11, pedantic" "$cc" -std=c11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$work/all.c"
if command -v c++ >/dev/null; then
	cp "$work/all.c" "$work/all.cc"
	try "C++" c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$work/all.cc"
else
	echo "C++ not tried: no c++ here"
fi
# For traced programs, which include it alone.
for language in "$cc -std=c11" "c++ -std=c++11 -x c++"; do
	command -v "${language%% *}" >/dev/null || continue
	echo '#include <gputrace/agent.h>
int main(void) { return gputrace_agent_find(GPUTRACE_AGENT_POP_ID) != NULL; }' >"$work/agent.c"
	try "agent.h, $language" $language -pedantic -Wall -Wextra -Werror -I"$include" -fsyntax-only "$work/agent.c"
done
for header in "$include"/gputrace/*.h; do
	name=$(basename "$header")
	[ "$name" != gputrace.h ] && [ "$name" != agent.h ] || continue
	echo "#include <gputrace/$name>" >"$work/one.c"
	if "$cc" -I"$include" -fsyntax-only "$work/one.c" 2>"$work/out"; then
		echo "FAILED: $name can be included alone"
		failed=1
	elif ! grep -q 'include <gputrace/gputrace.h>' "$work/out"; then
		echo "FAILED: $name does not say what to include instead"
		failed=1
	fi
done
exit $failed
