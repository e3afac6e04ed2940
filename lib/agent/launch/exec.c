/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/exec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "lib/agent/agent.h"
#include "lib/agent/grow.h"
#include "lib/agent/launch/chains.h"
#include "lib/agent/launch/node.h"
#include "lib/agent/lock.h"
#include "lib/agent/table.h"

/* A launch slot that the executable owns. */
struct owned {
	struct gt_context *context;
	uint32_t slot;
	const void *user;	/* the node or the executable whose kernels have it; NULL: spare */
};

/* A kernel node whose slot is known. */
struct placed {
	CUgraphNode node;
	struct gt_context *context;
	uint32_t slot;
};

struct gt_exec {
	CUgraphExec handle;
	uint64_t owner;		/* of its slots, see gt_context_keep_slot() */
	struct owned *slots;
	size_t slot_count, slot_room;
	struct placed *nodes;	/* by handle; while those that it was made of are in place */
	size_t node_count, node_room;
	CUevent end;		/* of its last launch; NULL: never launched */
	CUcontext end_context;	/* where that event lives */
	bool unknown_end;	/* it may run and we would not know: the slots never come back */
	LIST_ENTRY(gt_exec) entry;
};

static GT_LOCK(lock);
static struct gt_table *exec_by_handle;
static LIST_HEAD(execs, gt_exec) living = LIST_HEAD_INITIALIZER(living);
static struct execs ending = LIST_HEAD_INITIALIZER(ending);	/* destroyed, perhaps running */

bool gt_execs_matter(void)
{
	return atomic_load_explicit(&gt_active, memory_order_relaxed) &&
	       __atomic_load_n(&gt_session.shm->switches, __ATOMIC_RELAXED) & gt_session.timeline;
}

/* ---- the slots of one executable ---- */

/* The kernels that had its slots get others; user: the executable itself for all of them. */
static void release_user(struct gt_exec *exec, const void *user)
{
	for (size_t i = 0; i < exec->slot_count; i++) {
		if (exec->slots[i].user == user || user == exec)
			exec->slots[i].user = NULL;
	}
}

/* A spare slot of the executable's, or one more; 0: there is none. */
static uint32_t draw(struct gt_exec *exec, struct gt_context *context, const void *user)
{
	struct owned *slots;
	uint32_t slot;

	for (size_t i = 0; i < exec->slot_count; i++) {
		if (exec->slots[i].user || exec->slots[i].context != context)
			continue;
		exec->slots[i].user = user;
		return exec->slots[i].slot;
	}
	slots = gt_room_for_one_more(exec->slots, exec->slot_count, &exec->slot_room, sizeof(*slots));
	if (!slots)
		return 0;
	exec->slots = slots;
	slot = gt_context_keep_slot(context, exec->owner);
	if (slot)
		slots[exec->slot_count++] = (struct owned){ context, slot, user };
	return slot;
}

static void place(struct gt_exec *exec, const struct gt_node *node, uint32_t slot)
{
	struct placed *nodes = gt_room_for_one_more(exec->nodes, exec->node_count, &exec->node_room,
						 sizeof(*nodes));

	if (!nodes)
		return;
	exec->nodes = nodes;
	nodes[exec->node_count++] = (struct placed){ node->handle, node->context, slot };
}

static int compare_placed(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct placed *)a)->node;
	uintptr_t y = (uintptr_t)((const struct placed *)b)->node;

	return (x > y) - (x < y);
}

/* ---- from the nodes of a pattern to slots ---- */

/* Conditional nodes: their bodies, NULL-terminated.  The driver tells of them once, when the node is made. */
static struct gt_table *bodies_by_node;

void gt_conditional_made(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS *params)
{
	CUgraph *bodies = calloc((size_t)params->size + 1, sizeof(*bodies));

	if (!bodies || !params->phGraph_out) {
		free(bodies);
		return;
	}
	memcpy(bodies, params->phGraph_out, params->size * sizeof(*bodies));
	gt_lock(&lock);
	free(gt_table_get(&bodies_by_node, node));	/* of a node that had this handle before */
	if (gt_table_set(&bodies_by_node, node, bodies))
		free(bodies);
	gt_unlock(&lock);
}

/* The graphs within a node of this type, one after the other from NULL; NULL: no more. */
static CUgraph next_inner(CUgraphNode node, CUgraphNodeType type, CUgraph before)
{
	CUgraph *bodies, child;

	if (type == CU_GRAPH_NODE_TYPE_GRAPH)
		return before || gt_cu.cuGraphChildGraphNodeGetGraph(node, &child) ? NULL : child;
	bodies = type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? gt_table_get(&bodies_by_node, node) : NULL;
	if (!bodies || !before)
		return bodies ? *bodies : NULL;
	while (*bodies && *bodies != before)
		bodies++;
	return *bodies ? bodies[1] : NULL;
}

static CUgraphNodeType type_of(CUgraphNode node)
{
	CUgraphNodeType type;

	return gt_cu.cuGraphNodeGetType(node, &type) ? CU_GRAPH_NODE_TYPE_EMPTY : type;
}

static void place_graph(struct gt_exec *exec, CUgraph graph, const void *user);

static void place_chain(struct gt_exec *exec, const struct gt_chains *chains, size_t first, const void *user)
{
	const struct gt_chain_node *link = &chains->nodes[first];
	struct gt_context *context = NULL;
	CUgraph inner = NULL;
	CUgraphNodeType type;
	struct gt_node node;
	uint32_t slot = 0;

	for (;; link = &chains->nodes[link->next]) {
		type = type_of(link->node);
		while ((inner = next_inner(link->node, type, inner)))
			place_graph(exec, inner, user);
		if (type == CU_GRAPH_NODE_TYPE_KERNEL && gt_node_read(link->node, &node)) {
			if (node.context != context)
				slot = draw(exec, node.context, user);
			context = node.context;
			gt_node_set_slot(&node, slot);
			place(exec, &node, slot);
		}
		if (!link->has_next)
			return;
	}
}

static void place_graph(struct gt_exec *exec, CUgraph graph, const void *user)
{
	struct gt_chains chains;

	if (!gt_chains_read(graph, &chains))
		return;
	for (size_t i = 0; i < chains.count; i++) {
		if (!chains.nodes[i].follows)
			place_chain(exec, &chains, i, user);
	}
	gt_chains_free(&chains);
}

/* Of how many of its nodes, and of those within them, is it so? */
static size_t count_nodes(CUgraph graph, bool (*is_so)(CUgraphNode node, CUgraphNodeType type))
{
	struct gt_chains chains;
	size_t count = 0;

	if (!gt_chains_read(graph, &chains))
		return 0;
	for (size_t i = 0; i < chains.count; i++) {
		CUgraphNode node = chains.nodes[i].node;
		CUgraphNodeType type = type_of(node);
		CUgraph inner = NULL;

		while ((inner = next_inner(node, type, inner)))
			count += count_nodes(inner, is_so);
		count += is_so(node, type);
	}
	gt_chains_free(&chains);
	return count;
}

static bool is_reverted(CUgraphNode node, CUgraphNodeType type)
{
	return type == CU_GRAPH_NODE_TYPE_KERNEL && gt_node_revert(node);
}

bool gt_graph_revert(CUgraph graph)
{
	size_t reverted;

	gt_lock(&lock);
	reverted = count_nodes(graph, is_reverted);
	gt_unlock(&lock);
	return reverted;
}

static bool is_copy(CUgraphNode node, CUgraphNodeType type)
{
	(void)node;
	return type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
}

static bool has_told_of_copies;	/* in this session */

void gt_graph_tell_of_copies(CUgraph graph)
{
	size_t count = 0;

	gt_lock(&lock);
	if (!has_told_of_copies)
		count = count_nodes(graph, is_copy);
	if (count)
		gt_note(4, "a graph with %zu copies and memsets was made ready to run: those in graphs are no events, and when they run is not known",
			count);
	has_told_of_copies |= count;
	gt_unlock(&lock);
}

/* ---- lives of executables ---- */

static struct gt_exec *exec_new(void)
{
	static uint64_t last_owner;
	struct gt_exec *exec = calloc(1, sizeof(*exec));

	if (!exec)
		return NULL;
	exec->owner = ++last_owner;
	LIST_INSERT_HEAD(&living, exec, entry);
	return exec;
}

static void exec_free(struct gt_exec *exec)
{
	LIST_REMOVE(exec, entry);
	for (size_t i = 0; i < exec->slot_count && !exec->unknown_end; i++)
		gt_context_give_back_slot(exec->slots[i].context, exec->slots[i].slot, exec->owner);
	if (exec->end)
		gt_cu.cuEventDestroy_v2(exec->end);
	free(exec->slots);
	free(exec->nodes);
	free(exec);
}

/* Free those that have ended since.  Whatever else the driver answers, nothing of them runs any more. */
static void collect_ended(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct gt_exec *exec, *next;

	if (LIST_EMPTY(&ending))
		return;
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	for (exec = LIST_FIRST(&ending); exec; exec = next) {
		next = LIST_NEXT(exec, entry);
		if (gt_cu.cuEventQuery(exec->end) != CUDA_ERROR_NOT_READY)
			exec_free(exec);
	}
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

static void exec_end(struct gt_exec *exec)
{
	if (exec->end && !exec->unknown_end) {
		LIST_REMOVE(exec, entry);
		LIST_INSERT_HEAD(&ending, exec, entry);
	} else {
		exec_free(exec);
	}
	collect_ended();
}

struct gt_exec *gt_exec_prepare(CUgraph graph)
{
	struct gt_exec *exec;

	gt_lock(&lock);
	collect_ended();
	exec = exec_new();
	if (exec) {
		place_graph(exec, graph, exec);
		if (exec->node_count)
			qsort(exec->nodes, exec->node_count, sizeof(*exec->nodes), compare_placed);
	}
	gt_unlock(&lock);
	return exec;
}

/* The handle's executable is no more. */
static void forget(CUgraphExec handle)
{
	struct gt_exec *exec = gt_table_get(&exec_by_handle, handle);

	if (!exec)
		return;
	gt_table_set(&exec_by_handle, handle, NULL);
	exec_end(exec);
}

void gt_exec_made(struct gt_exec *exec, CUgraphExec handle)
{
	if (!exec) {
		gt_exec_destroyed(handle);	/* one that had this handle before, and whose end was not seen */
		return;
	}
	gt_lock(&lock);
	if (handle) {
		forget(handle);
		exec->handle = handle;
		exec->unknown_end = gt_table_set(&exec_by_handle, handle, exec);
	}
	if (!handle || exec->unknown_end)
		exec_free(exec);
	gt_unlock(&lock);
}

/* One that was made before there was a timeline comes to be known now. */
static struct gt_exec *known(CUgraphExec handle)
{
	struct gt_exec *exec = gt_table_get(&exec_by_handle, handle);

	if (exec)
		return exec;
	exec = exec_new();
	if (!exec)
		return NULL;
	exec->handle = handle;
	if (gt_table_set(&exec_by_handle, handle, exec)) {
		exec_free(exec);
		return NULL;
	}
	return exec;
}

void gt_exec_renew(CUgraphExec handle, CUgraphNode node, CUgraph graph)
{
	struct gt_exec *exec;
	size_t still;

	gt_lock(&lock);
	exec = known(handle);
	if (exec) {
		const void *user = node ? (const void *)node : exec;

		/* How the nodes of another graph fall to those that it was made of is the driver's affair. */
		still = node ? exec->node_count : 0;
		release_user(exec, user);
		place_graph(exec, graph, user);
		exec->node_count = still;
	}
	gt_unlock(&lock);
}

uint32_t gt_exec_slot(CUgraphExec handle, CUgraphNode node, struct gt_context *context)
{
	struct placed key = { .node = node }, *placed;
	struct gt_exec *exec;
	uint32_t slot = 0;

	gt_lock(&lock);
	exec = known(handle);
	if (exec) {
		placed = exec->node_count ? bsearch(&key, exec->nodes, exec->node_count, sizeof(key),
						    compare_placed) : NULL;
		if (placed && placed->context == context) {
			slot = placed->slot;
		} else {
			release_user(exec, node);
			slot = draw(exec, context, node);
		}
	}
	gt_unlock(&lock);
	return slot;
}

void gt_exec_runs_unseen(struct gt_exec *exec)
{
	if (exec)
		exec->unknown_end = true;
}

/* The event must live in the stream's context, which need not be the current one. */
static bool make_event(struct gt_exec *exec, CUstream stream)
{
	CUcontext popped;
	bool made;

	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    gt_cu.cuStreamGetCtx(stream, &exec->end_context))
		gt_cu.cuCtxGetCurrent(&exec->end_context);
	if (gt_cu.cuCtxPushCurrent_v2(exec->end_context))
		return false;
	made = !gt_cu.cuEventCreate(&exec->end, CU_EVENT_DISABLE_TIMING);
	gt_cu.cuCtxPopCurrent_v2(&popped);
	return made;
}

/* The driver does not tell of its kernels.  Once for each. */
static void say_unknown(CUgraphExec handle)
{
	gt_lock(&lock);
	known(handle);
	gt_unlock(&lock);
	gt_note(4, "a graph that was instantiated before the timeline was attached is launched: which kernels it runs the driver does not tell, and there are no times of them");
}

void gt_exec_launched(CUgraphExec handle, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct gt_exec *exec = gt_table_get(&exec_by_handle, handle);

	if (!exec && gt_execs_matter())
		say_unknown(handle);
	if (!exec || !exec->slot_count || exec->unknown_end)
		return;
	/* Into a capture it goes as a copy, which gets slots when an executable is made of that. */
	if (stream && stream != CU_STREAM_LEGACY &&
	    (gt_cu.cuStreamIsCapturing(stream, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE))
		return;
	if ((!exec->end && !make_event(exec, stream)) || gt_cu.cuEventRecord(exec->end, stream))
		exec->unknown_end = true;
}

void gt_exec_destroyed(CUgraphExec handle)
{
	gt_lock(&lock);
	forget(handle);
	gt_unlock(&lock);
}

/* Its slots are another context's next. */
static void forget_slots(struct gt_exec *exec, CUcontext context)
{
	size_t kept = 0;

	for (size_t i = 0; i < exec->slot_count; i++) {
		if (exec->slots[i].context->handle != context)
			exec->slots[kept++] = exec->slots[i];
	}
	if (kept < exec->slot_count)
		exec->node_count = 0;
	exec->slot_count = kept;
}

/* Its events went with it. */
static void forget_context(struct execs *list, CUcontext context)
{
	struct gt_exec *exec, *next;

	for (exec = LIST_FIRST(list); exec; exec = next) {
		next = LIST_NEXT(exec, entry);
		forget_slots(exec, context);
		if (!exec->end || exec->end_context != context)
			continue;
		exec->end = NULL;
		if (list == &ending)
			exec_free(exec);
	}
}

void gt_execs_context_gone(CUcontext context)
{
	gt_lock(&lock);
	forget_context(&living, context);
	forget_context(&ending, context);
	gt_unlock(&lock);
}

void gt_execs_forget(void)
{
	struct gt_exec *exec;

	gt_lock(&lock);
	has_told_of_copies = false;
	while ((exec = LIST_FIRST(&living)) || (exec = LIST_FIRST(&ending))) {
		if (gt_table_get(&exec_by_handle, exec->handle) == exec)
			gt_table_set(&exec_by_handle, exec->handle, NULL);
		exec_free(exec);
	}
	gt_unlock(&lock);
}
