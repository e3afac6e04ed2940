/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that the operating system's kernel and the GPU share: arrays of the
 * kernel's whose pages lie in the host arena.  Other maps are each side's own.
 */
#ifndef GT_ATTACH_SHARED_H
#define GT_ATTACH_SHARED_H

struct gputrace_object;
struct gputrace_target;
struct gt_kernel_map;
struct gt_kernel_programs;

/*
 * Find the maps that programs of both sides use and mark them, before they are
 * placed.  -EOPNOTSUPP: one is of a kind that cannot be shared; -EBUSY: it has its
 * place already, for the GPU alone; -ENOMEM.
 */
int gt_shared_choose(struct gputrace_object *object);

/* What the kernel's maps are to be, for gt_kernel_programs_load(); `wishes` has room for all maps.  How many. */
unsigned gt_shared_wishes(const struct gputrace_target *target, const struct gputrace_object *object,
			  struct gt_kernel_map *wishes);

/*
 * The kernel has made its maps: give those that are shared their contents and let
 * the target's processes have them.  -ENOSPC, -ENOMEM; errors of mmap.
 */
int gt_shared_connect(struct gputrace_target *target, struct gputrace_object *object,
		      const struct gt_kernel_programs *programs);

/* The target goes: its shared maps keep what they hold. */
void gt_shared_close(struct gputrace_target *target);

#endif
