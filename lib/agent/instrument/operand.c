/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/operand.h"

#include <errno.h>
#include <string.h>

struct piece {			/* of an opcode, between dots */
	const char *s;
	uint32_t length;
};

#define PIECES 32u

struct opcode {
	struct piece piece[PIECES];
	uint32_t count;
};

static int is(const struct piece *piece, const char *word)
{
	return strlen(word) == piece->length && !memcmp(piece->s, word, piece->length);
}

static int begins(const struct piece *piece, const char *word)
{
	size_t n = strlen(word);

	return n <= piece->length && !memcmp(piece->s, word, n);
}

static void split(const char *s, struct opcode *ret_opcode)
{
	size_t n;

	ret_opcode->count = 0;
	while (ret_opcode->count < PIECES) {
		n = strcspn(s, ".");
		ret_opcode->piece[ret_opcode->count++] = (struct piece){ s, (uint32_t)n };
		if (!s[n])
			break;
		s += n + 1;
	}
}

uint32_t gt_ptx_type_size(const char *word, uint32_t length)
{
	static const struct {
		char name[7];
		uint8_t size;
	} types[] = {
		{ "b8", 1 }, { "u8", 1 }, { "s8", 1 },
		{ "b16", 2 }, { "u16", 2 }, { "s16", 2 }, { "f16", 2 }, { "bf16", 2 },
		{ "b32", 4 }, { "u32", 4 }, { "s32", 4 }, { "f32", 4 },
		{ "f16x2", 4 }, { "bf16x2", 4 },
		{ "b64", 8 }, { "u64", 8 }, { "s64", 8 }, { "f64", 8 }, { "f32x2", 8 },
		{ "b128", 16 },
		{ "e4m3", 1 }, { "e5m2", 1 }, { "e4m3x2", 2 }, { "e5m2x2", 2 },
		{ "e4m3x4", 4 }, { "e5m2x4", 4 },
	};
	size_t i;

	if (length && word[0] == '.') {
		word++;
		length--;
	}
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == length && !memcmp(types[i].name, word, length))
			return types[i].size;
	return 0;
}

int gt_ptx_number(const char *word, uint32_t length, uint32_t *ret_value)
{
	uint64_t value = 0;
	uint32_t base = 10, i = 0, digit;

	if (length && (word[length - 1] == 'U' || word[length - 1] == 'u'))
		length--;
	if (length > 2 && word[0] == '0' && (word[1] | 32) == 'x') {
		base = 16;
		i = 2;
	} else if (length > 2 && word[0] == '0' && (word[1] | 32) == 'b') {
		base = 2;
		i = 2;
	} else if (length > 1 && word[0] == '0') {
		base = 8;
		i = 1;
	}
	if (i == length)
		return -EINVAL;
	for (; i < length; i++) {
		if (word[i] >= '0' && word[i] <= '9')
			digit = (uint32_t)(word[i] - '0');
		else if ((word[i] | 32) >= 'a' && (word[i] | 32) <= 'f')
			digit = (uint32_t)((word[i] | 32) - 'a') + 10;
		else
			return -EINVAL;
		if (digit >= base)
			return -EINVAL;
		value = value * base + digit;
		if (value > UINT32_MAX)
			return -EINVAL;
	}
	*ret_value = (uint32_t)value;
	return 0;
}

/* The n-th state space named by the opcode; -1: a space that is not memory to us. */
static int nth_space(const struct opcode *opcode, unsigned n, int *ret_named)
{
	static const struct {
		const char *name;
		int space;
	} spaces[] = {
		{ "global", GT_SPACE_GLOBAL }, { "shared", GT_SPACE_SHARED },
		{ "local", GT_SPACE_LOCAL }, { "param", -1 }, { "const", -1 },
	};
	const struct piece *piece;
	uint32_t i, j;

	for (i = 1; i < opcode->count; i++) {
		piece = &opcode->piece[i];
		for (j = 0; j < sizeof(spaces) / sizeof(spaces[0]); j++) {
			size_t length = strlen(spaces[j].name);

			if (!begins(piece, spaces[j].name) ||
			    (piece->length > length && piece->s[length] != ':'))
				continue;
			if (n--)
				break;
			*ret_named = 1;
			return spaces[j].space;
		}
	}
	*ret_named = 0;
	return GT_SPACE_GENERIC;
}

static int names_cluster(const struct opcode *opcode)
{
	uint32_t i;

	for (i = 1; i < opcode->count; i++)
		if (is(&opcode->piece[i], "shared::cluster"))
			return 1;
	return 0;
}

/* Element size times vector length; 0 when no type is named. */
static uint32_t access_size(const struct opcode *opcode)
{
	uint32_t i, size = 0, lanes = 1;

	for (i = opcode->count; i-- > 1;) {
		const struct piece *piece = &opcode->piece[i];

		if (!size)
			size = gt_ptx_type_size(piece->s, piece->length);
		if (is(piece, "v2"))
			lanes = 2;
		else if (is(piece, "v4"))
			lanes = 4;
		else if (is(piece, "v8"))
			lanes = 8;
	}
	return size * lanes;
}

static int punct(const struct ptx_token *token, char c)
{
	return token->kind == PTX_PUNCT && token->c == c;
}

/* Index of the n-th '[' among the operands, count when there is none. */
static uint32_t nth_bracket(const struct ptx_token *operands, uint32_t count, unsigned n)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (punct(&operands[i], '[') && !n--)
			break;
	return i;
}

static uint32_t matching_bracket(const struct ptx_token *operands, uint32_t count, uint32_t i)
{
	while (i < count && !punct(&operands[i], ']'))
		i++;
	return i;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct ptx_range span(const struct ptx_token *first, const struct ptx_token *past)
{
	return (struct ptx_range){ first->at, past->at - first->at };
}

/* Is every token from `from` to `end` one that a constant expression may have? */
static int is_constant(const struct ptx_token *operands, uint32_t from, uint32_t end)
{
	for (; from < end; from++)
		if (operands[from].kind == PTX_WORD ? !is_digit(operands[from].c) :
		    operands[from].kind != PTX_PUNCT || !strchr("+-*/%()<>&|^~!", operands[from].c))
			return 0;
	return 1;
}

/* Reads "[base+offset]" at operands[i]. */
static void read_address(const struct ptx_names *names, const struct ptx_token *operands,
			 uint32_t count, uint32_t i, struct ptx_access *access)
{
	uint32_t end = matching_bracket(operands, count, i);
	const struct ptx_token *base;
	enum ptx_class class;

	access->base_kind = PTX_BASE_UNKNOWN;
	/* name[3] indexes an array: unit and base would have to be guessed. */
	if (end >= count || end == i + 1 || (i && operands[i - 1].kind == PTX_WORD))
		return;
	base = &operands[i + 1];
	if (is_constant(operands, i + 1, end)) {
		access->offset = span(base, &operands[end]);
		access->base_kind = PTX_BASE_NUMBER;
		return;
	}
	if (base->kind != PTX_WORD)
		return;
	if (end > i + 2 && (!punct(&operands[i + 2], '+') || end == i + 3 ||
			    !is_constant(operands, i + 3, end)))
		return;
	access->base = (struct ptx_range){ base->at, base->length };
	if (end > i + 2)
		access->offset = span(&operands[i + 3], &operands[end]);
	class = gt_names_find(names, base->at, base->length, NULL);
	switch (class) {
	case PTX_CLASS_REG32:
		access->base_kind = PTX_BASE_REG32;
		break;
	case PTX_CLASS_REG64:
		access->base_kind = PTX_BASE_REG64;
		break;
	case PTX_CLASS_GLOBAL:
	case PTX_CLASS_SHARED:
	case PTX_CLASS_LOCAL:
		access->base_kind = PTX_BASE_SYMBOL;
		if (access->space == GT_SPACE_GENERIC)
			access->space = class == PTX_CLASS_GLOBAL ? GT_SPACE_GLOBAL :
					class == PTX_CLASS_SHARED ? GT_SPACE_SHARED :
					GT_SPACE_LOCAL;
		break;
	default:
		break;
	}
}

/* Takes the operand after the comma at operands[i] as the size, if it is one. */
static uint32_t read_size(const char *text, const struct ptx_names *names,
			  const struct ptx_token *operands, uint32_t count, uint32_t i,
			  struct ptx_access *access)
{
	const struct ptx_token *word;
	struct ptx_range range;
	enum ptx_class class;
	uint32_t value;

	if (i + 1 >= count || !punct(&operands[i], ',') || operands[i + 1].kind != PTX_WORD)
		return 0;
	word = &operands[i + 1];
	range = (struct ptx_range){ word->at, word->length };
	if (!gt_ptx_number(text + word->at, word->length, &value)) {
		access->size = value;
		access->size_operand.length = 0;
		return i + 2;
	}
	class = gt_names_find(names, word->at, word->length, NULL);
	if (class == PTX_CLASS_REG32)
		access->size_operand = range;
	else if (class == PTX_CLASS_PREDICATE)
		access->nothing_if = range;
	else
		return 0;
	return i + 2;
}

/* cp.async.ca.shared.global [to], [from], size{, source size or ignore predicate} */
static int read_cp_async(const char *text, const struct ptx_names *names,
			 const struct opcode *opcode, const struct ptx_token *operands,
			 uint32_t count, struct ptx_access *access)
{
	uint32_t from = nth_bracket(operands, count, 1), next;
	int named, space = nth_space(opcode, 1, &named);

	if (!named)		/* commit_group, wait_group, mbarrier.arrive */
		return 0;
	access->point = GT_POINT_LOAD;
	access->space = (uint8_t)space;
	read_address(names, operands, count, from, access);
	next = read_size(text, names, operands, count,
			 matching_bracket(operands, count, from) + 1, access);
	access->unknown_size = !next;
	/* The source size is what is read; cp-size is padded with zeros. */
	if (next)
		read_size(text, names, operands, count, next, access);
	return 1;
}

/* cp.async.bulk.TO.FROM [to], [from], size, ...: counted where it leaves or enters global memory. */
static int read_cp_bulk(const char *text, const struct ptx_names *names,
			const struct opcode *opcode, const struct ptx_token *operands,
			uint32_t count, int reduce, struct ptx_access *access)
{
	int named, from_named, tensor = 0;
	int to = nth_space(opcode, 0, &named), from = nth_space(opcode, 1, &from_named);
	uint32_t i, bracket;

	for (i = 1; i < opcode->count; i++) {
		if (is(&opcode->piece[i], "prefetch"))
			return 0;
		tensor |= is(&opcode->piece[i], "tensor");
	}
	if (!named || !from_named)
		return 0;
	access->point = reduce ? GT_POINT_ATOMIC :
			from == GT_SPACE_GLOBAL ? GT_POINT_LOAD : GT_POINT_STORE;
	access->space = (uint8_t)(access->point == GT_POINT_LOAD ? from : to);
	access->cluster = (uint8_t)names_cluster(opcode);
	if (tensor)
		return 1;	/* a descriptor and coordinates, no address */
	bracket = nth_bracket(operands, count, access->point == GT_POINT_LOAD);
	read_address(names, operands, count, bracket, access);
	bracket = matching_bracket(operands, count, nth_bracket(operands, count, 1));
	access->unknown_size = !read_size(text, names, operands, count, bracket + 1, access);
	return 1;
}

static int read_cp(const char *text, const struct ptx_names *names, const struct opcode *opcode,
		   const struct ptx_token *operands, uint32_t count, struct ptx_access *access)
{
	int reduce = opcode->count > 1 && is(&opcode->piece[1], "reduce");
	uint32_t i = 1 + (uint32_t)reduce;

	if (opcode->count <= i || !is(&opcode->piece[i], "async"))
		return 0;
	if (opcode->count > i + 1 && is(&opcode->piece[i + 1], "bulk"))
		return read_cp_bulk(text, names, opcode, operands, count, reduce, access);
	if (reduce)
		return 0;
	return read_cp_async(text, names, opcode, operands, count, access);
}

/* Which point the plain instructions belong to, -1 for all others. */
static int plain_point(const struct opcode *opcode)
{
	const struct piece *piece = opcode->piece;

	if (is(piece, "multimem") && opcode->count > 1)
		piece++;
	if (is(piece, "ld") || is(piece, "ldu") || is(piece, "ld_reduce"))
		return GT_POINT_LOAD;
	if (is(piece, "st"))
		return GT_POINT_STORE;
	if (is(piece, "atom") || is(piece, "red"))
		return GT_POINT_ATOMIC;
	return -1;
}

int gt_access_read(const char *text, const struct ptx_names *names, const char *opcode,
		    const struct ptx_token *operands, uint32_t count,
		    struct ptx_access *ret_access)
{
	struct ptx_access access = { .base_kind = PTX_BASE_NONE };
	struct opcode op;
	int point, space, named;
	uint32_t bracket;

	split(opcode, &op);
	if (is(&op.piece[0], "cp")) {
		if (!read_cp(text, names, &op, operands, count, &access))
			return 0;
		*ret_access = access;
		return 1;
	}
	point = plain_point(&op);
	space = nth_space(&op, 0, &named);
	if (point < 0 || space < 0)
		return 0;
	access.point = (uint8_t)point;
	access.space = (uint8_t)space;
	access.cluster = (uint8_t)names_cluster(&op);
	bracket = nth_bracket(operands, count, 0);
	read_address(names, operands, count, bracket, &access);
	access.size = access_size(&op);
	if (op.count > 1 && is(&op.piece[1], "bulk"))	/* st.bulk [to], size, value */
		access.unknown_size = !read_size(text, names, operands, count,
						 matching_bracket(operands, count, bracket) + 1,
						 &access);
	else
		access.unknown_size = !access.size;
	*ret_access = access;
	return 1;
}
