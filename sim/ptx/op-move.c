/* SPDX-License-Identifier: Apache-2.0 */
/* Moves, packing, and special registers. */
#include <string.h>
#include <time.h>

#include "lanes.h"
#include "sreg.h"

int op_mov32(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = a[i];);
	return OP_NEXT;
}

int op_mov64(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);
	const uint64_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = a[i];);
	return OP_NEXT;
}

/* Two arrays of 64-bit words: the low halves, then the high ones. */
int op_mov128(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);
	const uint64_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = a[i]; d[LANES + i] = a[LANES + i];);
	return OP_NEXT;
}

int op_mov_pred(struct warp *w, const struct op *op, uint32_t mask)
{
	set_pred(w, op->dst, mask, pred(w, op->a));
	return OP_NEXT;
}

int op_narrow(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint64_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = (uint32_t)a[i];);
	return OP_NEXT;
}

/* imm: signed */
int op_widen(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = op->imm ? (uint64_t)(int32_t)a[i] : a[i];);
	return OP_NEXT;
}

static uint64_t part_get(const void *p, unsigned i, unsigned bits)
{
	if (bits == 64)
		return ((const uint64_t *)p)[i];
	return ((const uint32_t *)p)[i] & (bits == 32 ? FULL : (1u << bits) - 1);
}

/* ext: slots of the parts, count of them, imm bits each; b: bytes of the whole */
int op_pack(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *parts = op->ext;
	unsigned bits = (unsigned)op->imm, k;
	void *d = slot(w, op->dst);

	FOR_LANES(mask, i,
		uint64_t value[2] = { 0 };
		for (k = 0; k < op->count; k++)
			value[k * bits / 64] |= part_get(slot(w, parts[k]), i, bits) << (k * bits % 64);
		if (op->b <= 4)
			((uint32_t *)d)[i] = (uint32_t)value[0];
		else
			((uint64_t *)d)[i] = value[0];
		if (op->b == 16)
			((uint64_t *)d)[LANES + i] = value[1];
	);
	return OP_NEXT;
}

int op_unpack(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *parts = op->ext;
	unsigned bits = (unsigned)op->imm, k;
	const void *a = slot(w, op->a);

	FOR_LANES(mask, i,
		uint64_t value[2] = { 0 };
		value[0] = part_get(a, i, op->b >= 8 ? 64 : op->b * 8);
		if (op->b == 16)
			value[1] = ((const uint64_t *)a)[LANES + i];
		for (k = 0; k < op->count; k++) {
			uint64_t part = value[k * bits / 64] >> (k * bits % 64);

			if (bits == 64)
				((uint64_t *)slot(w, parts[k]))[i] = part;
			else
				((uint32_t *)slot(w, parts[k]))[i] =
					(uint32_t)part & (bits == 32 ? FULL : (1u << bits) - 1);
		}
	);
	return OP_NEXT;
}

int op_activemask(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = mask;);
	return OP_NEXT;
}

/* A clock of about the frequency that these devices have. */
uint64_t clock_cycles(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return ((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec) * 7 / 4;
}

static uint64_t cluster_size(const struct launch *launch, unsigned axis)
{
	return launch->cluster[axis];
}

static uint64_t same_for_all(struct warp *w, enum ptx_sreg sreg, unsigned element)
{
	struct block *block = w->block;
	struct launch *launch = block->launch;

	switch (sreg) {
	case SREG_NTID: return launch->block[element];
	case SREG_CTAID: return block->ctaid[element];
	case SREG_NCTAID: return launch->grid[element];
	case SREG_CLUSTERID: return block->ctaid[element] / cluster_size(launch, element);
	case SREG_NCLUSTERID: return launch->grid[element] / cluster_size(launch, element);
	case SREG_CLUSTER_CTAID: return block->ctaid[element] % cluster_size(launch, element);
	case SREG_CLUSTER_NCTAID: return cluster_size(launch, element);
	case SREG_CLUSTER_CTARANK:
		return (block->ctaid[2] % launch->cluster[2] * launch->cluster[1] +
			block->ctaid[1] % launch->cluster[1]) * launch->cluster[0] +
		       block->ctaid[0] % launch->cluster[0];
	case SREG_CLUSTER_NCTARANK:
		return launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
	case SREG_WARPID: return w->index;
	case SREG_NWARPID: return 64;
	case SREG_SMID: return block->linear % launch->dev->sm_count;
	case SREG_NSMID: return launch->dev->sm_count;
	case SREG_GRIDID: return launch->grid_id;
	case SREG_CLOCK: return (uint32_t)clock_cycles();
	case SREG_CLOCK_HI: return clock_cycles() >> 32;
	case SREG_CLOCK64: return clock_cycles();
	case SREG_GLOBALTIMER: return launch->dev->globaltimer(launch->dev->data);
	case SREG_GLOBALTIMER_LO: return (uint32_t)launch->dev->globaltimer(launch->dev->data);
	case SREG_GLOBALTIMER_HI: return launch->dev->globaltimer(launch->dev->data) >> 32;
	case SREG_DYNAMIC_SMEM: return launch->dynamic_shared;
	case SREG_TOTAL_SMEM: case SREG_AGGR_SMEM: return launch->shared_size;
	/* Cooperative groups find the grid's barrier here. */
	case SREG_ENVREG:
		return element == 1 ? launch->workspace >> 32 :
		       element == 2 ? (uint32_t)launch->workspace : 0;
	default: return 0;
	}
}

static uint64_t of_lane(struct warp *w, enum ptx_sreg sreg, unsigned element, unsigned lane)
{
	switch (sreg) {
	case SREG_TID: return w->tid[element][lane];
	case SREG_LANEID: return lane;
	case SREG_LANEMASK_EQ: return 1u << lane;
	case SREG_LANEMASK_LT: return (1u << lane) - 1;
	case SREG_LANEMASK_LE: return ((1u << lane) - 1) | 1u << lane;
	case SREG_LANEMASK_GE: return ~((1u << lane) - 1);
	case SREG_LANEMASK_GT: return ~((1u << lane) - 1) & ~(1u << lane);
	default: return 0;
	}
}

static int by_lane(enum ptx_sreg sreg)
{
	return sreg == SREG_TID || sreg == SREG_LANEID ||
	       (sreg >= SREG_LANEMASK_EQ && sreg <= SREG_LANEMASK_GT);
}

/* imm: register << 8 | element */
int op_mov_sreg32(struct warp *w, const struct op *op, uint32_t mask)
{
	enum ptx_sreg sreg = op->imm >> 8;
	unsigned element = op->imm & 255;
	uint32_t *d = slot(w, op->dst), value;

	if (by_lane(sreg)) {
		FOR_LANES(mask, i, d[i] = (uint32_t)of_lane(w, sreg, element, i););
		return OP_NEXT;
	}
	value = (uint32_t)same_for_all(w, sreg, element);
	FOR_LANES(mask, i, d[i] = value;);
	return OP_NEXT;
}

int op_mov_sreg64(struct warp *w, const struct op *op, uint32_t mask)
{
	enum ptx_sreg sreg = op->imm >> 8;
	unsigned element = op->imm & 255;
	uint64_t *d = slot(w, op->dst), value;

	if (by_lane(sreg)) {
		FOR_LANES(mask, i, d[i] = of_lane(w, sreg, element, i););
		return OP_NEXT;
	}
	value = same_for_all(w, sreg, element);
	FOR_LANES(mask, i, d[i] = value;);
	return OP_NEXT;
}

static int broadcast(struct warp *w, const struct op *op, uint32_t mask, uint64_t value)
{
	uint32_t *d32 = slot(w, op->dst);
	uint64_t *d64 = slot(w, op->dst);

	if (op->flags & OPF_WIDE)
		FOR_LANES(mask, i, d64[i] = value;);
	else
		FOR_LANES(mask, i, d32[i] = (uint32_t)value;);
	return OP_NEXT;
}

int op_local_address(struct warp *w, const struct op *op, uint32_t mask)
{
	return broadcast(w, op, mask, op->imm + w->frame->local_base);
}

int op_dynamic_shared(struct warp *w, const struct op *op, uint32_t mask)
{
	return broadcast(w, op, mask, op->imm + w->block->launch->dynamic_offset);
}

int op_param_address(struct warp *w, const struct op *op, uint32_t mask)
{
	return broadcast(w, op, mask, op->imm + (uintptr_t)w->block->launch->params);
}
