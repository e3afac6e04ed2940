/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barrier objects in shared memory, and the bulk copies that report to them.
 * The 64 bits of an object are opaque to programs; here they are
 *     bits 0..19   arrivals still missing in this phase, less one
 *     bits 20..39  arrivals that each phase expects, less one
 *     bits 40..61  bytes still on their way, signed
 *     bit  62      the phase ends as soon as the bytes are there
 *     bit  63      parity of the phase
 * A block's threads run one at a time, and so do those of its cluster: plain
 * loads and stores do.
 */
#include <string.h>

#include "memory.h"

#define COUNT_MASK 0xfffffu
#define TX_MASK 0x3fffffu

struct mbarrier {
	uint32_t pending, expected;
	int32_t tx;
	unsigned parity;
};

static struct mbarrier unpack(uint64_t bits)
{
	struct mbarrier m;

	m.pending = bits >> 62 & 1 ? 0 : (uint32_t)(bits & COUNT_MASK) + 1;
	m.expected = (uint32_t)(bits >> 20 & COUNT_MASK) + 1;
	m.tx = (int32_t)((uint32_t)(bits >> 40 & TX_MASK) << 10) >> 10;
	m.parity = (unsigned)(bits >> 63);
	return m;
}

static uint64_t pack(const struct mbarrier *m)
{
	return (uint64_t)((m->pending - 1) & COUNT_MASK) | (uint64_t)((m->expected - 1) & COUNT_MASK) << 20 |
	       (uint64_t)((uint32_t)m->tx & TX_MASK) << 40 | (uint64_t)(m->pending == 0) << 62 |
	       (uint64_t)m->parity << 63;
}

static void end_phase(struct mbarrier *m)
{
	if (m->pending || m->tx)
		return;
	m->pending = m->expected;
	m->parity ^= 1;
}

static uint64_t *object(struct warp *w, const struct op *op, unsigned lane)
{
	return (uint64_t *)locate(w, op, lane, address_of(slot(w, op->a), lane, op), 8, 8, op->count);
}

/* a: address; b: count */
int op_mbar_init(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *count = slot(w, op->b);

	FOR_LANES(mask, i,
		uint64_t *p = object(w, op, i);
		struct mbarrier m = { .pending = count[i], .expected = count[i] };
		if (!p)
			return OP_FAULT;
		if (!count[i] || count[i] > COUNT_MASK)
			return warp_fault(w, op, i, SIM_ERROR_TRAP, "mbarrier of %u arrivals", count[i]);
		*p = pack(&m);
	);
	return OP_NEXT;
}

int op_mbar_inval(struct warp *w, const struct op *op, uint32_t mask)
{
	FOR_LANES(mask, i, if (!object(w, op, i)) return OP_FAULT;);
	return OP_NEXT;
}

/* b: arrivals, or bytes with MBAR_EXPECT; dst: the state before, 0: nobody wants it */
int op_mbar_arrive(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *given = op->b ? slot(w, op->b) : NULL;
	uint64_t *d = op->dst ? slot(w, op->dst) : NULL;
	const unsigned how = op->d;

	FOR_LANES(mask, i,
		uint64_t *p = object(w, op, i);
		uint32_t arrivals = given && !(how & MBAR_EXPECT) ? given[i] : 1;
		struct mbarrier m;
		if (!p)
			return OP_FAULT;
		m = unpack(*p);
		if (arrivals > m.pending || (how & MBAR_DROP && arrivals >= m.expected + (m.expected > 1)))
			return warp_fault(w, op, i, SIM_ERROR_TRAP,
					  "mbarrier: %u arrivals, %u are missing", arrivals, m.pending);
		if (d)
			d[i] = *p;
		if (how & MBAR_EXPECT)
			m.tx += (int32_t)given[i];
		if (how & MBAR_DROP)
			m.expected -= arrivals;
		m.pending -= arrivals;
		end_phase(&m);
		*p = pack(&m);
	);
	return OP_NEXT;
}

/* b: state of an earlier arrival, or the parity with MBAR_PARITY */
int op_mbar_wait(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *state = slot(w, op->b);
	const uint32_t *parity = slot(w, op->b);
	uint32_t done = 0;

	w->spin_hint = 2;
	FOR_LANES(mask, i,
		uint64_t *p = object(w, op, i);
		unsigned waited;
		if (!p)
			return OP_FAULT;
		waited = op->d & MBAR_PARITY ? parity[i] & 1 : (unsigned)(state[i] >> 63);
		done |= (uint32_t)(unpack(*p).parity != waited) << i;
	);
	set_pred(w, op->dst, mask, done);
	return OP_NEXT;
}

int op_mbar_pending(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *state = slot(w, op->a);
	uint32_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = unpack(state[i]).pending;);
	return OP_NEXT;
}

/* b: bytes that are expected, or have come with MBAR_COMPLETE */
int op_mbar_tx(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *bytes = slot(w, op->b);

	FOR_LANES(mask, i,
		uint64_t *p = object(w, op, i);
		struct mbarrier m;
		if (!p)
			return OP_FAULT;
		m = unpack(*p);
		m.tx += op->d & MBAR_COMPLETE ? -(int32_t)bytes[i] : (int32_t)bytes[i];
		end_phase(&m);
		*p = pack(&m);
	);
	return OP_NEXT;
}

static int copy(struct warp *w, const struct op *op, unsigned lane, uint64_t to, uint64_t from,
		uint32_t size)
{
	const unsigned char *s;
	unsigned char *d;

	if (size % 16)
		return warp_fault(w, op, lane, SIM_ERROR_ALIGN, "bulk copy of %u bytes", size);
	if (!size)
		return OP_NEXT;
	d = locate(w, op, lane, to, size, 16, SPACE_GENERIC);
	s = locate(w, op, lane, from, size, 16, SPACE_GENERIC);
	if (!d || !s)
		return OP_FAULT;
	memmove(d, s, size);
	return OP_NEXT;
}

/* Generic addresses: dst to, a barrier, b from; c bytes. */
int op_bulk_to_shared(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *to = slot(w, op->dst), *barrier = slot(w, op->a), *from = slot(w, op->b);
	const uint32_t *size = slot(w, op->c);

	FOR_LANES(mask, i,
		uint64_t *p = (uint64_t *)locate(w, op, i, barrier[i], 8, 8, SPACE_GENERIC);
		struct mbarrier m;
		if (!p || copy(w, op, i, to[i], from[i], size[i]) != OP_NEXT)
			return OP_FAULT;
		m = unpack(*p);
		m.tx -= (int32_t)size[i];
		end_phase(&m);
		*p = pack(&m);
	);
	return OP_NEXT;
}

int op_bulk_to_global(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *to = slot(w, op->dst), *from = slot(w, op->b);
	const uint32_t *size = slot(w, op->c);

	FOR_LANES(mask, i,
		if (copy(w, op, i, to[i], from[i], size[i]) != OP_NEXT)
			return OP_FAULT;
	);
	return OP_NEXT;
}
