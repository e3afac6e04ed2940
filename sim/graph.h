/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, their nodes, and executable graphs. */
#ifndef SIM_GRAPH_H
#define SIM_GRAPH_H

#include "sim/queue.h"

struct sim_edge {
	CUgraphNode from;
	CUgraphEdgeData data;		/* kept for those who ask; every edge is a full dependency */
};

struct CUgraphNode_st {
	struct CUgraph_st *graph;
	struct CUgraphNode_st *origin;	/* the node that this one is a copy of */
	struct sim_work work;
	struct sim_edge *before;	/* what it depends on */
	size_t before_count;
	size_t index;			/* scratch: place in the graph */
	unsigned mark;			/* scratch: of walks */
	bool disabled;			/* in an executable graph */
};

struct CUgraph_st {
	atomic_uint refs;		/* of an executable graph's own copy; else 1 */
	struct CUgraph_st *origin;	/* the graph that this one is a clone of */
	struct CUgraphNode_st **nodes;	/* in order of creation */
	size_t count, space;
	struct CUgraphNode_st **order;	/* so that each comes after what it depends on; when instantiated */
};

struct CUgraphExec_st {
	struct CUgraph_st *graph;
	uint64_t flags;
	struct sim_op *last;		/* launches of one executable graph follow each other */
};

/* graph.c */
CUresult sim_graph_new(struct CUgraph_st **ret_graph);
/* A deep copy.  Its nodes' origins are the nodes of `from`. */
CUresult sim_graph_copy(struct CUgraph_st *from, struct CUgraph_st **ret_graph);
void sim_graph_free(struct CUgraph_st *graph);
/* Takes over what *work owns if it succeeds. */
CUresult sim_graph_add(struct CUgraph_st *graph, const CUgraphNode *before,
		       const CUgraphEdgeData *data, size_t count, struct sim_work *work,
		       struct CUgraphNode_st **ret_node);
CUresult sim_graph_add_edge(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data);
/* Sort into graph->order; on a cycle *ret_bad is a node of it. */
CUresult sim_graph_sort(struct CUgraph_st *graph, CUgraphNode *ret_bad);
/* Number the nodes by their index. */
void sim_graph_number(struct CUgraph_st *graph);

/* graph-exec.c: sort a graph and those inside it, and number its kernels. */
CUresult sim_graph_prepare(struct CUgraph_st *graph, CUgraphNode *ret_bad);
CUresult sim_exec_check(CUgraphExec exec);

/* node.c: handles from the caller. */
CUresult sim_graph_check(CUgraph graph);
CUresult sim_node_check(CUgraphNode node, int type);	/* type -1: any */

/* node-params.c: work from the structures that describe nodes; what they own is copied. */
CUresult sim_work_from_kernel(struct sim_work *work, const CUDA_KERNEL_NODE_PARAMS_v2 *params);
CUresult sim_work_from_copy(struct sim_work *work, const CUDA_MEMCPY3D *params, CUcontext ctx);
CUresult sim_work_from_fill(struct sim_work *work, const CUDA_MEMSET_NODE_PARAMS_v1 *params,
			    CUcontext ctx);
CUresult sim_work_from_host(struct sim_work *work, const CUDA_HOST_NODE_PARAMS *params);
CUresult sim_work_from_event(struct sim_work *work, int type, CUevent event);
CUresult sim_work_from_params(struct sim_work *work, const CUgraphNodeParams *params);
/* Replace a node's work by another of the same type. */
CUresult sim_node_set(CUgraphNode node, struct sim_work *work);

#endif
