#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh REASON PYTHON TEST: run a test of the Python package of this build; REASON says why there is none.
set -eu
if [ -n "$1" ]; then
	echo "the Python package was not built: $1"
	exit 77
fi
if [ -n "${SANITIZE_FLAGS-}" ]; then
	# Python itself is built without; it frees little at its end.
	LD_PRELOAD=$(${CC:-cc} -print-file-name=libasan.so)
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	# Without Python's own pools, so that the ends of what we are given are known.
	PYTHONMALLOC=malloc
	export LD_PRELOAD ASAN_OPTIONS PYTHONMALLOC
fi
srcdir=$(cd "${srcdir:-.}" && pwd)
PYTHONPATH=$PWD/bindings/python/stage:$srcdir/tests/python
PYTHONDONTWRITEBYTECODE=1
GPUTRACE_INCLUDE_DIR=$srcdir/include
LD_LIBRARY_PATH=$PWD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export srcdir PYTHONPATH PYTHONDONTWRITEBYTECODE GPUTRACE_INCLUDE_DIR LD_LIBRARY_PATH
exec "$2" -X faulthandler -W error "$3"
