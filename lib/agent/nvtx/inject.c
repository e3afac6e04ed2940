/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's way in: the header that programs include loads the library that
 * NVTX_INJECTION64_PATH names at its first call, once for each library that uses it,
 * and lets it fill in tables of functions.  What was loaded there before us is
 * loaded still and called after us.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/nvtx/nvtx.h"

/* What the functions take, as far as it is looked at. */
struct attributes {
	uint16_t version, size;		/* size: of all that follows too */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE, MESSAGE_REGISTERED };

/* Places in the two tables. */
enum { CORE = 1, CORE2 = 5 };
enum {
	MARK_EX = 1, MARK_A, MARK_W, RANGE_START_EX, RANGE_START_A, RANGE_START_W, RANGE_END,
	RANGE_PUSH_EX, RANGE_PUSH_A, RANGE_PUSH_W, RANGE_POP, NAME_THREAD_A = 14, NAME_THREAD_W,
};
enum {
	DOMAIN_MARK_EX = 1, DOMAIN_RANGE_START_EX, DOMAIN_RANGE_END, DOMAIN_RANGE_PUSH_EX, DOMAIN_RANGE_POP,
	DOMAIN_REGISTER_A = 10, DOMAIN_REGISTER_W, DOMAIN_CREATE_A, DOMAIN_CREATE_W,
};
#define TABLE_SIZE 16

typedef void function(void);
static function *next_core[TABLE_SIZE], *next_core2[TABLE_SIZE];	/* of whoever was there before us */

/* `next`: the earlier one's function of the same type as ours, or NULL. */
#define NEXT(table, place, ours) \
	__typeof__(ours) *next = (__typeof__(ours) *)__atomic_load_n(&next_##table[place], __ATOMIC_RELAXED)

/* Ids that another one gives are set apart from ours. */
#define FOREIGN (1ull << 63)

static const char *text_of(const struct attributes *attributes, char buffer[GT_NVTX_TEXT + 1])
{
	if (!attributes || attributes->size < sizeof(*attributes) || !attributes->message)
		return NULL;
	switch (attributes->message_type) {
	case MESSAGE_ASCII:
		return attributes->message;
	case MESSAGE_UNICODE:
		return gt_nvtx_narrow(attributes->message, buffer, GT_NVTX_TEXT + 1);
	case MESSAGE_REGISTERED:
		return gt_nvtx_find_string(attributes->message);
	default:
		return NULL;
	}
}

/* ---- the default domain ---- */

static void mark_ex(const struct attributes *attributes)
{
	NEXT(core, MARK_EX, mark_ex);
	char buffer[GT_NVTX_TEXT + 1];

	gt_nvtx_mark(NULL, text_of(attributes, buffer));
	if (next)
		next(attributes);
}

static void mark_a(const char *text)
{
	NEXT(core, MARK_A, mark_a);

	gt_nvtx_mark(NULL, text);
	if (next)
		next(text);
}

static void mark_w(const wchar_t *text)
{
	NEXT(core, MARK_W, mark_w);
	char buffer[GT_NVTX_TEXT + 1];

	gt_nvtx_mark(NULL, gt_nvtx_narrow(text, buffer, sizeof(buffer)));
	if (next)
		next(text);
}

static uint64_t started(uint64_t foreign, const struct gt_nvtx_domain *domain, const char *text)
{
	gt_nvtx_start(foreign | FOREIGN, domain, text);
	return foreign;
}

static uint64_t start_ex(const struct attributes *attributes)
{
	NEXT(core, RANGE_START_EX, start_ex);
	char buffer[GT_NVTX_TEXT + 1];
	const char *text = text_of(attributes, buffer);

	return next ? started(next(attributes), NULL, text) : gt_nvtx_start(0, NULL, text);
}

static uint64_t start_a(const char *text)
{
	NEXT(core, RANGE_START_A, start_a);

	return next ? started(next(text), NULL, text) : gt_nvtx_start(0, NULL, text);
}

static uint64_t start_w(const wchar_t *wide)
{
	NEXT(core, RANGE_START_W, start_w);
	char buffer[GT_NVTX_TEXT + 1];
	const char *text = gt_nvtx_narrow(wide, buffer, sizeof(buffer));

	return next ? started(next(wide), NULL, text) : gt_nvtx_start(0, NULL, text);
}

static void end(uint64_t id)
{
	NEXT(core, RANGE_END, end);

	gt_nvtx_end(next ? id | FOREIGN : id);
	if (next)
		next(id);
}

static int push_ex(const struct attributes *attributes)
{
	NEXT(core, RANGE_PUSH_EX, push_ex);
	char buffer[GT_NVTX_TEXT + 1];
	int level = gt_nvtx_push(NULL, text_of(attributes, buffer));

	return next ? next(attributes) : level;
}

static int push_a(const char *text)
{
	NEXT(core, RANGE_PUSH_A, push_a);
	int level = gt_nvtx_push(NULL, text);

	return next ? next(text) : level;
}

static int push_w(const wchar_t *text)
{
	NEXT(core, RANGE_PUSH_W, push_w);
	char buffer[GT_NVTX_TEXT + 1];
	int level = gt_nvtx_push(NULL, gt_nvtx_narrow(text, buffer, sizeof(buffer)));

	return next ? next(text) : level;
}

static int pop(void)
{
	NEXT(core, RANGE_POP, pop);
	int level = gt_nvtx_pop(NULL);

	return next ? next() : level;
}

static void name_thread_a(uint32_t tid, const char *text)
{
	NEXT(core, NAME_THREAD_A, name_thread_a);

	gt_nvtx_name_thread(tid, text);
	if (next)
		next(tid, text);
}

static void name_thread_w(uint32_t tid, const wchar_t *text)
{
	NEXT(core, NAME_THREAD_W, name_thread_w);
	char buffer[GT_NVTX_TEXT + 1];

	gt_nvtx_name_thread(tid, gt_nvtx_narrow(text, buffer, sizeof(buffer)));
	if (next)
		next(tid, text);
}

/* ---- domains ---- */

static void domain_mark_ex(const void *handle, const struct attributes *attributes)
{
	NEXT(core2, DOMAIN_MARK_EX, domain_mark_ex);
	char buffer[GT_NVTX_TEXT + 1];

	gt_nvtx_mark(gt_nvtx_find_domain(handle), text_of(attributes, buffer));
	if (next)
		next(handle, attributes);
}

static uint64_t domain_start_ex(const void *handle, const struct attributes *attributes)
{
	NEXT(core2, DOMAIN_RANGE_START_EX, domain_start_ex);
	const struct gt_nvtx_domain *domain = gt_nvtx_find_domain(handle);
	char buffer[GT_NVTX_TEXT + 1];
	const char *text = text_of(attributes, buffer);

	return next ? started(next(handle, attributes), domain, text) : gt_nvtx_start(0, domain, text);
}

static void domain_end(const void *handle, uint64_t id)
{
	NEXT(core2, DOMAIN_RANGE_END, domain_end);

	gt_nvtx_end(next ? id | FOREIGN : id);
	if (next)
		next(handle, id);
}

static int domain_push_ex(const void *handle, const struct attributes *attributes)
{
	NEXT(core2, DOMAIN_RANGE_PUSH_EX, domain_push_ex);
	char buffer[GT_NVTX_TEXT + 1];
	int level = gt_nvtx_push(gt_nvtx_find_domain(handle), text_of(attributes, buffer));

	return next ? next(handle, attributes) : level;
}

static int domain_pop(const void *handle)
{
	NEXT(core2, DOMAIN_RANGE_POP, domain_pop);
	int level = gt_nvtx_pop(gt_nvtx_find_domain(handle));

	return next ? next(handle) : level;
}

static const void *domain_register_a(const void *handle, const char *text)
{
	NEXT(core2, DOMAIN_REGISTER_A, domain_register_a);

	return gt_nvtx_register(next ? next(handle, text) : NULL, text);
}

static const void *domain_register_w(const void *handle, const wchar_t *text)
{
	NEXT(core2, DOMAIN_REGISTER_W, domain_register_w);
	char buffer[GT_NVTX_TEXT + 1];

	return gt_nvtx_register(next ? next(handle, text) : NULL, gt_nvtx_narrow(text, buffer, sizeof(buffer)));
}

static const void *created(const void *foreign, const char *name)
{
	struct gt_nvtx_domain *domain = gt_nvtx_domain(name);
	const void *handle = foreign ? foreign : domain;

	gt_nvtx_domain_is(handle, domain);
	return handle;
}

static const void *domain_create_a(const char *name)
{
	NEXT(core2, DOMAIN_CREATE_A, domain_create_a);

	return created(next ? next(name) : NULL, name);
}

static const void *domain_create_w(const wchar_t *name)
{
	NEXT(core2, DOMAIN_CREATE_W, domain_create_w);
	char buffer[GT_NVTX_DOMAIN + 1];

	return created(next ? next(name) : NULL, gt_nvtx_narrow(name, buffer, sizeof(buffer)));
}

/* ---- the tables ---- */

static function *const core[TABLE_SIZE] = {
	[MARK_EX] = (function *)mark_ex, [MARK_A] = (function *)mark_a, [MARK_W] = (function *)mark_w,
	[RANGE_START_EX] = (function *)start_ex, [RANGE_START_A] = (function *)start_a,
	[RANGE_START_W] = (function *)start_w, [RANGE_END] = (function *)end,
	[RANGE_PUSH_EX] = (function *)push_ex, [RANGE_PUSH_A] = (function *)push_a,
	[RANGE_PUSH_W] = (function *)push_w, [RANGE_POP] = (function *)pop,
	[NAME_THREAD_A] = (function *)name_thread_a, [NAME_THREAD_W] = (function *)name_thread_w,
};

static function *const core2[TABLE_SIZE] = {
	[DOMAIN_MARK_EX] = (function *)domain_mark_ex, [DOMAIN_RANGE_START_EX] = (function *)domain_start_ex,
	[DOMAIN_RANGE_END] = (function *)domain_end, [DOMAIN_RANGE_PUSH_EX] = (function *)domain_push_ex,
	[DOMAIN_RANGE_POP] = (function *)domain_pop, [DOMAIN_REGISTER_A] = (function *)domain_register_a,
	[DOMAIN_REGISTER_W] = (function *)domain_register_w, [DOMAIN_CREATE_A] = (function *)domain_create_a,
	[DOMAIN_CREATE_W] = (function *)domain_create_w,
};

/* The program's table: where its pointers to the functions are. */
struct table {
	function ***places;
	unsigned count;
	function *before[TABLE_SIZE];	/* what was there when we came */
};

#define EXPORT_CALLBACKS 1u
typedef const void *export_fn(uint32_t which);

struct callbacks {
	size_t size;
	int (*get_table)(int module, function ****ret_places, unsigned *ret_count);
};

static bool open_table(export_fn *get_export, int module, struct table *table)
{
	const struct callbacks *callbacks = get_export(EXPORT_CALLBACKS);

	memset(table, 0, sizeof(*table));
	if (!callbacks || callbacks->size < sizeof(*callbacks) ||
	    !callbacks->get_table(module, &table->places, &table->count) || !table->places)
		return false;
	if (table->count > TABLE_SIZE)
		table->count = TABLE_SIZE;
	for (unsigned i = 1; i < table->count; i++)
		table->before[i] = table->places[i] ? *table->places[i] : NULL;
	return true;
}

/* What has changed since open_table() is another one's, which comes after ours. */
static void fill_table(struct table *table, function *const *ours, function **next)
{
	for (unsigned i = 1; i < table->count; i++) {
		if (!ours[i] || !table->places[i])
			continue;
		if (*table->places[i] != table->before[i])
			__atomic_store_n(&next[i], *table->places[i], __ATOMIC_RELAXED);
		*table->places[i] = ours[i];
	}
}

/* Whoever asked to be loaded here before us still is. */
static int chain(export_fn *get_export)
{
	const char *path = secure_getenv(GT_ENV_NVTX_CHAIN);
	void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(export_fn *) = NULL;

	if (library)
		initialize = (int (*)(export_fn *))dlsym(library, "InitializeInjectionNvtx2");
	return initialize ? initialize(get_export) : 0;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(export_fn *get_export);

/* 0: nobody wants to know of ranges, and the program's calls do nothing from now on. */
int InitializeInjectionNvtx2(export_fn *get_export)
{
	int saved = errno, served = 0;
	struct table first, second;
	bool has_first = open_table(get_export, CORE, &first), has_second = open_table(get_export, CORE2, &second);

	served = chain(get_export);
	if (gt_join(false) && gt_session.flags & GT_CONFIG_NVTX) {
		if (has_first)
			fill_table(&first, core, next_core);
		if (has_second)
			fill_table(&second, core2, next_core2);
		served = 1;
	}
	errno = saved;
	return served;
}
