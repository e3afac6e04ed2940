/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory a kernel may touch, and whose it is. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "sim/driver.h"

enum sim_memory_kind {
	SIM_MEMORY_DEVICE,
	SIM_MEMORY_MODULE,	/* a variable of a module */
	SIM_MEMORY_MANAGED,
	SIM_MEMORY_HOST,	/* allocated by the driver for the host */
	SIM_MEMORY_REGISTERED,	/* the program's own, made known */
};

struct sim_range {
	uint64_t base, size;
	enum sim_memory_kind kind;
	unsigned flags;			/* of the call that made it */
	uint64_t id;			/* never used twice */
	struct sim_gpu *gpu;
	struct CUctx_st *ctx;		/* NULL for variables of modules */
	size_t mapped;			/* bytes to unmap; 0: to free() */
};

/* The range that holds addr, copied; false if there is none. */
bool sim_memory_find(uint64_t addr, struct sim_range *ret_range);
/* Is all of [addr, addr + size) in one range? */
bool sim_memory_holds(uint64_t addr, uint64_t size);

CUresult sim_memory_new(struct sim_gpu *gpu, struct CUctx_st *ctx, enum sim_memory_kind kind,
			size_t size, unsigned flags, uint64_t *ret_addr);
CUresult sim_memory_register(struct CUctx_st *ctx, void *addr, size_t size, unsigned flags);
/* Forget, and free unless registered, the range that begins at addr; false if none of that kind. */
bool sim_memory_free(uint64_t addr, unsigned kinds);	/* kinds: a set of 1 << kind */
void sim_memory_free_all(struct CUctx_st *ctx);
void sim_memory_info(const struct sim_gpu *gpu, size_t *ret_free, size_t *ret_total);
size_t sim_memory_total(void);

/* For struct sim_device; data is the struct sim_gpu.  sim_memory_check() returns 0 if all is valid. */
int sim_memory_check(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base,
		     uint64_t *ret_size);
void *sim_memory_alloc_variable(void *data, size_t size);
void sim_memory_free_variable(void *data, void *addr);

#endif
