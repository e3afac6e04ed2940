/* SPDX-License-Identifier: Apache-2.0 */
/* How large a block can be with so many registers for each thread. */
#ifndef GT_AGENT_GRAFT_REGISTERS_H
#define GT_AGENT_GRAFT_REGISTERS_H

#include <stdbool.h>

#define GT_REGISTERS_MAX 255u	/* of a thread */
#define GT_REGISTERS_UNNAMED 2u	/* that a kernel's count includes, and that its code may not name */

/* A multiprocessor has four parts of 16,384 registers, which give them out by 8 for each thread of a warp. */
static inline unsigned gt_warps_for(unsigned registers)
{
	unsigned each = (registers + 7) / 8 * 8 * 32;
	unsigned warps = each ? 16384 / each * 4 : 32;

	return warps < 32 ? warps : 32;
}

/* The most registers with which so many warps can be. */
static inline unsigned gt_registers_for(unsigned warps)
{
	unsigned registers = warps ? 16384 / ((warps + 3) / 4) / 32 / 8 * 8 : GT_REGISTERS_MAX;

	return registers < GT_REGISTERS_MAX ? registers : GT_REGISTERS_MAX;
}

/* Do as many warps run at a time with that many registers for each thread as with fewer? */
static inline bool gt_registers_cost_nothing(unsigned registers, unsigned than, unsigned arch)
{
	unsigned free = arch == 75 ? 64 : arch > 80 && arch < 90 ? 40 : 32;	/* so many have all threads that there can be */

	return registers <= free || (registers + 7) / 8 == (than + 7) / 8;
}

/*
 * The driver compiles for linking, and then gives kernels that say how large their blocks are more registers
 * than otherwise: fewer blocks run at a time.  own: in the program's machine code; linked: of the same kernel as
 * compiled by the driver; with_programs: of that with programs in it.  What it should make do with; 0: no less.
 */
static inline unsigned gt_registers_alike(unsigned own, unsigned linked, unsigned with_programs)
{
	unsigned more = with_programs > linked ? with_programs - linked : 0;
	unsigned limit = (own + more + 7) / 8 * 8;

	return own && linked > own && with_programs > limit ? limit : 0;
}

#endif
