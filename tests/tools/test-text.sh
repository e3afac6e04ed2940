#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a traced program calls its ranges cannot command the terminal that the tools write to.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

for tool in ./gputrace-record "$@"; do
	$tool --api=agent --device=sim -- tests/e2e/annotated text >"$work/out" 2>&1
	if ! grep -qF 'red \x1b[31m bell \x07 line\x0afeed \xc2\x9b5m \xff é' "$work/out"; then
		echo "$tool: the range is not shown as it should be:"
		cat -v "$work/out"
		failed=1
	fi
	if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" "$work/out"; then
		echo "$tool: there are control characters in:"
		cat -v "$work/out"
		failed=1
	fi
done
exit $failed
