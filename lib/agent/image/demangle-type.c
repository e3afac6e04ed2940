/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle-state.h"

#include <string.h>

static const char *builtin(struct dm_state *s)
{
	static const struct {
		const char *code, *text;
	} builtins[] = {
		{ "v", "void" }, { "w", "wchar_t" }, { "b", "bool" }, { "c", "char" },
		{ "a", "signed char" }, { "h", "unsigned char" }, { "s", "short" },
		{ "t", "unsigned short" }, { "i", "int" }, { "j", "unsigned int" }, { "l", "long" },
		{ "m", "unsigned long" }, { "x", "long long" }, { "y", "unsigned long long" },
		{ "n", "__int128" }, { "o", "unsigned __int128" }, { "f", "float" },
		{ "d", "double" }, { "e", "long double" }, { "g", "__float128" },
		{ "Dn", "decltype(nullptr)" }, { "Di", "char32_t" }, { "Ds", "char16_t" },
		{ "Du", "char8_t" }, { "Da", "auto" }, { "Dc", "decltype(auto)" }, { "Dh", "half" },
		{ "DF16_", "_Float16" }, { "DF16b", "std::bfloat16_t" }, { "DF32_", "_Float32" },
		{ "DF64_", "_Float64" }, { "DF128_", "_Float128" },
	};
	size_t i;

	for (i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++)
		if (gt_dm_eat(s, builtins[i].code))
			return builtins[i].text;
	return NULL;
}

static struct dm_text point(struct dm_state *s, struct dm_text t, const char *mark, uint8_t reference)
{
	if (reference && t.reference) {		/* they collapse */
		if (reference == 1 && t.reference == 2) {
			t.left = gt_dm_slice(s, t.left, strlen(t.left) - 1);
			t.reference = 1;
		}
		t.param = 0;
		return t;
	}
	if (t.kind != DM_PLAIN) {
		t.left = gt_dm_join(s, t.left, "(", mark, NULL);
		t.right = gt_dm_join(s, ")", t.right, NULL);
		t.kind = DM_PLAIN;
	} else {
		t.left = gt_dm_join(s, t.left, mark, NULL);
	}
	t.reference = reference;
	t.param = 0;
	t.pack = NULL;
	return t;
}

static struct dm_text qualified(struct dm_state *s)
{
	const char *words = gt_dm_cv_words(s);
	struct dm_text t = gt_dm_type(s);

	if (t.kind == DM_FUNCTION)
		t.right = gt_dm_join(s, t.right, words, NULL);
	else
		t.left = gt_dm_join(s, t.left, words, NULL);
	t.param = 0;
	return t;
}

static struct dm_text function_type(struct dm_state *s)
{
	struct dm_text t;
	const char *list;

	gt_dm_eat(s, "Y");
	t = gt_dm_type(s);
	list = gt_dm_params(s);
	if (!gt_dm_eat(s, "E"))
		gt_dm_fail(s);
	t = gt_dm_plain_text(gt_dm_join(s, gt_dm_whole(s, &t), " ", NULL));
	t.right = list;
	t.kind = DM_FUNCTION;
	return t;
}

static struct dm_text array_type(struct dm_state *s)
{
	const char *from = s->at;
	struct dm_text t;

	while (gt_dm_is_digit(*s->at))
		s->at++;
	from = gt_dm_slice(s, from, (size_t)(s->at - from));
	if (!gt_dm_eat(s, "_"))
		gt_dm_fail(s);
	t = gt_dm_type(s);
	if (t.kind != DM_ARRAY)
		t.left = gt_dm_join(s, t.left, " ", NULL);
	t.right = gt_dm_join(s, "[", from, "]", t.right, NULL);
	t.kind = DM_ARRAY;
	t.param = 0;
	return t;
}

static struct dm_text member_pointer(struct dm_state *s)
{
	struct dm_text of = gt_dm_type(s), t = gt_dm_type(s);
	int in_parentheses = t.kind != DM_PLAIN;

	return point(s, t, gt_dm_join(s, in_parentheses ? "" : " ", gt_dm_whole(s, &of), "::*", NULL), 0);
}

/* Dp pattern: once for each element of the packs in it. */
static struct dm_text expansion(struct dm_state *s)
{
	const char *from = s->at, *list = "";
	unsigned element = s->element, elements = s->elements;
	unsigned substitutions = s->substitution_count, i = 0;
	int expanding = s->expanding;
	struct dm_text t;

	s->expanding = 1;
	s->elements = UINT32_MAX;
	do {
		s->at = from;
		s->substitution_count = substitutions;
		s->element = i;
		t = gt_dm_type(s);
		if (s->elements == UINT32_MAX) {	/* no pack in force: as it is written */
			list = gt_dm_join(s, gt_dm_whole(s, &t), "...", NULL);
			break;
		}
		if (i < s->elements)
			list = gt_dm_join(s, list, i ? ", " : "", t.left, t.right, NULL);
	} while (!s->failed && ++i < s->elements);
	s->expanding = expanding;
	s->element = element;
	s->elements = elements;
	return gt_dm_plain_text(list);
}

static struct dm_text class_type(struct dm_state *s)
{
	const struct dm_pack *args = s->args;
	struct dm_name n = gt_dm_name(s);

	s->args = args;		/* a type's own arguments end with it */
	return gt_dm_plain_text(n.full);
}

static struct dm_text substituted(struct dm_state *s, int *ret_new)
{
	const struct dm_pack *ignored;
	struct dm_text t;

	if (s->at[1] == 't')
		return class_type(s);
	t = gt_dm_substitution(s);
	*ret_new = *s->at == 'I';
	if (*ret_new)
		t = gt_dm_plain_text(gt_dm_join(s, gt_dm_whole(s, &t), gt_dm_template_args(s, &ignored), NULL));
	return t;
}

static struct dm_text parameter_type(struct dm_state *s)
{
	const struct dm_pack *ignored;
	struct dm_text t = gt_dm_template_param(s);

	if (*s->at == 'I') {
		gt_dm_remember(s, t);
		t = gt_dm_plain_text(gt_dm_join(s, gt_dm_whole(s, &t), gt_dm_template_args(s, &ignored), NULL));
	}
	return t;
}

struct dm_text gt_dm_type(struct dm_state *s)
{
	struct dm_text t = gt_dm_nothing;
	const char *simple = NULL;
	int is_new = 1;

	if (s->failed || ++s->depth > DM_DEPTH_MAX) {
		gt_dm_fail(s);
		return gt_dm_nothing;
	}
	if (*s->at && strchr("rVK", *s->at))
		t = qualified(s);
	else if (gt_dm_eat(s, "P"))
		t = point(s, gt_dm_type(s), "*", 0);
	else if (gt_dm_eat(s, "R"))
		t = point(s, gt_dm_type(s), "&", 1);
	else if (gt_dm_eat(s, "O"))
		t = point(s, gt_dm_type(s), "&&", 2);
	else if (gt_dm_eat(s, "F"))
		t = function_type(s);
	else if (gt_dm_eat(s, "A"))
		t = array_type(s);
	else if (gt_dm_eat(s, "M"))
		t = member_pointer(s);
	else if (*s->at == 'T')
		t = parameter_type(s);
	else if (*s->at == 'S')
		t = substituted(s, &is_new);
	else if (gt_dm_eat(s, "Dp"))
		t = expansion(s);
	else if (gt_dm_eat(s, "u"))
		t = gt_dm_plain_text(gt_dm_source_name(s));
	else if ((simple = builtin(s)))
		t = gt_dm_plain_text(simple);
	else
		t = class_type(s);
	if (is_new && !simple)
		gt_dm_remember(s, t);
	s->depth--;
	return t;
}

const char *gt_dm_params(struct dm_state *s)
{
	const char *list = "";
	struct dm_text t;
	int first = 1;

	if (s->at[0] == 'v' && (!s->at[1] || s->at[1] == 'E' || s->at[1] == '.')) {
		s->at++;
		return "()";
	}
	while (!s->failed && *s->at && *s->at != '.' && *s->at != 'E') {
		if (gt_dm_eat(s, "z"))
			t = gt_dm_plain_text("...");
		else
			t = gt_dm_type(s);
		if (!*t.left && !*t.right)
			continue;		/* an empty pack */
		list = gt_dm_join(s, list, first ? "" : ", ", t.left, t.right, NULL);
		first = 0;
	}
	return gt_dm_join(s, "(", list, ")", NULL);
}
