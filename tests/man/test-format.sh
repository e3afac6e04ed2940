#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groff has nothing to complain about, and what a reader gets is not empty.
set -u
srcdir=${srcdir:-.}
if ! command -v groff >/dev/null || ! command -v tbl >/dev/null; then
	echo "groff is not there"
	exit 77
fi
failed=0
count=0
for page in "$srcdir"/man/*.[1-9]; do
	count=$((count + 1))
	said=$(groff -t -man -ww -Tutf8 -rLL=78n "$page" 2>&1 >/dev/null)
	lines=$(groff -t -man -Tutf8 -rLL=78n "$page" 2>/dev/null | wc -l)
	if [ -n "$said" ] || [ "$lines" -lt 20 ]; then
		echo "FAILED: $(basename "$page"), $lines lines: $said"
		failed=1
	fi
done
[ $count -gt 5 ] || { echo "FAILED: only $count pages"; failed=1; }
exit $failed
