/* SPDX-License-Identifier: Apache-2.0 */
/* What images are built to, and who is told of that. */
#include "lib/agent/module/module.h"

#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/module/cache.h"
#include "lib/agent/module/handle.h"
#include "lib/agent/module/unseen.h"
#include "lib/agent/module/variants.h"

GT_LOCK(gt_modules_lock);

struct gt_module *gt_module_of(struct gt_source *source)
{
	struct gt_module *module;

	gt_lock(&gt_modules_lock);
	module = gt_cache_get(source);
	gt_unlock(&gt_modules_lock);
	return module;
}

struct gt_module *gt_module_get(const void *code)
{
	struct gt_source source;
	struct gt_module *module;

	if (!gt_source_open(code, gt_device_arch(), &source))
		return NULL;
	module = gt_module_of(&source);
	gt_source_close(&source);
	return module;
}

static bool add_part(struct gt_module *library, struct gt_source *source)
{
	struct gt_module *part;

	gt_lock(&gt_modules_lock);
	part = gt_cache_get(source);
	if (part)
		library->parts[library->part_count++] = part;
	gt_unlock(&gt_modules_lock);
	return part;
}

struct gt_module *gt_library_get(const void *code)
{
	unsigned archs[GT_ARCHS_MAX], count = gt_device_archs(archs);
	struct gt_source sources[GT_ARCHS_MAX];
	struct gt_module *library;

	if (count == 1)
		return gt_module_get(code);
	library = calloc(1, sizeof(*library));
	if (!library)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		struct gt_source *source = &sources[library->part_count];

		/* Devices that nothing in it is for do not matter. */
		if (gt_source_open(code, archs[i], source) && !add_part(library, source))
			gt_source_close(source);
	}
	if (!library->part_count) {
		free(library);
		return NULL;
	}
	library->users = 1;
	gt_lock(&gt_modules_lock);
	gt_variants_join(library, sources);
	gt_unlock(&gt_modules_lock);
	for (unsigned i = 0; i < library->part_count; i++)
		gt_source_close(&sources[i]);
	return library;
}

void gt_module_put(struct gt_module *module)
{
	gt_lock(&gt_modules_lock);
	gt_cache_put(module);
	gt_unlock(&gt_modules_lock);
}

void gt_module_give_up(struct gt_module *module, CUresult why)
{
	gt_lock(&gt_modules_lock);
	gt_build_refused(module, why);
	for (unsigned i = 0; i < module->part_count; i++)
		gt_build_refused(module->parts[i], why);
	gt_unlock(&gt_modules_lock);
}

void gt_modules_announce(void)
{
	gt_lock(&gt_modules_lock);
	gt_cache_tell();
	gt_unseen_tell();
	gt_unlock(&gt_modules_lock);
}
