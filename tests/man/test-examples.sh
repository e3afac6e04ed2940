#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The examples of the manual pages.  Each program between .EX and .EE is compiled
# as a stranger would, and run on the software device.  Comments before it say how:
#	.\" run: ARGUMENTS	of the program; of a BPF program: the command for gputrace-run
#	.\" expect: REGEX	a line of its output, as often as needed
set -u
srcdir=$(cd "${srcdir:-.}" && pwd)
build=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ran=0

for what in "$build/.libs/libgputrace.so" "$build/examples/demo/vecadd" "$build/gputrace-run"; do
	[ -e "$what" ] || { echo "FAILED: $what is not built"; exit 1; }
done
GPUTRACE_AGENT=${GPUTRACE_AGENT:-$build/.libs/libgputrace-agent.so}
GPUTRACE_SIM_DIR=${GPUTRACE_SIM_DIR:-$build/sim/.libs}
XDG_CACHE_HOME=$work/cache
export GPUTRACE_AGENT GPUTRACE_SIM_DIR XDG_CACHE_HOME

# One file a program: PAGE-N.c or .bpf.c, with PAGE-N.run and PAGE-N.expect beside it.
extract() {
	awk -v base="$work/$(basename "$1")" '
	function finish(  kind, name) {
		kind = text ~ /\nSEC\("/ && text ~ /linux\/bpf\.h/ ? ".bpf.c" : text ~ /int main\(/ ? ".c" : ""
		if (kind) {
			name = base "-" ++n
			printf "%s", text >(name kind); close(name kind)
			if (run != "") { print run >(name ".run"); close(name ".run") }
			printf "%s", expect >(name ".expect"); close(name ".expect")
		}
		run = expect = ""
	}
	/^\.\\" run:/ { run = $0; sub(/^\.\\" run: ?/, "", run); run = run " "; next }
	/^\.\\" expect: / { sub(/^\.\\" expect: /, ""); expect = expect $0 "\n"; next }
	/^\.EX/ { inside = 1; text = "\n"; next }
	/^\.EE/ { inside = 0; finish(); next }
	inside { gsub(/\\e/, "\\"); gsub(/\\-/, "-"); gsub(/\\&/, ""); text = text $0 "\n" }' "$1"
}

complain() {
	echo "FAILED: $1"
	sed 's/^/	/' "$work/out"
	failed=1
}

# check NAME COMMAND...: it succeeds and says what is expected.
check() {
	name=$1
	shift
	if ! (cd "$work" && LD_LIBRARY_PATH="$GPUTRACE_SIM_DIR" timeout 600 "$@") >"$work/out" 2>&1; then
		complain "$name: $* failed:"
		return
	fi
	while read -r regex; do
		grep -qE -- "$regex" "$work/out" || complain "$name: no line like '$regex' in:"
	done <"$work/$name.expect"
	ran=$((ran + 1))
}

for page in "$srcdir"/man/*.[1-9]; do
	extract "$page"
	case $page in
	*.3) ls "$work/$(basename "$page")"-*.c >/dev/null 2>&1 ||
		{ echo "FAILED: $(basename "$page") has no example program"; failed=1; } ;;
	esac
done
ln -s "$build/examples/demo/vecadd" "$work/vecadd"

# BPF programs first: others use the first one.
for source in "$work"/*.bpf.c; do
	name=$(basename "$source" .bpf.c)
	# shellcheck disable=SC2086 # flags are words
	if ! "${CLANG:-clang}" -target bpf -O2 -g -Wall -Wextra -Wno-unused-parameter -Werror -I"$srcdir/include" \
		${BPF_CPPFLAGS--idirafter /usr/include/$(${CC:-cc} -dumpmachine)} \
		-c "$source" -o "$work/$name.bpf.o" >"$work/out" 2>&1; then
		complain "$name: clang:"
		continue
	fi
	[ -e "$work/probe.bpf.o" ] || ln -s "$name.bpf.o" "$work/probe.bpf.o"
	[ -e "$work/$name.run" ] || { echo "FAILED: $name: nothing says how to run it"; failed=1; continue; }
	# shellcheck disable=SC2046 # arguments are words
	check "$name" "$build/gputrace-run" -q "$name.bpf.o" -- $(cat "$work/$name.run")
done

for source in "$work"/*.c; do
	name=$(basename "$source" .c)
	case $name in *.bpf) continue ;; esac
	# shellcheck disable=SC2086 # flags are words
	if ! ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror ${SANITIZE_FLAGS-} -I"$srcdir/include" "$source" \
		-o "$work/$name" -L"$build/.libs" -lgputrace -Wl,-rpath,"$build/.libs" >"$work/out" 2>&1; then
		complain "$name: compiler:"
		continue
	fi
	[ -e "$work/$name.run" ] || { echo "FAILED: $name: nothing says how to run it"; failed=1; continue; }
	# shellcheck disable=SC2046 # arguments are words
	check "$name" "./$name" $(cat "$work/$name.run")
	# Without the words that it wants it says which these are.
	if grep -q argc "$source"; then
		LD_LIBRARY_PATH="$GPUTRACE_SIM_DIR" "$work/$name" >"$work/out" 2>&1
		[ $? -eq 2 ] && grep -q "^usage: $work/$name [A-Z]" "$work/out" || complain "$name without arguments:"
	fi
done
echo "$ran programs ran"
[ $ran -gt 8 ] || failed=1
exit $failed
