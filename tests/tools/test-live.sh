#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tools at a program that runs already, on the software device; with -p, in C and in Python.
set -u
dir=$(mktemp -d)
failed=0
program=
finish() {
	[ -z "$program" ] || kill -9 "$program" 2>/dev/null
	rm -rf "$dir"
}
trap finish EXIT

# The program launches with two threads until it reads a line with a dot.  A copy of the software device: in the
# file's pages are breakpoints that other tests set by uprobes.
cp -L "$GPUTRACE_SIM_DIR/libcuda.so.1" "$dir/"
mkfifo "$dir/in"
LD_LIBRARY_PATH=$dir tests/e2e/target live 2 <"$dir/in" >"$dir/said" &
program=$!
exec 3>"$dir/in"

# until_true COMMAND...: a guard against a hang, not a measure of speed.
until_true() {
	for _ in $(seq 6000); do
		"$@" && return
		sleep 0.1
	done
	echo "never: $*"
	exit 1
}

ended() {
	! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$tool/status" 2>/dev/null
}

attached() {
	ended || grep -q 'is traced now' "$dir/out"
}

# The program has said so many lines.
lines() {
	[ "$(wc -l <"$dir/said")" -ge "$1" ]
}
said=1
until_true lines $said

# follow COMMAND...: until the program says that its threads have launched since, then it is interrupted.
follow() {
	"$@" -p $program >"$dir/out" 2>&1 &
	tool=$!
	until_true attached
	echo load >&3
	said=$((said + 1))
	until_true lines $said
	kill -INT $tool
	until_true ended
	wait $tool
	status=$?
	[ $status = 0 ] || { echo "$*: status $status"; cat "$dir/out"; failed=1; }
}

# has TEXT: somewhere in what it said.
has() {
	grep -qE -- "$1" "$dir/out" || { echo "$tool_name: no '$1' in:"; head -c 4000 "$dir/out"; failed=1; }
}

for form in ./ python; do
	run=$form
	if [ "$form" = python ]; then
		[ -e bindings/python/stage/stamp ] || continue
		run="$PYTHON3 $srcdir/examples/python/"
		PYTHONPATH=$PWD/bindings/python/stage:$srcdir/examples/python
		LD_LIBRARY_PATH=$PWD/.libs
		PYTHONDONTWRITEBYTECODE=1
		export PYTHONPATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE
	fi
	tool_name="${run}gputrace-kernels"
	follow ${run}gputrace-kernels
	has '^ *[0-9]+ +[0-9]+ +- +sm_[0-9]+ .* none +bump'
	has 'loaded before attach'
	tool_name="${run}gputrace-record"
	follow ${run}gputrace-record --no-api -o "$dir/trace.json"
	has '[1-9][0-9]* launches'
	follow ${run}gputrace-record --api=agent -o "$dir/trace.json"
	has '[1-9][0-9]* driver calls'
	grep -q cuLaunchKernel "$dir/trace.json" || { echo "no calls in the trace"; failed=1; }
	has 'no times of kernel bump: loaded before attach'
	# On a busy host a tool may be too slow for this program, and says so.
	has ' [0-9]+ lost'
	# Of two programs, but said once.
	tool_name="${run}gputrace-run"
	follow ${run}gputrace-run examples/bpf/threads.bpf.o
	has ': not in kernel (bump|spin)( and 1 more)?: loaded before attach'
	[ "$(grep -c 'not in kernel' "$dir/out")" = 1 ] || { echo "$tool_name: more than once"; cat "$dir/out"; failed=1; }
	"$PYTHON3" -c 'import json, sys; json.load(open(sys.argv[1]))' "$dir/trace.json" || failed=1
	# Kernels that lack programs for one reason are said in one line.
	GPUTRACE_ROUTE=graft ${run}gputrace-run --device=sim examples/bpf/threads.bpf.o -- \
		sh -c 'printf "run 1\n.\n" | tests/e2e/late module' >"$dir/out" 2>&1
	has ': not in kernel plain and 6 more: an image without machine code for this GPU is left as it is$'
	# Who reads no more ends the tool, not the command, whose status it gives.
	{ ${run}gputrace-record --device=sim --no-api -- sh -c \
		'echo "${GPUTRACE_SOCKET#*:}" >"$0"; examples/demo/vecadd -l 3000 -n 100 >/dev/null && exit 7' "$dir/socket"; echo $? >"$dir/status"; } \
		2>"$dir/out" | head -n 1 >/dev/null
	until_true test -s "$dir/status"
	[ "$(cat "$dir/status")" = 7 ] || { echo "nobody read: status $(cat "$dir/status")"; cat "$dir/out"; failed=1; }
	[ ! -e "$(dirname "$(cat "$dir/socket")")" ] || { echo "its folder stayed"; failed=1; }
	[ ! -s "$dir/out" ] || { echo "nobody read, and it said:"; cat "$dir/out"; failed=1; }
	rm "$dir/status"
	# What had not run when the command was killed.
	${run}gputrace-record --device=sim --no-api -o "$dir/trace.json" -- tests/e2e/target leave early >"$dir/out" 2>&1
	status=$?
	[ $status = 137 ] || { echo "status $status"; failed=1; }
	has '3 launches, 0 kernels'
	has ': 3 kernels were not seen to end'
	${run}gputrace-record --device=sim --no-api -o "$dir/trace.json" -- tests/e2e/launches full >"$dir/out" 2>&1
	has ': no times of 2 launches that ran without programs'
done
./gputrace-record -p $program true >"$dir/out" 2>&1 && failed=1
tool_name=gputrace-record
has 'a command and --pid do not go together'
./gputrace-kernels -p 99999999 >"$dir/out" 2>&1 && failed=1
tool_name=gputrace-kernels
has 'process 99999999'

echo . >&3
wait $program || { echo "the program's status: $?"; failed=1; }
program=
grep -q exact "$dir/said" || { echo "the program said:"; cat "$dir/said"; failed=1; }
exit $failed
