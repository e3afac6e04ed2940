/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: nodes, edges, copies, order. */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"

CUresult sim_graph_new(struct CUgraph_st **ret_graph)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));

	if (!graph || !sim_handle_add(graph, SIM_GRAPH)) {
		free(graph);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	atomic_init(&graph->refs, 1);
	*ret_graph = graph;
	return CUDA_SUCCESS;
}

static void node_free(struct CUgraphNode_st *node)
{
	sim_handle_remove(node);
	sim_work_clear(&node->work);
	free(node->before);
	free(node);
}

void sim_graph_free(struct CUgraph_st *graph)
{
	if (!graph || atomic_fetch_sub(&graph->refs, 1) != 1)
		return;
	sim_handle_remove(graph);
	for (size_t i = 0; i < graph->count; i++)
		node_free(graph->nodes[i]);
	free(graph->nodes);
	free(graph->order);
	free(graph);
}

void sim_graph_number(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->count; i++)
		graph->nodes[i]->index = i;
}

CUresult sim_graph_add_edge(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
	struct sim_edge *before;

	for (size_t i = 0; i < to->before_count; i++)
		if (to->before[i].from == from)
			return CUDA_ERROR_INVALID_VALUE;
	before = realloc(to->before, (to->before_count + 1) * sizeof(*before));
	if (!before)
		return CUDA_ERROR_OUT_OF_MEMORY;
	to->before = before;
	before[to->before_count].from = from;
	if (data)
		before[to->before_count].data = *data;
	else
		memset(&before[to->before_count].data, 0, sizeof(*data));
	to->before_count++;
	return CUDA_SUCCESS;
}

static bool make_room(struct CUgraph_st *graph)
{
	size_t space = graph->space ? graph->space * 2 : 16;
	struct CUgraphNode_st **nodes;

	if (graph->count < graph->space)
		return true;
	nodes = realloc(graph->nodes, space * sizeof(*nodes));
	if (!nodes)
		return false;
	graph->nodes = nodes;
	graph->space = space;
	return true;
}

CUresult sim_graph_add(struct CUgraph_st *graph, const CUgraphNode *before,
		       const CUgraphEdgeData *data, size_t count, struct sim_work *work,
		       struct CUgraphNode_st **ret_node)
{
	struct CUgraphNode_st *node;
	CUresult r = CUDA_SUCCESS;

	if (count && !before)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!sim_handle_is(before[i], SIM_NODE) || before[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	node = calloc(1, sizeof(*node));
	if (!node || !make_room(graph) || !sim_handle_add(node, SIM_NODE)) {
		free(node);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	node->graph = graph;
	node->work.type = SIM_WORK_EMPTY;
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = sim_graph_add_edge(before[i], node, data ? &data[i] : NULL);
	if (r != CUDA_SUCCESS) {
		node_free(node);
		return r;
	}
	node->work = *work;
	work->type = SIM_WORK_EMPTY;
	graph->nodes[graph->count++] = node;
	*ret_node = node;
	return CUDA_SUCCESS;
}

CUresult sim_graph_copy(struct CUgraph_st *from, struct CUgraph_st **ret_graph)
{
	struct CUgraph_st *to;
	CUresult r = sim_graph_new(&to);

	if (r != CUDA_SUCCESS)
		return r;
	to->origin = from;
	sim_graph_number(from);
	for (size_t i = 0; i < from->count && r == CUDA_SUCCESS; i++) {
		struct CUgraphNode_st *node;
		struct sim_work work;

		r = sim_work_copy(&work, &from->nodes[i]->work);
		if (r != CUDA_SUCCESS)
			break;
		r = sim_graph_add(to, NULL, NULL, 0, &work, &node);
		if (r != CUDA_SUCCESS) {
			sim_work_clear(&work);
			break;
		}
		node->origin = from->nodes[i];
		node->disabled = from->nodes[i]->disabled;
	}
	for (size_t i = 0; i < from->count && r == CUDA_SUCCESS; i++)
		for (size_t j = 0; j < from->nodes[i]->before_count && r == CUDA_SUCCESS; j++) {
			const struct sim_edge *edge = &from->nodes[i]->before[j];

			r = sim_graph_add_edge(to->nodes[edge->from->index], to->nodes[i], &edge->data);
		}
	if (r != CUDA_SUCCESS) {
		sim_graph_free(to);
		return r;
	}
	*ret_graph = to;
	return CUDA_SUCCESS;
}

/*
 * Kahn's algorithm, which keeps the order of creation among nodes that are free.
 * The number of a node's unplaced predecessors is held in its mark.
 */
CUresult sim_graph_sort(struct CUgraph_st *graph, CUgraphNode *ret_bad)
{
	struct CUgraphNode_st **order = calloc(graph->count + 1, sizeof(*order));
	size_t *first, *next, edges = 0, placed = 0, done = 0;
	struct CUgraphNode_st **after;

	for (size_t i = 0; i < graph->count; i++)
		edges += graph->nodes[i]->before_count;
	first = calloc(graph->count + 1, sizeof(*first));
	next = calloc(graph->count + 1, sizeof(*next));
	after = calloc(edges + 1, sizeof(*after));
	if (!order || !first || !next || !after) {
		free(order);
		free(first);
		free(next);
		free(after);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* The successors of each node, in one array. */
	sim_graph_number(graph);
	for (size_t i = 0; i < graph->count; i++)
		for (size_t j = 0; j < graph->nodes[i]->before_count; j++)
			first[graph->nodes[i]->before[j].from->index + 1]++;
	for (size_t i = 0; i < graph->count; i++)
		first[i + 1] += first[i];
	memcpy(next, first, graph->count * sizeof(*next));
	for (size_t i = 0; i < graph->count; i++)
		for (size_t j = 0; j < graph->nodes[i]->before_count; j++)
			after[next[graph->nodes[i]->before[j].from->index]++] = graph->nodes[i];
	for (size_t i = 0; i < graph->count; i++) {
		graph->nodes[i]->mark = (unsigned)graph->nodes[i]->before_count;
		if (!graph->nodes[i]->mark)
			order[placed++] = graph->nodes[i];
	}
	for (; done < placed; done++) {
		size_t index = order[done]->index;

		for (size_t j = first[index]; j < first[index + 1]; j++)
			if (--after[j]->mark == 0)
				order[placed++] = after[j];
	}
	free(first);
	free(next);
	free(after);
	if (placed == graph->count) {
		free(graph->order);
		graph->order = order;
		return CUDA_SUCCESS;
	}
	free(order);
	for (size_t i = 0; i < graph->count && ret_bad; i++)
		if (graph->nodes[i]->mark)
			*ret_bad = graph->nodes[i];
	return CUDA_ERROR_INVALID_VALUE;
}
