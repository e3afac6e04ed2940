/* SPDX-License-Identifier: Apache-2.0 */
/* Context areas: given to one CUDA context after another. */
#ifndef GT_TARGET_AREA_H
#define GT_TARGET_AREA_H

#include <stdint.h>

struct gputrace_map;
struct gputrace_target;
struct gt_process;
struct gt_shm;
struct gt_target_context;

/* Offset in an area at which the controller sees a map: of its memory itself, of the snapshot of it, of its sum. */
uint64_t gt_map_seen_at(const struct gputrace_map *map, const struct gt_shm *shm);

/*
 * A context has begun to use an area: every map gets an instance there.  -ERANGE: no
 * such area; -EBUSY: another context has it; -ENOMEM.
 */
int gt_area_take(struct gt_process *process, unsigned index, const struct gt_target_context *context);

/* The context has gone and nothing of it is left in the rings: keep its maps, and make the area ready for the next. */
void gt_area_release(struct gt_process *process, unsigned index);

/* The process has ended, and its shared memory is about to go: maps keep what they hold.  -ENOSPC, -ENOMEM: they do not. */
int gt_areas_keep(struct gt_process *process);

/* Likewise with all processes' memory, come what may. */
void gt_target_keep_maps(struct gputrace_target *target);

#endif
