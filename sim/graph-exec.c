/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs, and their launches.  An executable holds its own sorted copy
 * of the graph, and a launch keeps a reference to that copy.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"
#include "sim/stream.h"

/* The mark of an event-record node that one launch has yet to pass. */
struct mark {
	CUgraphNode node;
	struct sim_op *op;
	const struct sim_gpu *gpu;	/* whose clock it is stamped by */
};

struct sim_run {
	struct CUgraph_st *graph;
	struct mark *marks;
	size_t mark_count;
};

CUresult sim_graph_prepare(struct CUgraph_st *graph, CUgraphNode *ret_bad)
{
	CUresult r = sim_graph_sort(graph, ret_bad);

	for (size_t i = 0; i < graph->count && r == CUDA_SUCCESS; i++) {
		struct sim_work *work = &graph->order[i]->work;

		if (work->type == SIM_WORK_CHILD)
			r = sim_graph_prepare(work->child, ret_bad);
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
	r = r ? r : sim_graph_prepare(exec->graph, &bad);
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

CUresult sim_exec_check(CUgraphExec exec)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !sim_handle_is(exec, SIM_EXEC))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult r = sim_exec_check(exec);

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
	CUresult r = sim_exec_check(exec);

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
		mark->gpu = work->event->ctx->gpu;
		run->mark_count++;
		sim_op_unref(work->event->op);
		work->event->op = sim_op_ref(mark->op);
	}
}

static void pass(struct mark *mark)
{
	if (sim_op_is_done(mark->op))
		return;
	atomic_store(&mark->op->time, sim_clock(mark->gpu));
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
	CUresult r = sim_exec_check(exec);
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
	CUresult r = sim_exec_check(exec);
	struct CUstream_st *stream;

	return r ? r : sim_stream(handle, &stream);
}
