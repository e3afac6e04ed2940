/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts probes into compiled kernels, without their PTX: machine code for the
 * kernel's entry and for every way out goes in behind the kernel's own, which
 * stays where it is.  Pure functions over memory: no driver, no global state,
 * libc only, safe from several threads.  The bytes are a stranger's: any give a
 * result or an error, never a crash.
 *
 * The probes' machine code is a stub: the code of a kernel that is empty but for
 * the probes, made by the driver from the text of gt_graft_stub_text().  One
 * stub serves all kernels that get the same probes at the same point.
 */
#ifndef GT_AGENT_GRAFT_H
#define GT_AGENT_GRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/probe.h"
#include "lib/wire/wire.h"

#define GT_GRAFT_WHY 192	/* bytes of a sentence that says why not */

/*
 * How probes do at exit, and at accesses, what they do for several threads at once, in the order in which it
 * should be tried, since each costs more than the one before: together, as those that
 * happen to be there, for which the code must not let them part; or each thread alone,
 * which also has every number and every place on the stack from sources that compilers
 * cannot follow, so that nothing is kept for whole warps.
 */
enum gt_exit_form { GT_EXIT_TOGETHER, GT_EXIT_ALONE, GT_EXIT_OPAQUE, GT_EXIT_FORMS };

/*
 * PTX of a kernel that does nothing but run, in this order, the probes `which`
 * (indices into probes) at `point`, which is entry, exit, loads, stores or atomics.  form: but for
 * entry; what it is not enough for is refused when the stub is opened.  arch: compiled for.
 * malloc'd, NUL-terminated.
 * -EINVAL with a sentence in why, -ENOMEM.
 */
int gt_graft_stub_text(const char *probe_text, const struct gt_probe *probes, unsigned probe_count,
		       const unsigned *which, unsigned count, uint32_t point, enum gt_exit_form form, unsigned arch,
		       char **ret_text, char why[GT_GRAFT_WHY]);

/* A stub is immutable once opened and may serve several threads. */
struct gt_graft_stub;

/*
 * Look at what the driver made of such a text.  The bytes are copied.
 * -EINVAL: the code is damaged or does something that cannot be grafted.
 */
int gt_graft_stub_open(const void *cubin, size_t size, uint32_t point,
		       struct gt_graft_stub **ret_stub, char why[GT_GRAFT_WHY]);
void gt_graft_stub_free(struct gt_graft_stub *stub);

/* Loads, stores and atomics: from GT_POINT_LOAD on; and the compute capability whose instructions for it are known. */
#define GT_GRAFT_ACCESSES 3u
#define GT_GRAFT_ACCESSES_ARCH 90u
#define GT_GRAFT_POINTS (GT_POINT_LOAD + GT_GRAFT_ACCESSES)

/* What to put into one kernel; at least one of the stubs. */
struct gt_graft_plan {
	const char *name;	/* mangled */
	uint32_t kernel_id;
	const struct gt_graft_stub *entry, *exit;
	const struct gt_graft_stub *access[GT_GRAFT_ACCESSES];
};

static inline const struct gt_graft_stub *gt_graft_plan_stub(const struct gt_graft_plan *plan, unsigned point)
{
	if (point >= GT_POINT_LOAD)
		return plan->access[point - GT_POINT_LOAD];
	return point == GT_POINT_ENTRY ? plan->entry : plan->exit;
}

struct gt_graft_result {
	bool done;
	enum gt_reason reason;		/* when it is not done */
	char why[GT_GRAFT_WHY];		/* the reason as a sentence */
	uint32_t param_count;		/* of the kernel's own parameters */
	uint32_t hidden_offset;		/* of the hidden parameter */
	unsigned registers;		/* that the kernel now takes */
	unsigned kept;			/* the register that keeps the thread's index from entry to exit; 0: none does */
	unsigned exits;			/* ways out that were found */
	/*
	 * Of the accesses that the plan's stubs are for: those that have them, by kind; those left out, by where
	 * they are, "elsewhere" being functions with sections of their own.
	 */
	unsigned accesses[GT_GRAFT_ACCESSES];
	unsigned left_shared, left_local, left_other, left_elsewhere;
	bool calls_driver;		/* it calls functions that the driver supplies, of which no access has them */
	uint32_t detours;		/* where in the kernel's code theirs begins; 0: there is none */
};

static inline unsigned gt_graft_result_accesses(const struct gt_graft_result *result)
{
	return result->accesses[0] + result->accesses[1] + result->accesses[2];
}

static inline unsigned gt_graft_result_left(const struct gt_graft_result *result)
{
	return result->left_shared + result->left_local + result->left_other + result->left_elsewhere;
}

/* The stub that went in at this point; NULL: there was none, or nothing for it to do. */
static inline const struct gt_graft_stub *gt_graft_stub_in(const struct gt_graft_plan *plan,
							   const struct gt_graft_result *result, unsigned point)
{
	if (point >= GT_POINT_LOAD && !result->accesses[point - GT_POINT_LOAD])
		return NULL;
	return gt_graft_plan_stub(plan, point);
}

/* Architectures on which this has not been seen to work are refused without it. */
#define GT_GRAFT_FORCE 1u

/*
 * Write the machine code anew with probes in those kernels that can take them;
 * results has one entry for each plan.  0 when at least one kernel was done:
 * *ret_image (malloc'd) is checked, *ret_size its bytes.  -ENOENT: none could be
 * done, each result says why.  -EINVAL: the machine code is damaged or of an
 * unknown kind, or the new one did not pass the check; -ENOMEM; with a sentence.
 */
int gt_graft(const void *cubin, size_t size, unsigned flags, const struct gt_graft_plan *plans,
	     unsigned plan_count, void **ret_image, size_t *ret_size, struct gt_graft_result *results,
	     char why[GT_GRAFT_WHY]);

/* Can a kernel be run as well from a second module that is loaded from the same code? */
struct gt_apart {
	const char *name;	/* mangled */
	bool possible;
	char why[GT_GRAFT_WHY];	/* why not */
};

/*
 * Not if it uses variables of its module, of which the second one has its own, or if that
 * cannot be told.  -EINVAL: the machine code is damaged; -ENOMEM.
 */
int gt_cubin_apart(const void *cubin, size_t size, struct gt_apart *kernels, unsigned count);

/*
 * Compare grafted code with the original, by means of its own: nothing changed
 * but what had to, and what was added cannot leave its place but where it must.
 * gt_graft() has done it.  -EINVAL with a sentence.
 */
int gt_graft_check(const void *before, size_t before_size, const void *after, size_t after_size,
		   const struct gt_graft_plan *plans, unsigned plan_count,
		   const struct gt_graft_result *results, char why[GT_GRAFT_WHY]);

#endif
