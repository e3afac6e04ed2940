#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The functions of a Python script stand in the stacks of the driver calls that it makes, in order, up to the first.
set -u
if [ -n "${SANITIZE_FLAGS-}" ]; then
	echo "Python itself is built without sanitizers"
	exit 77
fi
for python in python3 python3.12 python3.13 python3.14 "${HOME-}"/.pyenv/versions/3.1[2-9]*/bin/python3 none; do
	"$python" -X perf -c 'import ctypes, os, sys
if not sys.is_stack_trampoline_active():
    sys.exit(1)
os.remove(f"/tmp/perf-{os.getpid()}.map")' 2>/dev/null && break
done
if [ $python = none ]; then
	echo "there is no Python 3.12 or newer that can be run with -X perf"
	exit 77
fi

GPUTRACE_SIM_DIR=$PWD/tests/e2e/unwatched
export GPUTRACE_SIM_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/script.py" <<'END'
import ctypes
import select
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    assert result == 0, result


def allocate():
    check(cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(4096)))


def forward():
    allocate()


def train():
    forward()


context = ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
while not select.select([sys.stdin], [], [], 0.01)[0]:
    train()
END

# The names of Python's functions in the stack of the first allocation that has one to its end.
functions() {
	awk '$3 == "api" { at = $5 == "cuMemAlloc_v2"; names = "" }
	     at && $1 ~ /^py::/ { split($1, word, ":"); names = names " " word[3] }
	     at && $1 == "_start" { print names; exit }' "$work/out"
}

mkfifo "$work/input"
./gputrace-record --device=sim --api=agent --unwind -- "$python" -X perf "$work/script.py" \
	<"$work/input" >"$work/out" 2>&1 &
tool=$!
exec 3>"$work/input"
# As long as the tool runs, and a script that ends by itself ends it.
while [ -z "$(functions)" ] && kill -0 $tool 2>/dev/null; do
	sleep 0.1
done
exec 3>&-
wait $tool
rm -f /tmp/perf-"$(awk '$3 == "process" { split($4, id, "/"); print id[1]; exit }' "$work/out")".map
found=$(functions)
if [ "$found" != " allocate forward train <module>" ]; then
	echo "$python: not allocate, forward, train and <module> in the stack, but$found:"
	head -60 "$work/out"
	exit 1
fi

# One that ends at once: each of 20 allocations, by way of a function of its own, has its stack to the end.
cat >"$work/short.py" <<'END'
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
context, address = ctypes.c_void_p(), ctypes.c_uint64()


def allocate():
    assert not cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))


assert not cuda.cuInit(0)
assert not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context)
for i in range(20):
    exec(f"def step_{i}():\n    allocate()\nstep_{i}()\n")
END
./gputrace-record --device=sim --api=agent --unwind -- "$python" -X perf "$work/short.py" >"$work/out" 2>&1
rm -f /tmp/perf-"$(awk '$3 == "process" { split($4, id, "/"); print id[1]; exit }' "$work/out")".map
whole=$(awk '$3 == "api" { at = $5 == "cuMemAlloc_v2"; step = 0 }
	     at && $1 ~ /^py::step_/ { step = 1 }
	     step && $1 == "_start" { whole++; step = 0 }
	     END { print whole + 0 }' "$work/out")
if [ "$whole" != 20 ]; then
	echo "$python: $whole of 20 stacks of a short run are whole:"
	head -60 "$work/out"
	exit 1
fi
