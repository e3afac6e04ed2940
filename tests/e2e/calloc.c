/* SPDX-License-Identifier: Apache-2.0 */
#include "calloc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool (*on_calloc)(const char *file);

__attribute__((visibility("default")))
void *calloc(size_t count, size_t size)
{
	Dl_info caller;
	void *memory;

	if (on_calloc && dladdr(__builtin_return_address(0), &caller) && on_calloc(caller.dli_fname))
		return NULL;
	if (__builtin_mul_overflow(count, size, &size))
		return NULL;
	memory = malloc(size);
	if (memory)
		explicit_bzero(memory, size);	/* the compiler would make a calloc of memset */
	return memory;
}
