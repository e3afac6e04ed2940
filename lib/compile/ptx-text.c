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

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Lines that do not belong into probe text: the module's header and declarations of symbols. */
static bool is_dropped(const char *line, const char *end)
{
	static const char *const dropped[] = {
		"//", ".version", ".target", ".address_size", ".file", "$L__tmp", "$L__func_begin", "$L__func_end",
	};
	unsigned i;

	if (line == end)
		return true;
	for (i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (starts(line, end, dropped[i]))
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

/* What programs call of the runtime that is PTX already. */
static const struct ready {
	const char *name, *text;
} ready[] = {
#include "lib/compile/table-gpu.inc"
};

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

/* The text is the author's: it must not end the comment, nor look like a symbol. */
static void put_source(struct output *out, const char *text)
{
	char clean[160];
	unsigned i;

	while (isspace((unsigned char)*text))
		text++;
	for (i = 0; text[i] && i < sizeof(clean) - 1; i++)
		clean[i] = isprint((unsigned char)text[i]) ? text[i] : ' ';
	clean[i] = '\0';
	for (i = 0; clean[i]; i++)
		if (!strncmp(clean + i, "__gt_", 5))
			clean[i] = ' ';
	put(out, clean, strlen(clean));
}

/* ".loc file number column", see ir-lines.c: a comment with the line of that number, unless it is the same again. */
static void put_line(struct output *out, const struct gt_prog *prog, const char *line,
		     const struct gt_line **last)
{
	const struct gt_line *source;
	unsigned long number;
	const char *file;
	char place[80];
	char *rest;

	strtoul(line + strlen(".loc"), &rest, 10);
	number = strtoul(rest, NULL, 10);
	if (!number || number > prog->line_count)
		return;
	source = &prog->lines[number - 1];
	if (*last && (*last)->line == source->line && !strcmp((*last)->file, source->file))
		return;
	*last = source;
	file = strrchr(source->file, '/');
	put(out, "\t// ", 4);
	put_source(out, file ? file + 1 : source->file);
	put(out, place, (size_t)snprintf(place, sizeof(place), ":%u: ", source->line));
	put_source(out, source->text);
	put(out, "\n", 1);
}

/* A declaration gives way to the function itself; where the declaration ends. */
static const char *put_ready(struct output *out, const char *line, const char *end)
{
	const char *close = memchr(line, ';', (size_t)(end - line)), *after;
	unsigned i;

	if (!close)
		return line;
	for (i = 0; i < sizeof(ready) / sizeof(ready[0]); i++) {
		after = memmem(line, (size_t)(close - line), ready[i].name, strlen(ready[i].name));
		if (!after || is_name(after[strlen(ready[i].name)]))
			continue;
		put(out, ready[i].text, strlen(ready[i].text));
		return close;
	}
	return line;
}

static const char *skip_section(const char *at, const char *end)
{
	const char *close = memmem(at, (size_t)(end - at), "\n\t}", 3);

	return close ? close + 3 : end;
}

int gt_ptx_tidy(const char *text, size_t length, const struct gt_prog *prog, char **ret_text)
{
	const char *end = text + length, *line, *next, *cut, *word;
	struct output out = {};
	const struct gt_line *last = NULL;
	int r;

	for (line = text; line < end; line = next + 1) {
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		for (word = line; word < next && isspace((unsigned char)*word); word++)
			;
		if (starts(word, next, ".section")) {
			next = skip_section(word, end);
			continue;
		}
		if (starts(word, next, ".loc\t")) {
			put_line(&out, prog, word, &last);
			continue;
		}
		if (is_dropped(word, next))
			continue;
		if (starts(word, next, ".extern .func")) {
			line = put_ready(&out, line, end);
			next = memchr(line, '\n', (size_t)(end - line));
			if (!next)
				next = end;
			continue;
		}
		cut = cut_comment(line, next);
		if (cut == line)
			continue;
		put(&out, line, (size_t)(cut - line));
		put(&out, "\n", 1);
	}
	r = out.failed || !out.text ? gt_error(-ENOMEM, "out of memory for %zu bytes of PTX", length) :
				      check_text(out.text);
	if (r < 0) {
		free(out.text);
		return r;
	}
	*ret_text = out.text;
	return 0;
}

/* ---- linking ---- */

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
