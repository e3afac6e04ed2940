/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clusters: blocks that one worker runs side by side, with a barrier of their
 * own and a view of one another's shared memory.
 *
 * An address of .shared::cluster with its top byte zero lies in the block's own
 * window; mapa puts the rank plus one there.
 */
#include "memory.h"

#define RANK_SHIFT 24
#define OFFSET_MASK ((1u << RANK_SHIFT) - 1)

static void release(struct cluster *cluster)
{
	unsigned r, i, k;

	cluster->arrived = 0;
	for (r = 0; r < cluster->size; r++)
		for (i = 0; cluster->blocks[r] && i < cluster->blocks[r]->warp_count; i++) {
			struct warp *w = &cluster->blocks[r]->warps[i];

			w->cluster_arrived = 0;
			for (k = 0; k < w->group_count; k++)
				if (w->groups[k].state == GROUP_CLUSTER) {
					w->groups[k].state = GROUP_READY;
					w->groups[k].pc++;
				}
		}
}

void cluster_exit_lanes(struct warp *w, uint32_t mask)
{
	struct cluster *cluster = w->block->cluster;

	cluster->live -= (uint32_t)__builtin_popcount(mask);
	cluster->arrived -= (uint32_t)__builtin_popcount(mask & w->cluster_arrived);
	w->cluster_arrived &= ~mask;
	if (cluster->arrived && cluster->arrived >= cluster->live)
		release(cluster);
}

/* Without clusters a block is a cluster of its own. */
int op_cluster_arrive(struct warp *w, const struct op *op, uint32_t mask)
{
	struct cluster *cluster = w->block->cluster;
	uint32_t twice = mask & w->cluster_arrived;

	if (twice)
		return warp_fault(w, op, (unsigned)__builtin_ctz(twice), SIM_ERROR_TRAP,
				  "barrier.cluster.arrive twice without a wait");
	w->cluster_arrived |= mask;
	cluster->arrived += (uint32_t)__builtin_popcount(mask);
	if (cluster->arrived >= cluster->live)
		release(cluster);
	return OP_NEXT;
}

int op_cluster_wait(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t wait = mask & w->cluster_arrived;
	struct group *g;

	(void)op;
	if (!wait)
		return OP_NEXT;
	if (w->mask & ~wait)
		warp_split(w, w->mask & ~wait, w->pc + 1);
	g = &w->groups[w->current];
	g->state = GROUP_CLUSTER;
	return OP_WAIT;
}

struct block *cluster_block_at(const struct warp *w, uint64_t addr)
{
	const struct cluster *cluster = w->block->cluster;
	unsigned r;

	if (addr - (uintptr_t)w->shared < w->shared_size)
		return w->block;
	for (r = 0; r < cluster->size; r++)
		if (cluster->blocks[r] &&
		    addr - (uintptr_t)cluster->blocks[r]->shared < w->shared_size)
			return cluster->blocks[r];
	return NULL;
}

static struct block *block_of_rank(const struct warp *w, uint32_t rank)
{
	const struct cluster *cluster = w->block->cluster;

	return rank < cluster->size ? cluster->blocks[rank] : NULL;
}

/* a, imm: address in .shared::cluster; dst: generic */
int op_cluster_to_generic(struct warp *w, const struct op *op, uint32_t mask)
{
	const void *base = slot(w, op->a);
	uint64_t *d = slot(w, op->dst);

	FOR_LANES(mask, i,
		uint32_t addr = (uint32_t)address_of(base, i, op);
		uint32_t rank = addr >> RANK_SHIFT;
		struct block *block = rank ? block_of_rank(w, rank - 1) : w->block;
		if (!block)
			return warp_fault(w, op, i, SIM_ERROR_ADDRESS,
					  "no block of rank %u in the cluster", rank - 1);
		d[i] = (uintptr_t)block->shared + (addr & OFFSET_MASK);
	);
	return OP_NEXT;
}

/* b: rank; OPF_WIDE: generic addresses, else shared ones */
int op_mapa(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *rank = slot(w, op->b), *a = slot(w, op->a);
	const uint64_t *wide = slot(w, op->a);
	uint32_t *d = slot(w, op->dst);
	uint64_t *wide_d = slot(w, op->dst);

	FOR_LANES(mask, i,
		struct block *block = block_of_rank(w, rank[i]);
		if (!block)
			return warp_fault(w, op, i, SIM_ERROR_ADDRESS,
					  "no block of rank %u in the cluster", rank[i]);
		if (op->imm)	/* generic */
			wide_d[i] = wide[i] - (uintptr_t)w->shared + (uintptr_t)block->shared;
		else if (op->flags & OPF_WIDE)
			wide_d[i] = (wide[i] & OFFSET_MASK) | (uint64_t)(rank[i] + 1) << RANK_SHIFT;
		else
			d[i] = (a[i] & OFFSET_MASK) | (rank[i] + 1) << RANK_SHIFT;
	);
	return OP_NEXT;
}

/* imm: generic addresses */
int op_getctarank(struct warp *w, const struct op *op, uint32_t mask)
{
	const void *a = slot(w, op->a);
	uint32_t *d = slot(w, op->dst);

	FOR_LANES(mask, i,
		uint64_t addr = op->flags & OPF_WIDE ? ((const uint64_t *)a)[i] : ((const uint32_t *)a)[i];
		struct block *block = op->imm ? cluster_block_at(w, addr) : w->block;
		uint32_t rank = (uint32_t)addr >> RANK_SHIFT;

		d[i] = op->imm || !rank ? (block ? block->rank : 0) : rank - 1;
	);
	return OP_NEXT;
}
