/* SPDX-License-Identifier: Apache-2.0 */
/* The driver as a compiler, and questions to the current device. */
#ifndef GT_AGENT_COMPILE_H
#define GT_AGENT_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

struct gt_compiled {
	void *code;	/* what the driver's linker made, malloc'd */
	size_t size;
};

/*
 * Compile PTX text for GPUs of a compute capability (times ten), and link it with another,
 * which may be NULL.  Done before an image is handed over, since lazy loading would otherwise
 * hide errors until the first launch.  False: `why` has the compiler's first words.
 */
bool gt_compile(const char *ptx, const char *other, unsigned arch, struct gt_compiled *ret_compiled,
		char *why, size_t why_size);

/* Compute capability times ten of the current context's device, of device 0 without one; 0: none. */
unsigned gt_device_arch(void);

#define GT_ARCHS_MAX 8
/* Those of all devices of the program, each once, first that of gt_device_arch(); how many. */
unsigned gt_device_archs(unsigned archs[GT_ARCHS_MAX]);

#endif
