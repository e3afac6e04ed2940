/* SPDX-License-Identifier: Apache-2.0 */
#include "calloc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

calloc_handler *_Atomic on_calloc;

__attribute__((visibility("default")))
void *calloc(size_t count, size_t size)
{
	calloc_handler *handler = on_calloc;
	Dl_info caller;
	void *memory;

	if (handler && dladdr(__builtin_return_address(0), &caller) && handler(caller.dli_fname))
		return NULL;
	if (__builtin_mul_overflow(count, size, &size))
		return NULL;
	memory = malloc(size);
	if (memory)
		explicit_bzero(memory, size);	/* the compiler would make a calloc of memset */
	return memory;
}
