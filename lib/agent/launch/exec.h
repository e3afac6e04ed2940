/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs and the launch slots that their kernels have. */
#ifndef GT_AGENT_LAUNCH_EXEC_H
#define GT_AGENT_LAUNCH_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/agent/context/context.h"
#include "lib/wire/cuda_abi.h"

/*
 * A node of a graph has no slot: the graph is a pattern, of which several executables
 * may run at once.  An executable never runs beside itself, so it has slots of its own,
 * one for each chain of nodes (see chains.h), from its making to the end of its last
 * launch.  They are put into the pattern's nodes right before the driver copies them.
 * Any thread may call these at any time; an executable belongs to this file from
 * gt_exec_made() on.
 */

/* Is there a timeline to take slots for? */
bool gt_execs_matter(void);

/* An executable is about to be made of the graph.  NULL: out of memory. */
struct gt_exec *gt_exec_prepare(CUgraph graph);
/* It was made, or not (NULL). */
void gt_exec_made(struct gt_exec *exec, CUgraphExec handle);

/*
 * The nodes of an executable are about to be set from those of the graph: all of them,
 * or, with a node, those of that child graph.
 */
void gt_exec_renew(CUgraphExec handle, CUgraphNode node, CUgraph graph);
/* The slot for new parameters of one kernel node; 0: none. */
uint32_t gt_exec_slot(CUgraphExec handle, CUgraphNode node, struct gt_context *context);

/*
 * The driver would not make one of the graph: let the program's own kernels run in it,
 * where copies of them were to.  False: there are none.
 */
bool gt_graph_revert(CUgraph graph);

/* Copies in graphs are not recorded, which is said of the first that has some. */
void gt_graph_tell_of_copies(CUgraph graph);

/* It can be launched by kernels as well. */
void gt_exec_runs_unseen(struct gt_exec *exec);

/* It was launched to this stream. */
void gt_exec_launched(CUgraphExec handle, CUstream stream);
/* It is no more: its slots come back when its last launch has ended. */
void gt_exec_destroyed(CUgraphExec handle);
/* A context was destroyed. */
void gt_execs_context_gone(CUcontext context);
/* The session is over, and with it all slots. */
void gt_execs_forget(void);

/* A conditional node was made, whose bodies are graphs of their own. */
void gt_conditional_made(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS *params);

#endif
