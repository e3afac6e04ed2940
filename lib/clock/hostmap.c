/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/hostmap.h"

#include "lib/clock/slope.h"

/* A pair read for a question replaces the one before it until this much has passed. */
#define KEEP_GAP (10 * INT64_C(1000000))
/* A misfit is confirmed or not by the next pair, read at once. */
#define CONFIRM 3

/*
 * The kernel steers MONOTONIC by switching its multiplier between neighbouring
 * values, 0.1 to 0.2 ppm apart; anything beyond is a slew and must show as such.
 */
static const struct gt_chain_opts chain_opts = {
	.wander = GT_SLOPE_PPB(200),
	.wander_max = GT_SLOPE_PPB(200),
	.start = GT_SLOPE_PPB(500000),
	.limit = GT_SLOPE_PPB(100000000),	/* adjtimex() allows 10 % */
	.min_gap = 1000000,
	.max_nodes = 16384,
};

void gt_hostmap_init(struct gt_hostmap *map, gt_read_pair_fn read, void *data)
{
	gt_chain_init(&map->chain, &chain_opts);
	map->read = read;
	map->data = data;
}

void gt_hostmap_done(struct gt_hostmap *map)
{
	gt_chain_done(&map->chain);
}

static bool last_is_short_lived(const struct gt_chain *chain)
{
	const struct gt_chain_node *last = &chain->nodes[chain->n - 1];

	return chain->n >= 2 && !last->first && !last->broken && last->x - last[-1].x < KEEP_GAP;
}

int gt_hostmap_touch(struct gt_hostmap *map)
{
	struct gt_chain *chain = &map->chain;
	struct gt_host_pair pair;
	int r = 0;

	if (!map->read)
		return 0;
	for (int i = 0; i < CONFIRM; i++) {
		r = map->read(map->data, &pair);
		if (r < 0)
			return r;
		if (chain->n && !chain->suspected && pair.raw > chain->nodes[chain->n - 1].x &&
		    last_is_short_lived(chain))
			gt_chain_drop_last(chain);
		/* All three readings are rounded down to 1 ns. */
		r = gt_chain_add(chain, pair.raw, pair.mono_before - pair.raw - 1,
				 pair.mono_after + 1 - pair.raw);
		if (r != GT_CHAIN_SUSPECT)
			break;
	}
	return r < 0 ? r : 0;
}

/* Look at the clocks again when a question may lie after the last look. */
static int look_again(struct gt_hostmap *map, int64_t newest)
{
	const struct gt_chain *chain = &map->chain;

	if (chain->n && newest <= chain->nodes[chain->n - 1].x)
		return 0;
	return gt_hostmap_touch(map);
}

int gt_hostmap_to_raw(struct gt_hostmap *map, int64_t lo, int64_t hi, int64_t *ret_lo, int64_t *ret_hi)
{
	const struct gt_chain *chain = &map->chain;
	const struct gt_chain_node *last;
	int r = 0;

	if (!map->read) {
		*ret_lo = lo;
		*ret_hi = hi;
		return 0;
	}
	if (chain->n) {
		last = &chain->nodes[chain->n - 1];
		r = look_again(map, hi - last->lo);
	} else {
		r = gt_hostmap_touch(map);
	}
	if (r < 0)
		return r;
	return gt_chain_to_near(chain, lo, hi, ret_lo, ret_hi);
}

int gt_hostmap_to_mono(struct gt_hostmap *map, int64_t lo, int64_t hi, int64_t *ret_lo, int64_t *ret_hi)
{
	int r;

	if (!map->read) {
		*ret_lo = lo;
		*ret_hi = hi;
		return 0;
	}
	r = look_again(map, hi);
	if (r < 0)
		return r;
	return gt_chain_to_far(&map->chain, lo, hi, ret_lo, ret_hi);
}
