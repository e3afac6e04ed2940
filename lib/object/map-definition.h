/* SPDX-License-Identifier: Apache-2.0 */
/* Map definitions as BTF describes them: variables of section .maps. */
#ifndef GT_OBJECT_MAP_DEFINITION_H
#define GT_OBJECT_MAP_DEFINITION_H

#include <bpf/btf.h>

#include "lib/object/prog.h"

struct gt_map_definition {
	struct gt_map_desc desc;	/* the name belongs to the btf */
	uint32_t extra;			/* map_extra */
};

/* Variables in section .maps; 0 when there is none. */
unsigned gt_map_definition_count(const struct btf *btf);

/* The index-th.  -ENOEXEC with gt_error() text: not a definition that libbpf would take. */
int gt_map_definition_read(const struct btf *btf, unsigned index, const char *object,
			   struct gt_map_definition *ret_definition);

#endif
