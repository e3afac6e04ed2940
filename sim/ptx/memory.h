/* SPDX-License-Identifier: Apache-2.0 */
/* Address checks, inlined into every access. */
#ifndef SIM_PTX_MEMORY_H
#define SIM_PTX_MEMORY_H

#include <stdio.h>

#include "ops.h"

unsigned char *memory_outside(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
			      unsigned size, const char *space);
unsigned char *memory_misaligned(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
				 unsigned size);

static inline __attribute__((always_inline))
uint64_t address_of(const void *base, unsigned lane, const struct op *op)
{
	if (op->flags & OPF_ADDR32)
		return ((const uint32_t *)base)[lane] + op->imm;
	return ((const uint64_t *)base)[lane] + op->imm;
}

/* Host address of `size` bytes, or NULL with the fault noted.  Alignment is a power of two. */
static inline __attribute__((always_inline))
unsigned char *locate(struct warp *w, const struct op *op, unsigned lane,
				    uint64_t addr, unsigned size, unsigned align,
				    enum ptx_space space)
{
	if (__builtin_expect(addr & (align - 1), 0))
		return memory_misaligned(w, op, lane, addr, size);
	if (space == SPACE_SHARED || space == SPACE_CLUSTER) {
		addr = (uint32_t)addr;
		if (__builtin_expect(addr > w->shared_size || size > w->shared_size - addr, 0))
			return memory_outside(w, op, lane, addr, size, "shared");
		return w->shared + addr;
	}
	if (space == SPACE_LOCAL) {
		if (__builtin_expect(addr > w->local_stride || size > w->local_stride - addr, 0))
			return memory_outside(w, op, lane, addr, size, "local");
		return w->local + lane * w->local_stride + addr;
	}
	if (__builtin_expect(addr - w->worker->range_base <= w->worker->range_size &&
			     size <= w->worker->range_size - (addr - w->worker->range_base), 1))
		return (unsigned char *)(uintptr_t)addr;
	return memory_find(w, op, lane, addr, size, space);
}

#endif
