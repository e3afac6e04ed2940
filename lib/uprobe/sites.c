/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/sites.h"

#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/api_record.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/symbols.h"
#include "lib/util/error.h"
#include "lib/util/glob.h"

static int add(struct gt_sites *sites, uint64_t offset, uint64_t cookie)
{
	if (sites->count == sites->room) {
		unsigned room = sites->room ? 2 * sites->room : 256;
		struct gt_uprobe_site *list = reallocarray(sites->list, room, sizeof(*list));

		if (!list)
			return gt_error(-ENOMEM, "no memory for the list of functions");
		sites->list = list;
		sites->room = room;
	}
	sites->list[sites->count++] = (struct gt_uprobe_site){ .offset = offset, .cookie = cookie };
	return 0;
}

void gt_sites_free(struct gt_sites *sites)
{
	for (unsigned i = 0; sites->names && i < sites->count; i++)
		free(sites->names[i]);
	free(sites->names);
	free(sites->list);
	*sites = (struct gt_sites){ 0 };
}

/* ---- the driver's table ---- */

/* The table's names, sorted, so that the library's symbols are gone through once. */
struct wanted {
	const char *name;
	uint32_t function;
	uint64_t offset;
};

struct driver {
	struct wanted *wanted;
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

static int by_function(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

static int note_offset(void *data, const char *name, uint64_t offset)
{
	struct driver *driver = data;
	struct wanted key = { .name = name };
	struct wanted *hit = bsearch(&key, driver->wanted, driver->count, sizeof(key), by_name);

	if (hit)
		hit->offset = offset;
	return 0;
}

/* Two names for one place would record each call twice: the first name keeps it. */
static bool has_offset(const struct gt_sites *sites, uint64_t offset)
{
	for (unsigned i = 0; i < sites->count; i++) {
		if (sites->list[i].offset == offset)
			return true;
	}
	return false;
}

static int add_found(struct gt_sites *sites, const struct driver *driver)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < driver->count; i++) {
		const struct wanted *wanted = &driver->wanted[i];

		if (wanted->offset && !has_offset(sites, wanted->offset))
			r = add(sites, wanted->offset,
				GT_API_COOKIE(wanted->function, sites->library,
					      gt_api_arg_count(wanted->function)));
	}
	return r;
}

int gt_sites_of_driver(struct gt_sites *sites, const char *path, bool queries)
{
	struct driver driver = { 0 };
	uint32_t count = 0;
	int r;

	while (gt_api_name(count))
		count++;
	driver.wanted = calloc(count, sizeof(*driver.wanted));
	if (!driver.wanted)
		return gt_error(-ENOMEM, "no memory for the list of the driver's functions");
	for (uint32_t i = 0; i < count; i++) {
		if (gt_api_group(i) != GT_API_QUERY || queries)
			driver.wanted[driver.count++] = (struct wanted){ .name = gt_api_name(i), .function = i };
	}
	qsort(driver.wanted, driver.count, sizeof(*driver.wanted), by_name);
	r = gt_file_functions(path, false, note_offset, &driver);
	qsort(driver.wanted, driver.count, sizeof(*driver.wanted), by_function);
	if (r == 0)
		r = add_found(sites, &driver);
	free(driver.wanted);
	if (r == 0 && !sites->count)
		r = gt_error(-ENOENT, "%s exports none of the driver API's functions: it is not libcuda", path);
	return r;
}

/* ---- by pattern ---- */

struct match {
	uint64_t offset;
	char *name;
};

struct matches {
	const char *path, *pattern;
	struct match *list;
	unsigned count, room;
};

static int note_match(void *data, const char *name, uint64_t offset)
{
	struct matches *matches = data;
	char *copy;

	if (!gt_glob(matches->pattern, name, strlen(name)))
		return 0;
	/* Exported functions are in both tables of a library that is not stripped. */
	if (matches->count >= 2 * GT_SITES_MAX)
		return gt_error(-E2BIG, "%s: more than %u functions match %s; give a narrower pattern",
				matches->path, GT_SITES_MAX, matches->pattern);
	if (matches->count == matches->room) {
		unsigned room = matches->room ? 2 * matches->room : 256;
		struct match *list = reallocarray(matches->list, room, sizeof(*list));

		if (!list)
			return gt_error(-ENOMEM, "no memory for the list of functions");
		matches->list = list;
		matches->room = room;
	}
	copy = strdup(name);
	if (!copy)
		return gt_error(-ENOMEM, "no memory for a function's name");
	matches->list[matches->count++] = (struct match){ .offset = offset, .name = copy };
	return 0;
}

/* Of several names for one place, the first by the alphabet. */
static int by_place(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int take_matches(struct gt_sites *sites, struct matches *matches)
{
	int r = 0;

	sites->names = calloc(matches->count + 1, sizeof(*sites->names));
	if (!sites->names)
		return gt_error(-ENOMEM, "no memory for the names of functions");
	qsort(matches->list, matches->count, sizeof(*matches->list), by_place);
	for (unsigned i = 0; r == 0 && i < matches->count; i++) {
		struct match *match = &matches->list[i];

		if (i && match->offset == match[-1].offset)
			continue;
		if (sites->count == GT_SITES_MAX)
			return gt_error(-E2BIG, "%s: more than %u functions match %s; give a narrower pattern",
					matches->path, GT_SITES_MAX, matches->pattern);
		r = add(sites, match->offset, GT_API_COOKIE(sites->count, sites->library, GT_SITES_ARGS));
		if (r == 0) {
			sites->names[sites->count - 1] = match->name;
			match->name = NULL;
		}
	}
	return r;
}

int gt_sites_matching(struct gt_sites *sites, const char *path, const char *pattern)
{
	struct matches matches = { .path = path, .pattern = pattern };
	int r = gt_file_functions(path, true, note_match, &matches);

	if (r == 0 && !matches.count)
		r = gt_error(-ENOENT, "%s has no function that matches %s", path, pattern);
	if (r == 0)
		r = take_matches(sites, &matches);
	for (unsigned i = 0; i < matches.count; i++)
		free(matches.list[i].name);
	free(matches.list);
	return r;
}
