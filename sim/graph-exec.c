/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs.  One holds its own sorted copy of the graph.  A launch keeps
 * a reference to that copy, so that parameters set later touch later launches only:
 * whoever changes a copy that a launch still uses works on a new one.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"
#include "sim/stream.h"

struct CUgraphExec_st {
	struct CUgraph_st *graph;
	uint64_t flags;
	struct sim_op *last;		/* launches of one executable graph follow each other */
};

/* The mark of an event-record node that one launch has yet to pass. */
struct mark {
	CUgraphNode node;
	struct sim_op *op;
};

struct sim_run {
	struct CUgraph_st *graph;
	struct mark *marks;
	size_t mark_count;
};

/* Sort the graph and those inside it, and number its kernels. */
static CUresult prepare(struct CUgraph_st *graph, CUgraphNode *ret_bad)
{
	CUresult r = sim_graph_sort(graph, ret_bad);

	for (size_t i = 0; i < graph->count && r == CUDA_SUCCESS; i++) {
		struct sim_work *work = &graph->order[i]->work;

		if (work->type == SIM_WORK_CHILD)
			r = prepare(work->child, ret_bad);
		else if (work->type == SIM_WORK_KERNEL && !work->kernel.grid_id)
			work->kernel.grid_id = atomic_fetch_add(&work->ctx->grid_id, 1) + 1;
	}
	return r;
}

static CUresult instantiate(CUgraphExec *ret_exec, CUgraph graph, uint64_t flags, CUgraphNode *ret_bad)
{
	CUresult r = sim_graph_check(graph);
	struct CUgraphExec_st *exec;
	CUgraphNode bad = NULL;

	if (r == CUDA_SUCCESS && (!ret_exec || (flags & ~15ull)))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH))
		r = CUDA_ERROR_NOT_SUPPORTED;
	if (r != CUDA_SUCCESS)
		return r;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	r = sim_graph_copy(graph, &exec->graph);
	r = r ? r : prepare(exec->graph, &bad);
	if (r == CUDA_SUCCESS && !sim_handle_add(exec, SIM_EXEC))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		if (ret_bad)
			*ret_bad = bad ? bad->origin : NULL;
		sim_graph_free(exec->graph);
		free(exec);
		return r;
	}
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph,
					 unsigned long long flags)
{
	return instantiate(ret_exec, graph, flags, NULL);
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_bad,
				   char *log, size_t size)
{
	if (log && size)
		*log = '\0';
	if (ret_bad)
		*ret_bad = NULL;
	return instantiate(ret_exec, graph, 0, ret_bad);
}

CUresult sim_cuGraphInstantiate(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_bad,
				char *log, size_t size)
{
	return sim_cuGraphInstantiate_v2(ret_exec, graph, ret_bad, log, size);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
					  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult r;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	params->hErrNode_out = NULL;
	r = instantiate(ret_exec, graph, params->flags, &params->hErrNode_out);
	params->result_out = r == CUDA_SUCCESS		 ? CUDA_GRAPH_INSTANTIATE_SUCCESS
			     : params->hErrNode_out	 ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
							 : CUDA_GRAPH_INSTANTIATE_ERROR;
	return r;
}

/* The stream to upload through may be the thread's own; nothing is uploaded here. */
CUresult sim_cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret_exec, CUgraph graph,
					       CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return sim_cuGraphInstantiateWithParams(ret_exec, graph, params);
}

static CUresult check(CUgraphExec exec)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !sim_handle_is(exec, SIM_EXEC))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult r = check(exec);

	if (r != CUDA_SUCCESS)
		return r;
	sim_handle_remove(exec);
	sim_op_unref(exec->last);
	sim_graph_free(exec->graph);
	free(exec);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec exec, uint64_t *ret_flags)
{
	CUresult r = check(exec);

	if (r == CUDA_SUCCESS && !ret_flags)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_flags = exec->flags;
	return r;
}

/* Launches */

static size_t count_marks(const struct CUgraph_st *graph)
{
	size_t n = 0;

	for (size_t i = 0; i < graph->count; i++) {
		if (graph->nodes[i]->work.type == SIM_WORK_CHILD)
			n += count_marks(graph->nodes[i]->work.child);
		else
			n += graph->nodes[i]->work.type == SIM_WORK_RECORD;
	}
	return n;
}

/*
 * With sim_lock held.  The launch comes after what its wait nodes wait for; that
 * is looked at before the marks of this launch are set, or it could wait for itself.
 */
static CUresult wait_events(const struct CUgraph_st *graph, struct sim_op *op)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->count && r == CUDA_SUCCESS; i++) {
		const struct sim_work *work = &graph->nodes[i]->work;

		if (work->type == SIM_WORK_CHILD)
			r = wait_events(work->child, op);
		else if (work->type == SIM_WORK_WAIT && sim_handle_is(work->event, SIM_EVENT))
			r = sim_op_after(op, work->event->op);
	}
	return r;
}

static void set_marks(struct CUgraph_st *graph, struct sim_run *run)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct sim_work *work = &graph->nodes[i]->work;
		struct mark *mark = &run->marks[run->mark_count];

		if (work->type == SIM_WORK_CHILD)
			set_marks(work->child, run);
		if (work->type != SIM_WORK_RECORD || !sim_handle_is(work->event, SIM_EVENT))
			continue;
		mark->op = sim_op_new();
		if (!mark->op)
			continue;
		mark->node = graph->nodes[i];
		run->mark_count++;
		sim_op_unref(work->event->op);
		work->event->op = sim_op_ref(mark->op);
	}
}

static void pass(struct mark *mark)
{
	if (sim_op_is_done(mark->op))
		return;
	atomic_store(&mark->op->time, sim_clock());
	pthread_mutex_lock(&sim_lock);
	sim_op_complete(mark->op);
	pthread_mutex_unlock(&sim_lock);
}

void sim_run_free(struct sim_run *run)
{
	for (size_t i = 0; i < run->mark_count; i++) {
		pass(&run->marks[i]);	/* if it was cut short, nobody shall wait forever */
		sim_op_unref(run->marks[i].op);
	}
	free(run->marks);
	sim_graph_free(run->graph);
	free(run);
}

static CUresult run_graph(struct sim_run *run, struct CUgraph_st *graph)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->count && r == CUDA_SUCCESS; i++) {
		struct CUgraphNode_st *node = graph->order[i];

		if (node->disabled)
			continue;
		if (node->work.type == SIM_WORK_CHILD)
			r = run_graph(run, node->work.child);
		else
			r = sim_work_run(&node->work);
		for (size_t j = 0; node->work.type == SIM_WORK_RECORD && j < run->mark_count; j++)
			if (run->marks[j].node == node)
				pass(&run->marks[j]);
	}
	return r;
}

CUresult sim_run_run(struct sim_run *run)
{
	return run_graph(run, run->graph);
}

/* Kernels of unloaded modules are refused now rather than half-way. */
static CUresult check_functions(const struct CUgraph_st *graph)
{
	CUresult r = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->count && r == CUDA_SUCCESS; i++) {
		const struct sim_work *work = &graph->nodes[i]->work;

		if (work->type == SIM_WORK_CHILD)
			r = check_functions(work->child);
		else if (work->type == SIM_WORK_KERNEL &&
			 !sim_handle_is(work->kernel.function, SIM_FUNCTION))
			r = CUDA_ERROR_INVALID_HANDLE;
	}
	return r;
}

static CUresult run_new(struct CUgraph_st *graph, struct sim_run **ret_run)
{
	struct sim_run *run = calloc(1, sizeof(*run));

	if (!run)
		return CUDA_ERROR_OUT_OF_MEMORY;
	run->marks = calloc(count_marks(graph) + 1, sizeof(*run->marks));
	if (!run->marks) {
		free(run);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	atomic_fetch_add(&graph->refs, 1);
	run->graph = graph;
	*ret_run = run;
	return CUDA_SUCCESS;
}

static void forget_ids(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		struct sim_work *work = &graph->nodes[i]->work;

		if (work->type == SIM_WORK_CHILD)
			forget_ids(work->child);
		else if (work->type == SIM_WORK_KERNEL)
			work->kernel.grid_id = 0;
	}
}

/* A launch into a capture becomes a child graph, numbered when that is instantiated. */
static CUresult capture(struct CUstream_st *stream, CUgraphExec exec)
{
	struct sim_work work = { .type = SIM_WORK_EMPTY };
	CUresult r = sim_graph_copy(exec->graph, &work.child);

	if (r != CUDA_SUCCESS)
		return r;
	forget_ids(work.child);
	work.type = SIM_WORK_CHILD;
	return sim_submit(stream, &work, NULL);
}

CUresult sim_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	CUresult r = check(exec);
	struct CUstream_st *stream;
	struct sim_run *run;
	struct sim_op *op;

	r = r ? r : sim_stream(handle, &stream);
	r = r ? r : check_functions(exec->graph);
	if (r == CUDA_SUCCESS && stream->capture)
		return capture(stream, exec);
	r = r ? r : run_new(exec->graph, &run);
	if (r != CUDA_SUCCESS)
		return r;
	sim_queue_wait_for_room(stream->ctx);
	op = sim_op_new();
	if (!op) {
		sim_run_free(run);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	sim_op_own(op, stream->ctx);
	op->work.run = run;
	op->work.type = SIM_WORK_EXEC;
	pthread_mutex_lock(&sim_lock);
	r = sim_op_after(op, exec->last);
	r = r ? r : wait_events(exec->graph, op);
	set_marks(exec->graph, run);
	r = sim_stream_enqueue(stream, op) ? CUDA_ERROR_OUT_OF_MEMORY : r;
	sim_op_unref(exec->last);
	exec->last = op;
	pthread_mutex_unlock(&sim_lock);
	return r;
}

/* There is nothing to upload ahead of a launch. */
CUresult sim_cuGraphUpload(CUgraphExec exec, CUstream handle)
{
	CUresult r = check(exec);
	struct CUstream_st *stream;

	return r ? r : sim_stream(handle, &stream);
}

/* Changes */

/* A copy with the same origins, numbers and order, for a graph that a launch still uses. */
static CUresult renew(struct CUgraph_st *old, struct CUgraph_st **ret_graph)
{
	CUresult r = sim_graph_copy(old, ret_graph);

	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; i < old->count; i++)
		(*ret_graph)->nodes[i]->origin = old->nodes[i]->origin;
	return prepare(*ret_graph, NULL);
}

/* The executable's own node for a node of the graph it was made from, free to be changed. */
static CUresult own_node(CUgraphExec exec, CUgraphNode node, int type, CUgraphNode *ret_own)
{
	CUresult r = check(exec);

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
		r = prepare(work.child, NULL);
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
	CUresult r = check(exec);
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
	r = prepare(copy, NULL);
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
