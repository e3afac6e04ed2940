/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: a kernel node gets its hidden parameter when its parameters are set (nodes
 * made by capture come through the launch functions), and its launch slot with the
 * executable graph that is made of it.
 */
#include <errno.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/exec.h"
#include "lib/agent/launch/launch.h"
#include "lib/agent/launch/node.h"

/* What the driver gets in place of what the program named and passed; kern: NULL in structs that have no such field. */
static void put_node(CUfunction *func, CUkernel *kern, const struct gt_launch *launch)
{
	if (launch->function == launch->given_function)
		return;
	/* Of two handles the one that we do not know would name the other kernel. */
	if (kern && *func != launch->given_function) {
		*func = NULL;
		*kern = (CUkernel)launch->function;
	} else {
		*func = (CUfunction)launch->function;
		if (kern)
			*kern = NULL;
	}
}

static void begin_node(struct gt_launch *launch, const void *function, const void *node_params)
{
	const CUDA_KERNEL_NODE_PARAMS_v1 *p = node_params;

	gt_launch_begin(launch, function,
			(unsigned int[]){ p->gridDimX, p->gridDimY, p->gridDimZ },
			(unsigned int[]){ p->blockDimX, p->blockDimY, p->blockDimZ },
			p->sharedMemBytes, p->kernelParams, p->extra);
	gt_launch_captured(launch);
}

/* The new parameters are for a node of an executable, which has its slot already. */
static void begin_exec_node(struct gt_launch *launch, const void *function, const void *node_params,
			    CUgraphExec exec, CUgraphNode node)
{
	begin_node(launch, function, node_params);
	if (launch->kernel && launch->kernel->probed && launch->context && gt_execs_matter())
		launch->node_slot = gt_exec_slot(exec, node, launch->context);
}

/*
 * Each hook is the same: when the parameters are for a kernel, call the driver
 * with a copy that has the hidden one.  TYPE is the parameter struct, KERN where its copy
 * names a CUkernel, BEGIN notes what is set, CALL is the driver's function with `use` in
 * place of the program's struct.
 */
#define WITH_HIDDEN(TYPE, given, KERN, BEGIN, CALL) \
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
	BEGIN; \
	gt_launch_extend(&l, GT_LAUNCH_ROOM(l.kernel)); \
	use = &copy; \
	errno = saved; \
	do { \
		copy = *given; \
		copy.kernelParams = l.params; \
		copy.extra = l.extra; \
		put_node(&copy.func, KERN, &l); \
		result = CALL; \
	} while (gt_launch_again(&l, result)); \
	saved = errno; \
	gt_launch_end(&l, result); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
					  size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, NULL, begin_node(&l, p->func, p),
		    gt_cu.cuGraphAddKernelNode(node, graph, deps, count, use));
}

static CUresult hook_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
					     const CUgraphNode *deps, size_t count,
					     const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, &copy.kern, begin_node(&l, gt_node_function(p), p),
		    gt_cu.cuGraphAddKernelNode_v2(node, graph, deps, count, use));
}

static CUresult hook_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, NULL, begin_node(&l, p->func, p),
		    gt_cu.cuGraphKernelNodeSetParams(node, use));
}

static CUresult hook_cuGraphKernelNodeSetParams_v2(CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, &copy.kern, begin_node(&l, gt_node_function(p), p),
		    gt_cu.cuGraphKernelNodeSetParams_v2(node, use));
}

static CUresult hook_cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v1, p, NULL, begin_exec_node(&l, p->func, p, exec, node),
		    gt_cu.cuGraphExecKernelNodeSetParams(exec, node, use));
}

static CUresult hook_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	WITH_HIDDEN(CUDA_KERNEL_NODE_PARAMS_v2, p, &copy.kern, begin_exec_node(&l, gt_node_function(p), p, exec, node),
		    gt_cu.cuGraphExecKernelNodeSetParams_v2(exec, node, use));
}

/* The generic forms take a struct for any kind of node and may write results into it. */
#define WITH_HIDDEN_GENERIC(given, BEGIN, CALL) \
	int saved = errno; \
	CUDA_KERNEL_NODE_PARAMS_v2 own; \
	struct gt_launch l; \
	CUresult result; \
	\
	if (!gt_enter() || !given || given->type != CU_GRAPH_NODE_TYPE_KERNEL) { \
		result = CALL; \
		gt_leave(); \
		return result; \
	} \
	BEGIN; \
	gt_launch_extend(&l, GT_LAUNCH_ROOM(l.kernel)); \
	own = given->kernel; \
	errno = saved; \
	do { \
		given->kernel = own; \
		given->kernel.kernelParams = l.params; \
		given->kernel.extra = l.extra; \
		put_node(&given->kernel.func, &given->kernel.kern, &l); \
		result = CALL; \
	} while (gt_launch_again(&l, result)); \
	saved = errno; \
	given->kernel = own; \
	gt_launch_end(&l, result); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
			 CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, begin_node(&l, gt_node_function(&p->kernel), &p->kernel),
			    gt_cu.cuGraphAddNode(node, graph, deps, count, p));
}

static CUresult add_node_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			    const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, begin_node(&l, gt_node_function(&p->kernel), &p->kernel),
			    gt_cu.cuGraphAddNode_v2(node, graph, deps, edges, count, p));
}

static CUresult learn_conditional(CUresult result, CUgraphNode *node, const CUgraphNodeParams *p)
{
	if (!result && node && p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		if (gt_enter())
			gt_conditional_made(*node, &p->conditional);
		gt_leave();
	}
	return result;
}

static CUresult hook_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				    size_t count, CUgraphNodeParams *p)
{
	return learn_conditional(add_node(node, graph, deps, count, p), node, p);
}

static CUresult hook_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				       const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *p)
{
	return learn_conditional(add_node_v2(node, graph, deps, edges, count, p), node, p);
}

static CUresult hook_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *p)
{
	WITH_HIDDEN_GENERIC(p, begin_node(&l, gt_node_function(&p->kernel), &p->kernel),
			    gt_cu.cuGraphNodeSetParams(node, p));
}

/* Another child graph for a node of an executable. */
static void renew_child(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	if (gt_enter() && gt_execs_matter())
		gt_exec_renew(exec, node, child);
	gt_leave();
}

static CUresult hook_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *p)
{
	if (p && p->type == CU_GRAPH_NODE_TYPE_GRAPH)
		renew_child(exec, node, p->graph.graph);
	WITH_HIDDEN_GENERIC(p, begin_exec_node(&l, gt_node_function(&p->kernel), &p->kernel, exec, node),
			    gt_cu.cuGraphExecNodeSetParams(exec, node, p));
}

static CUresult hook_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUresult result;

	renew_child(exec, node, child);
	gt_enter();
	result = gt_cu.cuGraphExecChildGraphNodeSetParams(exec, node, child);
	gt_leave();
	return result;
}

/* The program sees its own kernel, whichever runs. */
static void show_function(CUfunction *function)
{
	CUfunction original = gt_function_original(*function);

	if (original)
		*function = original;
}

static CUresult hook_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	GT_AROUND((void)0, gt_cu.cuGraphKernelNodeGetParams(node, p), show_function(&p->func));
}

static CUresult hook_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	GT_AROUND((void)0, gt_cu.cuGraphKernelNodeGetParams_v2(node, p), gt_node_show(p));
}

const struct gt_hook gt_graph_hooks[] = {
	GT_HOOK(cuGraphAddKernelNode, true),
	GT_HOOK(cuGraphAddKernelNode_v2, true),
	GT_HOOK(cuGraphKernelNodeSetParams, true),
	GT_HOOK(cuGraphKernelNodeSetParams_v2, true),
	GT_HOOK(cuGraphExecKernelNodeSetParams, true),
	GT_HOOK(cuGraphExecKernelNodeSetParams_v2, true),
	GT_HOOK(cuGraphKernelNodeGetParams, true),
	GT_HOOK(cuGraphKernelNodeGetParams_v2, true),
	GT_HOOK(cuGraphAddNode, true),
	GT_HOOK(cuGraphAddNode_v2, true),
	GT_HOOK(cuGraphNodeSetParams, true),
	GT_HOOK(cuGraphExecNodeSetParams, true),
	GT_HOOK(cuGraphExecChildGraphNodeSetParams, false),
	{ 0 },
};
