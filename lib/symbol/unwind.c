/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers, stack and files are the target's, and may say anything: each frame must
 * lie above the one before, in code that the process has, so that what comes out is
 * at worst wrong, and the work bounded by the number of frames.
 */
#include "lib/symbol/unwind.h"

#include <errno.h>
#include <gputrace/gputrace.h>

#include "lib/symbol/process.h"
#include "lib/symbol/symbolizer.h"
#include "lib/symbol/way.h"

static struct gt_registers first_registers(const struct gt_stack_registers *from)
{
	return (struct gt_registers){
		.value = {
			[GT_RBX] = from->rbx, [GT_RBP] = from->rbp, [GT_RSP] = from->sp, [GT_R12] = from->r12,
			[GT_R13] = from->r13, [GT_R14] = from->r14, [GT_R15] = from->r15, [GT_PC] = from->pc,
		},
		.known = 1u << GT_RBX | 1u << GT_RBP | 1u << GT_RSP | 1u << GT_R12 | 1u << GT_R13 |
			 1u << GT_R14 | 1u << GT_R15 | 1u << GT_PC,
	};
}

static int end_because(int r)
{
	return r > 0 ? GPUTRACE_STACK_COMPLETE : r == -ENODATA ? GPUTRACE_STACK_CUT : GPUTRACE_STACK_LOST;
}

unsigned gt_symbolizer_unwind(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
			      const struct gt_stack_registers *from, const uint8_t *bytes, size_t size,
			      uint64_t *frames, unsigned max, int *ret_end)
{
	const struct gt_stack stack = { .start = from->sp, .size = size, .bytes = bytes };
	struct gt_registers registers = first_registers(from);
	struct gt_symbol_process *process;
	const struct gt_way *way;
	unsigned count = 0;
	int r = 0;

	while (r == 0 && count < max) {
		uint64_t address = registers.value[GT_PC];
		/* A return address is behind the call that it belongs to, perhaps in the next function. */
		struct gt_place *place = address > 1 ? gt_symbolizer_place(symbolizer, pid, time, address - 1,
									   &process) : NULL;
		bool is_code = place && place->module;

		/* Whatever led to what is no code was no return address; but the caller is told in any case. */
		if (is_code || !count)
			frames[count++] = address;
		way = is_code ? gt_symbol_process_way(process, place) : NULL;
		r = way ? gt_way_take(way, &stack, &registers) : -ENOENT;
	}
	*ret_end = r ? end_because(r) : GPUTRACE_STACK_FULL;
	return count;
}
