/* SPDX-License-Identifier: Apache-2.0 */
/* The last check sees whatever else than the probes differs from the program's own code. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "tests/graft/common.h"
#include "tests/suite.h"

static int check(const struct grafted *g)
{
	char why[GT_GRAFT_WHY];

	return gt_graft_check(g->before.data, g->before.size, g->after.data, g->after.size, g->plans, KERNELS,
			      g->results, why);
}

static bool in_stub(const struct grafted *g, uint64_t offset)
{
	struct view before, after;
	bool inside = false;

	for (unsigned i = 0; i < KERNELS; i++) {
		uint64_t begin;

		look(&before, g->before, kernel_names[i]);
		look(&after, g->after, kernel_names[i]);
		begin = (uint64_t)(after.text - g->after.data);
		inside |= offset >= begin + before.size && offset < begin + after.size;
		gt_elf_close(&before.elf);
		gt_elf_close(&after.elf);
	}
	return inside;
}

/* The name of the section that has the byte; NULL: it belongs to none. */
static const char *section_of(const struct grafted *g, uint64_t offset)
{
	const char *name = NULL;
	struct view view;

	look(&view, g->after, "bounded");
	for (unsigned i = 1; i < view.elf.count; i++)
		if (view.elf.sections[i].sh_type != SHT_NOBITS && offset >= view.elf.sections[i].sh_offset &&
		    offset < view.elf.sections[i].sh_offset + view.elf.sections[i].sh_size)
			name = gt_elf_section_name(&view.elf, i);
	gt_elf_close(&view.elf);
	return name;
}

/* Outside the stubs' own instructions no bit may differ from what the check expects. */
START_TEST(the_check_sees_every_bit)
{
	unsigned seed = 12345, tried = 0;
	struct grafted g;

	graft(&g, archs[_i], "entry", "exit");
	ck_assert_int_eq(check(&g), 0);
	while (tried < 400) {
		uint64_t offset;
		uint8_t bit;

		seed = seed * 1664525u + 1013904223u;
		offset = (seed >> 3) % g.after.size;
		bit = (uint8_t)(1u << (seed & 7));
		if (in_stub(&g, offset) || !section_of(&g, offset))
			continue;
		tried++;
		g.after.data[offset] ^= bit;
		ck_assert_msg(check(&g) == -EINVAL, "sm_%u: bit %u at %#lx in %s", archs[_i], bit,
			      (unsigned long)offset, section_of(&g, offset));
		g.after.data[offset] ^= bit;
	}
	ck_assert_int_eq(check(&g), 0);
	release(&g);
}
END_TEST

/* Puts `new` in place of the stub's instruction at `at` and expects the check to see it. */
static void spoil(const struct grafted *g, const struct view *view, uint64_t at, gt_word new)
{
	gt_word old = word(view, at);

	gt_word_write((uint8_t *)(uintptr_t)view->text + at, new);
	ck_assert_int_eq(check(g), -EINVAL);
	gt_word_write((uint8_t *)(uintptr_t)view->text + at, old);
	ck_assert_int_eq(check(g), 0);
}

/* Registers over which the entry keeps something for the exit are nobody else's. */
START_TEST(the_check_sees_wrong_registers)
{
	struct view before, after;
	struct grafted g;
	uint64_t entry;
	unsigned i;

	graft(&g, 90, "entry-two", "exit-block");
	ck_assert_int_eq(check(&g), 0);
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	i = index_of("three_exits");
	entry = (before.size + 127) / 128 * 128;
	spoil(&g, &after, entry, gt_make_nop(0));
	spoil(&g, &after, entry, gt_make_read_special(g.results[i].kept + 1, GT_SR_TID));
	g.results[i].kept--;
	ck_assert_int_eq(check(&g), -EINVAL);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

/* Of constants stubs read those that all kernels have, and the hidden parameter. */
START_TEST(the_check_sees_wrong_constants)
{
	unsigned arch = archs[_i], seen = 0;
	struct view before, after;
	struct grafted g;

	graft(&g, arch, "entry", "exit");
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	for (uint64_t at = before.size; at < after.size; at += GT_WORD) {
		gt_word old = word(&after, at);

		if (gt_op(old) == GT_OP_LDCU)
			spoil(&g, &after, at, gt_with(old, 37, 16, base_of(arch, "three_exits")));
		if ((gt_op(old) != GT_OP_MOV_CONSTANT && gt_op(old) != GT_OP_LDC) || gt_constant_at(old) < base_of(arch, "three_exits"))
			continue;
		seen++;
		spoil(&g, &after, at, gt_with(old, 38, 16, base_of(arch, "three_exits")));
		spoil(&g, &after, at, gt_with(old, 54, 5, 3));
	}
	ck_assert_uint_ge(seen, 4);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

START_TEST(the_check_sees_wrong_stubs)
{
	unsigned arch = archs[_i];
	struct view before, after;
	struct grafted g;
	uint64_t entry, exit;

	graft(&g, arch, "entry", "exit");
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	entry = (before.size + 127) / 128 * 128;
	exit = exit_leads_to(&before, &after, arch);
	ck_assert_uint_gt(exit, entry);
	spoil(&g, &after, entry + GT_WORD, gt_make_branch(arch, (int64_t)(entry + GT_WORD), 32));
	spoil(&g, &after, entry + GT_WORD, gt_make_branch(arch, (int64_t)(entry + GT_WORD), (int64_t)exit));
	spoil(&g, &after, entry + GT_WORD, gt_make_branch(arch, (int64_t)(entry + GT_WORD), 1 << 20));
	spoil(&g, &after, entry + GT_WORD, (gt_word)0x794d | (gt_word)7 << 87);
	spoil(&g, &after, exit, gt_make_nop(0));
	spoil(&g, &after, exit + GT_WORD, gt_make_branch(arch, (int64_t)(exit + GT_WORD), 0));
	spoil(&g, &after, exit + GT_WORD, gt_make_bsync(arch, 0));
	/* A uniform register that the kernel may be using. */
	if (arch >= 80)
		spoil(&g, &after, exit + GT_WORD, (gt_word)0x7882 | (gt_word)4 << 16);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("check");

	tcase_add_loop_test(tcase, the_check_sees_every_bit, 0, ARCHS);
	tcase_add_test(tcase, the_check_sees_wrong_registers);
	tcase_add_loop_test(tcase, the_check_sees_wrong_constants, 0, ARCHS);
	tcase_add_loop_test(tcase, the_check_sees_wrong_stubs, 0, ARCHS);
	return run_case("check", tcase);
}
