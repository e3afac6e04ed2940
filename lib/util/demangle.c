/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/demangle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/demangle.h"

#define NAME_MAX_BYTES 65535u	/* more than compilers make */

char *gt_demangle(const char *name)
{
	struct gt_demangled parts;
	char *plain;
	int r;

	if (strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
		return strndup(name, NAME_MAX_BYTES);
	r = gt_demangle_function(name, &parts);
	if (r == -ENOMEM)
		return NULL;
	if (r < 0)
		return strdup(name);
	plain = strdup(parts.full);
	free(parts.memory);
	return plain;
}
