/* SPDX-License-Identifier: Apache-2.0 */
/* What bpf-probes.bpf.c and tests/gpu/bpf share. */
#ifndef TESTS_GPU_BPF_PROBES_H
#define TESTS_GPU_BPF_PROBES_H

#include <linux/types.h>

/* ---- hash tables ---- */

#define FEW_KEYS 16		/* a power of two */
#define TOSSES 8		/* operations of each thread */
#define FULL_ENTRIES 1024
#define MANY_ENTRIES (1 << 20)
#define UPDATED 0x100000000ull	/* added to a value by an update */

/* What happened, in the map `tally`: kinds of FEW_KEYS elements each. */
enum {
	TALLY_INSERTED,
	TALLY_EXISTED,
	TALLY_UPDATED,
	TALLY_MISSED,		/* nothing to update or look up */
	TALLY_DELETED,
	TALLY_ABSENT,		/* nothing to delete */
	TALLY_REFUSED,		/* no room */
	TALLY_WRONG,		/* any other result */
	TALLY_KINDS,
};

struct pair {
	__u64 a, b;
};

/* Neither key nor value is a multiple of 8 bytes. */
struct odd_key {
	__u32 words[3];
};

struct odd_value {
	__u32 words[5];
};

/* ---- rings ---- */

#define RING_BYTES (1 << 22)
#define RECORD_MOST 4000
#define PATTERNS 4096		/* places in the pattern at which records begin, 4 bytes apart */
#define PATTERN_BYTES (4 * PATTERNS + 4096)
#define RECORD_FILL 0x5a

/* ---- speed ---- */

#define SPEED_RING_BYTES (1 << 26)
#define BUCKETS 64
#define TIMES (1 << 16)		/* one for each block */
#define COUNTS (1 << 20)	/* one for each thread */

struct warp_record {
	__u64 launch, time;
	__u32 block, thread;
};

#endif
