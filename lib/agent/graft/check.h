/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the check: code of one kernel, and all the rest. */
#ifndef GT_GRAFT_CHECK_H
#define GT_GRAFT_CHECK_H

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"

struct gt_code_pair {
	const uint8_t *before, *after;
	uint64_t before_size, after_size;
	unsigned arch;
	bool entry, exit;	/* what was asked for */
	uint64_t detours;	/* where code for accesses begins; 0: there is none */
	unsigned accesses;	/* how many there must be */
	unsigned kept;		/* see struct gt_graft_result */
	unsigned hidden;	/* where in constant bank 0 the hidden parameter is */
};

/* NULL: as it must be; else what is not. */
const char *gt_check_code(const struct gt_code_pair *pair);

/* ---- of code that was added ---- */

struct gt_code_region {
	uint64_t begin, end;
};

/* An unconditional branch, as we make them. */
bool gt_check_always_branches(const struct gt_code_pair *pair, uint64_t at, uint64_t target);

/* Nothing falls into the padding: behind the last instruction is a branch to itself. */
bool gt_check_padding(const struct gt_code_pair *pair, uint64_t at, uint64_t end);

/* From it no way leads but that at way_back, and no number of ours is missing.  NULL, or what is wrong. */
const char *gt_check_stub(const struct gt_code_pair *pair, const struct gt_code_region *region, uint64_t way_back);

/* What a warp has only once, of which other threads may be elsewhere in the kernel, is left alone.  NULL, or what is not. */
const char *gt_check_uniform(const struct gt_code_pair *pair, const struct gt_code_region *region);

/* ---- at memory accesses ---- */

/* Is there a detour in place of an access? */
bool gt_check_detours_at(const struct gt_code_pair *pair, uint64_t at);

const char *gt_check_detours(const struct gt_code_pair *pair);

#endif
