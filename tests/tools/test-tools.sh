#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the tools say and how they end, as far as that needs no CUDA program.
set -u
GPUTRACE_AGENT=$PWD/.libs/libgputrace-agent.so
export GPUTRACE_AGENT
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS TEXT COMMAND...: how it ends, and what stands in its output.
expect() {
	status=$1 text=$2
	shift 2
	"$@" >"$dir/out" 2>&1
	seen=$?
	if [ $seen != "$status" ] || ! grep -qF -- "$text" "$dir/out"; then
		echo "$*: status $seen, not $status, or no '$text' in:"
		cat "$dir/out"
		failed=1
	fi
}

for tool in record run kernels; do
	expect 0 "Usage: gputrace-$tool" ./gputrace-$tool --help
	expect 0 "gputrace-$tool (libgputrace) 0." ./gputrace-$tool --version
	expect 125 "--help" ./gputrace-$tool --no-such-option
	expect 125 "not 'tpu'" ./gputrace-$tool --device=tpu true
	expect 125 "given" ./gputrace-$tool
done

echo "not an object" >"$dir/text.bpf.o"
expect 125 "text.bpf.o" ./gputrace-run "$dir/text.bpf.o" true
expect 125 "/bin/true" ./gputrace-run /bin/true true
expect 125 "missing.bpf.o" ./gputrace-run "$dir/missing.bpf.o" true
expect 125 "no command given" ./gputrace-run examples/bpf/threads.bpf.o

for tool in "./gputrace-record --no-api" "./gputrace-run examples/bpf/threads.bpf.o" ./gputrace-kernels; do
	expect 127 "no-such-command" $tool -- no-such-command
	expect 127 "no-such-command" $tool -- ./no-such-command
	expect 126 "text.bpf.o" $tool -- "$dir/text.bpf.o"
	expect 125 "did not use CUDA" $tool -- true
	expect 7 "did not use CUDA" $tool -- sh -c 'exit 7'
	expect 137 "did not use CUDA" $tool -- sh -c 'kill -9 $$'
	GPUTRACE_AGENT=/nonexistent.so expect 125 "the agent" $tool -- true
done
expect 125 "no table: nothing ran" ./gputrace-record --no-api --table -- true
grep -q TOTAL "$dir/out" && { echo "a heading without a table"; failed=1; }
# One reason is enough.
if ./gputrace-run examples/bpf/threads.bpf.o true 2>&1 | grep "no kernel matches"; then
	failed=1
fi
expect 125 "not 'magic'" ./gputrace-record --api=magic -- true
expect 125 "the agent" ./gputrace-record --agent=/nonexistent.so -- true
expect 125 "not a shared library" ./gputrace-record --agent="$dir/text.bpf.o" -- true
expect 125 "not a shared library" ./gputrace-record --agent=/dev/null -- true
for pid in 0 -1 12abc 4294967297 99999999999999999999 ""; do
	expect 125 "the number of a process, not '$pid'" ./gputrace-record --pid="$pid"
done
expect 125 "/nonexistent/trace.json" ./gputrace-record --no-api -o /nonexistent/trace.json -- true
expect 125 "/dev/full" ./gputrace-record --no-api -o /dev/full -- true

# What would do nothing is said.
expect 125 "goes with a command" ./gputrace-record --device=sim --all
for tool in record kernels; do
	expect 125 "goes with a command" ./gputrace-$tool --device=sim -p $$
done
expect 125 "not '-'" ./gputrace-record -o - -- true
for option in --stacks --unwind=8192; do
	expect 125 "and --no-api records none" ./gputrace-record --no-api $option -- true
done
expect 125 "do not go together" ./gputrace-record --no-api --api=agent -- true
expect 125 "--no-api none" ./gputrace-record --no-api --all
expect 125 "--api=agent goes with a command" ./gputrace-record --api=agent --all
for option in --no-api --api=agent --functions=libnccl.so.2:nccl*; do
	expect 125 "the other records" ./gputrace-record --follow="$dir/none" "$option"
done

expect 125 "do not go together" ./gputrace-record --follow="$dir/none" --publish="$dir/other"
expect 125 "is there already" ./gputrace-record --no-api --publish="$dir/text.bpf.o" -- true
expect 125 "nobody publishes" ./gputrace-record --follow="$dir/text.bpf.o"

# Where nothing can be recorded there is no summary of it.
without=
if [ "$(id -u)" = 0 ]; then
	without="setpriv --bounding-set=-all --inh-caps=-all"
fi
expect 125 "CAP_BPF" $without ./gputrace-record --all
if grep -q "driver calls," "$dir/out" || [ "$(wc -l <"$dir/out")" != 1 ]; then
	echo "more than an error:"
	cat "$dir/out"
	failed=1
fi

# What was asked for and cannot be had is an error before the command runs; what the tool chooses itself is not.
ran() {
	grep -qx "ran" "$dir/out"
}
expect 125 "CAP_BPF" $without ./gputrace-record --device=sim --api=uprobes -- echo ran
ran && { echo "without uprobes, which were asked for, the command ran"; failed=1; }
expect 125 "CAP_BPF" $without ./gputrace-record --device=sim --functions=libc.so.6:getpid -- echo ran
ran && { echo "without functions, which were asked for, the command ran"; failed=1; }
expect 125 "by the agent's hooks instead of uprobes" $without ./gputrace-record --device=sim --stacks -- echo ran
ran || { echo "the command did not run"; failed=1; }

# traced COMMAND...: starts a tool with that command, and waits until this wrote the way to the socket; its folder.
traced() {
	./gputrace-record --no-api -q -- "$@" 2>/dev/null &
	tool=$!
	while [ ! -s "$dir/socket" ] && kill -0 $tool; do
		sleep 0.1
	done
	folder=$(dirname "$(sed 's/^[^:]*://' "$dir/socket")")
	rm "$dir/socket"
}

# The folder of a tool that is killed is removed by the next one; that of one at work stays.
tell='echo "$GPUTRACE_SOCKET" >"$0.early"; echo $$ >"$0.pid"; mv "$0.early" "$0";'
traced sh -c "$tell read line; :" "$dir/socket" <"$dir/text.bpf.o"
wait $tool
[ ! -e "$folder" ] || { echo "a tool that ended left $folder"; failed=1; }
traced sh -c "$tell exec sleep 1000" "$dir/socket"
kill -9 $tool "$(cat "$dir/socket.pid")"
wait $tool
dead=$folder
traced sh -c "$tell exec sleep 1000" "$dir/socket"
[ ! -e "$dead" ] || { echo "$dead stayed"; failed=1; }
./gputrace-record -q --no-api -- true 2>/dev/null
[ -S "$folder/agent" ] || { echo "$folder, which is in use, went"; failed=1; }
kill "$(cat "$dir/socket.pid")"
wait $tool

# A signal to the tool reaches the command.
./gputrace-record --no-api -q -- sh -c 'trap "exit 9" TERM; : >"$0"; while :; do sleep 0.1; done' "$dir/ready" 2>/dev/null &
tool=$!
while [ ! -e "$dir/ready" ] && kill -0 $tool; do
	sleep 0.1
done
kill -TERM $tool
wait $tool
status=$?
if [ $status != 9 ]; then
	echo "a command that SIGTERM ends with 9 ended with $status"
	failed=1
fi
exit $failed
