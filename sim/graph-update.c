/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of executable graphs.  They touch later launches only: whoever changes a
 * copy of the graph that a launch still uses works on a new copy.
 */
#include <string.h>

#include "sim/graph.h"

/* A copy with the same origins, numbers and order, for a graph that a launch still uses. */
static CUresult renew(struct CUgraph_st *old, struct CUgraph_st **ret_graph)
{
	struct CUgraph_st *graph;
	CUresult r = sim_graph_copy(old, &graph);

	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; i < old->count; i++)
		graph->nodes[i]->origin = old->nodes[i]->origin;
	r = sim_graph_prepare(graph, NULL);
	if (r != CUDA_SUCCESS)
		sim_graph_free(graph);
	else
		*ret_graph = graph;
	return r;
}

/* The executable's own node for a node of the graph it was made from, free to be changed. */
static CUresult own_node(CUgraphExec exec, CUgraphNode node, int type, CUgraphNode *ret_own)
{
	CUresult r = sim_exec_check(exec);

	r = r ? r : sim_node_check(node, type);
	if (r != CUDA_SUCCESS)
		return r;
	if (atomic_load(&exec->graph->refs) > 1) {
		struct CUgraph_st *graph;

		r = renew(exec->graph, &graph);
		if (r != CUDA_SUCCESS)
			return r;
		sim_graph_free(exec->graph);
		exec->graph = graph;
	}
	for (size_t i = 0; i < exec->graph->count; i++)
		if (exec->graph->nodes[i]->origin == node) {
			*ret_own = exec->graph->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Common end of the calls that set a node's parameters: r says whether *work was made. */
static CUresult set(CUgraphExec exec, CUgraphNode node, int type, struct sim_work *work, CUresult r)
{
	CUgraphNode own;

	r = r ? r : own_node(exec, node, type, &own);
	if (r != CUDA_SUCCESS) {
		sim_work_clear(work);
		return r;
	}
	return sim_node_set(own, work);
}

CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					       const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_kernel(&work, params);

	return set(exec, node, SIM_WORK_KERNEL, &work, r);
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2 = { .func = NULL };

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&v2, params, sizeof(*params));
	return sim_cuGraphExecKernelNodeSetParams_v2(exec, node, &v2);
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	struct sim_work work;
	CUresult r = sim_work_from_copy(&work, params, ctx);

	return set(exec, node, SIM_WORK_COPY, &work, r);
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const CUDA_MEMSET_NODE_PARAMS_v1 *params, CUcontext ctx)
{
	struct sim_work work;
	CUresult r = sim_work_from_fill(&work, params, ctx);

	return set(exec, node, SIM_WORK_FILL, &work, r);
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  const CUDA_HOST_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_host(&work, params);

	return set(exec, node, SIM_WORK_HOST, &work, r);
}

CUresult sim_cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_RECORD, event);

	return set(exec, node, SIM_WORK_RECORD, &work, r);
}

CUresult sim_cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_WAIT, event);

	return set(exec, node, SIM_WORK_WAIT, &work, r);
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	struct sim_work work = { .type = SIM_WORK_EMPTY };
	CUresult r = params ? sim_work_from_params(&work, params) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS && work.type == SIM_WORK_CHILD)
		r = sim_graph_prepare(work.child, NULL);
	return set(exec, node, params ? (int)params->type : -1, &work, r);
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child };

	return sim_cuGraphExecNodeSetParams(exec, node, &params);
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	CUgraphNode own;
	CUresult r = own_node(exec, node, -1, &own);

	if (r != CUDA_SUCCESS)
		return r;
	if (own->work.type != SIM_WORK_KERNEL && own->work.type != SIM_WORK_COPY &&
	    own->work.type != SIM_WORK_FILL)
		return CUDA_ERROR_INVALID_VALUE;
	own->disabled = !enabled;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *ret_enabled)
{
	CUgraphNode own;
	CUresult r = own_node(exec, node, -1, &own);

	if (r == CUDA_SUCCESS && !ret_enabled)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_enabled = !own->disabled;
	return r;
}

/* Update of a whole executable from a graph of the same shape */

static bool same_edges(const struct CUgraphNode_st *a, const struct CUgraphNode_st *b)
{
	if (a->before_count != b->before_count)
		return false;
	for (size_t i = 0; i < a->before_count; i++) {
		bool found = false;

		for (size_t j = 0; j < b->before_count && !found; j++)
			found = a->before[i].from->index == b->before[j].from->index;
		if (!found)
			return false;
	}
	return true;
}

static CUgraphExecUpdateResult compare(struct CUgraph_st *a, struct CUgraph_st *b, CUgraphNode *ret_bad)
{
	if (a->count != b->count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	sim_graph_number(a);
	sim_graph_number(b);
	for (size_t i = 0; i < a->count; i++) {
		CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

		*ret_bad = b->nodes[i];
		if (a->nodes[i]->work.type != b->nodes[i]->work.type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (!same_edges(a->nodes[i], b->nodes[i]))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (a->nodes[i]->work.type == SIM_WORK_CHILD)
			result = compare(a->nodes[i]->work.child, b->nodes[i]->work.child, ret_bad);
		if (result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
			return result;
	}
	*ret_bad = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

/* The nodes keep the numbers of their launches and whom they answer to. */
static void inherit(struct CUgraph_st *to, const struct CUgraph_st *from)
{
	for (size_t i = 0; i < to->count; i++) {
		to->nodes[i]->origin = from->nodes[i]->origin;
		to->nodes[i]->disabled = from->nodes[i]->disabled;
		if (to->nodes[i]->work.type == SIM_WORK_CHILD)
			inherit(to->nodes[i]->work.child, from->nodes[i]->work.child);
		else if (to->nodes[i]->work.type == SIM_WORK_KERNEL)
			to->nodes[i]->work.kernel.grid_id = from->nodes[i]->work.kernel.grid_id;
	}
}

static CUresult update(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResult *ret_result,
		       CUgraphNode *ret_bad)
{
	CUresult r = sim_exec_check(exec);
	struct CUgraph_st *copy;

	r = r ? r : sim_graph_check(graph);
	if (r != CUDA_SUCCESS)
		return r;
	*ret_bad = NULL;
	*ret_result = compare(exec->graph, graph, ret_bad);
	if (*ret_result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	r = sim_graph_copy(graph, &copy);
	if (r != CUDA_SUCCESS)
		return r;
	inherit(copy, exec->graph);
	r = sim_graph_prepare(copy, NULL);
	if (r != CUDA_SUCCESS) {
		sim_graph_free(copy);
		return r;
	}
	sim_graph_free(exec->graph);
	exec->graph = copy;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *ret)
{
	CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	CUresult r = update(exec, graph, &info.result, &info.errorNode);

	if (ret)
		*ret = info;
	return r;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_bad,
			       CUgraphExecUpdateResult *ret_result)
{
	CUgraphExecUpdateResultInfo info;
	CUresult r = sim_cuGraphExecUpdate_v2(exec, graph, &info);

	if (ret_bad)
		*ret_bad = info.errorNode;
	if (ret_result)
		*ret_result = info.result;
	return r;
}
