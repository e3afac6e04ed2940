/* SPDX-License-Identifier: Apache-2.0 */
/* What a context is made of.  All but gt_context_area() under the contexts' lock, with the context current. */
#ifndef GT_AGENT_CONTEXT_PARTS_H
#define GT_AGENT_CONTEXT_PARTS_H

#include <stdbool.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"

/* Its part of the shared memory. */
static inline struct gt_host_arena *gt_context_area(const struct gt_context *context)
{
	return (void *)(gt_session.base + gt_session.areas + context->index * gt_session.area_size);
}

/* Memory on the device, and that part of the shared memory where kernels can reach it.  After a failure, too, they have to be given back. */
bool gt_arenas_set_up(struct gt_context *context);
void gt_arenas_give_back(struct gt_context *context);

/* Copy what is on the device to the shared memory, and tell the controller. */
void gt_arena_copy_out(struct gt_context *context);

/* Read the GPU's clock, and tell the controller; if the last reading is late, wait for it, unless one has been told. */
void gt_stamp_take(struct gt_context *context);
void gt_stamp_wait(struct gt_context *context);

#endif
