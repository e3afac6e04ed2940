/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's calls about graphs and about nodes of any type. */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"

CUresult sim_graph_check(CUgraph graph)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !sim_handle_is(graph, SIM_GRAPH))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_node_check(CUgraphNode node, int type)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && (!sim_handle_is(node, SIM_NODE) || (type >= 0 && node->work.type != type)))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuGraphCreate(CUgraph *ret_graph, unsigned flags)
{
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && (!ret_graph || flags))
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : sim_graph_new(ret_graph);
}

CUresult sim_cuGraphDestroy(CUgraph graph)
{
	CUresult r = sim_graph_check(graph);

	if (r == CUDA_SUCCESS)
		sim_graph_free(graph);
	return r;
}

CUresult sim_cuGraphClone(CUgraph *ret_graph, CUgraph graph)
{
	CUresult r = sim_graph_check(graph);

	if (r == CUDA_SUCCESS && !ret_graph)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : sim_graph_copy(graph, ret_graph);
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode original, CUgraph clone)
{
	CUresult r = sim_graph_check(clone);

	r = r ? r : sim_node_check(original, -1);
	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; ret_node && i < clone->count; i++)
		if (clone->nodes[i]->origin == original) {
			*ret_node = clone->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
	CUresult r = sim_node_check(node, -1);

	if (r == CUDA_SUCCESS && !ret_type)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_type = (CUgraphNodeType)node->work.type;
	return r;
}

/*
 * Lists are given out by one rule: without a place to put them only the number is
 * told; otherwise *count entries are written, NULL past the last, and *count is how
 * many there were.
 */
struct list {
	CUgraphNode *out;
	size_t space, n;
};

static void put(struct list *list, CUgraphNode node)
{
	if (list->out && list->n < list->space)
		list->out[list->n] = node;
	list->n++;
}

static CUresult list_end(struct list *list, size_t *count)
{
	size_t n = list->n;

	if (!list->out) {
		*count = n;
		return CUDA_SUCCESS;
	}
	for (size_t i = n; i < list->space; i++)
		list->out[i] = NULL;
	*count = n < list->space ? n : list->space;
	return CUDA_SUCCESS;
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots_only)
{
	CUresult r = sim_graph_check(graph);
	struct list list = { .out = nodes, .space = count ? *count : 0 };

	if (r == CUDA_SUCCESS && !count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; i < graph->count; i++)
		if (!roots_only || !graph->nodes[i]->before_count)
			put(&list, graph->nodes[i]);
	return list_end(&list, count);
}

CUresult sim_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, nodes, count, false);
}

CUresult sim_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return get_nodes(graph, nodes, count, true);
}

CUresult sim_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
				CUgraphEdgeData *data, size_t *count)
{
	CUresult r = sim_graph_check(graph);
	size_t space, n = 0;

	if (r == CUDA_SUCCESS && (!count || !from != !to))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	space = from ? *count : 0;
	for (size_t i = 0; i < graph->count; i++) {
		const struct CUgraphNode_st *node = graph->nodes[i];

		for (size_t j = 0; j < node->before_count; j++, n++) {
			if (n >= space)
				continue;
			from[n] = node->before[j].from;
			to[n] = graph->nodes[i];
			if (data)
				data[n] = node->before[j].data;
		}
	}
	*count = from && n > space ? space : n;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return sim_cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
					   CUgraphEdgeData *data, size_t *count)
{
	CUresult r = sim_node_check(node, -1);
	struct list list = { .out = nodes, .space = count ? *count : 0 };

	if (r == CUDA_SUCCESS && !count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; i < node->before_count; i++) {
		if (data && list.n < list.space)
			data[list.n] = node->before[i].data;
		put(&list, node->before[i].from);
	}
	return list_end(&list, count);
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return sim_cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
					     CUgraphEdgeData *data, size_t *count)
{
	CUresult r = sim_node_check(node, -1);
	struct list list = { .out = nodes, .space = count ? *count : 0 };

	if (r == CUDA_SUCCESS && !count)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	for (size_t i = 0; i < node->graph->count; i++) {
		struct CUgraphNode_st *other = node->graph->nodes[i];

		for (size_t j = 0; j < other->before_count; j++) {
			if (other->before[j].from != node)
				continue;
			if (data && list.n < list.space)
				data[list.n] = other->before[j].data;
			put(&list, other);
		}
	}
	return list_end(&list, count);
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
	return sim_cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult sim_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, const CUgraphEdgeData *data,
				       size_t count)
{
	CUresult r = sim_graph_check(graph);

	if (r == CUDA_SUCCESS && count && (!from || !to))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
		r = sim_node_check(from[i], -1);
		r = r ? r : sim_node_check(to[i], -1);
		if (r == CUDA_SUCCESS && (from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i]))
			r = CUDA_ERROR_INVALID_VALUE;
		r = r ? r : sim_graph_add_edge(from[i], to[i], data ? &data[i] : NULL);
	}
	return r;
}

CUresult sim_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				    size_t count)
{
	return sim_cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

static bool remove_edge(CUgraphNode from, CUgraphNode to)
{
	for (size_t i = 0; i < to->before_count; i++)
		if (to->before[i].from == from) {
			to->before_count--;
			memmove(&to->before[i], &to->before[i + 1],
				(to->before_count - i) * sizeof(*to->before));
			return true;
		}
	return false;
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
					  const CUgraphNode *to, const CUgraphEdgeData *data,
					  size_t count)
{
	CUresult r = sim_graph_check(graph);

	(void)data;
	if (r == CUDA_SUCCESS && count && (!from || !to))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
		r = sim_node_check(to[i], -1);
		if (r == CUDA_SUCCESS && (to[i]->graph != graph || !remove_edge(from[i], to[i])))
			r = CUDA_ERROR_INVALID_VALUE;
	}
	return r;
}

CUresult sim_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
				       const CUgraphNode *to, size_t count)
{
	return sim_cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node)
{
	CUresult r = sim_node_check(node, -1);
	struct CUgraph_st *graph;
	size_t n = 0;

	if (r != CUDA_SUCCESS)
		return r;
	graph = node->graph;
	for (size_t i = 0; i < graph->count; i++) {
		remove_edge(node, graph->nodes[i]);
		if (graph->nodes[i] != node)
			graph->nodes[n++] = graph->nodes[i];
	}
	graph->count = n;
	sim_handle_remove(node);
	sim_work_clear(&node->work);
	free(node->before);
	free(node);
	return CUDA_SUCCESS;
}
