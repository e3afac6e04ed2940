/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the demangler share. */
#ifndef GT_IMAGE_DEMANGLE_STATE_H
#define GT_IMAGE_DEMANGLE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/agent/image/demangle.h"

#define DM_ARENA (256u << 10)	/* all text and tables of one name */
#define DM_DEPTH_MAX 128u
#define DM_SUBSTITUTIONS_MAX 1024u

enum dm_kind { DM_PLAIN, DM_ARRAY, DM_FUNCTION };		/* the last two: a '*' goes in parentheses */

/* A type or name: what stands before and after the thing declared. */
struct dm_text {
	const char *left, *right;
	uint8_t kind;
	uint8_t reference;			/* 1 '&', 2 "&&" */
	uint16_t param;				/* n + 1: it is the template parameter n, whatever that is here */
	const struct dm_pack *pack;		/* a template argument pack, else NULL */
};

struct dm_pack {
	unsigned count;
	const struct dm_text *items;
};

struct dm_name {
	const char *full;			/* with template arguments */
	const char *plain;			/* without the last ones */
	const char *last;			/* last component, for constructors */
	int is_template;			/* ends in template arguments: the return type is encoded */
	int no_return;				/* constructor, destructor, conversion */
	const char *qualifiers;			/* of a member function */
};

struct dm_state {
	const char *at;
	char *arena;
	size_t used;
	unsigned depth;
	struct dm_text substitutions[DM_SUBSTITUTIONS_MAX];
	unsigned substitution_count;
	const struct dm_pack *args;		/* template arguments in force */
	/* While a pack is being expanded: which element, and how many the pattern turned out to have. */
	int expanding;
	unsigned element, elements;
	int failed;				/* sticks; what is made then is empty */
};

extern const struct dm_text gt_dm_nothing;

/* ---- demangle-text.c: memory and characters ---- */
void gt_dm_fail(struct dm_state *s);
void *gt_dm_take(struct dm_state *s, size_t size);
/* The strings one after the other, up to NULL. */
const char *gt_dm_join(struct dm_state *s, ...) __attribute__((sentinel));
const char *gt_dm_slice(struct dm_state *s, const char *from, size_t length);
const char *gt_dm_whole(struct dm_state *s, const struct dm_text *t);
struct dm_text gt_dm_plain_text(const char *left);
void gt_dm_remember(struct dm_state *s, struct dm_text t);	/* as a substitution */
int gt_dm_is_digit(char c);
int gt_dm_eat(struct dm_state *s, const char *word);
unsigned gt_dm_number(struct dm_state *s);
/* "_" is 0, "0_" 1, and so on in the base. */
unsigned gt_dm_sequence(struct dm_state *s, unsigned base);
const char *gt_dm_cv_words(struct dm_state *s);

/* ---- demangle-name.c ---- */
struct dm_name gt_dm_name(struct dm_state *s);
const char *gt_dm_source_name(struct dm_state *s);
/* One component; `last` is the component before, for constructors. */
const char *gt_dm_unqualified(struct dm_state *s, const char *last, int *ret_no_return);
struct dm_text gt_dm_substitution(struct dm_state *s);
struct dm_text gt_dm_template_param(struct dm_state *s);

/* ---- demangle-args.c ---- */
const char *gt_dm_template_args(struct dm_state *s, const struct dm_pack **ret_args);

/* ---- demangle-type.c ---- */
struct dm_text gt_dm_type(struct dm_state *s);
/* Types up to 'E' or the end, in parentheses. */
const char *gt_dm_params(struct dm_state *s);

/* ---- demangle.c ---- */
/* A function with its parameters; parts may be NULL. */
const char *gt_dm_encoding(struct dm_state *s, struct gt_demangled *parts);

#endif
