#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What 'make install' puts somewhere is whole: a program built with what pkg-config says alone
# follows the example program on the software device, with nothing of the build folder.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset GPUTRACE_AGENT GPUTRACE_SIM_DIR MAKEFLAGS MAKEOVERRIDES

libdir=$dir$(PKG_CONFIG_PATH=pkgconfig pkg-config --variable=libdir gputrace)
# One at a time: libtool links once more in the build folder.
flock tests/install make install DESTDIR="$dir" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }

# Nothing refers to where it was built, and nobody else sees the software device.
for library in libgputrace.so libgputrace/libgputrace-agent.so libgputrace/sim/libcuda.so.1 libgputrace/sim/libnvidia-ml.so.1; do
	[ -e "$libdir/$library" ] || { echo "$library was not installed"; exit 1; }
done
! [ -e "$libdir/libcuda.so.1" ] || { echo "the software device is in the loader's way"; exit 1; }

awk '/^```c$/ { n++; inside = n == 2; next } /^```$/ { inside = 0 } inside' "$srcdir/README.md" >"$dir/kernels.c"
# The sample runs on the machine's GPU; here, on the software device.
sed -i 's/argv + 1, NULL,/argv + 1, \&(struct gputrace_spawn_opts){ .size = sizeof(struct gputrace_spawn_opts), .device = GPUTRACE_DEVICE_SIM },/' "$dir/kernels.c"
grep -q GPUTRACE_DEVICE_SIM "$dir/kernels.c"

export PKG_CONFIG_PATH="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir"
# shellcheck disable=SC2046 # words
${CC:-cc} -std=gnu11 -Wall -Wextra -Werror "$dir/kernels.c" -o "$dir/kernels" \
	$(pkg-config --cflags --libs gputrace)

# Where it was told to go by --prefix it would find these itself.
export LD_LIBRARY_PATH="$libdir" GPUTRACE_AGENT="$libdir/libgputrace/libgputrace-agent.so" \
	GPUTRACE_SIM_DIR="$libdir/libgputrace/sim"
"$dir/kernels" examples/demo/vecadd -l 3 -n 1000 >"$dir/out"
cat "$dir/out"
[ "$(grep -c 'vecadd.* ran for [0-9]* ns' "$dir/out")" = 3 ]
