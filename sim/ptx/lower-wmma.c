/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of wmma, whose fragments have whatever layout the machine likes. */
#include <string.h>

#include "lower.h"
#include "matrix.h"

struct wmma_words {
	int load, store, mma;
	char part;			/* a, b, c, d */
	unsigned m, n, k;
	unsigned layout_count, columns[2];	/* by columns instead of rows */
	enum ptx_space space;
	enum ptx_type types[4];
	unsigned type_count;
	int saturate;
};

static int is(const struct ptx_mod *mod, const char *word)
{
	return strlen(word) == mod->length && !memcmp(mod->text, word, mod->length);
}

static int parse_shape(const struct ptx_mod *mod, struct wmma_words *words)
{
	static const struct {
		const char *word;
		unsigned m, n, k;
	} shapes[] = {
		{ "m16n16k16", 16, 16, 16 }, { "m32n8k16", 32, 8, 16 }, { "m8n32k16", 8, 32, 16 },
		{ "m16n16k8", 16, 16, 8 },
	};
	unsigned i;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (is(mod, shapes[i].word)) {
			words->m = shapes[i].m;
			words->n = shapes[i].n;
			words->k = shapes[i].k;
			return 1;
		}
	return 0;
}

static int parse_space(const struct ptx_mod *mod, struct wmma_words *words)
{
	if (is(mod, "global"))
		words->space = SPACE_GLOBAL;
	else if (is(mod, "shared") || is(mod, "shared::cta"))
		words->space = SPACE_SHARED;
	else
		return 0;
	return 1;
}

static void parse_word(struct lower *l, const struct ptx_mod *mod, struct wmma_words *words)
{
	enum ptx_type type = ptx_type_find(mod->text, mod->length);

	if (is(mod, "load")) {
		words->load = 1;
	} else if (is(mod, "store")) {
		words->store = 1;
	} else if (is(mod, "mma")) {
		words->mma = 1;
	} else if (mod->length == 1 && strchr("abcd", mod->text[0])) {
		words->part = mod->text[0];
	} else if ((is(mod, "row") || is(mod, "col")) && words->layout_count < 2) {
		words->columns[words->layout_count++] = is(mod, "col");
	} else if (type != T_NONE && words->type_count < 4) {
		words->types[words->type_count++] = type;
	} else if (is(mod, "satfinite")) {
		words->saturate = 1;
	} else if (!is(mod, "sync") && !is(mod, "aligned") && !parse_space(mod, words) &&
		   !parse_shape(mod, words)) {
		ptx_unsupported(l->ctx, l->insn->line, "wmma with '.%.*s' is not supported",
				(int)(mod->length > 60 ? 60 : mod->length), mod->text);
	}
}

/* Registers of a fragment as the definition has them; 0: no such fragment. */
static unsigned fragment_registers(const struct wmma_words *words, char part, enum ptx_type type)
{
	unsigned elements = (part == 'a' ? words->m : words->n) * words->k;

	if (part == 'c' || part == 'd')
		return words->k == 8 && type != T_F32 ? 0 : type == T_F32 || type == T_S32 ? 8 :
		       type == T_F16 ? 4 : 0;
	if (words->k == 8)
		return type == T_TF32 ? 4 : 0;
	switch (type) {
	case T_F16: return 8;
	case T_BF16: return elements / 64;
	case T_S8: case T_U8: return elements / 128;
	default: return 0;
	}
}

static enum ptx_type register_type(enum ptx_type type)
{
	return type == T_F32 || type == T_S32 ? type : T_B32;
}

static void make_fragment(struct lower *l, struct fragment *f, const struct wmma_words *words,
			  char part, enum ptx_type type, const struct ptx_operand *opd, int is_dest)
{
	uint32_t *slots;
	unsigned k;

	f->rows = part == 'b' ? words->k : words->m;
	f->columns = part == 'a' ? words->k : words->n;
	f->type = type;
	f->count = fragment_registers(words, part, type);
	if (!f->count)
		ptx_unsupported(l->ctx, l->insn->line, "wmma of .%s in this shape", ptx_types[type].name);
	if (opd->kind != OPD_VECTOR || opd->count != f->count)
		ptx_syntax(l->ctx, l->insn->line, "wmma needs %u registers here", f->count);
	slots = ptx_keep(l->ctx, f->count * sizeof(*slots));
	for (k = 0; k < f->count; k++)
		slots[k] = is_dest ? dest(l, &opd->list[k], register_type(type)) :
			   source(l, &opd->list[k], register_type(type));
	f->slots = slots;
}

static void lower_transfer(struct lower *l, const struct wmma_words *words)
{
	const struct ptx_operand *opds = l->insn->operands;
	struct wmma *w = ptx_keep(l->ctx, sizeof(*w));
	enum ptx_space space = words->space;
	unsigned flags = 0;
	uint64_t offset;
	uint32_t base, stride;
	struct op *op;

	want_operands(l, 2, 3);
	if (words->type_count != 1 || words->layout_count != 1 || !words->part)
		ptx_syntax(l->ctx, l->insn->line, "malformed wmma");
	make_fragment(l, &w->d, words, words->part, words->types[0], &opds[words->load ? 0 : 1],
		      words->load);
	w->by_columns = words->columns[0];
	if (l->insn->operand_count == 3)
		stride = source(l, &opds[2], T_B32);
	else
		stride = konst(l, w->by_columns ? w->d.rows : w->d.columns, 32);
	base = address(l, &opds[words->load ? 1 : 0], &space, &offset, &flags);
	op = emit(l, words->load ? op_wmma_load : op_wmma_store);
	op->a = base;
	op->imm = offset;
	op->flags = (uint16_t)flags;
	op->b = space;
	op->c = stride;
	op->ext = w;
}

static void lower_product(struct lower *l, const struct wmma_words *words)
{
	const struct ptx_operand *opds = l->insn->operands;
	struct wmma *w = ptx_keep(l->ctx, sizeof(*w));
	int four = words->type_count == 4;
	enum ptx_type type_a = four ? words->types[1] : T_F16, type_b = four ? words->types[2] : T_F16;
	enum ptx_type type_d = words->types[0], type_c = words->types[four ? 3 : 1];
	int integer = type_a == T_S8 || type_a == T_U8;

	want_operands(l, 4, 4);
	if ((!four && words->type_count != 2) || words->layout_count != 2 || type_a != type_b ||
	    integer != (type_d == T_S32) || integer != (type_c == T_S32) ||
	    ((type_a == T_BF16 || type_a == T_TF32) && (type_d != T_F32 || type_c != T_F32)))
		ptx_syntax(l->ctx, l->insn->line, "malformed wmma.mma");
	make_fragment(l, &w->a, words, 'a', type_a, &opds[1], 0);
	make_fragment(l, &w->b, words, 'b', type_b, &opds[2], 0);
	make_fragment(l, &w->c, words, 'c', type_c, &opds[3], 0);
	make_fragment(l, &w->d, words, 'd', type_d, &opds[0], 1);
	w->saturate = words->saturate;
	emit(l, op_wmma_mma)->ext = w;
}

void lower_wmma(struct lower *l, const struct insn_def *def)
{
	struct wmma_words words = { .space = SPACE_GENERIC };
	unsigned i;

	(void)def;
	for (i = 0; i < l->insn->mod_count; i++)
		parse_word(l, &l->insn->mods[i], &words);
	if (words.load + words.store + words.mma != 1 || !words.m)
		ptx_syntax(l->ctx, l->insn->line, "malformed wmma");
	lower_meeting(l);
	if (words.mma)
		lower_product(l, &words);
	else
		lower_transfer(l, &words);
}
