#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The checks for real devices, as far as they go, on the software device.
if ! command -v python3 >/dev/null; then
	echo "python3 is not there"
	exit 77
fi
exec python3 "$srcdir/tests/gpu/run" --device=sim "$PWD"
