/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel node of a graph and the hidden parameter in it. */
#ifndef GT_AGENT_LAUNCH_NODE_H
#define GT_AGENT_LAUNCH_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/agent/context/context.h"
#include "lib/agent/module/module.h"
#include "lib/wire/cuda_abi.h"
#include "lib/wire/wire.h"

struct gt_node {
	CUgraphNode handle;
	CUDA_KERNEL_NODE_PARAMS_v2 params;	/* what they point at is the driver's */
	struct gt_kernel *kernel;
	struct gt_context *context;
	struct gt_launch_param hidden;
};

/*
 * The function of a node: one of two fields is set, or both are, as the driver tells it.
 * It may have got one of the handles from the other, so that we have never seen it.
 */
const void *gt_node_function(const CUDA_KERNEL_NODE_PARAMS_v2 *params);
/* Name the program's own kernel where the driver has told of its copy. */
void gt_node_show(CUDA_KERNEL_NODE_PARAMS_v2 *params);

/* False: not a kernel with the hidden parameter, or one that was set when there were no probes. */
bool gt_node_read(CUgraphNode handle, struct gt_node *ret_node);
/* Give it this launch slot, 0 for none, and the links that are switched on now. */
void gt_node_set_slot(struct gt_node *node, uint32_t slot);

/* Let the program's own kernel run in it.  False: it does, or it cannot be helped. */
bool gt_node_revert(CUgraphNode handle);

#endif
