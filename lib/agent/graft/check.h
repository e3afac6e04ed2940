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
};

/* NULL: as it must be; else what is not. */
const char *gt_check_code(const struct gt_code_pair *pair);

#endif
