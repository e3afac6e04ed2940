#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Print a C array with the bytes of a file: embed.sh FILE NAME
set -eu
echo '/* Made by embed.sh. */'
echo "static const unsigned char $2[] __attribute__((aligned(8))) = {"
od -An -v -tx1 "$1" | sed 's/\([0-9a-f][0-9a-f]\)/0x\1,/g'
echo '};'
