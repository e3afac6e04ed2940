/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/chains.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/agent/agent.h"

static int compare_nodes(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct gt_chain_node *)a)->node;
	uintptr_t y = (uintptr_t)((const struct gt_chain_node *)b)->node;

	return (x > y) - (x < y);
}

static struct gt_chain_node *find(const struct gt_chains *chains, CUgraphNode node)
{
	struct gt_chain_node key = { .node = node };

	return bsearch(&key, chains->nodes, chains->count, sizeof(key), compare_nodes);
}

static bool read_nodes(CUgraph graph, struct gt_chains *chains)
{
	CUgraphNode *handles;
	size_t count = 0;

	if (gt_cu.cuGraphGetNodes(graph, NULL, &count))
		return false;
	handles = calloc(count + 1, sizeof(*handles));
	chains->nodes = calloc(count + 1, sizeof(*chains->nodes));
	if (!handles || !chains->nodes || (count && gt_cu.cuGraphGetNodes(graph, handles, &count))) {
		free(handles);
		return false;
	}
	for (size_t i = 0; i < count; i++)
		chains->nodes[i].node = handles[i];
	chains->count = count;
	qsort(chains->nodes, count, sizeof(*chains->nodes), compare_nodes);
	free(handles);
	return true;
}

/* Before CUDA 12.3 there was one kind of edge. */
static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			  size_t *count)
{
	if (gt_cu.cuGraphGetEdges_v2)
		return gt_cu.cuGraphGetEdges_v2(graph, from, to, data, count);
	return gt_cu.cuGraphGetEdges(graph, from, to, count);
}

/* The later node waits for the end of the earlier: not so along the edges of programmatic launches. */
static bool is_plain(const CUgraphEdgeData *edge)
{
	return !edge->from_port && !edge->to_port && !edge->type;
}

static void join(const struct gt_chains *chains, CUgraphNode from, CUgraphNode to)
{
	struct gt_chain_node *a = find(chains, from), *b = find(chains, to);

	if (!a || !b || a->has_next || b->follows)
		return;
	a->has_next = true;
	a->next = (size_t)(b - chains->nodes);
	b->follows = true;
}

static bool read_edges(CUgraph graph, const struct gt_chains *chains)
{
	CUgraphNode *from, *to;
	CUgraphEdgeData *data;
	size_t count = 0;
	bool ok;

	if (get_edges(graph, NULL, NULL, NULL, &count))
		return false;
	from = calloc(count + 1, sizeof(*from));
	to = calloc(count + 1, sizeof(*to));
	data = calloc(count + 1, sizeof(*data));
	ok = from && to && data && (!count || !get_edges(graph, from, to, data, &count));
	for (size_t i = 0; ok && i < count; i++) {
		if (is_plain(&data[i]))
			join(chains, from[i], to[i]);
	}
	free(from);
	free(to);
	free(data);
	return ok;
}

bool gt_chains_read(CUgraph graph, struct gt_chains *chains)
{
	*chains = (struct gt_chains){ 0 };
	if (read_nodes(graph, chains) && read_edges(graph, chains))
		return true;
	gt_chains_free(chains);
	return false;
}

void gt_chains_free(struct gt_chains *chains)
{
	free(chains->nodes);
	*chains = (struct gt_chains){ 0 };
}
