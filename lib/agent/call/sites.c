/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the driver's functions are watched. */
#include <dlfcn.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/call/call.h"
#include "lib/agent/hook/patch.h"
#include "lib/uprobe/api_table.h"
#include "lib/uprobe/api_trace.h"

#define ONE(name, ...) + 1
enum { FUNCTIONS = 0 GT_API_TABLE(ONE) };
#undef ONE

_Atomic uint32_t gt_call_level;
atomic_bool gt_calls_copy;

static struct gt_call_site sites[FUNCTIONS];
static unsigned site_count;

#define REGISTER_ARGS 6
#define IPC_HANDLE_WORDS 8	/* the one structure that is passed in memory by value */

static uint64_t stack_words(const char *name, unsigned arg_count)
{
	uint64_t words = arg_count > REGISTER_ARGS ? arg_count - REGISTER_ARGS : 0;

	return strncmp(name, "cuIpcOpen", strlen("cuIpcOpen")) ? words : words + IPC_HANDLE_WORDS;
}

/* Two names for one place would record each call twice: the first name keeps it. */
static bool is_watched(const void *address)
{
	for (unsigned i = 0; i < site_count; i++) {
		if (sites[i].address == address)
			return true;
	}
	return false;
}

static uint32_t level_of(uint32_t function)
{
	return gt_api_group(function) == GT_API_QUERY ? GT_CALLS_ASKING : GT_CALLS_DOING;
}

static int watch(uint32_t function, const char *name, void *address, bool busy)
{
	struct gt_call_site *site = &sites[site_count];
	int r;

	site->function = function;
	site->arg_count = gt_api_arg_count(function);
	site->stack_words = stack_words(name, site->arg_count);
	site->level = level_of(function);
	site->copy = gt_copy_function(function);
	site->address = address;
	r = gt_patch(address, (void *)gt_call_thunk, site, busy, &site->target);
	site_count += !r;
	return r;
}

static bool is_wanted(uint32_t function, uint32_t level, bool copies)
{
	return level_of(function) <= level || (copies && gt_copy_function(function).shape != GT_SHAPE_NONE);
}

static void watch_all(void *library, uint32_t level, bool copies, bool busy)
{
	char missing[256] = "";
	unsigned unknown = 0;

	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		const char *name = gt_api_name(i);
		void *address = is_wanted(i, level, copies) ? dlsym(library, name) : NULL;

		if (!address || is_watched(address) || !watch(i, name, address, busy))
			continue;
		if (strlen(missing) + strlen(name) + 2 < sizeof(missing))
			strcat(strcat(missing, unknown ? " " : ""), name);
		unknown++;
	}
	if (unknown)
		gt_note(4, "%u of the driver's functions begin in a way that the agent does not know, or it cannot get between, and calls of them are not recorded: %s",
			unknown, missing);
}

static uint32_t wanted_level(void)
{
	if (!(gt_session.flags & GT_CONFIG_CALLS))
		return GT_CALLS_NONE;
	return gt_session.flags & GT_CONFIG_QUERIES ? GT_CALLS_ASKING : GT_CALLS_DOING;
}

void gt_calls_begin(bool busy)
{
	static uint32_t installed;
	static bool copies_installed;
	uint32_t level = wanted_level();
	bool copies = gt_session.flags & GT_CONFIG_MEMCPY;
	void *library = level > installed || copies > copies_installed ?
			dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;

	if (library) {
		watch_all(library, level, copies, busy);
		installed = level > installed ? level : installed;
		copies_installed |= copies;
		dlclose(library);
	}
	atomic_store(&gt_call_level, level);
	atomic_store(&gt_calls_copy, copies);
}
