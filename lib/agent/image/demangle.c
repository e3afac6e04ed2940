/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/image/demangle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA (256u << 10)	/* all text and tables of one name */
#define DEPTH_MAX 128u
#define SUBSTITUTIONS_MAX 1024u
#define ARGS_MAX 512u

enum kind { PLAIN, ARRAY, FUNCTION };		/* the last two: a '*' goes in parentheses */

/* A type or name: what stands before and after the thing declared. */
struct text {
	const char *left, *right;
	uint8_t kind;
	uint8_t reference;			/* 1 '&', 2 "&&" */
	uint16_t param;				/* n + 1: it is the template parameter n, whatever that is here */
	const struct pack *pack;		/* a template argument pack, else NULL */
};

struct pack {
	unsigned count;
	const struct text *items;
};

struct name {
	const char *full;			/* with template arguments */
	const char *plain;			/* without the last ones */
	const char *last;			/* last component, for constructors */
	int is_template;			/* ends in template arguments: the return type is encoded */
	int no_return;				/* constructor, destructor, conversion */
	const char *qualifiers;			/* of a member function */
};

struct state {
	const char *at;
	char *arena;
	size_t used;
	unsigned depth;
	struct text substitutions[SUBSTITUTIONS_MAX];
	unsigned substitution_count;
	const struct pack *args;		/* template arguments in force */
	/* While a pack is being expanded: which element, and how many the pattern turned out to have. */
	int expanding;
	unsigned element, elements;
	int failed;
};

static const struct text nothing = { .left = "", .right = "" };

static void fail(struct state *s)
{
	s->failed = 1;
}

static void *take(struct state *s, size_t size)
{
	void *memory = s->arena + s->used;

	size = (size + 15) & ~(size_t)15;
	if (s->failed || size > ARENA - s->used) {
		fail(s);
		return NULL;
	}
	s->used += size;
	return memory;
}

/* The strings one after the other, up to NULL. */
static const char *join(struct state *s, ...) __attribute__((sentinel));
static const char *join(struct state *s, ...)
{
	const char *piece;
	size_t length = 0;
	va_list args;
	char *text, *to;

	va_start(args, s);
	while ((piece = va_arg(args, const char *)))
		length += strlen(piece);
	va_end(args);
	to = text = take(s, length + 1);
	if (!text)
		return "";
	va_start(args, s);
	while ((piece = va_arg(args, const char *)))
		to = stpcpy(to, piece);
	va_end(args);
	return text;
}

static const char *slice(struct state *s, const char *from, size_t length)
{
	char *text = take(s, length + 1);

	if (!text)
		return "";
	memcpy(text, from, length);
	text[length] = '\0';
	return text;
}

static const char *whole(struct state *s, const struct text *t)
{
	return *t->right ? join(s, t->left, t->right, NULL) : t->left;
}

static int eat(struct state *s, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(s->at, word, n))
		return 0;
	s->at += n;
	return 1;
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static unsigned number(struct state *s)
{
	unsigned n = 0;

	if (!is_digit(*s->at))
		fail(s);
	while (is_digit(*s->at) && n < 100000000)
		n = n * 10 + (unsigned)(*s->at++ - '0');
	return n;
}

/* "_" is 0, "0_" 1, and so on in the base. */
static unsigned sequence(struct state *s, unsigned base)
{
	unsigned n = 0, digit;

	if (eat(s, "_"))
		return 0;
	for (; *s->at && *s->at != '_' && n < 100000; s->at++) {
		if (is_digit(*s->at))
			digit = (unsigned)(*s->at - '0');
		else if (base == 36 && *s->at >= 'A' && *s->at <= 'Z')
			digit = (unsigned)(*s->at - 'A') + 10;
		else
			break;
		n = n * base + digit;
	}
	if (!eat(s, "_"))
		fail(s);
	return n + 1;
}

static void remember(struct state *s, struct text t)
{
	if (s->substitution_count == SUBSTITUTIONS_MAX)
		fail(s);
	else
		s->substitutions[s->substitution_count++] = t;
}

static struct text plain_text(const char *left)
{
	return (struct text){ .left = left, .right = "" };
}

static struct text type(struct state *s);
static struct name name(struct state *s);
static const char *encoding(struct state *s, struct gt_demangled *parts);
static const char *template_args(struct state *s, const struct pack **ret_args);

static const char *cv_words(struct state *s)
{
	const char *words = "";

	for (; *s->at && strchr("rVK", *s->at); s->at++)
		words = join(s, *s->at == 'K' ? " const" : *s->at == 'V' ? " volatile" : " restrict",
			     words, NULL);
	return words;
}

/* ---- names ---- */

static const char *source_name(struct state *s)
{
	unsigned length = number(s);
	const char *from = s->at;

	if (s->failed || strnlen(from, length) < length) {
		fail(s);
		return "";
	}
	s->at += length;
	if (length > 9 && !strncmp(from, "_GLOBAL_", 8) && strchr("._$", from[8]) && from[9] == 'N')
		return "(anonymous namespace)";
	return slice(s, from, length);
}

static const char *operator_name(struct state *s, int *ret_conversion)
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
	struct text to;
	size_t i;

	if (eat(s, "cv")) {
		*ret_conversion = 1;
		to = type(s);
		return join(s, "operator ", whole(s, &to), NULL);
	}
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (eat(s, operators[i][0]))
			return join(s, "operator", operators[i][1], NULL);
	fail(s);
	return "";
}

/* Types up to 'E' or the end, in parentheses. */
static const char *params(struct state *s)
{
	const char *list = "";
	struct text t;
	int first = 1;

	if (s->at[0] == 'v' && (!s->at[1] || s->at[1] == 'E' || s->at[1] == '.')) {
		s->at++;
		return "()";
	}
	while (!s->failed && *s->at && *s->at != '.' && *s->at != 'E') {
		if (eat(s, "z"))
			t = plain_text("...");
		else
			t = type(s);
		if (!*t.left && !*t.right)
			continue;		/* an empty pack */
		list = join(s, list, first ? "" : ", ", t.left, t.right, NULL);
		first = 0;
	}
	return join(s, "(", list, ")", NULL);
}

/* {lambda(int)#1} or {unnamed type#1} */
static const char *unnamed(struct state *s)
{
	const char *what = "unnamed type";
	char count[24];

	if (eat(s, "Ul")) {
		what = join(s, "lambda", params(s), NULL);
		if (!eat(s, "E"))
			fail(s);
	} else if (!eat(s, "Ut")) {
		fail(s);
	}
	snprintf(count, sizeof(count), "#%u}", sequence(s, 10) + 1);
	return join(s, "{", what, count, NULL);
}

static const char *abi_tags(struct state *s, const char *text)
{
	while (eat(s, "B"))
		text = join(s, text, "[abi:", source_name(s), "]", NULL);
	return text;
}

/* One component; `last` is the component before, for constructors. */
static const char *unqualified(struct state *s, const char *last, int *ret_no_return)
{
	const char *text;

	eat(s, "L");		/* internal linkage */
	if (is_digit(*s->at)) {
		text = source_name(s);
	} else if (*s->at == 'U') {
		text = unnamed(s);
	} else if ((*s->at == 'C' || *s->at == 'D') && s->at[1] >= '0' && s->at[1] <= '5') {
		text = *s->at == 'D' ? join(s, "~", last, NULL) : last;
		s->at += 2;
		*ret_no_return = 1;
	} else {
		text = operator_name(s, ret_no_return);
	}
	return abi_tags(s, text);
}

/* What template parameter n stands for here. */
static struct text param(struct state *s, unsigned n)
{
	const struct text *arg;
	struct text t = nothing;

	if (!s->args || n >= s->args->count) {
		fail(s);
		return nothing;
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

static struct text template_param(struct state *s)
{
	s->at++;		/* 'T' */
	return param(s, sequence(s, 10));
}

static struct text substitution(struct state *s)
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
			return plain_text(std[i].text);
		}
	n = sequence(s, 36);
	if (n >= s->substitution_count) {
		fail(s);
		return nothing;
	}
	n_param = s->substitutions[n].param;
	return n_param ? param(s, n_param - 1u) : s->substitutions[n];
}

static const char *last_component(const char *text)
{
	const char *at = strrchr(text, ':');

	return at ? at + 1 : text;
}

static void add_component(struct state *s, struct name *n, const char *component)
{
	n->full = *n->full ? join(s, n->full, "::", component, NULL) : component;
	n->plain = n->full;
	n->last = component;
	n->is_template = 0;
}

static void add_args(struct state *s, struct name *n)
{
	const char *args = template_args(s, &s->args);

	n->plain = n->full;
	n->full = join(s, n->full, args, NULL);
	n->is_template = 1;
}

static struct name nested(struct state *s)
{
	struct name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };
	struct text t;
	int known;

	n.qualifiers = cv_words(s);
	if (eat(s, "R"))
		n.qualifiers = join(s, n.qualifiers, " &", NULL);
	else if (eat(s, "O"))
		n.qualifiers = join(s, n.qualifiers, " &&", NULL);
	while (!s->failed && !eat(s, "E")) {
		known = 0;
		if (*s->at == 'S') {
			t = substitution(s);
			known = 1;
			add_component(s, &n, whole(s, &t));
			n.last = last_component(n.full);
		} else if (*s->at == 'T') {
			t = template_param(s);
			add_component(s, &n, whole(s, &t));
		} else if (*s->at == 'I') {
			add_args(s, &n);
		} else if (*s->at == 'M') {
			s->at++;
			continue;
		} else {
			add_component(s, &n, unqualified(s, n.last, &n.no_return));
		}
		if (!known && *s->at != 'E')
			remember(s, plain_text(n.full));
	}
	return n;
}

/* Z function E name: something within a function. */
static struct name local(struct state *s)
{
	const char *function = encoding(s, NULL);
	struct name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };

	if (!eat(s, "E"))
		fail(s);
	if (eat(s, "s"))
		add_component(s, &n, "string literal");
	else
		n = name(s);
	if (eat(s, "_")) {		/* discriminator, not shown */
		if (eat(s, "_")) {
			number(s);
			if (!eat(s, "_"))
				fail(s);
		} else {
			number(s);
		}
	}
	n.plain = join(s, function, "::", n.plain, NULL);
	n.full = join(s, function, "::", n.full, NULL);
	return n;
}

static struct name name(struct state *s)
{
	struct name n = { .full = "", .plain = "", .last = "", .qualifiers = "" };
	struct text t;
	int known = 0;

	if (++s->depth > DEPTH_MAX) {
		fail(s);
	} else if (eat(s, "N")) {
		n = nested(s);
	} else if (eat(s, "Z")) {
		n = local(s);
	} else {
		if (*s->at == 'S') {
			known = s->at[1] != 't';
			t = substitution(s);
			add_component(s, &n, whole(s, &t));
		}
		if (!known)
			add_component(s, &n, unqualified(s, n.last, &n.no_return));
		if (*s->at == 'I') {
			if (!known)
				remember(s, plain_text(n.full));
			add_args(s, &n);
		}
	}
	s->depth--;
	return n;
}

/* ---- template arguments ---- */

static const char *literal(struct state *s)
{
	static const struct {
		const char *type, *suffix;
	} suffixes[] = {
		{ "int", "" }, { "unsigned int", "u" }, { "long", "l" }, { "unsigned long", "ul" },
		{ "long long", "ll" }, { "unsigned long long", "ull" },
	};
	const char *value, *of;
	struct text t;
	size_t i;

	if (eat(s, "_Z") || eat(s, "Z")) {
		value = encoding(s, NULL);
		if (!eat(s, "E"))
			fail(s);
		return value;
	}
	t = type(s);
	of = whole(s, &t);
	value = eat(s, "n") ? "-" : "";
	i = strcspn(s->at, "E");
	value = join(s, value, slice(s, s->at, i), NULL);
	s->at += i;
	if (!eat(s, "E"))
		fail(s);
	if (!strcmp(of, "bool") && (!strcmp(value, "0") || !strcmp(value, "1")))
		return *value == '1' ? "true" : "false";
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (!strcmp(of, suffixes[i].type))
			return join(s, value, suffixes[i].suffix, NULL);
	return join(s, "(", of, ")", value, NULL);
}

/* name or name<...> of a type that an expression names: "sr" type name */
static const char *member_of(struct state *s)
{
	const struct pack *ignored;
	struct text of = type(s);
	int unused = 0;
	const char *text = join(s, whole(s, &of), "::", unqualified(s, "", &unused), NULL);

	return *s->at == 'I' ? join(s, text, template_args(s, &ignored), NULL) : text;
}

/* The commoner expressions: enable_if conditions, addresses of functions, literals. */
static const char *expression(struct state *s)
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
	struct text t;
	size_t i;

	if (++s->depth > DEPTH_MAX) {
		fail(s);
	} else if (eat(s, "L")) {
		text = literal(s);
	} else if (*s->at == 'T') {
		t = template_param(s);
		text = whole(s, &t);
	} else if (eat(s, "sr")) {
		text = member_of(s);
	} else if (eat(s, "st")) {
		t = type(s);
		text = join(s, "sizeof (", whole(s, &t), ")", NULL);
	} else {
		for (i = 0; i < sizeof(unary) / sizeof(unary[0]); i++)
			if (eat(s, unary[i][0])) {
				text = join(s, unary[i][1], "(", expression(s), ")", NULL);
				goto done;
			}
		for (i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
			if (eat(s, binary[i][0])) {
				left = expression(s);
				right = expression(s);
				text = join(s, "(", left, ")", binary[i][1], "(", right, ")", NULL);
				/* '>' could be taken for the end of the arguments */
				if (!strcmp(binary[i][1], ">"))
					text = join(s, "(", text, ")", NULL);
				goto done;
			}
		fail(s);
	}
done:
	s->depth--;
	return text;
}

static struct pack *gather(struct state *s);

static struct text template_arg(struct state *s)
{
	struct text t = nothing;
	unsigned i;

	if (eat(s, "L"))
		return plain_text(literal(s));
	if (eat(s, "X")) {
		t = plain_text(expression(s));
		if (!eat(s, "E"))
			fail(s);
		return t;
	}
	if (!eat(s, "J"))
		return type(s);
	t.pack = gather(s);
	for (i = 0; t.pack && i < t.pack->count; i++)
		t.left = join(s, t.left, *t.left ? ", " : "", t.pack->items[i].left,
			      t.pack->items[i].right, NULL);
	return t;
}

/* Arguments up to 'E'. */
static struct pack *gather(struct state *s)
{
	struct pack *pack = take(s, sizeof(*pack));
	struct text *items, *kept;
	unsigned count = 0, room = 4;

	if (!pack || ++s->depth > DEPTH_MAX) {
		fail(s);
		return NULL;
	}
	items = take(s, room * sizeof(*items));
	while (!s->failed && !eat(s, "E")) {
		if (count == ARGS_MAX) {
			fail(s);
			break;
		}
		if (count == room) {
			kept = items;
			room *= 2;
			items = take(s, room * sizeof(*items));
			if (items)
				memcpy(items, kept, count * sizeof(*items));
		}
		if (items)
			items[count++] = template_arg(s);
	}
	s->depth--;
	*pack = (struct pack){ count, items };
	return s->failed ? NULL : pack;
}

static const char *template_args(struct state *s, const struct pack **ret_args)
{
	const char *list = "";
	struct pack *pack;
	unsigned i;
	int first = 1;

	s->at++;		/* 'I' */
	pack = gather(s);
	for (i = 0; pack && i < pack->count; i++) {
		const struct text *t = &pack->items[i];

		if (!*t->left && !*t->right)
			continue;		/* an empty pack */
		list = join(s, list, first ? "" : ", ", t->left, t->right, NULL);
		first = 0;
	}
	if (pack)
		*ret_args = pack;
	return join(s, "<", list, ">", NULL);
}

/* ---- types ---- */

static const char *builtin(struct state *s)
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
		if (eat(s, builtins[i].code))
			return builtins[i].text;
	return NULL;
}

static struct text point(struct state *s, struct text t, const char *mark, uint8_t reference)
{
	if (reference && t.reference) {		/* they collapse */
		if (reference == 1 && t.reference == 2) {
			t.left = slice(s, t.left, strlen(t.left) - 1);
			t.reference = 1;
		}
		t.param = 0;
		return t;
	}
	if (t.kind != PLAIN) {
		t.left = join(s, t.left, "(", mark, NULL);
		t.right = join(s, ")", t.right, NULL);
		t.kind = PLAIN;
	} else {
		t.left = join(s, t.left, mark, NULL);
	}
	t.reference = reference;
	t.param = 0;
	t.pack = NULL;
	return t;
}

static struct text qualified(struct state *s)
{
	const char *words = cv_words(s);
	struct text t = type(s);

	if (t.kind == FUNCTION)
		t.right = join(s, t.right, words, NULL);
	else
		t.left = join(s, t.left, words, NULL);
	t.param = 0;
	return t;
}

static struct text function_type(struct state *s)
{
	struct text t;
	const char *list;

	eat(s, "Y");
	t = type(s);
	list = params(s);
	if (!eat(s, "E"))
		fail(s);
	t = plain_text(join(s, whole(s, &t), " ", NULL));
	t.right = list;
	t.kind = FUNCTION;
	return t;
}

static struct text array_type(struct state *s)
{
	const char *from = s->at;
	struct text t;

	while (is_digit(*s->at))
		s->at++;
	from = slice(s, from, (size_t)(s->at - from));
	if (!eat(s, "_"))
		fail(s);
	t = type(s);
	if (t.kind != ARRAY)
		t.left = join(s, t.left, " ", NULL);
	t.right = join(s, "[", from, "]", t.right, NULL);
	t.kind = ARRAY;
	t.param = 0;
	return t;
}

static struct text member_pointer(struct state *s)
{
	struct text of = type(s), t = type(s);
	int in_parentheses = t.kind != PLAIN;

	return point(s, t, join(s, in_parentheses ? "" : " ", whole(s, &of), "::*", NULL), 0);
}

/* Dp pattern: once for each element of the packs in it. */
static struct text expansion(struct state *s)
{
	const char *from = s->at, *list = "";
	unsigned element = s->element, elements = s->elements;
	unsigned substitutions = s->substitution_count, i = 0;
	int expanding = s->expanding;
	struct text t;

	s->expanding = 1;
	s->elements = UINT32_MAX;
	do {
		s->at = from;
		s->substitution_count = substitutions;
		s->element = i;
		t = type(s);
		if (s->elements == UINT32_MAX) {	/* no pack in force: as it is written */
			list = join(s, whole(s, &t), "...", NULL);
			break;
		}
		if (i < s->elements)
			list = join(s, list, i ? ", " : "", t.left, t.right, NULL);
	} while (!s->failed && ++i < s->elements);
	s->expanding = expanding;
	s->element = element;
	s->elements = elements;
	return plain_text(list);
}

static struct text class_type(struct state *s)
{
	const struct pack *args = s->args;
	struct name n = name(s);

	s->args = args;		/* a type's own arguments end with it */
	return plain_text(n.full);
}

static struct text substituted(struct state *s, int *ret_new)
{
	const struct pack *ignored;
	struct text t;

	if (s->at[1] == 't')
		return class_type(s);
	t = substitution(s);
	*ret_new = *s->at == 'I';
	if (*ret_new)
		t = plain_text(join(s, whole(s, &t), template_args(s, &ignored), NULL));
	return t;
}

static struct text parameter_type(struct state *s)
{
	const struct pack *ignored;
	struct text t = template_param(s);

	if (*s->at == 'I') {
		remember(s, t);
		t = plain_text(join(s, whole(s, &t), template_args(s, &ignored), NULL));
	}
	return t;
}

static struct text type(struct state *s)
{
	struct text t = nothing;
	const char *simple = NULL;
	int is_new = 1;

	if (s->failed || ++s->depth > DEPTH_MAX) {
		fail(s);
		return nothing;
	}
	if (*s->at && strchr("rVK", *s->at))
		t = qualified(s);
	else if (eat(s, "P"))
		t = point(s, type(s), "*", 0);
	else if (eat(s, "R"))
		t = point(s, type(s), "&", 1);
	else if (eat(s, "O"))
		t = point(s, type(s), "&&", 2);
	else if (eat(s, "F"))
		t = function_type(s);
	else if (eat(s, "A"))
		t = array_type(s);
	else if (eat(s, "M"))
		t = member_pointer(s);
	else if (*s->at == 'T')
		t = parameter_type(s);
	else if (*s->at == 'S')
		t = substituted(s, &is_new);
	else if (eat(s, "Dp"))
		t = expansion(s);
	else if (eat(s, "u"))
		t = plain_text(source_name(s));
	else if ((simple = builtin(s)))
		t = plain_text(simple);
	else
		t = class_type(s);
	if (is_new && !simple)
		remember(s, t);
	s->depth--;
	return t;
}

/* ---- the whole ---- */

static const char *encoding(struct state *s, struct gt_demangled *parts)
{
	const struct pack *args = s->args;
	const char *list = "", *call;
	struct text result = nothing;
	struct name n;

	s->args = NULL;
	n = name(s);
	/* The name alone is worth having, should the rest not be understood. */
	if (parts && !s->failed)
		*parts = (struct gt_demangled){ parts->memory, n.full, n.full, n.full, n.plain };
	if (*s->at && *s->at != 'E' && *s->at != '.') {
		if (n.is_template && !n.no_return) {
			result = type(s);
			result.left = result.kind == PLAIN && !*result.right ?
				join(s, result.left, " ", NULL) : result.left;
		}
		list = params(s);
	}
	call = join(s, n.full, list, *list ? n.qualifiers : "", NULL);
	s->args = args;
	result.left = join(s, result.left, call, result.right, NULL);
	if (parts && !s->failed && (!*s->at || *s->at == '.')) {
		parts->call = call;
		parts->full = result.left;
	}
	return result.left;
}

int gt_demangle_function(const char *mangled, struct gt_demangled *ret_demangled)
{
	struct gt_demangled parts = { 0 };
	struct state *s;

	/* Older nvcc put a file's name in front of static functions. */
	if (!strncmp(mangled, "__nv_static_", 12)) {
		mangled = strstr(mangled, "__Z");
		mangled = mangled ? mangled + 1 : "";
	}
	if (strncmp(mangled, "_Z", 2))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	parts.memory = malloc(ARENA);
	if (!s || !parts.memory) {
		free(s);
		free(parts.memory);
		return -ENOMEM;
	}
	s->arena = parts.memory;
	s->at = mangled + 2;
	encoding(s, &parts);
	free(s);
	if (!parts.name) {
		free(parts.memory);
		return -EINVAL;
	}
	*ret_demangled = parts;
	return 0;
}
