/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA kernel that a process has loaded. */
#ifndef GT_TARGET_KERNEL_H
#define GT_TARGET_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ids and names come from others: do not let them make us allocate without end. */
#define GT_KERNELS_MAX (1u << 22)
#define GT_KERNEL_NAMES_MAX (512ull << 20)	/* bytes, of all kernels of a target */

struct gputrace_kernel {
	struct gputrace_kernel *next;		/* in order of loading */
	struct gputrace_kernel *earlier, *later;	/* in order of their latest changes */
	uint64_t change;			/* the number of that */
	uint64_t told_launches, told_plain_launches;	/* at that change */
	uint32_t number;			/* in order of loading, over all processes */
	const struct gputrace_target *target;	/* NULL: of another process's stream */
	uint64_t places;			/* by the programs' numbers: they have one in it */
	int pid;
	uint32_t id, module, arch, registers, shared_bytes;
	int route;
	char *name, *display_name, *reason;
	uint64_t launches, plain_launches;
};

/* NULL: no memory. */
struct gputrace_kernel *gt_kernel_new(uint32_t number, int pid, uint32_t id, const char *name);
size_t gt_kernel_name_bytes(const struct gputrace_kernel *kernel);
/* NULL: none; one that finds no memory is none. */
void gt_kernel_set_reason(struct gputrace_kernel *kernel, const char *reason);
/* NULL is fine. */
void gt_kernel_free(struct gputrace_kernel *kernel);

/* The kernels of a target. */
struct gt_kernels {
	struct gputrace_kernel *first, *last;	/* in order of loading */
	struct gputrace_kernel *newest;		/* change */
	uint32_t count;
	uint64_t changes;			/* so far */
	uint64_t name_bytes;
};

/* NULL: no memory, or too many. */
struct gputrace_kernel *gt_kernels_add(struct gt_kernels *kernels, int pid, uint32_t id, const char *name);
/* Something that is known of it has changed. */
void gt_kernels_touch(struct gt_kernels *kernels, struct gputrace_kernel *kernel);
/* Those that were launched since they changed last have changed by that. */
void gt_kernels_touch_launched(struct gt_kernels *kernels);
/* The first that has changed after change number `since` (0: any); what follows it is in `later`. */
const struct gputrace_kernel *gt_kernels_changed_since(const struct gt_kernels *kernels, uint64_t since);
void gt_kernels_free(struct gt_kernels *kernels);

#endif
