/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle-state.h"

#include <string.h>

#define ARGS_MAX 512u

static const char *literal(struct dm_state *s)
{
	static const struct {
		const char *type, *suffix;
	} suffixes[] = {
		{ "int", "" }, { "unsigned int", "u" }, { "long", "l" }, { "unsigned long", "ul" },
		{ "long long", "ll" }, { "unsigned long long", "ull" },
	};
	const char *value, *of;
	struct dm_text t;
	size_t i;

	if (gt_dm_eat(s, "_Z") || gt_dm_eat(s, "Z")) {
		value = gt_dm_encoding(s, NULL);
		if (!gt_dm_eat(s, "E"))
			gt_dm_fail(s);
		return value;
	}
	t = gt_dm_type(s);
	of = gt_dm_whole(s, &t);
	value = gt_dm_eat(s, "n") ? "-" : "";
	i = strcspn(s->at, "E");
	value = gt_dm_join(s, value, gt_dm_slice(s, s->at, i), NULL);
	s->at += i;
	if (!gt_dm_eat(s, "E"))
		gt_dm_fail(s);
	if (!strcmp(of, "bool") && (!strcmp(value, "0") || !strcmp(value, "1")))
		return *value == '1' ? "true" : "false";
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (!strcmp(of, suffixes[i].type))
			return gt_dm_join(s, value, suffixes[i].suffix, NULL);
	return gt_dm_join(s, "(", of, ")", value, NULL);
}

/* name or name<...> of a type that an expression names: "sr" type name */
static const char *member_of(struct dm_state *s)
{
	const struct dm_pack *ignored;
	struct dm_text of = gt_dm_type(s);
	int unused = 0;
	const char *text = gt_dm_join(s, gt_dm_whole(s, &of), "::", gt_dm_unqualified(s, "", &unused), NULL);

	return *s->at == 'I' ? gt_dm_join(s, text, gt_dm_template_args(s, &ignored), NULL) : text;
}

/* The commoner expressions: enable_if conditions, addresses of functions, literals. */
static const char *expression(struct dm_state *s)
{
	static const char unary[][2][3] = {
		{ "nt", "!" }, { "ng", "-" }, { "co", "~" }, { "ps", "+" }, { "ad", "&" }, { "de", "*" },
	};
	static const char binary[][2][4] = {
		{ "eq", "==" }, { "ne", "!=" }, { "lt", "<" }, { "gt", ">" }, { "le", "<=" },
		{ "ge", ">=" }, { "aa", "&&" }, { "oo", "||" }, { "pl", "+" }, { "mi", "-" },
		{ "ml", "*" }, { "dv", "/" }, { "rm", "%" }, { "an", "&" }, { "or", "|" },
		{ "eo", "^" }, { "ls", "<<" }, { "rs", ">>" },
	};
	const char *text = "", *left, *right;
	struct dm_text t;
	size_t i;

	if (++s->depth > DM_DEPTH_MAX) {
		gt_dm_fail(s);
	} else if (gt_dm_eat(s, "L")) {
		text = literal(s);
	} else if (*s->at == 'T') {
		t = gt_dm_template_param(s);
		text = gt_dm_whole(s, &t);
	} else if (gt_dm_eat(s, "sr")) {
		text = member_of(s);
	} else if (gt_dm_eat(s, "st")) {
		t = gt_dm_type(s);
		text = gt_dm_join(s, "sizeof (", gt_dm_whole(s, &t), ")", NULL);
	} else {
		for (i = 0; i < sizeof(unary) / sizeof(unary[0]); i++)
			if (gt_dm_eat(s, unary[i][0])) {
				text = gt_dm_join(s, unary[i][1], "(", expression(s), ")", NULL);
				goto done;
			}
		for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
			if (gt_dm_eat(s, binary[i][0])) {
				left = expression(s);
				right = expression(s);
				text = gt_dm_join(s, "(", left, ")", binary[i][1], "(", right, ")", NULL);
				/* '>' could be taken for the end of the arguments */
				if (!strcmp(binary[i][1], ">"))
					text = gt_dm_join(s, "(", text, ")", NULL);
				goto done;
			}
		gt_dm_fail(s);
	}
done:
	s->depth--;
	return text;
}

static struct dm_pack *gather(struct dm_state *s);

static struct dm_text template_arg(struct dm_state *s)
{
	struct dm_text t = gt_dm_nothing;
	unsigned i;

	if (gt_dm_eat(s, "L"))
		return gt_dm_plain_text(literal(s));
	if (gt_dm_eat(s, "X")) {
		t = gt_dm_plain_text(expression(s));
		if (!gt_dm_eat(s, "E"))
			gt_dm_fail(s);
		return t;
	}
	if (!gt_dm_eat(s, "J"))
		return gt_dm_type(s);
	t.pack = gather(s);
	for (i = 0; t.pack && i < t.pack->count; i++)
		t.left = gt_dm_join(s, t.left, *t.left ? ", " : "", t.pack->items[i].left,
			      t.pack->items[i].right, NULL);
	return t;
}

/* Arguments up to 'E'. */
static struct dm_pack *gather(struct dm_state *s)
{
	struct dm_pack *pack = gt_dm_take(s, sizeof(*pack));
	struct dm_text *items, *kept;
	unsigned count = 0, room = 4;

	if (!pack || ++s->depth > DM_DEPTH_MAX) {
		gt_dm_fail(s);
		return NULL;
	}
	items = gt_dm_take(s, room * sizeof(*items));
	while (!s->failed && !gt_dm_eat(s, "E")) {
		if (count == ARGS_MAX) {
			gt_dm_fail(s);
			break;
		}
		if (count == room) {
			kept = items;
			room *= 2;
			items = gt_dm_take(s, room * sizeof(*items));
			if (items)
				memcpy(items, kept, count * sizeof(*items));
		}
		if (items)
			items[count++] = template_arg(s);
	}
	s->depth--;
	*pack = (struct dm_pack){ count, items };
	return s->failed ? NULL : pack;
}

const char *gt_dm_template_args(struct dm_state *s, const struct dm_pack **ret_args)
{
	const char *list = "";
	struct dm_pack *pack;
	unsigned i;
	int first = 1;

	s->at++;		/* 'I' */
	pack = gather(s);
	for (i = 0; pack && i < pack->count; i++) {
		const struct dm_text *t = &pack->items[i];

		if (!*t->left && !*t->right)
			continue;		/* an empty pack */
		list = gt_dm_join(s, list, first ? "" : ", ", t->left, t->right, NULL);
		first = 0;
	}
	if (pack)
		*ret_args = pack;
	return gt_dm_join(s, "<", list, ">", NULL);
}
