/* SPDX-License-Identifier: Apache-2.0 */
/* What probes.bpf.c and the tests share. */
#ifndef TESTS_COMPILE_PROBES_H
#define TESTS_COMPILE_PROBES_H

#include <linux/types.h>

#define TABLE_ENTRIES 100
#define RING_BYTES 65536

enum { TABLE_INSERT, TABLE_UPDATE, TABLE_DELETE, TABLE_ADD };

struct pair {
	__u64 a, b;
};

struct record {
	__u64 number, check;
	__u8 tail;
};
#define RECORD_BYTES 17

struct result {
	__s64 codes[9];
	__u64 launch_id, address, helper_launch_id, time, pid_tgid, warp_sum;
	__u32 kernel_id, space, size;
	__u32 thread, block, block_dim, grid_dim;
	__u32 low_byte, high_half;
	__u32 sm, lane, mask;
};

#endif
