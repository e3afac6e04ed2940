/* SPDX-License-Identifier: Apache-2.0 */
/* From an address that a lane gives to memory of the host, or a fault. */
#include "memory.h"

static unsigned char *fault(struct warp *w, const struct op *op, unsigned lane, int kind,
			    uint64_t addr, unsigned size, const char *what)
{
	warp_fault(w, op, lane, kind, "%s of %u bytes", what, size);
	w->fault.addr = addr;
	w->fault.has_addr = 1;
	return NULL;
}

unsigned char *memory_outside(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
			      unsigned size, const char *space)
{
	char what[64];

	snprintf(what, sizeof(what), "access outside %s memory", space);
	return fault(w, op, lane, SIM_ERROR_ADDRESS, addr, size, what);
}

unsigned char *memory_misaligned(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
				 unsigned size)
{
	return fault(w, op, lane, SIM_ERROR_ALIGN, addr, size, "misaligned access");
}

static int within(uint64_t addr, unsigned size, uint64_t base, uint64_t length)
{
	return addr >= base && addr - base <= length && size <= length - (addr - base);
}

/* Ranges seen before, then whoever owns the device. */
static unsigned char *find_global(struct warp *w, uint64_t addr, unsigned size)
{
	struct worker *worker = w->worker;
	const struct sim_device *dev = worker->launch->dev;
	uint64_t base, length;
	unsigned i;

	for (i = 0; i < RANGE_CACHE; i++)
		if (within(addr, size, worker->ranges[i].base, worker->ranges[i].size))
			break;
	if (i == RANGE_CACHE) {
		if (dev->check(dev->data, addr, size, &base, &length))
			return NULL;
		if (!within(addr, size, base, length))
			return NULL;
		i = worker->range_next++ % RANGE_CACHE;
		worker->ranges[i].base = base;
		worker->ranges[i].size = length;
	}
	worker->range_base = worker->ranges[i].base;
	worker->range_size = worker->ranges[i].size;
	return (unsigned char *)(uintptr_t)addr;
}

/* What only generic addresses reach, the near things first. */
static int in_windows(const struct warp *w, unsigned lane, uint64_t addr, unsigned size)
{
	return within(addr, size, (uintptr_t)w->shared, w->shared_size) ||
	       within(addr, size, (uintptr_t)(w->local + lane * w->local_stride), w->local_stride);
}

static int in_launch(const struct warp *w, uint64_t addr, unsigned size)
{
	const struct launch *launch = w->block->launch;
	const struct block *block = cluster_block_at(w, addr);

	return (block && within(addr, size, (uintptr_t)block->shared, w->shared_size)) ||
	       within(addr, size, (uintptr_t)launch->params, launch->kernel->info.param_bytes) ||
	       (launch->workspace && within(addr, size, launch->workspace, 16));
}

unsigned char *memory_find(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
			   unsigned size, enum ptx_space space)
{
	int generic = space != SPACE_GLOBAL && space != SPACE_CONST;
	unsigned char *p;

	if (generic && in_windows(w, lane, addr, size))
		return (unsigned char *)(uintptr_t)addr;
	p = find_global(w, addr, size);
	if (p)
		return p;
	if (generic && in_launch(w, addr, size))
		return (unsigned char *)(uintptr_t)addr;
	return memory_outside(w, op, lane, addr, size, space == SPACE_CONST ? "constant" : "global");
}
