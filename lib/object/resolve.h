/* SPDX-License-Identifier: Apache-2.0 */
/* From the sections of an object to one program's instructions with everything resolved. */
#ifndef GT_OBJECT_RESOLVE_H
#define GT_OBJECT_RESOLVE_H

#include <bpf/btf.h>
#include <stdbool.h>

#include "lib/object/elf-file.h"
#include "lib/object/object.h"


struct gt_resolver {
	const struct gt_elf_file *file;
	const struct btf *btf;		/* for source lines; may be NULL */
	struct gputrace_object *object;
	unsigned maps_section;		/* index of .maps, 0: none */
	const unsigned *data_maps;	/* by section: index of its map + 1, 0: none */
};

/*
 * Fill program->prog: the function that `symbol` names, then every function that
 * it reaches, with references to maps and functions turned into indices.
 * -ENOEXEC: the object is damaged; -ENOTSUP: refers to something a GPU cannot
 * have; -ENOMEM; with gt_error() text.
 */
int gt_resolve_program(const struct gt_resolver *resolver, const struct gt_elf_symbol *symbol,
		       struct gputrace_program *program);

#define GT_BPFTIME_HELPER_FIRST 501
#define GT_BPFTIME_HELPER_LAST 511

/*
 * Does the function at `symbol` use what only bpftime's GPU programs have?
 * is_bpftime says for each map whether it was declared with one of its types.
 */
bool gt_resolve_looks_like_bpftime(const struct gt_resolver *resolver,
				   const struct gt_elf_symbol *symbol, const bool *is_bpftime);

/* Index of the map that a symbol of .maps names at an offset; -ENOENT. */
int gt_resolve_map(const struct gt_resolver *resolver, uint64_t offset);

#endif
