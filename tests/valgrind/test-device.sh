#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The software device under valgrind.
set -u
. "$srcdir/tests/valgrind/common.sh"
failed=0

# One process, so that valgrind's status is the test's.
export CK_FORK=no
for test in tests/sim-api/test-memory tests/sim-api/test-module tests/sim-api/test-graph; do
	# shellcheck disable=SC2086 # words
	if ./libtool --mode=execute $valgrind "$test"; then
		echo "ok: $test"
	else
		echo "FAILED: $test"
		failed=1
	fi
done
exit $failed
