/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/demangle.h"

#include <libiberty/demangle.h>
#include <string.h>

char *gt_demangle(const char *name)
{
	/* A hostile name can make the demangler work for a very long time. */
	char *plain = strlen(name) < 4096 ? cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI) : NULL;

	return plain ? plain : strdup(name);
}
