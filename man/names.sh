#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The names that a manual page lists in its NAME section, one a line.
exec awk '
/^\.SH/ { inside = $2 == "NAME"; next }
inside { text = text " " $0 }
END {
	sub(/ \\- .*/, "", text)
	gsub(/\\-/, "-", text)
	count = split(text, names, /[ ,]+/)
	for (i = 1; i <= count; i++)
		if (names[i] != "")
			print names[i]
}' "$1"
