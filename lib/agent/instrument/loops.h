/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rounds of a function's loops begin. */
#ifndef GT_INSTRUMENT_LOOPS_H
#define GT_INSTRUMENT_LOOPS_H

#include "lib/agent/instrument/ptx.h"

/*
 * Sets heads[i] at instructions, so that no thread comes by a statement with wanted[i]
 * twice without coming by one of them.  Both by statement of the function; more than
 * need be may be set.  How many instructions were; -ENOMEM.
 */
int gt_loops_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *wanted, uint8_t *heads);

#endif
