/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that device code calls and the runtime provides: vprintf, malloc, free, __assertfail. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define MAX_TEXT 8192
#define MAX_STRING 2048

static int fetch(struct warp *w, const struct op *op, unsigned lane, uint64_t addr, void *to,
		 unsigned size)
{
	const unsigned char *p = locate(w, op, lane, addr, size, 1, SPACE_GENERIC);

	if (!p)
		return -1;
	memcpy(to, p, size);
	return 0;
}

/* Up to MAX_STRING - 1 characters. */
static int fetch_string(struct warp *w, const struct op *op, unsigned lane, uint64_t addr,
			char text[MAX_STRING])
{
	unsigned n;

	for (n = 0; n < MAX_STRING - 1; n++) {
		if (fetch(w, op, lane, addr + n, &text[n], 1))
			return -1;
		if (!text[n])
			return 0;
	}
	text[n] = 0;
	return 0;
}

static uint64_t argument(const struct warp *w, const struct call_site *call, unsigned index,
			 unsigned lane)
{
	const struct place *p = &call->args[index];
	uint64_t value = 0;

	if (!p->is_reg)
		memcpy(&value, w->local + lane * w->local_stride + w->frame->local_base + p->at,
		       p->size > 8 ? 8 : p->size);
	else if (p->reg_bits == 64)
		value = ((const uint64_t *)slot(w, p->at))[lane];
	else
		value = ((const uint32_t *)slot(w, p->at))[lane];
	return value;
}

static void give_back(struct warp *w, const struct call_site *call, unsigned lane, uint64_t value)
{
	const struct place *p;

	if (!call->ret_count)
		return;
	p = &call->rets[0];
	if (!p->is_reg)
		memcpy(w->local + lane * w->local_stride + w->frame->local_base + p->at, &value,
		       p->size > 8 ? 8 : p->size);
	else if (p->reg_bits == 64)
		((uint64_t *)slot(w, p->at))[lane] = value;
	else
		((uint32_t *)slot(w, p->at))[lane] = (uint32_t)value;
}

static int has_args(const struct call_site *call, unsigned count)
{
	return call->arg_count >= count;
}

struct printer {
	struct warp *w;
	const struct op *op;
	unsigned lane;
	uint64_t args;		/* where the next argument lies */
	unsigned taken;
	char text[MAX_TEXT];
	size_t length;
};

static int next_argument(struct printer *p, unsigned size, void *to)
{
	p->args = (p->args + size - 1) & ~(uint64_t)(size - 1);
	if (fetch(p->w, p->op, p->lane, p->args, to, size))
		return -1;
	p->args += size;
	p->taken++;
	return 0;
}

static void add_text(struct printer *p, const char *text, size_t length)
{
	if (length > sizeof(p->text) - 1 - p->length)
		length = sizeof(p->text) - 1 - p->length;
	memcpy(p->text + p->length, text, length);
	p->length += length;
}

/* %[flags][width][.precision][length]conversion, copied with stars filled in and no length. */
struct spec {
	char text[64];
	unsigned n;
	int is_long;
	char conversion;
};

static int add_star(struct printer *p, struct spec *spec)
{
	int value;

	if (next_argument(p, 4, &value))
		return -1;
	if (value > 1000 || value < -1000)
		value = 1000;
	spec->n += (unsigned)snprintf(spec->text + spec->n, 8, "%d", value);
	return 0;
}

static const char *parse_spec(struct printer *p, const char *at, struct spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	spec->text[spec->n++] = *at++;
	while (*at && strchr("-+ #0123456789.*", *at) && spec->n < 40) {
		if (*at == '*') {
			if (add_star(p, spec))
				return NULL;
			at++;
			continue;
		}
		spec->text[spec->n++] = *at++;
	}
	for (; *at && strchr("hlLqjzt", *at); at++)
		spec->is_long |= *at != 'h';
	spec->conversion = *at;
	return *at ? at + 1 : at;
}

/* A width in the text itself may be as large as the text says; cut what comes out. */
#define FORMAT(p, spec, tail, value) \
	do { \
		char piece_[MAX_STRING]; \
		int n_; \
		memcpy((spec)->text + (spec)->n, tail, sizeof(tail)); \
		n_ = snprintf(piece_, sizeof(piece_), (spec)->text, value); \
		if (n_ > 0) \
			add_text(p, piece_, (size_t)n_ < sizeof(piece_) ? (size_t)n_ : sizeof(piece_) - 1); \
	} while (0)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_integer(struct printer *p, struct spec *spec)
{
	long long wide;
	int narrow;
	char tail[4] = { 'l', 'l', spec->conversion, 0 };

	if (spec->is_long) {
		if (next_argument(p, 8, &wide))
			return -1;
	} else {
		if (next_argument(p, 4, &narrow))
			return -1;
		wide = spec->conversion == 'd' || spec->conversion == 'i' ? narrow :
		       (long long)(unsigned)narrow;
	}
	FORMAT(p, spec, tail, wide);
	return 0;
}

static int print_one(struct printer *p, struct spec *spec)
{
	char string[MAX_STRING], tail[2] = { spec->conversion, 0 };
	uint64_t pointer;
	double real;
	int narrow;

	switch (spec->conversion) {
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		return print_integer(p, spec);
	case 'c':
		if (next_argument(p, 4, &narrow))
			return -1;
		FORMAT(p, spec, tail, narrow);
		return 0;
	case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
		if (next_argument(p, 8, &real))
			return -1;
		FORMAT(p, spec, tail, real);
		return 0;
	case 'p':
		if (next_argument(p, 8, &pointer))
			return -1;
		FORMAT(p, spec, tail, (void *)(uintptr_t)pointer);
		return 0;
	case 's':
		if (next_argument(p, 8, &pointer) ||
		    fetch_string(p->w, p->op, p->lane, pointer, string))
			return -1;
		FORMAT(p, spec, tail, string);
		return 0;
	default:
		/* No conversion: the text stands for itself. */
		add_text(p, spec->text, spec->n);
		if (spec->conversion)
			add_text(p, tail, 1);
		return 0;
	}
}
#pragma GCC diagnostic pop

static int print_lane(struct printer *p, const char *format)
{
	struct spec spec;

	while (*format) {
		if (*format != '%') {
			size_t run = strcspn(format, "%");

			add_text(p, format, run);
			format += run;
		} else if (format[1] == '%') {
			add_text(p, "%", 1);
			format += 2;
		} else {
			format = parse_spec(p, format, &spec);
			if (!format || print_one(p, &spec))
				return -1;
		}
	}
	return 0;
}

static int do_vprintf(struct warp *w, const struct op *op, const struct call_site *call,
		      uint32_t mask)
{
	const struct sim_device *dev = w->worker->launch->dev;
	char format[MAX_STRING];
	struct printer printer;

	if (!has_args(call, 2))
		return warp_fault(w, op, 0, SIM_ERROR_TRAP, "vprintf without arguments");
	for (uint32_t todo = mask; todo; todo &= todo - 1) {
		unsigned lane = (unsigned)__builtin_ctz(todo);

		printer.w = w;
		printer.op = op;
		printer.lane = lane;
		printer.args = argument(w, call, 1, lane);
		printer.taken = 0;
		printer.length = 0;
		if (fetch_string(w, op, lane, argument(w, call, 0, lane), format) ||
		    print_lane(&printer, format))
			return OP_FAULT;
		printer.text[printer.length] = 0;
		dev->print(dev->data, printer.text, printer.length);
		give_back(w, call, lane, printer.taken);
	}
	return OP_NEXT;
}

static void *heap_take(struct sim_module *module, uint64_t size)
{
	struct heap_piece *piece;

	if (!size || size > 1ull << 40)
		return NULL;
	piece = malloc(sizeof(*piece));
	if (!piece)
		return NULL;
	piece->addr = module->dev->alloc(module->dev->data, size);
	if (!piece->addr) {
		free(piece);
		return NULL;
	}
	pthread_mutex_lock(&module->heap_lock);
	piece->next = module->heap;
	module->heap = piece;
	pthread_mutex_unlock(&module->heap_lock);
	return piece->addr;
}

static int heap_give(struct sim_module *module, uint64_t addr)
{
	struct heap_piece **link, *piece = NULL;

	pthread_mutex_lock(&module->heap_lock);
	for (link = &module->heap; *link; link = &(*link)->next)
		if ((uintptr_t)(*link)->addr == addr) {
			piece = *link;
			*link = piece->next;
			break;
		}
	pthread_mutex_unlock(&module->heap_lock);
	if (!piece)
		return -1;
	module->dev->release(module->dev->data, piece->addr);
	free(piece);
	return 0;
}

static int do_malloc(struct warp *w, const struct op *op, const struct call_site *call,
		     uint32_t mask)
{
	if (!has_args(call, 1))
		return warp_fault(w, op, 0, SIM_ERROR_TRAP, "malloc without arguments");
	FOR_LANES(mask, i,
		give_back(w, call, i, (uintptr_t)heap_take(w->block->launch->kernel->module,
							   argument(w, call, 0, i))););
	return OP_NEXT;
}

static int do_free(struct warp *w, const struct op *op, const struct call_site *call, uint32_t mask)
{
	struct worker *worker = w->worker;

	if (!has_args(call, 1))
		return warp_fault(w, op, 0, SIM_ERROR_TRAP, "free without arguments");
	FOR_LANES(mask, i,
		uint64_t addr = argument(w, call, 0, i);
		if (addr && heap_give(w->block->launch->kernel->module, addr))
			return warp_fault(w, op, i, SIM_ERROR_TRAP,
					  "free of 0x%llx, which malloc did not give",
					  (unsigned long long)addr);
	);
	/* What was given back must be asked for again. */
	memset(worker->ranges, 0, sizeof(worker->ranges));
	worker->range_base = worker->range_size = 0;
	return OP_NEXT;
}

/* __assertfail(message, file, line, function, character size) */
static int do_assert(struct warp *w, const struct op *op, const struct call_site *call,
		     uint32_t mask)
{
	const struct sim_device *dev = w->worker->launch->dev;
	unsigned lane = (unsigned)__builtin_ctz(mask);
	char message[MAX_STRING] = "", file[MAX_STRING] = "", function[MAX_STRING] = "";
	char text[4 * MAX_STRING];
	unsigned line;
	int n;

	if (!has_args(call, 4))
		return warp_fault(w, op, lane, SIM_ERROR_TRAP, "__assertfail without arguments");
	if (fetch_string(w, op, lane, argument(w, call, 0, lane), message) ||
	    fetch_string(w, op, lane, argument(w, call, 1, lane), file) ||
	    fetch_string(w, op, lane, argument(w, call, 3, lane), function))
		return OP_FAULT;
	line = (unsigned)argument(w, call, 2, lane);
	n = snprintf(text, sizeof(text), "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] "
		     "Assertion `%s` failed.\n", file, line, function, w->block->ctaid[0],
		     w->block->ctaid[1], w->block->ctaid[2], w->tid[0][lane], w->tid[1][lane],
		     w->tid[2][lane], message);
	if (n > 0)
		dev->print(dev->data, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return warp_fault(w, op, lane, SIM_ERROR_TRAP, "assertion `%.100s` failed, %.60s:%u", message,
			  file, line);
}

int (*builtin_find(const char *name))(struct warp *w, const struct op *op,
				      const struct call_site *call, uint32_t mask)
{
	if (!strcmp(name, "vprintf"))
		return do_vprintf;
	if (!strcmp(name, "malloc"))
		return do_malloc;
	if (!strcmp(name, "free"))
		return do_free;
	if (!strcmp(name, "__assertfail"))
		return do_assert;
	return NULL;
}
