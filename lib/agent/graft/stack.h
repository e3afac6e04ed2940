/* SPDX-License-Identifier: Apache-2.0 */
/* What code of compute capability 9.0 does with its stack pointer. */
#ifndef GT_GRAFT_STACK_H
#define GT_GRAFT_STACK_H

#include "lib/agent/graft/insn.h"

#define GT_STACK_POINTER 1u	/* the register */

/* As every kernel begins. */
bool gt_loads_stack_pointer(gt_word word);

/* Perhaps: where an instruction has no register it may have a number. */
bool gt_may_read_stack_pointer(gt_word word);

/* The register and a number, as functions make and give up room; gt_stack_moved(): by how much. */
bool gt_moves_stack_pointer(gt_word word);
int32_t gt_stack_moved(gt_word word);

/* Anything else that may change it, or that uses what is below. */
bool gt_upsets_stack(gt_word word);

#endif
