/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short probe functions are written out at their places instead of being
 * called.  The driver's linker compiles for relocation, and there a call to
 * even an empty function costs twice the registers, a stack and some twenty
 * instructions (seen with ptxas -c and nvJitLink 13.0); written out, an empty
 * probe vanishes.
 */
#ifndef GT_INSTRUMENT_INLINE_H
#define GT_INSTRUMENT_INLINE_H

#include "lib/agent/instrument/hoist.h"
#include "lib/agent/instrument/lex.h"
#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/sums.h"
#include "lib/agent/instrument/text.h"

/* The arguments of a probe function, in order; see lib/wire/wire.h. */
enum ptx_argument {
	PTX_ARG_LAUNCH, PTX_ARG_DEV, PTX_ARG_HOST, PTX_ARG_KERNEL, PTX_ARG_PARAMS, PTX_ARG_ADDRESS,
	PTX_ARG_SIZE, PTX_ARG_SPACE,
	PTX_ARG_COUNT,
};

struct ptx_inline {
	uint8_t possible;
	uint8_t local;			/* has variables in local memory */
	uint8_t called;			/* all the same */
	/*
	 * It has atomics, by one thread of a warp, at many places.  The driver's compiler thinks of many
	 * threads and first adds up what they bring, in some ten instructions, where their addresses
	 * are the same for all that it knows.
	 */
	uint8_t atomics_alone;
	uint8_t uses[PTX_ARG_COUNT];
	uint32_t instructions;
	uint32_t function;		/* index in the probe text's functions */
	struct ptx_range params[PTX_ARG_COUNT];
	/*
	 * By statement, NULL: none: at ends, what those threads may do as well that are not elected.  Most
	 * of the time that a short probe takes is for special registers and parameters; so it asks for
	 * them all together with what the election asks for, rather than once that is answered.
	 */
	uint8_t *ahead;
	struct ptx_hoist hoist;		/* where it is written out within kernels, not at their ends */
	struct ptx_sums sums;		/* there, too, where they can be added to the map at all ways out */
};

struct ptx_inlines {
	struct gt_ptx *ptx;		/* the probe text behind a header; NULL: it did not parse, call all */
	struct ptx_inline *of;		/* by probe */
	unsigned count;
};

int gt_inlines_read(const char *probe_text, const struct gt_probe *probes, unsigned count,
		    struct ptx_inlines *ret_inlines);
void gt_inlines_free(struct ptx_inlines *inlines);

/* Which parameter of the probe's function the token names; PTX_ARG_COUNT: none. */
unsigned gt_inline_param(const struct gt_ptx *ptx, const struct ptx_inline *inline_, const struct ptx_token *token);

/* Do both hold back what they add to the same places in memory, in the same order? */
int gt_inline_alike(const struct gt_ptx *ptx, const struct ptx_inline *a, const struct ptx_inline *b);

/* Should this probe be written out at its point?  any: at ends however long it is. */
int gt_inline_wanted(const struct ptx_inline *inline_, const struct gt_probe *probe, int any);

/* How a probe is written out in a function or kernel, at all its places there or at some. */
enum ptx_inline_how {
	PTX_INLINE_PLAIN,
	PTX_INLINE_PREPARED,	/* gt_inline_write_entry() came before */
	PTX_INLINE_SUMS,	/* gt_sums_write_entry() did */
	PTX_INLINE_AHEAD,	/* gt_inline_write_ahead() came right before, and the election */
};

/* At the entry of a kernel that has places of this probe: what it needs at all of them. */
void gt_inline_write_entry(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index);

/*
 * Writes the body of probe `index` in a scope of its own.  sources: for each argument the
 * instruction with its operand that gives it, e.g. "ld.param.b64 [x+8]" as
 * { "ld.param.b64", "[x+8]" }.
 */
struct ptx_source {
	const char *opcode, *operand;
};
void gt_inline_write(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index, enum ptx_inline_how how,
		     const struct ptx_source sources[PTX_ARG_COUNT]);

/* Opens that scope and writes what goes ahead of the election, for a probe that has some. */
void gt_inline_write_ahead(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index,
			   const struct ptx_source sources[PTX_ARG_COUNT]);

/* Adds to the map what PTX_INLINE_SUMS has held back. */
void gt_inline_write_totals(struct ptx_text *out, const struct ptx_inlines *inlines, unsigned index,
			    const struct ptx_source sources[PTX_ARG_COUNT]);

/* The probe text without the functions that nothing calls any more. */
void gt_inlines_write_rest(struct ptx_text *out, const struct ptx_inlines *inlines,
			   const char *probe_text, unsigned count);

#endif
