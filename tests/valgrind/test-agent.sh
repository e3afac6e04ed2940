#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent and the software device in a traced program, under valgrind: no errors, and the
# program's output is that of an untraced run.
set -u
. "$srcdir/tests/valgrind/common.sh"
failed=0

# trace TOOL... -- ARGUMENTS: of tests/e2e/target.
trace() {
	tool=
	while [ "$1" != -- ]; do
		tool="$tool $1"
		shift
	done
	shift
	LD_LIBRARY_PATH=$GPUTRACE_SIM_DIR "$dir/target" "$@" >"$dir/plain" || { failed=1; return; }
	# shellcheck disable=SC2086 # words
	$tool $valgrind --log-file="$dir/valgrind" "$dir/target" "$@" >"$dir/out" 2>&1
	status=$?
	if [ $status = 0 ] && [ ! -s "$dir/valgrind" ] && grep -qxF -- "$(cat "$dir/plain")" "$dir/out"; then
		echo "ok: $*"
	else
		echo "FAILED: $*: status $status"
		cat "$dir/valgrind" "$dir/out"
		failed=1
	fi
}

record="./gputrace-record --device=sim --no-api"
threads="./gputrace-run --device=sim examples/bpf/threads.bpf.o"
trace $record -- vecadd 4
trace $threads -- vecadd 4
trace $threads -- exits
trace $record -- graph 3
trace $record -- reload 3
trace $record -- contexts
exit $failed
