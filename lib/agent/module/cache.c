/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/cache.h"

#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/deep.h"

static struct gt_module *cache;
static unsigned cache_unused;

#define CACHE_UNUSED_MAX 64	/* modules kept though nothing uses them */

static void drop_oldest_unused(void)
{
	struct gt_module **link, **victim = NULL;

	for (link = &cache; *link; link = &(*link)->next) {
		if (!(*link)->users && !(*link)->has_variants)
			victim = link;
	}
	if (victim) {
		struct gt_module *module = *victim;

		*victim = module->next;
		gt_build_free(module);
		cache_unused--;
	}
}

void gt_cache_put(struct gt_module *module)
{
	if (--module->users)
		return;
	if (module->part_count) {
		for (unsigned i = 0; i < module->part_count; i++)
			gt_cache_put(module->parts[i]);
		gt_build_free(module);
		return;
	}
	if (++cache_unused > CACHE_UNUSED_MAX)
		drop_oldest_unused();
}

static void tell(const struct gt_module *module)
{
	for (unsigned i = 0; i < module->kernel_count; i++)
		gt_kernel_tell(&module->kernels[i]);
}

static struct gt_module *find_cached(const struct gt_source *source)
{
	for (struct gt_module **link = &cache; *link; link = &(*link)->next) {
		struct gt_module *module = *link;

		if (module->hash[0] != source->hash[0] || module->hash[1] != source->hash[1] ||
		    module->arch != source->arch || module->config != gt_session.config_hash)
			continue;
		*link = module->next;	/* to the front: the last is the oldest */
		module->next = cache;
		cache = module;
		if (!module->users++)
			cache_unused--;
		if (module->untold)
			tell(module);
		module->untold = false;
		return module;
	}
	return NULL;
}

struct building {
	struct gt_source *source;
	struct gt_module *module;
};

static void build(void *data)
{
	struct building *building = data;

	building->module = gt_build(building->source);
}

struct gt_module *gt_cache_get(struct gt_source *source)
{
	struct building building = { .source = source };
	struct gt_module *module = find_cached(source);

	if (module)
		return module;
	gt_run_deep(build, &building);
	module = building.module;
	if (!module) {
		gt_note(4, "out of memory for a module's programs: its kernels run without, and are listed as loaded before");
		return NULL;
	}
	module->users = 1;
	module->next = cache;
	cache = module;
	return module;
}

void gt_cache_tell(void)
{
	for (struct gt_module *module = cache; module; module = module->next) {
		module->untold = !module->users;
		if (module->users)
			tell(module);
	}
}
