/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that call what is not in their own code: where the driver supplies it they can have programs at their own
 * accesses, and it is told; else they cannot.  How many accesses each has one can count in data/supplied.cu.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"
#include "tests/graft/common.h"
#include "tests/suite.h"

#define LOADS (1u << GT_POINT_LOAD)
#define STORES (1u << GT_POINT_STORE)
#define ATOMICS (1u << GT_POINT_ATOMIC)
#define UNKNOWN "which functions it calls cannot be told, and their accesses would not be seen"

static const struct kernel {
	const char *name;
	unsigned loads, stores, atomics, local, calls;
	bool known;		/* all that it calls */
	bool apart;		/* its one load is in a function, which has a section of its own when it is linked */
} kernels[] = {
	{ "asserts", 1, 1, 1, 0, 1, true, false },
	{ "prints", 2, 1, 0, 1, 1, true, false },
	{ "heap", 0, 1, 0, 0, 2, true, false },
	{ "only_asserts", 0, 0, 0, 0, 1, true, false },
	{ "inner", 1, 1, 0, 0, 1, true, true },
	{ "by_pointer", 1, 1, 0, 0, 1, false, false },
	{ "only_by_pointer", 1, 0, 0, 0, 1, false, false },
};
#define KINDS (sizeof(kernels) / sizeof(kernels[0]))

static const char *file(bool linked)
{
	return linked ? "supplied-linked" : "supplied";
}

static void find(struct bytes bytes, const char *kernel, uint32_t points, struct gt_sites *sites)
{
	struct view view;

	look(&view, bytes, kernel);
	ck_assert_int_eq(gt_find_sites(&view.elf, &view.kernel, points, 64, sites), 0);
	gt_elf_close(&view.elf);
}

START_TEST(found)
{
	struct bytes bytes = load(file(_i), 90);

	for (unsigned i = 0; i < KINDS; i++) {
		const struct kernel *kernel = &kernels[i];
		bool apart = _i && kernel->apart;
		const unsigned counts[3] = { apart ? 0 : kernel->loads, kernel->stores, kernel->atomics };
		struct gt_sites sites;

		for (unsigned point = 0; point < 3; point++) {
			find(bytes, kernel->name, 1u << (GT_POINT_LOAD + point), &sites);
			if (kernel->known) {
				ck_assert_msg(!sites.refusal, "%s: %s", kernel->name, sites.refusal);
				ck_assert_msg(sites.count == counts[point], "%s %u: %u", kernel->name, point, sites.count);
				ck_assert_uint_eq(sites.left_elsewhere, apart && point == 0);
				ck_assert(sites.calls_driver);
			} else {
				/* Also where it has no access of the kind: those of what it calls would not be seen. */
				ck_assert_ptr_nonnull(sites.refusal);
				ck_assert_str_eq(sites.refusal, UNKNOWN);
			}
			gt_sites_free(&sites);
		}
	}
	free(bytes.data);
}
END_TEST

/* A kernel that calls nothing is not said to call the driver's functions. */
START_TEST(no_calls)
{
	struct bytes bytes = load("accesses", 90);
	struct gt_sites sites;

	find(bytes, "copy", LOADS | STORES | ATOMICS, &sites);
	ck_assert(!sites.refusal && !sites.calls_driver);
	gt_sites_free(&sites);
	free(bytes.data);
}
END_TEST

static uint8_t *writable(const struct view *view, unsigned section)
{
	return (uint8_t *)(uintptr_t)gt_elf_bytes(&view->elf, section);
}

/* Code that is not at hand may name any register. */
START_TEST(calls_away)
{
	struct bytes bytes = load(file(_i), 90), own = load("kernels", 90);
	struct gt_scan scan;
	struct view view;

	for (unsigned i = 0; i < KINDS; i++) {
		look(&view, bytes, kernels[i].name);
		gt_scan_code(&view.elf, &view.kernel, true, true, &scan);
		ck_assert_msg(scan.calls_away, "%s", kernels[i].name);
		gt_elf_close(&view.elf);
	}
	look(&view, own, "ends_in_call");	/* of what its own section has */
	gt_scan_code(&view.elf, &view.kernel, true, true, &scan);
	ck_assert(!scan.calls_away);
	/* Nor is it at hand where a jump leads to that is not relative. */
	gt_word_write(writable(&view, view.kernel.text) + GT_WORD, (gt_word)GT_OPP_JMP | 4u << 9 | GT_PT << 12);
	gt_scan_code(&view.elf, &view.kernel, true, true, &scan);
	ck_assert(scan.calls_away);
	gt_elf_close(&view.elf);
	free(bytes.data);
	free(own.data);
}
END_TEST

/* ---- what tells whose the functions are ---- */

/* Without the place of its call in the records the kernel calls anything. */
START_TEST(not_in_the_records)
{
	struct bytes bytes = load("supplied", 90);
	struct gt_note_record record;
	struct gt_note_walk walk;
	struct gt_sites sites;
	struct view view;

	look(&view, bytes, "asserts");
	walk = gt_note_begin(&view.elf, view.kernel.info);
	while (gt_note_next(&walk, &record) && record.attribute != GT_ATTR_SYSCALLS)
		;
	ck_assert_ptr_nonnull(record.payload);
	ck_assert_uint_eq(record.value, 4);
	gt_write32(writable(&view, view.kernel.info) + (record.payload - gt_elf_bytes(&view.elf, view.kernel.info)),
		   gt_read32(record.payload) - GT_WORD);
	gt_elf_close(&view.elf);
	find(bytes, "asserts", LOADS, &sites);
	ck_assert_str_eq(sites.refusal, UNKNOWN);
	gt_sites_free(&sites);
	free(bytes.data);
}
END_TEST

static unsigned symbol_of_data(const struct view *view)
{
	unsigned i = 1;

	while (i < view->elf.symbol_count &&
	       (ELF64_ST_TYPE(view->elf.symbols[i].st_info) != STT_OBJECT || !view->elf.symbols[i].st_shndx))
		i++;
	ck_assert_uint_lt(i, view->elf.symbol_count);
	return i;
}

/* The place of its call of __assertfail is to be filled in with another symbol's. */
static void call_instead(const struct view *view, unsigned rela, unsigned symbol)
{
	unsigned changed = 0;

	for (uint64_t i = 0; i < view->elf.sections[rela].sh_size / sizeof(Elf64_Rela); i++) {
		uint8_t *at = writable(view, rela) + i * sizeof(Elf64_Rela);
		Elf64_Rela relocation;

		memcpy(&relocation, at, sizeof(relocation));
		if (view->elf.symbols[ELF64_R_SYM(relocation.r_info)].st_shndx != SHN_UNDEF)
			continue;
		relocation.r_info = ELF64_R_INFO((uint64_t)symbol, ELF64_R_TYPE(relocation.r_info));
		memcpy(at, &relocation, sizeof(relocation));
		changed++;
	}
	ck_assert_uint_eq(changed, 1);
}

/* Data is no function. */
START_TEST(data_is_called)
{
	struct bytes bytes = load("supplied-linked", 90);
	struct gt_sites sites;
	struct view view;

	look(&view, bytes, "asserts");
	call_instead(&view, view.kernel.rela, symbol_of_data(&view));
	gt_elf_close(&view.elf);
	find(bytes, "asserts", LOADS, &sites);
	ck_assert_str_eq(sites.refusal, UNKNOWN);
	gt_sites_free(&sites);
	free(bytes.data);
}
END_TEST

/* A function that the kernel calls calls the kernel: its stack has no end that is known. */
START_TEST(the_kernel_is_called)
{
	struct bytes bytes = load("supplied-linked", 90);
	struct gt_elf_companions *companions;
	struct gt_sites sites;
	struct view view;
	unsigned part = 1;

	look(&view, bytes, "inner");
	while (!strstr(gt_elf_section_name(&view.elf, part), "4partEPKii") ||
	       !gt_elf_is_code(&view.elf, part))
		part++;
	companions = gt_elf_find_companions(&view.elf);
	ck_assert_ptr_nonnull(companions);
	call_instead(&view, companions[part].rela, view.kernel.symbol);
	free(companions);
	gt_elf_close(&view.elf);
	find(bytes, "inner", LOADS, &sites);
	ck_assert_str_eq(sites.refusal, "how deep its stack goes cannot be told");
	gt_sites_free(&sites);
	free(bytes.data);
}
END_TEST

/* ---- what they become ---- */

/* The kernel's own code is what it was, calls among it, but for its accesses and for what is announced late. */
static void expect_calls_kept(struct bytes before, struct bytes after, const struct kernel *kernel, unsigned accesses)
{
	unsigned calls = 0, moved = 0;
	struct view old, new;

	look(&old, before, kernel->name);
	look(&new, after, kernel->name);
	for (uint64_t at = 0; at < old.size; at += GT_WORD) {
		gt_word was = word(&old, at), is = word(&new, at);

		if (gt_insn_access(was).kind == GT_ACCESS_KNOWN) {
			ck_assert_uint_eq(gt_op(is), GT_OP_BRA);
			moved++;
		} else {
			/* Barriers are in bits 110 to 115, what an instruction keeps for the next in 122 to 125. */
			ck_assert(gt_with(gt_with(was, 110, 6, 0), 122, 4, 0) == gt_with(gt_with(is, 110, 6, 0), 122, 4, 0));
		}
		if (gt_op_proper(was) == GT_OPP_CALL_ABS) {
			ck_assert(is == was);
			calls++;
		}
	}
	ck_assert_msg(calls == kernel->calls, "%s: %u calls", kernel->name, calls);
	ck_assert_msg(moved == accesses, "%s: %u accesses", kernel->name, moved);
	gt_elf_close(&old.elf);
	gt_elf_close(&new.elf);
}

START_TEST(grafted)
{
	static const char *const names[GT_GRAFT_ACCESSES] = { "load", "store", "atomic" };
	struct gt_graft_plan plans[KINDS] = { { 0 } };
	struct bytes before = load(file(_i), 90), after;
	struct gt_graft_stub *stubs[GT_GRAFT_ACCESSES];
	struct gt_graft_result results[KINDS];
	char why[GT_GRAFT_WHY];

	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		stubs[i] = open_at(names[i], 90, GT_POINT_LOAD + i);
	for (unsigned i = 0; i < KINDS; i++)
		plans[i] = (struct gt_graft_plan){ .name = kernels[i].name, .kernel_id = 7 + i,
						   .access = { stubs[0], stubs[1], stubs[2] } };
	ck_assert_msg(!gt_graft(before.data, before.size, 0, plans, KINDS, (void **)&after.data, &after.size, results, why),
		      "%s", why);
	for (unsigned i = 0; i < KINDS; i++) {
		bool apart = _i && kernels[i].apart;
		unsigned accesses = kernels[i].loads + kernels[i].stores + kernels[i].atomics - apart;

		ck_assert_msg(results[i].done == kernels[i].known, "%s: %s", kernels[i].name, results[i].why);
		if (!results[i].done) {
			ck_assert_str_eq(results[i].why, "programs cannot run at this kernel's memory accesses: " UNKNOWN);
			continue;
		}
		ck_assert(results[i].calls_driver);
		ck_assert_uint_eq(results[i].left_local, kernels[i].local);
		ck_assert_uint_eq(gt_graft_result_accesses(&results[i]), accesses);
		ck_assert_uint_eq(results[i].left_elsewhere, apart);
		ck_assert_uint_eq(gt_graft_result_left(&results[i]), kernels[i].local + apart);
		expect_calls_kept(before, after, &kernels[i], accesses);
	}
	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		gt_graft_stub_free(stubs[i]);
	free(before.data);
	free(after.data);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("calls");

	tcase_add_loop_test(tcase, found, 0, 2);
	tcase_add_test(tcase, no_calls);
	tcase_add_loop_test(tcase, calls_away, 0, 2);
	tcase_add_test(tcase, not_in_the_records);
	tcase_add_test(tcase, data_is_called);
	tcase_add_test(tcase, the_kernel_is_called);
	tcase_add_loop_test(tcase, grafted, 0, 2);
	return run_case("calls", tcase);
}
