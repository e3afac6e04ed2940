/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/variants.h"

#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/compile.h"

/* A part without programs in it stays as it came: machine code if the driver would take that, and PTX. */
static unsigned list_part(const struct gt_module *part, const struct gt_source *source, struct gt_fatbin_part *list)
{
	if (!part->replacement)
		return gt_source_members(source, list);
	list[0] = (struct gt_fatbin_part){
		.arch = part->arch, .code = part->replacement, .size = part->replacement_size,
	};
	return 1;
}

static void keep_own(struct gt_module *library, const struct gt_source *sources)
{
	struct gt_fatbin_part list[2 * GT_ARCHS_MAX] = { { 0 } };
	unsigned count = 0;
	size_t size;

	for (unsigned i = 0; i < library->part_count; i++)
		count += gt_source_members(&sources[i], &list[count]);
	library->own = gt_fatbin_write(list, count, &size);
}

static void join_images(struct gt_module *library, const struct gt_source *sources)
{
	struct gt_fatbin_part list[2 * GT_ARCHS_MAX] = { { 0 } };
	unsigned count = 0, replaced = 0;

	for (unsigned i = 0; i < library->part_count; i++) {
		count += list_part(library->parts[i], &sources[i], &list[count]);
		replaced += library->parts[i]->replacement != NULL;
	}
	if (replaced)
		library->replacement = gt_fatbin_write(list, count, &library->replacement_size);
	if (library->replacement && gt_module_is_changed(library))
		keep_own(library, sources);
	if (!replaced || library->replacement)
		return;
	gt_note(4, "out of memory for a library's code for several GPUs: it runs without programs");
	for (unsigned i = 0; i < library->part_count; i++)
		gt_build_refused(library->parts[i], CUDA_ERROR_OUT_OF_MEMORY);
}

static bool is_tied(const struct gt_kernel *a, const struct gt_kernel *b)
{
	for (const struct gt_kernel *k = a->variant; k && k != a; k = k->variant) {
		if (k == b)
			return true;
	}
	return false;
}

/* Launches go round the ring meanwhile. */
static void tie(struct gt_kernel *a, struct gt_kernel *b)
{
	if (is_tied(a, b) || b->variant)
		return;
	b->variant = a->variant ? a->variant : a;
	/* Pairs with the acquire of who goes round. */
	__atomic_store_n(&a->variant, b, __ATOMIC_RELEASE);
}

static void tie_kernels(struct gt_module *first, struct gt_module *other)
{
	for (unsigned i = 0; i < other->kernel_count; i++) {
		struct gt_kernel *kernel = &other->kernels[i];
		struct gt_kernel *same = gt_module_find_kernel(first, kernel->name);

		if (same)
			tie(same, kernel);
	}
	first->has_variants = other->has_variants = true;
}

void gt_variants_join(struct gt_module *library, const struct gt_source *sources)
{
	for (unsigned i = 1; i < library->part_count; i++)
		tie_kernels(library->parts[0], library->parts[i]);
	join_images(library, sources);
}

struct gt_kernel *gt_variant_here(struct gt_kernel *kernel)
{
	struct gt_kernel *k = __atomic_load_n(&kernel->variant, __ATOMIC_ACQUIRE);
	unsigned arch;

	if (!k)
		return kernel;
	arch = gt_device_arch();
	while (k != kernel && k->module->arch != arch)
		k = __atomic_load_n(&k->variant, __ATOMIC_ACQUIRE);
	return k;
}
