#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public function has a page, and no page names what is not there.
set -eu
srcdir=${srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "FAILED: $1"
	sed 's/^/	/' "$2"
	failed=1
}

# What the headers declare, without comments.
cat "$srcdir"/include/gputrace/*.h "$srcdir"/include/gputrace/bpf/*.h | tr '\n' ' ' |
	sed 's:/\*:\n/*:g; s:\*/:*/\n:g' | grep -v '^/\*' >"$work/code"
sed 's:/\*.*\*/::' "$srcdir"/include/gputrace/*.h | tr '\n' ' ' | grep -oE 'GPUTRACE_API [^;]*;' |
	grep -oE 'gputrace_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$work/functions"
[ "$(wc -l <"$work/functions")" -gt 50 ] || { echo "FAILED: too few functions found in the headers"; failed=1; }

: >"$work/named"
for page in "$srcdir"/man/*.[1-9]; do
	file=$(basename "$page")
	sh "$srcdir/man/names.sh" "$page" >"$work/names"
	# Lines that are commented out, or names of files, say nothing.
	title=$(awk '$1 == ".TH" { gsub(/\\/, ""); print tolower($2) "." $3 }' "$page")
	[ "$title" = "$file" ] || { echo "FAILED: $file calls itself $title"; failed=1; }
	grep -qx "${file%.*}" "$work/names" || {
		[ "${file##*.}" = 3 ] && ! grep -qx "${file%.*}" "$work/functions"
	} || { echo "FAILED: $file does not have its own name"; failed=1; }
	[ "${file##*.}" != 3 ] || cat "$work/names" >>"$work/named"
	grep -qF "man/$file" "$srcdir/man/Makemodule.am" || { echo "FAILED: $file is not in man/Makemodule.am"; failed=1; }
done
sort "$work/named" | uniq -d >"$work/twice"
sort -u -o "$work/named" "$work/named"
comm -23 "$work/functions" "$work/named" >"$work/missing"
comm -13 "$work/functions" "$work/named" >"$work/invented"
[ ! -s "$work/missing" ] || fail "functions without a page:" "$work/missing"
[ ! -s "$work/invented" ] || fail "pages for functions that do not exist:" "$work/invented"
[ ! -s "$work/twice" ] || fail "functions with two pages:" "$work/twice"

# Anything else in the text that looks like one of ours is declared, or a page, or a variable of the environment.
grep -oE 'gputrace_[a-z0-9_]+|GPUTRACE_[A-Z0-9_]+' "$work/code" | sort -u >"$work/known"
(cd "$srcdir/man" && for page in *.[1-9]; do echo "${page%.*}"; done) >>"$work/known"
# The code that reads them is the witness.
grep -rhoE --include='*.[ch]' '"GPUTRACE_[A-Z_]+"' "$srcdir/lib" "$srcdir/sim" | tr -d '"' >>"$work/known"
sort -u -o "$work/known" "$work/known"
for page in "$srcdir"/man/*.[1-9]; do
	grep -v '^\.TH ' "$page" | sed 's/gputrace_gpu\.h//g; s/\\[-]/-/g' |
		grep -oE 'gputrace_[a-z0-9_]+|GPUTRACE_[A-Z0-9_]+' | grep -v '_$' | sort -u |
		comm -23 - "$work/known" >"$work/unknown"
	[ ! -s "$work/unknown" ] || fail "$(basename "$page") names what is not there:" "$work/unknown"
done

# References between pages: "name (7)" of ours is a page or a name in one.
for page in "$srcdir"/man/*.[1-9]; do
	sed 's/\\-/-/g; s/\\f[A-Z]//g; s/"//g' "$page" | grep -oE 'gputrace[-a-z0-9_]* ?\([1-9]\)' |
		tr -d ' ()' | sed 's/\([1-9]\)$/ \1/' | sort -u | while read -r name section; do
		[ -e "$srcdir/man/$name.$section" ] || { [ "$section" = 3 ] && grep -qx "$name" "$work/named"; } ||
			echo "$name($section)"
	done >"$work/dangling"
	[ ! -s "$work/dangling" ] || fail "$(basename "$page") refers to pages that do not exist:" "$work/dangling"
done
echo "$(wc -l <"$work/functions") public functions"
exit $failed
