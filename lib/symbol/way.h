/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from a place in a function, which has called another, to what called the
 * function: by the file's call frame information; where there is none, by the code
 * itself if it is about to return; else by the frame pointer.
 */
#ifndef GT_SYMBOL_WAY_H
#define GT_SYMBOL_WAY_H

#include "lib/symbol/expression.h"

struct gt_module;
struct gt_way;

#define GT_WAY_CODE 32	/* bytes of code that are looked at */

/*
 * From an offset of the file, which lies in a call instruction.  NULL: no call frame
 * information covers it, or no memory.
 */
struct gt_way *gt_way_by_rules(struct gt_module *module, uint64_t file_offset);
/* code: up to GT_WAY_CODE bytes of what follows the call instruction; size 0: it cannot be read.  NULL: no memory. */
struct gt_way *gt_way_by_code(const uint8_t *code, size_t size);
void gt_way_free(struct gt_way *way);

/*
 * Turn the registers into those of the caller.  1: there is none, the function is its
 * thread's first; -ENODATA: what it takes lies behind what was copied of the stack;
 * else negative: the way is lost.
 */
int gt_way_take(const struct gt_way *way, const struct gt_stack *stack, struct gt_registers *registers);

#endif
