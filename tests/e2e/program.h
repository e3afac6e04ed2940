/* SPDX-License-Identifier: Apache-2.0 */
/* What the traced programs of these tests have in common: the driver, found at run time. */
#ifndef TESTS_E2E_PROGRAM_H
#define TESTS_E2E_PROGRAM_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/wire/cuda_functions.h"

static struct {
#define X(name, since, params) CUresult (*name) params;
	GT_CUDA_FUNCTIONS(X)
#undef X
} cu;

static inline void check(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "target: %s: CUresult %d\n", what, (int)result);
	_exit(3);
}
#define CHECK(call) check(cu.call, #call)

/* An arena for each thread that meets another in malloc() would be memory in use by chance, and tests look at that. */
static inline __attribute__((constructor)) void have_one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
}

static inline void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "target: %s\n", dlerror());
		_exit(4);
	}
#define X(name, since, params) cu.name = (__typeof__(cu.name))dlsym(library, #name);
	GT_CUDA_FUNCTIONS(X)
#undef X
}

#endif
