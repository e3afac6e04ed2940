/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a cubin, of which the kernels are listed. */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *data, const struct gt_cubin_kernel *kernel)
{
	size_t *total = data;

	*total += strlen(kernel->name) + kernel->registers;
	return *total > 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t total = 0;
	const char *why;

	gt_cubin_kernels(data, size, look, &total, &why);
	return 0;
}
