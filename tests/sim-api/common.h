/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the software device's driver share. */
#ifndef SIM_API_COMMON_H
#define SIM_API_COMMON_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/cuda_functions.h"
#include "tests/suite.h"

/* The driver itself, linked. */
#define X(name, since, params) CUresult name params;
GT_CUDA_FUNCTIONS(X)
#undef X

static inline void expect(CUresult got, CUresult want, const char *call, int line)
{
	const char *got_name = "?", *want_name = "?";

	cuGetErrorName(got, &got_name);
	cuGetErrorName(want, &want_name);
	ck_assert_msg(got == want, "line %d: %s gave %s, not %s", line, call, got_name, want_name);
}

#define OK(call)		expect(call, CUDA_SUCCESS, #call, __LINE__)
#define FAILS(call, error)	expect(call, CUDA_ERROR_##error, #call, __LINE__)

/*
 * The kernels:
 *	saxpy(u32 n, f32 a, f32 *x, f32 *y)	y[i] = a * x[i] + y[i]
 *	store(u32 *p, u32 v)			*p = v
 *	add(u32 *p, u32 v)			*p = *p + v, not atomic
 *	gid(u64 *p)				*p = %gridid
 *	spin(u32 *p, u32 v)			until *p == v
 *	fail()					traps
 *	shared(u32 *p)				64 bytes of shared memory; at most 128 threads
 * and a variable `counter` of 4 bytes with the value 41.
 */
extern const char test_ptx[];

/* cuInit, the primary context of device 0 current, and test_ptx loaded into it. */
CUmodule setup(void);
CUfunction function(CUmodule module, const char *name);
/* Let go of the primary context, whatever state it is in. */
void teardown(void);

/* One thread each, in a stream. */
void launch_store(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value);
void launch_add(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value);
void launch_spin(CUmodule module, CUstream stream, CUdeviceptr p, uint32_t value);

/* A word of pinned host memory, and a kernel that holds up a stream until it is released. */
uint32_t *gate_new(void);
void gate_open(uint32_t *gate);

#endif
