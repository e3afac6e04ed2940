/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as machine code: a length (4 bytes), so many bytes of kernels, and a
 * stub, which goes onto all of them, at entry or, when the length is odd, at exit; with the
 * length's highest bit it goes to loads and stores instead, and with the one below to both.
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

static void put_stubs(struct gt_graft_plan *plan, const char *name, unsigned id, struct gt_graft_stub *const *stubs)
{
	*plan = (struct gt_graft_plan){
		.name = name, .kernel_id = id, .entry = stubs[GT_POINT_ENTRY], .exit = stubs[GT_POINT_EXIT],
	};
	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		plan->access[i] = stubs[GT_POINT_LOAD + i];
}

/* Names of the kernels, as the plans' names: they live in the data. */
static unsigned make_plans(const uint8_t *cubin, size_t size, struct gt_graft_stub *const *stubs,
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
		put_stubs(&plans[i], kernels[i].name, i, stubs);
	free(kernels);
	gt_elf_close(&elf);
	return i;
}

static void graft(const uint8_t *cubin, size_t size, struct gt_graft_stub *const *stubs)
{
	struct gt_graft_result results[KERNELS_MAX];
	struct gt_graft_plan plans[KERNELS_MAX];
	unsigned count = make_plans(cubin, size, stubs, plans);
	char why[GT_GRAFT_WHY];
	size_t new_size;
	void *image;

	if (count && !gt_graft(cubin, size, GT_GRAFT_FORCE, plans, count, &image, &new_size, results, why))
		free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_graft_stub *stubs[GT_GRAFT_POINTS] = { 0 };
	char why[GT_GRAFT_WHY];
	uint32_t length, point;
	bool both;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	point = (length & 1 ? GT_POINT_EXIT : GT_POINT_ENTRY) + (length >> 31 ? GT_POINT_LOAD : 0);
	both = length >> 30 & 1;
	length = (length & 0x3fffffff) / 2;
	if (length > size || gt_graft_stub_open(data + length, size - length, point, &stubs[point], why))
		return 0;
	if (!both || !gt_graft_stub_open(data + length, size - length, point ^ 1, &stubs[point ^ 1], why))
		graft(data, length, stubs);
	gt_graft_stub_free(stubs[point]);
	gt_graft_stub_free(stubs[point ^ 1]);
	return 0;
}
