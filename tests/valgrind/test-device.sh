#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The software device under valgrind.
set -u
. "$srcdir/tests/valgrind/common.sh"
failed=0

# One process, so that valgrind's status is the test's.
export CK_FORK=no
for test in test-memory test-module test-graph; do
	# shellcheck disable=SC2086 # words
	if LD_LIBRARY_PATH=$dir $valgrind "tests/sim-api/.libs/$test"; then
		echo "ok: $test"
	else
		echo "FAILED: $test"
		failed=1
	fi
done
exit $failed
