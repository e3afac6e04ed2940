/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel node of a graph and the hidden parameter in it. */
#ifndef GT_AGENT_LAUNCH_NODE_H
#define GT_AGENT_LAUNCH_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/agent/context.h"
#include "lib/agent/module.h"
#include "lib/wire/cuda_abi.h"
#include "lib/wire/wire.h"

struct gt_node {
	CUgraphNode handle;
	CUDA_KERNEL_NODE_PARAMS_v2 params;	/* what they point at is the driver's */
	const struct gt_kernel *kernel;
	struct gt_context *context;
	struct gt_launch_param hidden;
};

/* False: not a kernel with the hidden parameter, or one that was set when there were no probes. */
bool gt_node_read(CUgraphNode handle, struct gt_node *ret_node);
/* Give it this launch slot, 0 for none, and the links that are switched on now. */
void gt_node_set_slot(struct gt_node *node, uint32_t slot);

#endif
