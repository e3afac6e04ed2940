/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: what the verifier believes about registers. */
#ifndef GT_VERIFY_RANGES_H
#define GT_VERIFY_RANGES_H

#include "lib/verify/state.h"
#include "lib/verify/verify.h"

/* Before an instruction, over all paths followed. */
struct gt_range_log {
	struct gt_scalar reg[GT_REGS];
	uint8_t scalar[GT_REGS];	/* 1: reg holds; 2: something else was there on some path */
	uint8_t seen;
};

/*
 * gt_verify(), with ranges[insn_count] filled.  Numbers that decide nothing are
 * then told apart too, so that no path ends early because of them.
 */
int gt_verify_ranges(const struct gt_prog *prog, const struct gt_verify_opts *opts,
		     struct gt_range_log *ranges, struct gt_verify_result **ret_result);

#endif
