/* SPDX-License-Identifier: Apache-2.0 */
/* A library for test-inject: says how often it was called and what it could do. */
#include <stdio.h>
#include <unistd.h>

#include "lib/wire/cuda_functions.h"

CUresult cuDeviceGetCount(int *count);
CUresult cuInit(unsigned flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **entry, int version, uint64_t flags,
			     CUdriverProcAddressQueryResult *status);

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	CUdriverProcAddressQueryResult status;
	void *entry = NULL;
	int count = 0, r;

	r = cuDeviceGetCount(&count);
	cuInit(0);
	cuGetProcAddress_v2("cuLaunchKernel", &entry, 12000, 0, &status);
	dprintf(STDOUT_FILENO, "injected: result %d, %d device, entry %d\n", r, count, entry != NULL);
	return 1;
}
