/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle-state.h"

#include <stdio.h>
#include <string.h>

const char *gt_dm_source_name(struct dm_state *s)
{
	unsigned length = gt_dm_number(s);
	const char *from = s->at;

	if (s->failed || strnlen(from, length) < length) {
		gt_dm_fail(s);
		return "";
	}
	s->at += length;
	if (length > 9 && !strncmp(from, "_GLOBAL_", 8) && strchr("._$", from[8]) && from[9] == 'N')
		return "(anonymous namespace)";
	return gt_dm_slice(s, from, length);
}

static const char *operator_name(struct dm_state *s, int *ret_conversion)
{
	static const char operators[][2][12] = {
		{ "nw", " new" }, { "na", " new[]" }, { "dl", " delete" }, { "da", " delete[]" },
		{ "ps", "+" }, { "ng", "-" }, { "ad", "&" }, { "de", "*" }, { "co", "~" },
		{ "pl", "+" }, { "mi", "-" }, { "ml", "*" }, { "dv", "/" }, { "rm", "%" },
		{ "an", "&" }, { "or", "|" }, { "eo", "^" }, { "aS", "=" }, { "pL", "+=" },
		{ "mI", "-=" }, { "mL", "*=" }, { "dV", "/=" }, { "rM", "%=" }, { "aN", "&=" },
		{ "oR", "|=" }, { "eO", "^=" }, { "ls", "<<" }, { "rs", ">>" }, { "lS", "<<=" },
		{ "rS", ">>=" }, { "eq", "==" }, { "ne", "!=" }, { "lt", "<" }, { "gt", ">" },
		{ "le", "<=" }, { "ge", ">=" }, { "ss", "<=>" }, { "nt", "!" }, { "aa", "&&" },
		{ "oo", "||" }, { "pp", "++" }, { "mm", "--" }, { "cm", "," }, { "pm", "->*" },
		{ "pt", "->" }, { "cl", "()" }, { "ix", "[]" }, { "qu", "?" },
	};
	struct dm_text to;
	size_t i;

	if (gt_dm_eat(s, "cv")) {
		*ret_conversion = 1;
		to = gt_dm_type(s);
		return gt_dm_join(s, "operator ", gt_dm_whole(s, &to), NULL);
	}
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (gt_dm_eat(s, operators[i][0]))
			return gt_dm_join(s, "operator", operators[i][1], NULL);
	gt_dm_fail(s);
	return "";
}

/* {lambda(int)#1} or {unnamed type#1} */
static const char *unnamed(struct dm_state *s)
{
	const char *what = "unnamed type";
	char count[24];

	if (gt_dm_eat(s, "Ul")) {
		what = gt_dm_join(s, "lambda", gt_dm_params(s), NULL);
		if (!gt_dm_eat(s, "E"))
			gt_dm_fail(s);
	} else if (!gt_dm_eat(s, "Ut")) {
		gt_dm_fail(s);
	}
	snprintf(count, sizeof(count), "#%u}", gt_dm_sequence(s, 10) + 1);
	return gt_dm_join(s, "{", what, count, NULL);
}

static const char *abi_tags(struct dm_state *s, const char *text)
{
	while (gt_dm_eat(s, "B"))
		text = gt_dm_join(s, text, "[abi:", gt_dm_source_name(s), "]", NULL);
	return text;
}

const char *gt_dm_unqualified(struct dm_state *s, const char *last, int *ret_no_return)
{
	const char *text;

	gt_dm_eat(s, "L");		/* internal linkage */
	if (gt_dm_is_digit(*s->at)) {
		text = gt_dm_source_name(s);
	} else if (*s->at == 'U') {
		text = unnamed(s);
	} else if ((*s->at == 'C' || *s->at == 'D') && s->at[1] >= '0' && s->at[1] <= '5') {
		text = *s->at == 'D' ? gt_dm_join(s, "~", last, NULL) : last;
		s->at += 2;
		*ret_no_return = 1;
	} else {
		text = operator_name(s, ret_no_return);
	}
	return abi_tags(s, text);
}

/* What template parameter n stands for here. */
static struct dm_text param(struct dm_state *s, unsigned n)
{
	const struct dm_text *arg;
	struct dm_text t = gt_dm_nothing;

	if (!s->args || n >= s->args->count) {
		gt_dm_fail(s);
		return gt_dm_nothing;
	}
	arg = &s->args->items[n];
	if (!arg->pack || !s->expanding) {
		t = *arg;
	} else {
		s->elements = arg->pack->count;
		if (s->element < arg->pack->count)
			t = arg->pack->items[s->element];
	}
	t.param = (uint16_t)(n + 1);
	return t;
}

struct dm_text gt_dm_template_param(struct dm_state *s)
{
	s->at++;		/* 'T' */
	return param(s, gt_dm_sequence(s, 10));
}

struct dm_text gt_dm_substitution(struct dm_state *s)
{
	static const struct {
		char code;
		const char *text;
	} std[] = {
		{ 't', "std" }, { 'a', "std::allocator" }, { 'b', "std::basic_string" },
		{ 's', "std::string" }, { 'i', "std::istream" }, { 'o', "std::ostream" },
		{ 'd', "std::iostream" },
	};
	unsigned n, n_param;
	size_t i;

	s->at++;		/* 'S' */
	for (i = 0; i < sizeof(std) / sizeof(std[0]); i++)
		if (*s->at == std[i].code) {
			s->at++;
			return gt_dm_plain_text(std[i].text);
		}
	n = gt_dm_sequence(s, 36);
	if (n >= s->substitution_count) {
		gt_dm_fail(s);
		return gt_dm_nothing;
	}
	n_param = s->substitutions[n].param;
	return n_param ? param(s, n_param - 1u) : s->substitutions[n];
}

static const char *last_component(const char *text)
{
	const char *at = strrchr(text, ':');

	return at ? at + 1 : text;
}

static void add_component(struct dm_state *s, struct dm_name *n, const char *component)
{
	n->full = *n->full ? gt_dm_join(s, n->full, "::", component, NULL) : component;
	n->plain = n->full;
	n->last = component;
	n->is_template = 0;
}

static void add_args(struct dm_state *s, struct dm_name *n)
{
	const char *args = gt_dm_template_args(s, &s->args);

	n->plain = n->full;
	n->full = gt_dm_join(s, n->full, args, NULL);
	n->is_template = 1;
}

static struct dm_name nested(struct dm_state *s)
{
	struct dm_name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };
	struct dm_text t;
	int known;

	n.qualifiers = gt_dm_cv_words(s);
	if (gt_dm_eat(s, "R"))
		n.qualifiers = gt_dm_join(s, n.qualifiers, " &", NULL);
	else if (gt_dm_eat(s, "O"))
		n.qualifiers = gt_dm_join(s, n.qualifiers, " &&", NULL);
	while (!s->failed && !gt_dm_eat(s, "E")) {
		known = 0;
		if (*s->at == 'S') {
			t = gt_dm_substitution(s);
			known = 1;
			add_component(s, &n, gt_dm_whole(s, &t));
			n.last = last_component(n.full);
		} else if (*s->at == 'T') {
			t = gt_dm_template_param(s);
			add_component(s, &n, gt_dm_whole(s, &t));
		} else if (*s->at == 'I') {
			add_args(s, &n);
		} else if (*s->at == 'M') {
			s->at++;
			continue;
		} else {
			add_component(s, &n, gt_dm_unqualified(s, n.last, &n.no_return));
		}
		if (!known && *s->at != 'E')
			gt_dm_remember(s, gt_dm_plain_text(n.full));
	}
	return n;
}

/* Z function E name: something within a function. */
static struct dm_name local(struct dm_state *s)
{
	const char *function = gt_dm_encoding(s, NULL);
	struct dm_name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };

	if (!gt_dm_eat(s, "E"))
		gt_dm_fail(s);
	if (gt_dm_eat(s, "s"))
		add_component(s, &n, "string literal");
	else
		n = gt_dm_name(s);
	if (gt_dm_eat(s, "_")) {		/* discriminator, not shown */
		if (gt_dm_eat(s, "_")) {
			gt_dm_number(s);
			if (!gt_dm_eat(s, "_"))
				gt_dm_fail(s);
		} else {
			gt_dm_number(s);
		}
	}
	n.plain = gt_dm_join(s, function, "::", n.plain, NULL);
	n.full = gt_dm_join(s, function, "::", n.full, NULL);
	return n;
}

struct dm_name gt_dm_name(struct dm_state *s)
{
	struct dm_name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };
	struct dm_text t;
	int known = 0;

	if (++s->depth > DM_DEPTH_MAX) {
		gt_dm_fail(s);
	} else if (gt_dm_eat(s, "N")) {
		n = nested(s);
	} else if (gt_dm_eat(s, "Z")) {
		n = local(s);
	} else {
		if (*s->at == 'S') {
			known = s->at[1] != 't';
			t = gt_dm_substitution(s);
			add_component(s, &n, gt_dm_whole(s, &t));
		}
		if (!known)
			add_component(s, &n, gt_dm_unqualified(s, n.last, &n.no_return));
		if (*s->at == 'I') {
			if (!known)
				gt_dm_remember(s, gt_dm_plain_text(n.full));
			add_args(s, &n);
		}
	}
	s->depth--;
	return n;
}
