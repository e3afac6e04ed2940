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
 * Compile PTX text for the current device, and link it with another, which may be NULL.
 * Done before an image is handed over, since lazy loading would otherwise hide errors
 * until the first launch.  False: `why` has the compiler's first words.
 */
bool gt_compile(const char *ptx, const char *other, struct gt_compiled *ret_compiled, char *why, size_t why_size);

/* Compute capability times ten of the current context's device, of device 0 without one; 0: none. */
unsigned gt_device_arch(void);

#endif
