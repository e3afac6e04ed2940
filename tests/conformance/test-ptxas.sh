#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA's assembler takes the PTX of every vector, and of programs with every kind of map,
# for every kind of GPU.
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
if ! [ -x "$ptxas" ]; then
	echo "skipped: there is no ptxas (it comes with the CUDA toolkit)"
	exit 77
fi
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
tests/conformance/test-conformance -p >"$directory/vectors.ptx" || exit 1
tests/conformance/print-programs tests/compile/probes.bpf.o tests/gpu/bpf-probes.bpf.o \
	>"$directory/programs.ptx" || exit 1
failed=0
for arch in 75 80 86 89 90 100 120; do
	for text in vectors programs; do
		if "$ptxas" -c -O0 -arch=sm_$arch "$directory/$text.ptx" -o "$directory/$text.cubin"; then
			echo "sm_$arch: $text accepted"
		else
			echo "sm_$arch: $text refused"
			failed=1
		fi
	done
done
exit $failed
