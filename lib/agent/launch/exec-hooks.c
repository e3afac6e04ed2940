/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that make, change, launch and destroy executable graphs. */
#include <errno.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/exec.h"

static bool records_copies(void)
{
	return atomic_load_explicit(&gt_active, memory_order_relaxed) && gt_session_records(GT_CONFIG_MEMCPY);
}

/* CALL makes an executable of the graph; flags: as cuGraphInstantiateWithFlags() takes them. */
#define MAKE(exec, graph, flags, CALL) \
	int saved = errno; \
	struct gt_exec *made = NULL; \
	bool own = gt_enter(); \
	CUresult result; \
	\
	if (own && gt_execs_matter() && exec) \
		made = gt_exec_prepare(graph); \
	if ((flags) & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) \
		gt_exec_runs_unseen(made); \
	errno = saved; \
	result = CALL; \
	if (result && own && gt_graph_revert(graph)) \
		result = CALL; \
	saved = errno; \
	if (own) \
		gt_exec_made(made, result ? NULL : *exec); \
	if (own && !result && records_copies()) \
		gt_graph_tell_of_copies(graph); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log,
					size_t size)
{
	MAKE(exec, graph, 0, gt_cu.cuGraphInstantiate(exec, graph, bad, log, size));
}

static CUresult hook_cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad, char *log,
					   size_t size)
{
	MAKE(exec, graph, 0, gt_cu.cuGraphInstantiate_v2(exec, graph, bad, log, size));
}

static CUresult hook_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	MAKE(exec, graph, flags, gt_cu.cuGraphInstantiateWithFlags(exec, graph, flags));
}

static CUresult hook_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
						  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	MAKE(exec, graph, params ? params->flags : 0,
	     gt_cu.cuGraphInstantiateWithParams(exec, graph, params));
}

static CUresult hook_cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	MAKE(exec, graph, params ? params->flags : 0,
	     gt_cu.cuGraphInstantiateWithParams_ptsz(exec, graph, params));
}

static void renew(CUgraphExec exec, CUgraph graph)
{
	if (gt_execs_matter())
		gt_exec_renew(exec, NULL, graph);
}

static CUresult hook_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *bad,
				       CUgraphExecUpdateResult *info)
{
	GT_AROUND(renew(exec, graph), gt_cu.cuGraphExecUpdate(exec, graph, bad, info), (void)0);
}

static CUresult hook_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	GT_AROUND(renew(exec, graph), gt_cu.cuGraphExecUpdate_v2(exec, graph, info), (void)0);
}

static CUresult hook_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	GT_AROUND((void)0, gt_cu.cuGraphLaunch(exec, stream), gt_exec_launched(exec, stream));
}

static CUresult hook_cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	GT_AROUND((void)0, gt_cu.cuGraphLaunch_ptsz(exec, stream),
		  gt_exec_launched(exec, stream ? stream : CU_STREAM_PER_THREAD));
}

static CUresult hook_cuGraphExecDestroy(CUgraphExec exec)
{
	GT_AROUND((void)0, gt_cu.cuGraphExecDestroy(exec), gt_exec_destroyed(exec));
}

const struct gt_hook gt_exec_hooks[] = {
	GT_HOOK(cuGraphInstantiate, false),
	GT_HOOK(cuGraphInstantiate_v2, false),
	GT_HOOK(cuGraphInstantiateWithFlags, false),
	GT_HOOK(cuGraphInstantiateWithParams, false),
	GT_HOOK(cuGraphInstantiateWithParams_ptsz, false),
	GT_HOOK(cuGraphExecUpdate, false),
	GT_HOOK(cuGraphExecUpdate_v2, false),
	GT_HOOK(cuGraphLaunch, false),
	GT_HOOK(cuGraphLaunch_ptsz, false),
	GT_HOOK(cuGraphExecDestroy, false),
	{ 0 },
};
