/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a graph can never run at the same time. */
#ifndef GT_AGENT_LAUNCH_CHAINS_H
#define GT_AGENT_LAUNCH_CHAINS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/wire/cuda_abi.h"

struct gt_chain_node {
	CUgraphNode node;
	size_t next;		/* in its chain */
	bool has_next, follows;	/* follows: another has it as its next */
};

struct gt_chains {
	struct gt_chain_node *nodes;	/* by handle */
	size_t count;
};

/*
 * Every node of the graph is in one chain, which begins where `follows` is false; each
 * node of a chain begins when the one before has ended and its memory is seen.
 * Nodes within child graphs do not count.  False: the driver would not tell, or out of memory.
 */
bool gt_chains_read(CUgraph graph, struct gt_chains *ret_chains);
void gt_chains_free(struct gt_chains *chains);

#endif
