/* SPDX-License-Identifier: Apache-2.0 */
/* Names and the scopes that hold them. */
#include <ctype.h>
#include <string.h>

#include "context.h"

static unsigned hash_of(const char *text, unsigned length)
{
	unsigned hash = 2166136261u, i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

struct ptx_name ptx_name_of(struct ptx_ctx *ctx, const char *text, unsigned length)
{
	char *copy = ptx_alloc(ctx, (size_t)length + 1);
	struct ptx_name name = { copy, length, hash_of(text, length) };

	memcpy(copy, text, length);
	return name;
}

static void rehash(struct ptx_ctx *ctx, struct ptx_scope *scope)
{
	unsigned count = scope->bucket_count ? scope->bucket_count * 4 : 16, i;
	struct ptx_sym **buckets = ptx_array(ctx, count, sizeof(*buckets));
	struct ptx_sym *sym, *next;

	for (i = 0; i < scope->bucket_count; i++)
		for (sym = scope->buckets[i]; sym; sym = next) {
			next = sym->next;
			sym->next = buckets[sym->name.hash % count];
			buckets[sym->name.hash % count] = sym;
		}
	scope->buckets = buckets;
	scope->bucket_count = count;
}

struct ptx_sym *ptx_sym_find_here(struct ptx_scope *scope, const struct ptx_name *name)
{
	struct ptx_sym *sym;

	if (!scope->bucket_count)
		return NULL;
	for (sym = scope->buckets[name->hash % scope->bucket_count]; sym; sym = sym->next)
		if (sym->name.hash == name->hash && sym->name.length == name->length &&
		    !memcmp(sym->name.text, name->text, name->length))
			return sym;
	return NULL;
}

struct ptx_sym *ptx_sym_add(struct ptx_ctx *ctx, struct ptx_scope *scope, enum ptx_sym_kind kind,
			    const struct ptx_name *name, unsigned line)
{
	struct ptx_sym *sym = ptx_sym_find_here(scope, name);

	if (sym)
		ptx_syntax(ctx, line, "'%.200s' is already declared, on line %u",
			   name->text, sym->line);
	if (scope->count >= scope->bucket_count)
		rehash(ctx, scope);
	sym = ptx_alloc(ctx, sizeof(*sym));
	sym->kind = kind;
	sym->name = *name;
	sym->line = line;
	sym->next = scope->buckets[name->hash % scope->bucket_count];
	scope->buckets[name->hash % scope->bucket_count] = sym;
	scope->count++;
	return sym;
}

/* %r7 of a scope that declares %r<8>: becomes a register symbol when first named. */
static struct ptx_sym *find_in_range(struct ptx_ctx *ctx, struct ptx_scope *scope,
				     const struct ptx_name *name)
{
	unsigned length = name->length, i;
	struct ptx_name prefix;
	struct ptx_sym *range, *sym;
	uint64_t index = 0;

	while (length && isdigit((unsigned char)name->text[length - 1]))
		length--;
	if (length == name->length || name->length - length > 10 || !length)
		return NULL;
	if (name->text[length] == '0' && name->length - length > 1)
		return NULL;
	for (i = length; i < name->length; i++)
		index = index * 10 + (name->text[i] - '0');
	prefix.text = name->text;
	prefix.length = length;
	prefix.hash = hash_of(name->text, length) ^ 1;
	range = ptx_sym_find_here(scope, &prefix);
	if (!range || range->kind != SYM_RANGE || index >= range->range.count)
		return NULL;
	sym = ptx_sym_add(ctx, scope, SYM_REG, name, range->line);
	sym->reg.type = range->range.type;
	sym->reg.width = range->range.width;
	return sym;
}

struct ptx_sym *ptx_sym_find(struct ptx_ctx *ctx, struct ptx_scope *scope,
			     const struct ptx_name *name)
{
	struct ptx_sym *sym;

	for (; scope; scope = scope->parent) {
		sym = ptx_sym_find_here(scope, name);
		if (sym && sym->kind != SYM_RANGE)
			return sym;
		sym = find_in_range(ctx, scope, name);
		if (sym)
			return sym;
	}
	return NULL;
}
