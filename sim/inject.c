/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA_INJECTION64_PATH: a library that the driver loads while it initialises,
 * so that a tool gets into any CUDA program.  A library that cannot be loaded is
 * passed over: the program shall run as it would without it.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "sim/driver.h"

void sim_inject(void)
{
	const char *path = secure_getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *library;

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	initialize = (int (*)(void))dlsym(library, "InitializeInjection");
	if (initialize)
		initialize();
}
