/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, libraries and the kernels in them. */
#ifndef SIM_MODULE_H
#define SIM_MODULE_H

#include "sim/image.h"

struct CUfunc_st {
	struct CUmod_st *module;
	struct sim_kernel *kernel;
	const struct sim_kernel_info *info;
	CUkernel kern;			/* if the module belongs to a library */
	int max_dynamic;		/* bytes of dynamic shared memory a launch may ask for */
	int carveout;
	int cluster_policy;
	int non_portable_cluster;
};

struct CUmod_st {
	struct CUctx_st *ctx;		/* NULL: of a library, waits for a context to take it */
	struct CUmod_st *next;		/* in the context */
	struct sim_gpu *gpu;
	struct CUlib_st *library;	/* NULL: loaded as a module */
	struct sim_text text;		/* put off: what has to be compiled yet */
	struct sim_module *machine;
	struct CUfunc_st *functions;
	unsigned function_count;
};

struct CUkern_st {
	struct CUlib_st *library;
	unsigned index;
	struct sim_kernel_info info;		/* name and parameters are owned */
	int max_dynamic[SIM_MAX_DEVICES];	/* -1: not set */
};

struct CUlib_st {
	struct sim_text texts[SIM_MAX_DEVICES];	/* by device, for contexts that come to use it; NULL: nothing fits */
	struct sim_gpu *home;		/* the device that it is compiled for at first */
	struct CUmod_st *first;		/* until a context of its device takes it over */
	struct CUkern_st *kernels;
	unsigned kernel_count;
};

/* Guards contexts' lists of modules and what libraries have loaded. */
extern pthread_mutex_t sim_modules_lock;

/* CUDA_MODULE_LOADING=LAZY: code is compiled when something in it is asked for, and what is wrong with it shows then. */
bool sim_is_lazy(void);

CUresult sim_module_new(struct CUctx_st *ctx, struct sim_gpu *gpu, const struct sim_text *text,
			struct sim_jit *jit, struct CUmod_st **ret_module);
void sim_module_free(struct CUmod_st *module);
void sim_context_free_modules(struct CUctx_st *ctx);

/* A function out of what the caller gave: a CUfunction, or a CUkernel in its place. */
CUresult sim_function(CUfunction handle, struct CUctx_st *ctx, struct CUfunc_st **ret_function);
CUresult sim_kernel_function(CUkernel kern, struct CUctx_st *ctx, struct CUfunc_st **ret_function);

CUresult sim_function_attribute(const struct CUfunc_st *function, CUfunction_attribute attribute,
				int *ret_value);
CUresult sim_function_set_attribute(struct CUfunc_st *function, CUfunction_attribute attribute,
				    int value);
CUresult sim_param_info(const struct sim_kernel_info *info, size_t index, size_t *ret_offset,
			size_t *ret_size);
/* Blocks of this kernel that fit on one multiprocessor. */
unsigned sim_occupancy(const struct CUfunc_st *function, unsigned threads, size_t dynamic);

#endif
