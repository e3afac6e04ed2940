/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/graft/common.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fixture.h"

const unsigned archs[ARCHS] = { 75, 80, 90, 100 };
const char *const kernel_names[KERNELS] = {
	"bounded", "ends_in_call", "endless", "no_params", "odd_params", "own_stack", "params_32760",
	"params_4096", "params_5000", "three_exits",
};

struct bytes load(const char *name, unsigned arch)
{
	struct bytes bytes;
	char file[256];

	snprintf(file, sizeof(file), "%s.%u.cubin", name, arch);
	bytes.data = load_fixture(TEST_DATA, file, &bytes.size);
	return bytes;
}

struct gt_graft_stub *open_bytes(struct bytes bytes, uint32_t point)
{
	char why[GT_GRAFT_WHY] = "";
	struct gt_graft_stub *stub;
	int r = gt_graft_stub_open(bytes.data, bytes.size, point, &stub, why);

	ck_assert_msg(!r, "%s", why);
	return stub;
}

struct gt_graft_stub *open_at(const char *name, unsigned arch, uint32_t point)
{
	struct bytes bytes = load(name, arch);
	struct gt_graft_stub *stub = open_bytes(bytes, point);

	free(bytes.data);
	return stub;
}

struct gt_graft_stub *open_stub(const char *name, unsigned arch)
{
	return open_at(name, arch, strncmp(name, "exit", 4) ? GT_POINT_ENTRY : GT_POINT_EXIT);
}

void graft(struct grafted *g, unsigned arch, const char *entry, const char *exit)
{
	memset(g, 0, sizeof(*g));
	g->before = load("kernels", arch);
	g->entry = entry ? open_stub(entry, arch) : NULL;
	g->exit = exit ? open_stub(exit, arch) : NULL;
	for (unsigned i = 0; i < KERNELS; i++)
		g->plans[i] = (struct gt_graft_plan){ .name = kernel_names[i], .kernel_id = 100 + i, .entry = g->entry, .exit = g->exit };
	g->r = gt_graft(g->before.data, g->before.size, arch < 100 ? 0 : GT_GRAFT_FORCE, g->plans, KERNELS, (void **)&g->after.data,
			&g->after.size, g->results, g->why);
}

void release(struct grafted *g)
{
	free(g->before.data);
	free(g->after.data);
	gt_graft_stub_free(g->entry);
	gt_graft_stub_free(g->exit);
}

unsigned index_of(const char *kernel)
{
	unsigned i = 0;

	while (strcmp(kernel_names[i], kernel))
		i++;
	return i;
}

void look(struct view *view, struct bytes bytes, const char *name)
{
	struct gt_elf_kernel *kernels;
	const char *why = "";
	unsigned count, i;

	ck_assert_msg(!gt_elf_open(bytes.data, bytes.size, &view->elf, &why), "%s", why);
	ck_assert_int_eq(gt_elf_kernels(&view->elf, &kernels, &count), 0);
	for (i = 0; i < count && strcmp(kernels[i].name, name); i++)
		;
	ck_assert_uint_lt(i, count);
	view->kernel = kernels[i];
	view->text = gt_elf_bytes(&view->elf, view->kernel.text);
	view->size = view->elf.sections[view->kernel.text].sh_size;
	free(kernels);
}

gt_word word(const struct view *view, uint64_t at)
{
	ck_assert_uint_le(at + GT_WORD, view->size);
	return gt_word_read(view->text + at);
}

uint64_t exit_leads_to(const struct view *before, const struct view *after, unsigned arch)
{
	uint64_t at = GT_WORD;

	while (!gt_is_exit(word(before, at)))
		at += GT_WORD;
	return (uint64_t)gt_target(word(after, at), arch, (int64_t)at);
}

/* Older architectures keep parameters above 4096 bytes elsewhere. */
uint32_t base_of(unsigned arch, const char *kernel)
{
	return arch >= 100 ? 0x380 : arch >= 90 ? 0x210 : strcmp(kernel, "params_5000") ? 0x160 : 0x1a80;
}
