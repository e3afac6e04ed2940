/* SPDX-License-Identifier: Apache-2.0 */
/* What an opened object holds; for the other parts of the library. */
#ifndef GT_OBJECT_OBJECT_H
#define GT_OBJECT_OBJECT_H

#include <stddef.h>

#include "lib/object/map.h"
#include "lib/object/prog.h"

struct gputrace_ctx;
struct btf;
struct gt_verify_result;

struct gputrace_program {
	struct gputrace_object *object;
	char *name, *section;
	int point;			/* enum gputrace_point */
	int granularity;		/* enum gputrace_granularity */
	char *pattern;			/* NULL for kernel programs */
	char *opcode;			/* GPUTRACE_POINT_INST, else NULL */
	struct gt_prog prog;		/* GPU programs only, else without instructions */
	char *log;			/* of the last compilation, may be NULL */
	bool adds_later;		/* what it adds to, nobody on the GPU reads */
	struct gt_verify_result *proof;	/* gt_program_prove()'s, may be NULL */
	int verdict;			/* what came with it, */
	uint64_t proof_revision;	/* of the object as it was then */
};

struct gputrace_object {
	int refs;
	struct gputrace_ctx *ctx;
	char *name;
	void *data;			/* the file, NULL when made from instructions */
	size_t data_size;
	struct btf *btf;		/* source lines point into it; may be NULL */
	struct gputrace_program **programs;
	unsigned program_count;
	struct gputrace_map **maps;	/* gt_prog.maps in the same order */
	const struct gt_map_desc **descs;
	unsigned map_count;
	uint64_t revision;		/* goes up with each change of maps or constants, which proofs depend on */
};

/* An empty object; takes its own copy of name. */
int gt_object_new(struct gputrace_ctx *ctx, const char *name, struct gputrace_object **ret_object);

struct gt_attach_point;

/* Add a program without instructions. */
int gt_object_add_program(struct gputrace_object *object, const char *name, const char *section,
			  const struct gt_attach_point *point, struct gputrace_program **ret_program);

/* Add a map; desc->name is copied.  `initial`: its first bytes, or NULL. */
int gt_object_add_map(struct gputrace_object *object, const struct gt_map_desc *desc,
		      uint32_t slots, const void *initial, size_t initial_size,
		      struct gputrace_map **ret_map);

void gt_object_drop_last_map(struct gputrace_object *object);

/* The bytes of the object file, for libbpf; NULL when there was none. */
const void *gt_object_file(const struct gputrace_object *object, size_t *ret_size);

/* -EINVAL with gt_error() text: NULL in place of a program. */
int gt_program_check(const struct gputrace_program *program);

/* Fill an empty object from its file. */
int gt_object_load_file(struct gputrace_object *object);

/* Replace a program's log; `log` is malloc'd and taken over, may be NULL. */
void gt_program_set_log(struct gputrace_program *program, char *log);

#endif
