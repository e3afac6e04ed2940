/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names in force at a place in PTX text, with their scopes.  An address
 * operand alone does not say how wide its register is; its declaration does.
 */
#ifndef GT_INSTRUMENT_NAMES_H
#define GT_INSTRUMENT_NAMES_H

#include <stdint.h>

enum ptx_class {
	PTX_CLASS_NONE,		/* not declared */
	PTX_CLASS_PREDICATE,
	PTX_CLASS_REG32,
	PTX_CLASS_REG64,
	PTX_CLASS_REG_OTHER,
	PTX_CLASS_GLOBAL,	/* variables, by state space */
	PTX_CLASS_SHARED,
	PTX_CLASS_LOCAL,
	PTX_CLASS_CONST,
	PTX_CLASS_PARAM,
	PTX_CLASS_FUNCTION,
	PTX_CLASS_KERNEL,
};

struct ptx_name;

struct ptx_names {
	const char *text;
	struct ptx_name *names;		/* innermost last */
	uint32_t count, room;
	uint32_t *scopes;		/* value of count where each scope began */
	uint32_t scope_count, scope_room;
	uint32_t *heads;		/* hash chains: index + 1, newest first */
};

int gt_names_init(struct ptx_names *names, const char *text);
void gt_names_done(struct ptx_names *names);

/* Scopes nest at most PTX_SCOPES_MAX deep: -E2BIG. */
#define PTX_SCOPES_MAX 1000u
int gt_names_push(struct ptx_names *names);
void gt_names_pop(struct ptx_names *names);

/*
 * Declare the name at text[at..at+length).  series > 0 declares the numbered
 * names NAME0 to NAME<series-1>.  id is for the caller.
 */
int gt_names_declare(struct ptx_names *names, uint32_t at, uint32_t length, uint32_t series,
		      enum ptx_class class, uint32_t id);

/* The innermost declaration; *ret_id may be NULL. */
enum ptx_class gt_names_find(const struct ptx_names *names, uint32_t at, uint32_t length,
			      uint32_t *ret_id);

#endif
