/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's calls that add nodes, ask for their parameters and set them. */
#include <string.h>

#include "sim/graph.h"
#include "sim/memory.h"
#include "sim/module.h"

/* Common end of all calls that add a node: r says whether *work was made. */
static CUresult add(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
		    const CUgraphEdgeData *data, size_t count, struct sim_work *work, CUresult r)
{
	r = r ? r : sim_graph_check(graph);
	if (r == CUDA_SUCCESS && !ret_node)
		r = CUDA_ERROR_INVALID_VALUE;
	r = r ? r : sim_graph_add(graph, before, data, count, work, ret_node);
	if (r != CUDA_SUCCESS)
		sim_work_clear(work);
	return r;
}

static CUDA_KERNEL_NODE_PARAMS_v2 newer(const CUDA_KERNEL_NODE_PARAMS_v1 *v1)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2) {
		.func = v1->func, .gridDimX = v1->gridDimX, .gridDimY = v1->gridDimY,
		.gridDimZ = v1->gridDimZ, .blockDimX = v1->blockDimX, .blockDimY = v1->blockDimY,
		.blockDimZ = v1->blockDimZ, .sharedMemBytes = v1->sharedMemBytes,
		.kernelParams = v1->kernelParams, .extra = v1->extra,
	};
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				     size_t count, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_kernel(&work, params);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	v2 = newer(params);
	return sim_cuGraphAddKernelNode_v2(ret_node, graph, before, count, &v2);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				  size_t count, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	struct sim_work work;
	CUresult r = sim_work_from_copy(&work, params, ctx);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				  size_t count, const CUDA_MEMSET_NODE_PARAMS_v1 *params,
				  CUcontext ctx)
{
	struct sim_work work;
	CUresult r = sim_work_from_fill(&work, params, ctx);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_host(&work, params);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph,
				      const CUgraphNode *before, size_t count, CUgraph child)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .graph.graph = child };
	struct sim_work work;
	CUresult r = sim_work_from_params(&work, &params);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
				 size_t count)
{
	struct sim_work work = { .type = SIM_WORK_EMPTY };

	return add(ret_node, graph, before, NULL, count, &work, sim_ready());
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph,
				       const CUgraphNode *before, size_t count, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_RECORD, event);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph,
				     const CUgraphNode *before, size_t count, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_WAIT, event);

	return add(ret_node, graph, before, NULL, count, &work, r);
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
			       const CUgraphEdgeData *data, size_t count, CUgraphNodeParams *params)
{
	struct sim_work work = { .type = SIM_WORK_EMPTY };
	CUresult r = params ? sim_work_from_params(&work, params) : CUDA_ERROR_INVALID_VALUE;

	return add(ret_node, graph, before, data, count, &work, r);
}

CUresult sim_cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *before,
			    size_t count, CUgraphNodeParams *params)
{
	return sim_cuGraphAddNode_v2(ret_node, graph, before, NULL, count, params);
}

/* Parameters */

static CUresult check_get(CUgraphNode node, int type, const void *ret)
{
	CUresult r = sim_node_check(node, type);

	return r == CUDA_SUCCESS && !ret ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *ret)
{
	CUresult r = check_get(node, SIM_WORK_KERNEL, ret);
	const struct sim_kernel_work *k;

	if (r != CUDA_SUCCESS)
		return r;
	k = &node->work.kernel;
	*ret = (CUDA_KERNEL_NODE_PARAMS_v2) {
		.func = k->function, .gridDimX = k->grid[0], .gridDimY = k->grid[1],
		.gridDimZ = k->grid[2], .blockDimX = k->block[0], .blockDimY = k->block[1],
		.blockDimZ = k->block[2], .sharedMemBytes = k->shared,
		.kernelParams = k->pointers, .kern = k->kern, .ctx = node->work.ctx,
	};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2;
	CUresult r = ret ? sim_cuGraphKernelNodeGetParams_v2(node, &v2) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		memcpy(ret, &v2, sizeof(*ret));
	return r;
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret)
{
	CUresult r = check_get(node, SIM_WORK_COPY, ret);

	if (r == CUDA_SUCCESS)
		*ret = node->work.copy.what;
	return r;
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS_v1 *ret)
{
	CUresult r = check_get(node, SIM_WORK_FILL, ret);

	if (r == CUDA_SUCCESS)
		*ret = node->work.fill;
	return r;
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret)
{
	CUresult r = check_get(node, SIM_WORK_HOST, ret);

	if (r == CUDA_SUCCESS)
		*ret = node->work.host;
	return r;
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret)
{
	CUresult r = check_get(node, SIM_WORK_CHILD, ret);

	if (r == CUDA_SUCCESS)
		*ret = node->work.child;
	return r;
}

static CUresult get_event(CUgraphNode node, int type, CUevent *ret)
{
	CUresult r = check_get(node, type, ret);

	if (r == CUDA_SUCCESS)
		*ret = node->work.event;
	return r;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *ret)
{
	return get_event(node, SIM_WORK_RECORD, ret);
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *ret)
{
	return get_event(node, SIM_WORK_WAIT, ret);
}

/* Common end of the calls that set parameters. */
static CUresult set(CUgraphNode node, int type, struct sim_work *work, CUresult r)
{
	r = r ? r : sim_node_check(node, type);
	if (r != CUDA_SUCCESS) {
		sim_work_clear(work);
		return r;
	}
	return sim_node_set(node, work);
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_kernel(&work, params);

	return set(node, SIM_WORK_KERNEL, &work, r);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS_v2 v2;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	v2 = newer(params);
	return sim_cuGraphKernelNodeSetParams_v2(node, &v2);
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	struct sim_work work;
	CUresult r = sim_node_check(node, SIM_WORK_COPY);

	if (r != CUDA_SUCCESS)
		return r;
	r = sim_work_from_copy(&work, params, node->work.ctx);
	return set(node, SIM_WORK_COPY, &work, r);
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS_v1 *params)
{
	struct sim_work work;
	CUresult r = sim_node_check(node, SIM_WORK_FILL);

	if (r != CUDA_SUCCESS)
		return r;
	r = sim_work_from_fill(&work, params, node->work.ctx);
	return set(node, SIM_WORK_FILL, &work, r);
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	struct sim_work work;
	CUresult r = sim_work_from_host(&work, params);

	return set(node, SIM_WORK_HOST, &work, r);
}

CUresult sim_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_RECORD, event);

	return set(node, SIM_WORK_RECORD, &work, r);
}

CUresult sim_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	struct sim_work work;
	CUresult r = sim_work_from_event(&work, SIM_WORK_WAIT, event);

	return set(node, SIM_WORK_WAIT, &work, r);
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	struct sim_work work = { .type = SIM_WORK_EMPTY };
	CUresult r = params ? sim_work_from_params(&work, params) : CUDA_ERROR_INVALID_VALUE;

	return set(node, params ? (int)params->type : -1, &work, r);
}

/* Attributes of kernel nodes */

CUresult sim_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
					   CUkernelNodeAttrValue *ret)
{
	CUresult r = check_get(node, SIM_WORK_KERNEL, ret);
	const struct sim_kernel_work *k;

	if (r != CUDA_SUCCESS)
		return r;
	k = &node->work.kernel;
	memset(ret, 0, sizeof(*ret));
	switch ((int)attribute) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		ret->cooperative = k->cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		ret->priority = k->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		ret->clusterDim.x = k->cluster[0];
		ret->clusterDim.y = k->cluster[1];
		ret->clusterDim.z = k->cluster[2];
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
					   const CUkernelNodeAttrValue *value)
{
	CUresult r = sim_node_check(node, SIM_WORK_KERNEL);
	struct sim_kernel_work *k;

	if (r == CUDA_SUCCESS && !value)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	k = &node->work.kernel;
	switch ((int)attribute) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		k->cooperative = value->cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		k->priority = value->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		k->cluster[0] = value->clusterDim.x;
		k->cluster[1] = value->clusterDim.y;
		k->cluster[2] = value->clusterDim.z;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	CUresult r = sim_node_check(to, SIM_WORK_KERNEL);

	r = r ? r : sim_node_check(from, SIM_WORK_KERNEL);
	if (r != CUDA_SUCCESS)
		return r;
	to->work.kernel.cooperative = from->work.kernel.cooperative;
	to->work.kernel.priority = from->work.kernel.priority;
	memcpy(to->work.kernel.cluster, from->work.kernel.cluster, sizeof(from->work.kernel.cluster));
	return CUDA_SUCCESS;
}
