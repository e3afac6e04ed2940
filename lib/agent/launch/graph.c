/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs built node by node: a kernel node gets its hidden parameter when its
 * parameters are set, and keeps it at every replay.  (Nodes made by capture come
 * through the launch functions.)
 */
#include <errno.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/launch.h"

/* The function of a node: one of two fields is set in the newer forms. */
static const void *node_function(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	return p->func ? (const void *)p->func : (const void *)p->kern;
}

static void begin_node(struct gt_launch *launch, const void *function, const void *node_params)
{
	/* Both versions begin alike. */
	const CUDA_KERNEL_NODE_PARAMS_v1 *p = node_params;

	gt_launch_begin(launch, function,
			(unsigned int[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
			(unsigned int[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
			p->sharedMemBytes, p->kernelParams, p->extra);
	gt_launch_captured(launch);
}

/*
 * Each hook is the same: when the parameters are for a kernel, call the driver
 * with a copy that has the hidden one.  TYPE is the parameter struct, FUNCTION
 * the kernel it names, CALL the driver's function with `use` in place of the
 * program's struct.
 */
#define WITH_HIDDEN(TYPE, given, FUNCTION, CALL) \
	int saved = errno; \
	struct gt_launch l; \
	const TYPE *use = given; \
	TYPE copy; \
	CUresult result; \
	\
	if (!gt_enter() || !given) { \
		result = CALL; \
		gt_leave(); \
		return result; \
	} \
	begin_node(&l, FUNCTION, given); \
	gt_launch_extend(&l, GT_LAUNCH_ROOM(l.kernel)); \
	copy = *given; \
	copy.kernelParams = l.params; \
	copy.extra = l.extra; \
	use = &copy; \
	errno = saved; \
	result = CALL; \
	saved = errno; \
	gt_launch_end(&l, result); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
					  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, p->func,
		    gt_cu.cuGraphAddKernelNode(node, graph, deps, count, use));
}

static CUresult hook_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
					     const CUgraphNode *deps, size_t count,
					     const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, node_function(p),
		    gt_cu.cuGraphAddKernelNode_v2(node, graph, deps, count, use));
}

static CUresult hook_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, p->func,
		    gt_cu.cuGraphKernelNodeSetParams(node, use));
}

static CUresult hook_cuGraphKernelNodeSetParams_v2(CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, node_function(p),
		    gt_cu.cuGraphKernelNodeSetParams_v2(node, use));
}

static CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, p->func,
		    gt_cu.cuGraphExecKernelNodeSetParams(exec, node, use));
}

static CUresult hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, node_function(p),
		    gt_cu.cuGraphExecKernelNodeSetParams_v2(exec, node, use));
}

/* The generic forms take a struct for any kind of node and may write results into it. */
#define WITH_HIDDEN_GENERIC(given, CALL) \
	int saved = errno; \
	struct gt_launch l; \
	void **params, **extra; \
	CUresult result; \
	\
	if (!gt_enter() || !given || given->type != CU_GRAPH_NODE_TYPE_KERNEL) { \
		result = CALL; \
		gt_leave(); \
		return result; \
	} \
	begin_node(&l, node_function(&given->kernel), &given->kernel); \
	gt_launch_extend(&l, GT_LAUNCH_ROOM(l.kernel)); \
	params = given->kernel.kernelParams; \
	extra = given->kernel.extra; \
	given->kernel.kernelParams = l.params; \
	given->kernel.extra = l.extra; \
	errno = saved; \
	result = CALL; \
	saved = errno; \
	given->kernel.kernelParams = params; \
	given->kernel.extra = extra; \
	gt_launch_end(&l, result); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				    size_t count, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, gt_cu.cuGraphAddNode(node, graph, deps, count, p));
}

static CUresult hook_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				       const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, gt_cu.cuGraphAddNode_v2(node, graph, deps, edges, count, p));
}

static CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, gt_cu.cuGraphNodeSetParams(node, p));
}

static CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, gt_cu.cuGraphExecNodeSetParams(exec, node, p));
}

const struct gt_hook gt_graph_hooks[] = {
	GT_HOOK(cuGraphAddKernelNode, true),
	GT_HOOK(cuGraphAddKernelNode_v2, true),
	GT_HOOK(cuGraphKernelNodeSetParams, true),
	GT_HOOK(cuGraphKernelNodeSetParams_v2, true),
	GT_HOOK(cuGraphExecKernelNodeSetParams, true),
	GT_HOOK(cuGraphExecKernelNodeSetParams_v2, true),
	GT_HOOK(cuGraphAddNode, true),
	GT_HOOK(cuGraphAddNode_v2, true),
	GT_HOOK(cuGraphNodeSetParams, true),
	GT_HOOK(cuGraphExecNodeSetParams, true),
	{ 0 },
};
