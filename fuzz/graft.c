/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as machine code: a length (4 bytes), so many bytes of kernels, and a
 * stub, which goes onto all of them, at entry or, when the length is odd, at exit; with the
 * length's highest bit it goes to loads and stores instead.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/graft.h"

#define KERNELS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Could they run from a second module? */
static void set_apart(const uint8_t *cubin, size_t size, const struct gt_elf_kernel *kernels, unsigned count)
{
	struct gt_apart aparts[KERNELS_MAX];

	if (count > KERNELS_MAX)
		count = KERNELS_MAX;
	for (unsigned i = 0; i < count; i++)
		aparts[i].name = kernels[i].name;
	gt_cubin_apart(cubin, size, aparts, count);
}

static void put_stub(struct gt_graft_plan *plan, const char *name, unsigned id, const struct gt_graft_stub *stub,
		     uint32_t point)
{
	*plan = (struct gt_graft_plan){ .name = name, .kernel_id = id };
	if (point == GT_POINT_ENTRY)
		plan->entry = stub;
	else if (point == GT_POINT_EXIT)
		plan->exit = stub;
	else
		plan->access[point - GT_POINT_LOAD] = stub;
}

/* Names of the kernels, as the plans' names: they live in the data. */
static unsigned make_plans(const uint8_t *cubin, size_t size, const struct gt_graft_stub *stub, uint32_t point,
			   struct gt_graft_plan plans[KERNELS_MAX])
{
	struct gt_elf_kernel *kernels = NULL;
	unsigned count, i;
	struct gt_elf elf;
	const char *why;

	if (gt_elf_open(cubin, size, &elf, &why))
		return 0;
	if (gt_elf_kernels(&elf, &kernels, &count))
		count = 0;
	set_apart(cubin, size, kernels, count);
	for (i = 0; i < count && i < KERNELS_MAX; i++)
		put_stub(&plans[i], kernels[i].name, i, stub, point);
	free(kernels);
	gt_elf_close(&elf);
	return i;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_graft_result results[KERNELS_MAX];
	struct gt_graft_plan plans[KERNELS_MAX];
	char why[GT_GRAFT_WHY];
	struct gt_graft_stub *stub;
	uint32_t length, point;
	unsigned count;
	size_t new_size;
	void *image;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	point = (length & 1 ? GT_POINT_EXIT : GT_POINT_ENTRY) + (length >> 31 ? GT_POINT_LOAD : 0);
	length = (length & 0x7fffffff) / 2;
	if (length > size || gt_graft_stub_open(data + length, size - length, point, &stub, why))
		return 0;
	count = make_plans(data, length, stub, point, plans);
	if (count && !gt_graft(data, length, GT_GRAFT_FORCE, plans, count, &image, &new_size, results, why))
		free(image);
	gt_graft_stub_free(stub);
	return 0;
}
