/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/node.h"

#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/launch/fit.h"
#include "lib/agent/launch/launch.h"

/* Before CUDA 12.0 the struct was shorter, and began alike. */
static CUresult get_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	if (gt_cu.cuGraphKernelNodeGetParams_v2)
		return gt_cu.cuGraphKernelNodeGetParams_v2(node, params);
	return gt_cu.cuGraphKernelNodeGetParams(node, (CUDA_KERNEL_NODE_PARAMS_v1 *)params);
}

static CUresult set_params(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	if (gt_cu.cuGraphKernelNodeSetParams_v2)
		return gt_cu.cuGraphKernelNodeSetParams_v2(node, params);
	return gt_cu.cuGraphKernelNodeSetParams(node, (const CUDA_KERNEL_NODE_PARAMS_v1 *)params);
}

/* Where the hidden parameter stands in a block of parameters. */
static const void *hidden_in_buffer(void *const *extra, uint32_t offset)
{
	const uint8_t *buffer = NULL;
	size_t size = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)extra[1];
		else
			return NULL;
	}
	return buffer && size >= offset + sizeof(struct gt_launch_param) ? buffer + offset : NULL;
}

const void *gt_node_function(const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	if (!p->func || (p->kern && !gt_function_find(p->func) && gt_function_find(p->kern)))
		return p->kern;
	return p->func;
}

bool gt_node_read(CUgraphNode handle, struct gt_node *node)
{
	const CUDA_KERNEL_NODE_PARAMS_v2 *p = &node->params;
	const void *hidden = NULL, *function;

	*node = (struct gt_node){ .handle = handle };
	if (get_params(handle, &node->params))
		return false;
	function = gt_node_function(p);
	node->kernel = gt_function_find(function);
	if (!node->kernel || !node->kernel->probed || (node->kernel->copy && !gt_function_original(function)))
		return false;
	if (p->kernelParams)
		hidden = p->kernelParams[node->kernel->param_count];
	else if (p->extra)
		hidden = hidden_in_buffer(p->extra, node->kernel->hidden_offset);
	if (!hidden)
		return false;
	memcpy(&node->hidden, hidden, sizeof(node->hidden));
	node->context = gt_context_with_arena(node->hidden.dev);
	return node->context;
}

void gt_node_set_slot(struct gt_node *node, uint32_t slot)
{
	uint64_t on = __atomic_load_n(&gt_session.shm->switches, __ATOMIC_RELAXED);
	struct gt_launch launch = {
		.kernel = node->kernel, .hidden = node->hidden,
		.params = node->params.kernelParams, .extra = node->params.extra,
	};
	CUDA_KERNEL_NODE_PARAMS_v2 params = node->params;

	launch.hidden.launch = GT_LAUNCH_OF(node->hidden.launch) | slot | on << GT_LAUNCH_ID_BITS;
	gt_launch_append(&launch, GT_LAUNCH_ROOM(node->kernel));
	params.kernelParams = launch.params;
	params.extra = launch.extra;
	set_params(node->handle, &params);
}

/* A handle that is not known is one that the driver made by itself of the other. */
static CUfunction as_function(const void *handle, CUfunction unknown, CUkernel kern)
{
	CUfunction function;

	return handle ? (CUfunction)handle : kern && !gt_cu.cuKernelGetFunction(&function, kern) ? function : unknown;
}

void gt_node_show(CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	void *function = gt_function_original(p->func), *kern = gt_function_original(p->kern);

	if (!function && !kern)
		return;
	p->kern = kern ? kern : p->kern;
	p->func = as_function(function, p->func, kern);
}

bool gt_node_revert(CUgraphNode handle)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = { .func = NULL };
	const void *copy;

	if (get_params(handle, &params))
		return false;
	copy = gt_node_function(&params);
	if (!gt_function_original(copy) || !params.kernelParams)
		return false;
	gt_node_show(&params);
	if (set_params(handle, &params))
		return false;
	gt_launch_misses(gt_function_find(copy), "the driver would not make a graph of the kernel with programs in it");
	return true;
}
