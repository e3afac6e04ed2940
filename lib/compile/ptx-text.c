/* SPDX-License-Identifier: Apache-2.0 */
/* PTX text: from what LLVM writes to what an image holds, and on to what is attached. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/image-data.h"
#include "lib/compile/ir.h"
#include "lib/util/error.h"
#include "lib/wire/wire.h"

static bool starts(const char *line, const char *end, const char *prefix)
{
	size_t length = strlen(prefix);

	return (size_t)(end - line) >= length && !strncmp(line, prefix, length);
}

static bool contains(const char *line, const char *end, const char *word)
{
	return memmem(line, (size_t)(end - line), word, strlen(word)) != NULL;
}

/* Lines that do not belong into probe text: the module's header and declarations of symbols. */
static bool is_dropped(const char *line, const char *end)
{
	while (line < end && isspace((unsigned char)*line))
		line++;
	if (line == end || starts(line, end, "//"))
		return true;
	if (starts(line, end, ".version") || starts(line, end, ".target") || starts(line, end, ".address_size"))
		return true;
	return starts(line, end, ".extern .global") && contains(line, end, GT_SYMBOL_PREFIX);
}

/* A comment that LLVM adds behind some lines says nothing here. */
static const char *cut_comment(const char *line, const char *end)
{
	const char *comment = memmem(line, (size_t)(end - line), "//", 2);

	end = comment ? comment : end;
	while (end > line && isspace((unsigned char)end[-1]))
		end--;
	return end;
}

static int check_text(const char *text)
{
	static const char *const forbidden[] = { ".extern", ".global .", ".const .", ".visible .global", ".shared" };
	unsigned i;

	for (i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		if (strstr(text, forbidden[i]))
			return gt_error(-EIO, "the compiled program needs a variable (%s), which probes "
					"cannot have", forbidden[i]);
	return 0;
}

int gt_ptx_tidy(const char *text, size_t length, char **ret_text)
{
	const char *end = text + length, *line, *next, *cut;
	char *tidy = malloc(length + 1), *to = tidy;
	int r;

	if (!tidy)
		return gt_error(-ENOMEM, "out of memory for %zu bytes of PTX", length);
	for (line = text; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		if (is_dropped(line, next))
			continue;
		cut = cut_comment(line, next);
		memcpy(to, line, (size_t)(cut - line));
		to += cut - line;
		*to++ = '\n';
	}
	*to = '\0';
	r = check_text(tidy);
	if (r < 0) {
		free(tidy);
		return r;
	}
	*ret_text = tidy;
	return 0;
}

/* ---- linking ---- */

struct output {
	char *text;
	size_t length, room;
	bool failed;
};

static void put(struct output *out, const char *text, size_t length)
{
	size_t room = out->room;
	char *more;

	if (out->failed)
		return;
	if (length >= room - out->length) {
		room = (room + length + 1) * 2;
		more = realloc(out->text, room);
		if (!more) {
			out->failed = true;
			return;
		}
		out->text = more;
		out->room = room;
	}
	memcpy(out->text + out->length, text, length);
	out->length += length;
	out->text[out->length] = '\0';
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Ring 0 has the first control block and the first tail. */
static uint64_t ring0_value(const struct gt_link_env *env, enum gt_symbol_kind kind)
{
	switch (kind) {
	case GT_SYMBOL_OFFSET:
		return env->ring0_data;
	case GT_SYMBOL_CTL:
		return offsetof(struct gt_dev_arena, ring);
	case GT_SYMBOL_TAIL:
		return offsetof(struct gt_host_arena, ring_tail);
	case GT_SYMBOL_SIZE:
		return env->ring0_size;
	case GT_SYMBOL_PID_TGID:
		return env->pid_tgid;
	default:
		return 0;
	}
}

static uint64_t map_value(const struct gputrace_map *map, enum gt_symbol_kind kind)
{
	switch (kind) {
	case GT_SYMBOL_OFFSET:
		return map->place.offset;
	case GT_SYMBOL_CTL:
		return map->place.ctl;
	case GT_SYMBOL_TAIL:
		return map->place.tail;
	case GT_SYMBOL_SIZE:
		return map->layout.bytes;
	case GT_SYMBOL_SOURCE:
		return map->place.source;
	default:
		return 0;
	}
}

/* One symbol at *text; LLVM may have added a constant to it, which is added here. */
static int put_symbol(struct output *out, const struct gputrace_image *image, const struct gt_link_env *env,
		      const char **text)
{
	const struct gputrace_map *map;
	const struct gt_symbol *symbol;
	const char *end = *text;
	uint64_t value;
	char number[24];
	char *rest;

	while (is_name(*end))
		end++;
	symbol = gt_symbols_find(&image->symbols, *text, (unsigned)(end - *text));
	if (!symbol)
		return gt_error(-EIO, "the PTX names an unknown symbol %.*s", (int)(end - *text), *text);
	if (symbol->map == GT_SYMBOL_RING0) {
		value = ring0_value(env, symbol->kind);
	} else {
		map = image->object->maps[symbol->map];
		if (!map->placed)
			return gt_error(-EINVAL, "map %s has no place yet", map->name);
		value = map_value(map, symbol->kind);
	}
	if (*end == '+' || *end == '-') {
		value += (uint64_t)strtoll(end, &rest, 10);
		end = rest;
	}
	put(out, number, (size_t)snprintf(number, sizeof(number), "%llu", (unsigned long long)value));
	*text = end;
	return 0;
}

static int link_text(struct output *out, const struct gputrace_image *image, const struct gt_link_env *env,
		     const char *prefix)
{
	const char *at = image->ptx, *next;
	int r;

	while (*at) {
		next = strstr(at, "__gt_");
		if (!next)
			next = at + strlen(at);
		put(out, at, (size_t)(next - at));
		at = next;
		if (!strncmp(at, GT_FUNCTION_PREFIX, strlen(GT_FUNCTION_PREFIX))) {
			put(out, prefix, strlen(prefix));
			at += strlen(GT_FUNCTION_PREFIX);
		} else if (!strncmp(at, GT_SYMBOL_PREFIX, strlen(GT_SYMBOL_PREFIX))) {
			r = put_symbol(out, image, env, &at);
			if (r < 0)
				return r;
		} else if (*at) {
			put(out, at++, 1);
		}
	}
	return out->failed ? gt_error(-ENOMEM, "out of memory for PTX") : 0;
}

int gt_image_link(const struct gputrace_image *image, unsigned number, const struct gt_link_env *env,
		  char **ret_text, char **ret_function)
{
	struct output out = {};
	char prefix[16], *function;
	int r;

	if (!image->ptx)
		return gt_error(-EINVAL, "an image for the host cannot run on a GPU");
	snprintf(prefix, sizeof(prefix), "gt%u_", number);
	r = link_text(&out, image, env, prefix);
	if (r >= 0 && asprintf(&function, "%s%s", prefix, image->main_name + strlen(GT_FUNCTION_PREFIX)) < 0)
		r = gt_error(-ENOMEM, "out of memory for PTX");
	if (r < 0) {
		free(out.text);
		return r;
	}
	*ret_text = out.text;
	*ret_function = function;
	return 0;
}
