/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/image/demangle.h"
#include "lib/agent/image/image.h"
#include "lib/util/glob.h"

/* Blanks in C++ names are a matter of taste: "unsigned int*, T<A<int> >". */
static char *without_blanks(const char *s)
{
	char *text = malloc(strlen(s) + 1), *to = text;

	if (!text)
		return NULL;
	for (; *s; s++)
		if (*s != ' ')
			*to++ = *s;
	*to = '\0';
	return text;
}

static int matches(const char *glob, const char *name)
{
	char *text = without_blanks(name);
	int yes = text && gt_glob(glob, text, strlen(text));

	free(text);
	return yes;
}

int gt_kernel_matches(const char *glob, const char *name)
{
	struct gt_demangled parts;
	char *plain_glob;
	int yes;

	if (gt_glob(glob, name, strlen(name)))
		return 1;
	if (gt_demangle_function(name, &parts) < 0)
		return 0;
	plain_glob = without_blanks(glob);
	yes = plain_glob &&
	      (matches(plain_glob, parts.full) || matches(plain_glob, parts.call) ||
	       matches(plain_glob, parts.name) || matches(plain_glob, parts.plain));
	free(plain_glob);
	free(parts.memory);
	return yes;
}
