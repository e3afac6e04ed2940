#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Hash tables and rings of compiled programs, with many threads at once, on the software device.
LD_LIBRARY_PATH=$GPUTRACE_SIM_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec tests/gpu/bpf -p hash,ring
