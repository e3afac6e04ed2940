/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a mangled name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_demangled parts;
	char *name = malloc(size + 1);

	memcpy(name, data, size);
	name[size] = '\0';
	if (!gt_demangle_function(name, &parts)) {
		/* All four are strings. */
		if (strlen(parts.full) + strlen(parts.call) + strlen(parts.name) + strlen(parts.plain) > 1 << 20)
			abort();
		free(parts.memory);
	}
	free(name);
	return 0;
}
