/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PTX machine of the software device: parses and checks PTX text and runs
 * kernels on the CPU.  It knows nothing of the driver API; sim/ puts libcuda's
 * functions on top of it.
 *
 * Addresses: device memory is ordinary memory of this process, so a generic or
 * .global address is a host address.  Which ranges a kernel may touch is the
 * caller's to say, through struct sim_memory.
 */
#ifndef SIM_PTX_H
#define SIM_PTX_H

#include <stddef.h>
#include <stdint.h>

struct sim_module;
struct sim_kernel;

/* A failure with its place, for the JIT error log and for launch errors. */
struct sim_error {
	char text[1024];	/* one sentence; for PTX errors it begins "ptx: line N: " */
	unsigned line;		/* line in the PTX text, 0 if unknown */
	int kind;		/* enum sim_error_kind */
};

enum sim_error_kind {
	SIM_OK,
	SIM_ERROR_SYNTAX,	/* malformed PTX */
	SIM_ERROR_UNSUPPORTED,	/* valid PTX that this machine does not run */
	SIM_ERROR_UNRESOLVED,	/* an .extern nobody defines */
	SIM_ERROR_ADDRESS,	/* access outside every valid range */
	SIM_ERROR_ALIGN,	/* misaligned access */
	SIM_ERROR_TRAP,		/* trap instruction or failed device assert */
	SIM_ERROR_LAUNCH,	/* impossible launch: too many threads, registers, shared memory */
	SIM_ERROR_MEMORY,	/* out of host memory */
};

/*
 * The device a module is loaded for and a kernel runs on.  Owned by the caller,
 * constant while modules refer to it.
 */
struct sim_device {
	unsigned arch;			/* compute capability times ten: 90 */
	unsigned sm_count;
	unsigned max_shared_per_block;	/* bytes, static + dynamic */
	/*
	 * Is [addr, addr + size) memory that kernels of this device may touch?
	 * 0 if it is, -1 if not.
	 * Must be safe to call from several threads.  On success sets
	 * *ret_base and *ret_size to the whole range, so that the machine can
	 * remember it for the rest of the launch.
	 */
	int (*check)(void *data, uint64_t addr, uint64_t size,
		     uint64_t *ret_base, uint64_t *ret_size);
	/*
	 * Allocate and free memory for module-scope variables and for the device's
	 * malloc(): zeroed, 256-byte aligned, within what check() accepts.  Safe to
	 * call from several threads, as are the two functions below.
	 */
	void *(*alloc)(void *data, size_t size);
	void (*release)(void *data, void *addr);
	/* Value of %globaltimer, ns. */
	uint64_t (*globaltimer)(void *data);
	/* Where device printf goes: one finished piece of text. */
	void (*print)(void *data, const char *text, size_t length);
	void *data;
};

struct sim_param {		/* one kernel parameter */
	uint32_t offset, size;
};

struct sim_kernel_info {
	const char *name;	/* valid as long as the module */
	unsigned param_count;
	const struct sim_param *params;
	uint32_t param_bytes;	/* size of the whole parameter block */
	uint32_t static_shared;	/* bytes */
	uint32_t local_bytes;	/* per thread, with room for its calls */
	uint32_t max_threads;	/* from .maxntid/.reqntid, else 1024 */
	uint32_t registers;	/* a plausible count */
	uint32_t ptx_version;	/* major * 10 + minor */
};

struct sim_launch {
	uint32_t grid[3], block[3];
	uint32_t cluster[3];	/* 0 or 1: none; a kernel's own cluster size goes before it */
	uint32_t dynamic_shared;
	uint64_t grid_id;	/* %gridid */
	int cooperative;	/* all blocks must be co-resident */
	const void *params;	/* param_bytes bytes */
};

/*
 * Parse, check and lay out PTX text (need not end in NUL).  Module-scope
 * variables are allocated through dev->alloc and initialised.
 * Returns 0, or -1 with *err filled in.  May be called from several threads.
 */
int sim_module_load(const struct sim_device *dev, const char *text, size_t length,
		    struct sim_module **ret_module, struct sim_error *err);
void sim_module_unload(struct sim_module *module);

/* Kernels in order of appearance; NULL past the end or when not found. */
struct sim_kernel *sim_module_kernel(struct sim_module *module, unsigned index);
struct sim_kernel *sim_module_find_kernel(struct sim_module *module, const char *name);
const struct sim_kernel_info *sim_kernel_info(const struct sim_kernel *kernel);

/* Address and size of a module-scope .global or .const variable; 0 or -1. */
int sim_module_find_variable(struct sim_module *module, const char *name,
			     uint64_t *ret_addr, uint64_t *ret_size);

/*
 * Run a kernel to its end on the calling thread (it may use helper threads of
 * its own while it runs).  Returns 0, or -1 with *err filled in; err->text then
 * names kernel, PTX line, block and thread, and address where there is one.
 */
int sim_kernel_run(const struct sim_kernel *kernel, const struct sim_launch *launch,
		   struct sim_error *err);

#endif
