/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that a GPU program may call. */
#ifndef GT_VERIFY_HELPERS_H
#define GT_VERIFY_HELPERS_H

#include <stdbool.h>
#include <stdint.h>

enum gt_arg {
	GT_ARG_NONE,		/* not an argument */
	GT_ARG_ANY,		/* whatever the register holds, even nothing */
	GT_ARG_SCALAR,
	GT_ARG_ELEMENT_MAP,	/* a map with keys and values */
	GT_ARG_RING_MAP,
	GT_ARG_KEY,		/* readable, the map's key size */
	GT_ARG_VALUE,		/* readable, the map's value size */
	GT_ARG_READ,		/* readable, as many bytes as the next argument says */
	GT_ARG_READ_OR_NULL,
	GT_ARG_WRITE,		/* writable, as many bytes as the next argument says */
	GT_ARG_U64,		/* writable, 8 aligned bytes */
	GT_ARG_SIZE,		/* bytes of the argument before, at least 1 */
	GT_ARG_SIZE_OR_ZERO,
	GT_ARG_RECORD_SIZE,	/* one constant */
	GT_ARG_RECORD,		/* a reserved record, given back */
	GT_ARG_CALLBACK,
	GT_ARG_CALLBACK_CONTEXT,	/* handed to the callback: any initialised register */
	GT_ARG_CONTEXT,		/* the program's context, or 0 */
};

enum gt_ret {
	GT_RET_SCALAR,
	GT_RET_VALUE_OR_NULL,
	GT_RET_RECORD_OR_NULL,
};

#define GT_HELPER_WARP 1u	/* exchanges data between the threads of a warp */
#define GT_HELPER_PER_LANE 2u	/* its result differs between the threads of a warp */
#define GT_HELPER_NO_REF 4u	/* does not come back: nothing may be reserved */
#define GT_HELPER_THREAD 8u	/* tells the threads of a warp apart */
#define GT_HELPER_PRINTS 16u	/* r1 and r2 are a format and its size */

struct gt_helper {
	uint32_t id;
	const char *name;
	uint8_t arg[5];		/* enum gt_arg, for r1 to r5 */
	uint8_t ret;		/* enum gt_ret */
	uint8_t flags;		/* GT_HELPER_* */
	uint32_t points;	/* 1 << GPUTRACE_POINT_*; 0: everywhere */
	uint32_t wants;		/* GT_PROBE_WANTS_* */
	uint64_t ret_max;	/* scalars: greatest result as an unsigned number; 0: any */
};

/* NULL: no such helper for GPU programs. */
const struct gt_helper *gt_helper_find(uint32_t id);
/* The helpers in order of id, for tests and listings; NULL past the last. */
const struct gt_helper *gt_helper_at(unsigned index);

/* What a map can do for a program. */
enum gt_map_class { GT_MAP_CLASS_OTHER, GT_MAP_CLASS_ARRAY, GT_MAP_CLASS_HASH, GT_MAP_CLASS_RING };
enum gt_map_class gt_map_classify(uint32_t type);
/* Does the value that a key names differ between the threads of a warp? */
bool gt_map_is_per_thread(uint32_t type);

#endif
