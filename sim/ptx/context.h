/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of one load.  Everything allocated here lives in arenas, so an error
 * found anywhere below sim_module_load() may leave by longjmp: ptx_fail() does
 * not return, and the loader frees the arenas.
 */
#ifndef SIM_PTX_CONTEXT_H
#define SIM_PTX_CONTEXT_H

#include <setjmp.h>

#include "../ptx.h"
#include "arena.h"
#include "ast.h"
#include "lex.h"

struct ptx_ctx {
	jmp_buf out;
	struct sim_error *err;
	const struct sim_device *dev;
	struct arena arena;	/* what the front end needs; freed after the load */
	struct arena *keep;	/* what lives as long as the module */

	struct ptx_lexer lexer;
	struct ptx_token tok;	/* current, not consumed */
	struct ptx_scope globals;
	struct ptx_scope *scope;
	struct ptx_func *func;
	unsigned depth;

	unsigned version;	/* major * 10 + minor */
	int seen_target;
	struct ptx_func **funcs;
	unsigned func_count, func_room;
	struct ptx_sym **vars;	/* every variable of module scope, and .shared or .global of functions */
	unsigned var_count, var_room;
};

void ptx_fail(struct ptx_ctx *ctx, int kind, unsigned line, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));
#define ptx_syntax(ctx, line, ...) ptx_fail(ctx, SIM_ERROR_SYNTAX, line, __VA_ARGS__)
#define ptx_unsupported(ctx, line, ...) ptx_fail(ctx, SIM_ERROR_UNSUPPORTED, line, __VA_ARGS__)

/* Zeroed memory; leaves by ptx_fail() when there is none. */
void *ptx_alloc(struct ptx_ctx *ctx, size_t size);
void *ptx_keep(struct ptx_ctx *ctx, size_t size);
void *ptx_array(struct ptx_ctx *ctx, size_t count, size_t size);

/*
 * Room for one more element in an array that grows by doubling; returns the
 * array, which may have moved.
 */
void *ptx_grow(struct ptx_ctx *ctx, void *array, unsigned count, unsigned *room, size_t size);

/* symbol.c */
struct ptx_name ptx_name_of(struct ptx_ctx *ctx, const char *text, unsigned length);
struct ptx_sym *ptx_sym_add(struct ptx_ctx *ctx, struct ptx_scope *scope, enum ptx_sym_kind kind,
			    const struct ptx_name *name, unsigned line);
struct ptx_sym *ptx_sym_find_here(struct ptx_scope *scope, const struct ptx_name *name);
struct ptx_sym *ptx_sym_find(struct ptx_ctx *ctx, struct ptx_scope *scope,
			     const struct ptx_name *name);

/* parse.c: token handling shared by the parts of the parser */
void ptx_next(struct ptx_ctx *ctx);
int ptx_is_punct(const struct ptx_ctx *ctx, int punct);
int ptx_is_dot(const struct ptx_ctx *ctx, const char *word);
int ptx_take_punct(struct ptx_ctx *ctx, int punct);
void ptx_expect_punct(struct ptx_ctx *ctx, int punct, const char *where);
struct ptx_name ptx_expect_name(struct ptx_ctx *ctx, const char *what);
struct ptx_token ptx_peek(struct ptx_ctx *ctx);
void ptx_enter(struct ptx_ctx *ctx);	/* bounds nesting; pair with ptx_leave() */
void ptx_leave(struct ptx_ctx *ctx);
void ptx_parse(struct ptx_ctx *ctx);

/* parse-expr.c */
uint64_t ptx_parse_const(struct ptx_ctx *ctx);
void ptx_parse_init_value(struct ptx_ctx *ctx, enum ptx_type type, struct ptx_init *init);

/* parse-decl.c */
int ptx_parse_space(struct ptx_ctx *ctx, enum ptx_space *ret_space);
void ptx_parse_variables(struct ptx_ctx *ctx, enum ptx_linkage linkage);
struct ptx_sym **ptx_parse_params(struct ptx_ctx *ctx, struct ptx_scope *scope, int is_entry,
				  unsigned *ret_count);
uint64_t ptx_mask_to(uint64_t value, unsigned size);

/* parse-insn.c */
void ptx_parse_instruction(struct ptx_ctx *ctx);

/* parse-func.c */
void ptx_parse_function(struct ptx_ctx *ctx, enum ptx_linkage linkage, int is_entry);
struct ptx_func *ptx_func_new(struct ptx_ctx *ctx, const struct ptx_name *name, unsigned line);

#endif
