/* SPDX-License-Identifier: Apache-2.0 */
/* What the two routes have in common: modules, kernels and what is told of them. */
#ifndef GT_AGENT_BUILD_PARTS_H
#define GT_AGENT_BUILD_PARTS_H

#include "lib/agent/build/build.h"
#include "lib/wire/wire.h"

struct gt_module *gt_module_new(const struct gt_source *source, unsigned room);
/* Of an image that is left as it is: why, which its kernels get as their reason, and a note says. */
__attribute__((format(printf, 2, 3)))
void gt_module_leave_as_it_is(struct gt_module *module, const char *format, ...);

/* NULL: out of memory. */
struct gt_kernel *gt_module_add_kernel(struct gt_module *module, const char *name);
/* The number that the next one will get; and that number, used up. */
uint32_t gt_next_kernel_id(void);
uint32_t gt_take_kernel_id(void);

/* Begins the reason why kernels have no programs that were loaded before the agent looked. */
#define GT_LOADED_BEFORE "loaded before attach"

/* What we tell the controller of one kernel. */
struct gt_report {
	enum gt_route route;
	enum gt_reason reason;
	const char *text;	/* NULL: none */
	uint32_t links;
	uint64_t places;	/* of the session's programs, by index: it has one place for it at least */
	const struct gt_cubin_kernel *code;	/* what its machine code says; NULL: unknown */
	unsigned arch;
	uint32_t module;	/* where gt_kernel.module does not tell: its number; 0: not known */
};

void gt_report_kernel(struct gt_kernel *kernel, const struct gt_report *report);

/* Sorts the kernels for the look-up by name. */
void gt_module_sort(struct gt_module *module);

/* ---- PTX ---- */

/* How many of the kernels that programs are meant for must get them by PTX, or it is left, since there is another way. */
enum gt_ptx_least { GT_PTX_NONE, GT_PTX_SOME, GT_PTX_ALL };

/*
 * NULL: fewer get them, and nothing has been reported: source->ptx_useless says why, and for machine code it is from
 * then on as if there were no PTX.  Or out of memory.
 */
struct gt_module *gt_build_from_ptx(struct gt_source *source, enum gt_ptx_least least);

/* ---- machine code ---- */

struct gt_graft_build;

/*
 * Graft the attached programs onto the image's machine code, or only list its
 * kernels when programs is false.  NULL: out of memory.
 */
struct gt_graft_build *gt_graft_build_new(struct gt_source *source, bool programs);
void gt_graft_build_free(struct gt_graft_build *build);	/* NULL is fine */

/* Kernels that programs are meant for, and those of them that have all of these programs now. */
unsigned gt_graft_build_wanted(const struct gt_graft_build *build);
unsigned gt_graft_build_complete(const struct gt_graft_build *build);

/* Make it the module and report its kernels. */
struct gt_module *gt_graft_build_finish(struct gt_graft_build *build);

#endif
