/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions of compute capability 9.0 do to memory: which of them a program can be told of. */
#ifndef GT_GRAFT_ACCESS_H
#define GT_GRAFT_ACCESS_H

#include "lib/agent/graft/insn.h"

enum gt_access_kind {
	GT_ACCESS_NONE,		/* of none that programs at memory accesses are meant for */
	GT_ACCESS_KNOWN,	/* its address is a pair of registers and a number */
	GT_ACCESS_SHARED,	/* in shared memory */
	GT_ACCESS_LOCAL,	/* on the thread's stack */
	GT_ACCESS_OTHER,	/* in a form of which the address is not known */
	GT_ACCESS_KINDS,
};

struct gt_insn_access {
	enum gt_access_kind kind;
	uint32_t point;		/* GT_POINT_LOAD, _STORE or _ATOMIC */
	/* Of a known one. */
	uint32_t space;		/* enum gt_space: GT_SPACE_GENERIC or GT_SPACE_GLOBAL */
	unsigned bytes;
	unsigned address;	/* the lower of the two registers */
	int32_t offset;
};

struct gt_insn_access gt_insn_access(gt_word word);

#endif
