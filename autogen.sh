#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
cd "$(dirname "$0")" && mkdir -p m4 && exec autoreconf --install --force
