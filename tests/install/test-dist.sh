#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make dist` leaves nothing behind that is under version control.
set -eu
if ! git -C "$srcdir" ls-files --error-unmatch configure.ac >/dev/null 2>&1; then
	echo "no git checkout to compare with"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset MAKEFLAGS MAKEOVERRIDES
make distdir distdir="$dir/dist" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
missing=$(git -C "$srcdir" ls-files | grep -v '\.gitignore$' | while read -r file; do
	[ -f "$dir/dist/$file" ] || echo "$file"
done)
if [ -n "$missing" ]; then
	echo "not in the archive: $missing"
	exit 1
fi
