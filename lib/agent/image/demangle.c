/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle-state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gt_dm_encoding(struct dm_state *s, struct gt_demangled *parts)
{
	const struct dm_pack *args = s->args;
	const char *list = "", *call;
	struct dm_text result = gt_dm_nothing;
	struct dm_name n;

	s->args = NULL;
	n = gt_dm_name(s);
	/* The name alone is worth having, should the rest not be understood. */
	if (parts && !s->failed)
		*parts = (struct gt_demangled){ parts->memory, n.full, n.full, n.full, n.plain };
	if (*s->at && *s->at != 'E' && *s->at != '.') {
		if (n.is_template && !n.no_return) {
			result = gt_dm_type(s);
			result.left = result.kind == DM_PLAIN && !*result.right ?
				gt_dm_join(s, result.left, " ", NULL) : result.left;
		}
		list = gt_dm_params(s);
	}
	call = gt_dm_join(s, n.full, list, *list ? n.qualifiers : "", NULL);
	s->args = args;
	result.left = gt_dm_join(s, result.left, call, result.right, NULL);
	if (parts && !s->failed && (!*s->at || *s->at == '.')) {
		parts->call = call;
		parts->full = result.left;
	}
	return result.left;
}

int gt_demangle_function(const char *mangled, struct gt_demangled *ret_demangled)
{
	struct gt_demangled parts = { 0 };
	struct dm_state *s;

	/* Older nvcc put a file's name in front of static functions. */
	if (!strncmp(mangled, "__nv_static_", 12)) {
		mangled = strstr(mangled, "__Z");
		mangled = mangled ? mangled + 1 : "";
	}
	if (strncmp(mangled, "_Z", 2))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	parts.memory = malloc(DM_ARENA);
	if (!s || !parts.memory) {
		free(s);
		free(parts.memory);
		return -ENOMEM;
	}
	s->arena = parts.memory;
	s->at = mangled + 2;
	gt_dm_encoding(s, &parts);
	free(s);
	if (!parts.name) {
		free(parts.memory);
		return -EINVAL;
	}
	*ret_demangled = parts;
	return 0;
}
