/* SPDX-License-Identifier: Apache-2.0 */
/* From the structures that describe a node to its work. */
#include <string.h>

#include "sim/graph.h"
#include "sim/memory.h"
#include "sim/module.h"
#include "sim/stream.h"

static CUresult context(CUcontext given, struct sim_work *work)
{
	if (given) {
		work->ctx = given;
		return sim_context_check(given);
	}
	return sim_current(&work->ctx);
}

CUresult sim_work_from_kernel(struct sim_work *work, const CUDA_KERNEL_NODE_PARAMS_v2 *params)
{
	CUlaunchConfig config;
	CUresult r;

	memset(work, 0, sizeof(*work));
	work->type = SIM_WORK_EMPTY;
	if (!params || (!params->func && !params->kern))
		return CUDA_ERROR_INVALID_VALUE;
	config = (CUlaunchConfig) {
		.gridDimX = params->gridDimX, .gridDimY = params->gridDimY,
		.gridDimZ = params->gridDimZ, .blockDimX = params->blockDimX,
		.blockDimY = params->blockDimY, .blockDimZ = params->blockDimZ,
		.sharedMemBytes = params->sharedMemBytes,
	};
	/* A function belongs to a context already; a kernel has to be told which one. */
	if (!params->ctx && sim_handle_is(params->func, SIM_FUNCTION))
		r = context(params->func->module->ctx, work);
	else
		r = context(params->ctx, work);
	r = r ? r : sim_kernel_work_make(work->ctx, &config,
					 params->func ? params->func : (CUfunction)params->kern,
					 params->kernelParams, params->extra, &work->kernel);
	if (r == CUDA_SUCCESS)
		work->type = SIM_WORK_KERNEL;
	return r;
}

CUresult sim_work_from_copy(struct sim_work *work, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	CUresult r;

	memset(work, 0, sizeof(*work));
	work->type = SIM_WORK_COPY;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	work->copy.what = *params;
	r = context(ctx, work);
	return r ? r : sim_copy_check(params);
}

CUresult sim_work_from_fill(struct sim_work *work, const CUDA_MEMSET_NODE_PARAMS_v1 *params,
			    CUcontext ctx)
{
	CUresult r;

	memset(work, 0, sizeof(*work));
	work->type = SIM_WORK_FILL;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	work->fill = *params;
	r = context(ctx, work);
	return r ? r : sim_fill_check(params);
}

CUresult sim_work_from_host(struct sim_work *work, const CUDA_HOST_NODE_PARAMS *params)
{
	memset(work, 0, sizeof(*work));
	work->type = SIM_WORK_HOST;
	if (!params || !params->fn)
		return CUDA_ERROR_INVALID_VALUE;
	work->host = *params;
	return CUDA_SUCCESS;
}

CUresult sim_work_from_event(struct sim_work *work, int type, CUevent event)
{
	memset(work, 0, sizeof(*work));
	work->type = type;
	if (!sim_handle_is(event, SIM_EVENT))
		return CUDA_ERROR_INVALID_VALUE;
	work->event = event;
	work->ctx = event->ctx;
	return CUDA_SUCCESS;
}

static CUresult from_child(struct sim_work *work, const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
	CUresult r = sim_graph_check(params->graph);

	memset(work, 0, sizeof(*work));
	work->type = SIM_WORK_EMPTY;
	if (r == CUDA_SUCCESS && params->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
		r = CUDA_ERROR_NOT_SUPPORTED;
	r = r ? r : sim_graph_copy(params->graph, &work->child);
	if (r == CUDA_SUCCESS)
		work->type = SIM_WORK_CHILD;
	return r;
}

CUresult sim_work_from_params(struct sim_work *work, const CUgraphNodeParams *params)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *fill = &params->memset;
	CUDA_MEMSET_NODE_PARAMS_v1 fill_v1;

	switch ((int)params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return sim_work_from_kernel(work, &params->kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return sim_work_from_copy(work, &params->memcpy.copyParams, params->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		fill_v1 = (CUDA_MEMSET_NODE_PARAMS_v1) {
			.dst = fill->dst, .pitch = fill->pitch, .value = fill->value,
			.elementSize = fill->elementSize, .width = fill->width,
			.height = fill->height,
		};
		return sim_work_from_fill(work, &fill_v1, fill->ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		return sim_work_from_host(work, &params->host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return from_child(work, &params->graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		memset(work, 0, sizeof(*work));
		work->type = SIM_WORK_EMPTY;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return sim_work_from_event(work, SIM_WORK_WAIT, params->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return sim_work_from_event(work, SIM_WORK_RECORD, params->eventRecord.event);
	}
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_node_set(CUgraphNode node, struct sim_work *work)
{
	struct sim_work old = node->work;

	if (old.type != work->type) {
		sim_work_clear(work);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (work->type == SIM_WORK_KERNEL) {
		/* Attributes and the number of the launch belong to the node, not to these parameters. */
		work->kernel.cooperative = old.kernel.cooperative;
		work->kernel.priority = old.kernel.priority;
		memcpy(work->kernel.cluster, old.kernel.cluster, sizeof(old.kernel.cluster));
		work->kernel.grid_id = old.kernel.grid_id;
	}
	node->work = *work;
	sim_work_clear(&old);
	return CUDA_SUCCESS;
}
