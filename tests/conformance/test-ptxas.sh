#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVIDIA's assembler takes the PTX of every vector for every kind of GPU.
ptxas=$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)
if ! [ -x "$ptxas" ]; then
	echo "skipped: there is no ptxas (it comes with the CUDA toolkit)"
	exit 77
fi
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
tests/conformance/test-conformance -p >"$directory/vectors.ptx" || exit 1
failed=0
for arch in 75 80 86 89 90 100 120; do
	if "$ptxas" -O0 -arch=sm_$arch "$directory/vectors.ptx" -o "$directory/vectors.cubin"; then
		echo "sm_$arch: accepted"
	else
		echo "sm_$arch: refused"
		failed=1
	fi
done
exit $failed
