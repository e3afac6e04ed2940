/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts probes into PTX text.  Pure functions over memory: no driver, no global
 * state, libc only, safe from several threads.  The text is a stranger's: any
 * bytes give a result or an error, never a crash.
 */
#ifndef GT_AGENT_INSTRUMENT_H
#define GT_AGENT_INSTRUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/probe.h"

struct gt_ptx;

struct gt_ptx_param {
	uint32_t offset, size;	/* bytes, in the kernel's parameter block */
};

struct gt_ptx_kernel {
	const char *name;	/* valid as long as the gt_ptx */
	uint32_t param_count;
	const struct gt_ptx_param *params;
	uint32_t param_bytes;
	uint32_t hidden_offset;	/* where the hidden parameter lands: param_bytes rounded up to 8 */
	uint32_t exits;		/* ways out in its own body, falling off the end included */
	uint32_t max_threads;	/* .maxntid / .reqntid product, 0 if unsaid */
	uint8_t limits_registers;	/* it says .maxnreg */
	const char *refusal;	/* a sentence when it cannot take probes, else NULL */
};

/*
 * The state space that the instruction names, which a probe of a memory access
 * is told beside the generic address; as GPUTRACE_SPACE_*.
 */
enum gt_space {
	GT_SPACE_GENERIC,
	GT_SPACE_GLOBAL,
	GT_SPACE_SHARED,
	GT_SPACE_LOCAL,
};

/* A failure: one sentence with the line in the PTX. */
struct gt_ptx_error {
	unsigned line;		/* 0: no particular one */
	int kernel;		/* index of the kernel at fault: without its plan the rest may work; else -1 */
	char text[256];
};

/* Parse. The text is copied.  -EINVAL with *err filled, or -ENOMEM. */
int gt_ptx_parse(const char *text, size_t length, struct gt_ptx **ret_ptx, struct gt_ptx_error *err);
void gt_ptx_free(struct gt_ptx *ptx);

unsigned gt_ptx_kernel_count(const struct gt_ptx *ptx);
const struct gt_ptx_kernel *gt_ptx_kernel(const struct gt_ptx *ptx, unsigned index);
unsigned gt_ptx_target(const struct gt_ptx *ptx);	/* 90 for sm_90a */
unsigned gt_ptx_version(const struct gt_ptx *ptx);	/* 80 for 8.0 */

/* Can a kernel be run as well from a second module that is loaded from the same text? */
struct gt_ptx_apart {
	uint8_t possible;
	char why[192];		/* why not */
};

/*
 * Not if it uses variables of its module, of which the second one has its own, or calls
 * what is not in the text.  aparts has one entry for each kernel.  -ENOMEM.
 */
int gt_ptx_apart(const struct gt_ptx *ptx, struct gt_ptx_apart *aparts);

/* Probes at entry and exit are to be written out rather than called, however long they are. */
void gt_ptx_write_out(struct gt_ptx *ptx);

/* Those at exit are to be told of a memory access: what these registers, of 64, 32 and 32 bits, then hold. */
#define GT_PTX_TOLD_ADDRESS "%__gt_address"
#define GT_PTX_TOLD_BYTES "%__gt_bytes"
#define GT_PTX_TOLD_SPACE "%__gt_space"
void gt_ptx_tell_access(struct gt_ptx *ptx);

/* What to put into one kernel. */
struct gt_ptx_plan {
	uint32_t kernel_id;
	/* Indices into the probes, in attach order; an empty plan leaves the kernel as it is, without the hidden parameter. */
	const unsigned *probes;
	unsigned probe_count;
	/*
	 * Not NULL: the kernel stays as it is, and a copy of it with this name, which nothing in the
	 * module has yet, gets the hidden parameter and the probes.
	 */
	const char *copy;
	/*
	 * For each thread, at most; 0: no limit.  Not for a kernel that has one already.  Where the probes
	 * are; and of the kernel without: beside its copy, or with an empty plan.
	 */
	unsigned max_registers, own_max_registers;
};

/*
 * Where probes go and what they are told:
 * - ENTRY: before the first statement of a kernel, once, even if a loop starts there.
 * - EXIT: before each ret and exit of a kernel, at its end when control gets
 *   there, and before each exit in functions that the kernel may call.
 * - LOAD, STORE, ATOMIC: before ld, st, atom, red and their like in global,
 *   generic, shared and local space, in the kernel and in functions it may call.
 *   Asynchronous copies count once, as what they do to global memory: cp.async
 *   and bulk copies from it are loads, bulk copies to it stores, reductions
 *   atomics; a bulk copy within a cluster is a store.  Tensor copies give no
 *   address: 0, size 0.  Parameters, constants, textures, ldmatrix, wmma.load and
 *   prefetches do not count.
 * - INST: before instructions whose opcode with all modifiers, or whose opcode up
 *   to the first dot, matches.
 * - BLOCK: at the start of each basic block; calls do not end one.
 * A predicated instruction's probes run when its predicate holds.  At one
 * instruction probes run in the order of the plan, those of its block first.
 *
 * Functions get at the hidden parameter through 40 bytes of static shared memory,
 * which are there only when a function carries probes.  Then kernels that call it
 * and have an empty plan are changed too: they store a zero at entry.  Not so where all
 * probes go into copies of kernels and nothing is called by pointer: then the functions
 * are copied as well, and all else stays as it is.
 */

/*
 * Modules for GPUs before sm_70 keep their target, on which their code may rely, and which
 * the probes need not fit: these are only declared there, and probe_text is to be linked
 * to the result, behind this header.
 */
#define GT_PTX_PROBES_HEADER ".version 6.3\n.target sm_75\n.address_size 64\n"
int gt_ptx_links_probes(const struct gt_ptx *ptx);

/*
 * Which of its plan's probes have a place in each kernel, or in what it may call: a bit for each of the probes, of which
 * there are GT_PROBES_MAX at most.  plans and places have one entry for each kernel, in order.  -ENOMEM.
 */
int gt_ptx_places(const struct gt_ptx *ptx, const struct gt_probe *probes, unsigned probe_count,
		  const struct gt_ptx_plan *plans, uint64_t *places);

/*
 * Write the module anew: probe_text (".func" definitions, no header) goes in
 * after the module's header (less the short functions that are written out at
 * their places), and every kernel with a non-empty plan gets the
 * hidden parameter and its probes.  plans has one entry for each kernel, in
 * order.  The result is malloc'd, NUL-terminated; *ret_length excludes the NUL.
 * -EINVAL with *err filled (e.g. a point this kernel cannot have), -E2BIG when
 * the parameter block would pass the limit of the target, -ENOMEM.
 */
int gt_ptx_instrument(const struct gt_ptx *ptx, const char *probe_text,
		      const struct gt_probe *probes, unsigned probe_count,
		      const struct gt_ptx_plan *plans,
		      char **ret_text, size_t *ret_length, struct gt_ptx_error *err);

#endif
