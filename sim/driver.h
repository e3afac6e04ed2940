/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the software device's driver share: contexts, the state of
 * the library, handles.
 *
 * A function cuX of the driver is exported by an entry stub (entries.c) that
 * jumps to sim_cuX, which is an ordinary C function in one of these files.
 */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lib/wire/cuda_functions.h"
#include "sim/ptx.h"

#define SIM_DRIVER_VERSION	13000
#define SIM_MAX_DEVICES		16
#define SIM_LIMITS		8

#define X(name, since, params) CUresult sim_##name params;
GT_CUDA_FUNCTIONS(X)
#undef X

/* One software device, made at cuInit from the environment. */
struct sim_gpu {
	CUdevice ordinal;
	unsigned number;		/* of the device in the machine: its UUID, PCI address and timer */
	int64_t drift;			/* of its timer, parts per billion */
	struct sim_device machine;	/* what kernels run on */
	struct CUctx_st *primary;	/* made at the first retain, then kept */
	unsigned peers[SIM_MAX_DEVICES];	/* contexts here that may use memory there */
	CUmemoryPool pool;
};

struct CUctx_st {
	struct sim_gpu *gpu;
	struct CUctx_st *next;		/* contexts are never freed: see context.c */
	uint64_t id;
	unsigned flags;
	unsigned api_version;
	unsigned retained;		/* uses of a primary context */
	bool primary;
	atomic_bool alive;
	atomic_int error;		/* CUresult of the first kernel that failed */
	atomic_uint_least64_t grid_id;	/* last %gridid given out */
	atomic_uint queued;		/* operations not done yet */
	struct CUstream_st *legacy;	/* the default stream; first of streams */
	struct CUstream_st *streams;
	struct sim_op **orphans;	/* last operations of destroyed streams */
	size_t orphan_count;
	struct CUevent_st *events;
	struct CUmod_st *modules;
	size_t limits[SIM_LIMITS];
	CUfunc_cache cache_config;
	bool peer[SIM_MAX_DEVICES];
};

/* context.c: fail unless cuInit was called; find the current, healthy context. */
CUresult sim_ready(void);
CUresult sim_current(struct CUctx_st **ret_ctx);
CUresult sim_context_check(struct CUctx_st *ctx);	/* initialised, alive and without error */
void sim_context_fail(struct CUctx_st *ctx, CUresult error, const char *text);
/* All contexts, dead ones too: after NULL the first, NULL after the last. */
struct CUctx_st *sim_context_next(struct CUctx_st *ctx);
struct CUctx_st *sim_context_of(CUdevice dev);	/* current one if on dev, else primary, else NULL */

/* device.c */
CUresult sim_devices_init(void);
unsigned sim_device_count(void);
struct sim_gpu *sim_gpu(CUdevice dev);		/* NULL if there is none */
/* Common start of a call about a device; arguments: they are not NULL and have values that there are. */
CUresult sim_gpu_for(CUdevice dev, bool arguments, struct sim_gpu **ret_gpu);
CUresult sim_gpu_attribute(const struct sim_gpu *gpu, CUdevice_attribute attribute, int *ret_value);

/* visible.c */
unsigned sim_visible_devices(unsigned count, unsigned numbers[SIM_MAX_DEVICES]);	/* how many */
#define SIM_PCI_BUS 0xf0	/* plus its number */
void sim_device_uuid(unsigned number, CUuuid *ret_uuid);

/* clock.c: a device's timer, ns; what %globaltimer reads. */
#define SIM_DRIFT_MAX 1000	/* parts per million */
void sim_clock_init(void);
void sim_clock_init_gpu(struct sim_gpu *gpu);
uint64_t sim_clock(const struct sim_gpu *gpu);
uint64_t sim_now(void);		/* CLOCK_MONOTONIC ns */

/* inject.c */
void sim_inject(void);

/* handle.c: which pointers are live handles, so that a stale one is refused and not followed. */
enum sim_kind {
	SIM_STREAM = 1, SIM_EVENT, SIM_MODULE, SIM_FUNCTION, SIM_LIBRARY, SIM_KERNEL,
	SIM_GRAPH, SIM_NODE, SIM_EXEC, SIM_LINK, SIM_POOL,
};
bool sim_handle_add(const void *handle, enum sim_kind kind);	/* false: out of memory */
void sim_handle_remove(const void *handle);
bool sim_handle_is(const void *handle, enum sim_kind kind);

#endif
