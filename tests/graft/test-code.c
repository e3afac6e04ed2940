/* SPDX-License-Identifier: Apache-2.0 */
/* The machine code of grafted kernels and of stubs. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/registers.h"
#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/stub.h"
#include "tests/graft/common.h"
#include "tests/graft/stubs.h"
#include "tests/suite.h"

START_TEST(exits_lead_to_the_probes)
{
	unsigned arch = archs[_i], exits = 0, changed = 0;
	struct view before, after;
	struct grafted g;
	uint64_t at, stub;

	graft(&g, arch, NULL, "exit");
	ck_assert_int_eq(g.r, 0);
	ck_assert_uint_eq(g.results[index_of("three_exits")].exits, 3);
	ck_assert_uint_eq(g.results[index_of("endless")].exits, 0);
	ck_assert_uint_ge(g.results[index_of("ends_in_call")].exits, 2);
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	stub = (before.size + 127) / 128 * 128;
	for (at = 0; at < before.size; at += GT_WORD) {
		if (gt_is_exit(word(&before, at))) {
			exits++;
			ck_assert_uint_eq(gt_op(word(&after, at)), GT_OP_BRA);
			ck_assert_int_eq(gt_target(word(&after, at), arch, (int64_t)at), (int64_t)stub);
			/* Under the same guard. */
			ck_assert_uint_eq(gt_bits(word(&after, at), 12, 4), gt_bits(word(&before, at), 12, 4));
		} else if (word(&before, at) != word(&after, at)) {
			changed++;
			ck_assert(gt_reads_late(word(&before, at)));
			ck_assert(word(&after, at) == gt_with(word(&before, at), 113, 3, 5));
		}
	}
	ck_assert_uint_eq(exits, 3);
	/* The two stores before exits. */
	ck_assert_uint_eq(changed, 2);
	ck_assert_uint_eq(gt_bits(word(&after, stub), 116, 6), 0x3f);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

START_TEST(entry_comes_back)
{
	unsigned arch = archs[_i], back = 0;
	struct view before, after;
	struct grafted g;
	uint64_t at, stub;

	graft(&g, arch, "entry-ring", NULL);
	ck_assert_int_eq(g.r, 0);
	look(&before, g.before, "own_stack");
	look(&after, g.after, "own_stack");
	stub = (before.size + 127) / 128 * 128;
	ck_assert_int_eq(gt_target(word(&after, 0), arch, 0), (int64_t)stub);
	for (at = GT_WORD; at < before.size; at += GT_WORD)
		ck_assert(word(&before, at) == word(&after, at));
	/* Threads meet again: the outermost barrier surrounds the probes. */
	ck_assert_uint_eq(gt_op(word(&after, stub)), GT_OP_BSSY);
	ck_assert_uint_eq(gt_bits(word(&after, stub), 16, 4), 15);
	for (at = stub; at < after.size; at += GT_WORD) {
		ck_assert(!gt_is_exit(word(&after, at)));
		if (gt_op(word(&after, at)) == GT_OP_BRA && gt_target(word(&after, at), arch, (int64_t)at) == GT_WORD) {
			back++;
			ck_assert(gt_with(word(&before, 0), 122, 4, 0) == word(&after, at - GT_WORD));
			ck_assert_uint_eq(gt_op(word(&after, at - 3 * GT_WORD)), GT_OP_BSYNC);
		}
	}
	ck_assert_uint_eq(back, 1);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

/* Stubs without a stack do not load its pointer; the kernel's own load has come to the end of the entry's. */
START_TEST(no_load_of_the_stack_pointer)
{
	struct view before, after;
	unsigned loads = 0;
	struct grafted g;

	graft(&g, 90, "entry", "exit");
	ck_assert_int_eq(g.r, 0);
	look(&before, g.before, "own_stack");
	look(&after, g.after, "own_stack");
	ck_assert(gt_loads_stack_pointer(word(&before, 0)));
	for (uint64_t at = 0; at < after.size; at += GT_WORD)
		loads += gt_loads_stack_pointer(word(&after, at));
	ck_assert_uint_eq(loads, 1);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

/* The numbers that differ from kernel to kernel stand where the special registers were read. */
START_TEST(numbers_are_filled_in)
{
	static const char *const names[] = { "params_4096", "params_5000", "three_exits" };
	const char *name = names[_i / 3];
	unsigned arch = archs[_i % 3], ids = 0, offsets = 0, i = index_of(name);
	uint32_t moved = base_of(arch, name) - base_of(arch, "no_params"), pad = _i / 3 == 2 ? 4 : 0;	/* 20 bytes of parameters */
	struct grafted g;
	struct view view;

	graft(&g, arch, "entry-params", "exit");
	look(&view, g.after, name);
	for (uint64_t at = 0; at < view.size; at += GT_WORD) {
		if (gt_op(word(&view, at)) != GT_OP_MOV_IMM)
			continue;
		ids += gt_bits(word(&view, at), 32, 32) == 100 + i;
		offsets += gt_bits(word(&view, at), 32, 32) == ((moved | pad) << 16 | (moved + g.results[i].hidden_offset));
	}
	ck_assert_uint_ge(ids, 1);
	ck_assert_uint_ge(offsets, 1);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

/* Stubs read the hidden parameter where this kernel has it, as an operand: which programs are on, and two addresses at most. */
START_TEST(the_hidden_parameter_is_an_operand)
{
	static const char *const names[] = { "no_params", "params_4096", "params_5000", "three_exits" };
	const char *name = names[_i / 3];
	unsigned arch = archs[_i % 3], i = index_of(name), words[6] = { 0 };
	struct view before, after;
	struct grafted g;
	uint32_t hidden;

	graft(&g, arch, "entry", "exit");
	look(&before, g.before, name);
	look(&after, g.after, name);
	hidden = base_of(arch, name) + g.results[i].hidden_offset;
	for (uint64_t at = before.size; at < after.size; at += GT_WORD) {
		uint32_t constant = gt_constant_at(word(&after, at));

		ck_assert(!gt_loads_constant(word(&after, at), 0, true));
		if (gt_op(word(&after, at)) != GT_OP_MOV_CONSTANT || constant < base_of(arch, "no_params"))
			continue;
		ck_assert_uint_ge(constant, hidden);
		ck_assert_uint_lt(constant, hidden + 24);
		words[(constant - hidden) / 4]++;
	}
	ck_assert_uint_eq(words[1], 2);		/* the bits above the launch's id */
	ck_assert_uint_ge(words[2] + words[4], 1);
	ck_assert_uint_eq(words[2], words[3]);
	ck_assert_uint_eq(words[4], words[5]);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

static unsigned count_reads(const struct view *view, uint64_t from, uint64_t to)
{
	unsigned count = 0;

	for (uint64_t at = from; at < to; at += GT_WORD)
		count += gt_reads_thread(word(view, at));
	return count;
}

/* At entry the answer may not be there yet. */
static unsigned count_copies(const struct view *view, uint64_t from, uint64_t to, unsigned kept, bool waits)
{
	unsigned count = 0;

	for (uint64_t at = from; at < to; at += GT_WORD) {
		if (gt_op(word(view, at)) != GT_OP_MOV || gt_bits(word(view, at), 32, 8) != kept)
			continue;
		count++;
		ck_assert_uint_eq(gt_bits(word(view, at), 116 + 5, 1), waits);
	}
	return count;
}

/* The thread's index: asked for once, at entry, and copied at both from a register that nobody else names. */
START_TEST(the_entry_keeps_for_the_exit)
{
	unsigned arch = archs[_i], i = index_of("three_exits"), kept;
	struct view before, after;
	uint64_t entry, exit;
	struct grafted g;

	graft(&g, arch, "entry-two", "exit-block");
	kept = g.results[i].kept;
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	entry = (before.size + 127) / 128 * 128;
	exit = exit_leads_to(&before, &after, arch);
	if (arch < 90) {
		ck_assert_uint_eq(kept, 0);
	} else {
		ck_assert_uint_ge(kept + 2, g.entry->registers);
		ck_assert_uint_ge(kept + 2, g.exit->registers);
		ck_assert_uint_eq(g.results[i].registers, kept + 1 + 2);
		ck_assert_uint_eq(gt_op(word(&after, entry)), GT_OP_S2R);
		ck_assert_uint_eq(gt_bits(word(&after, entry), 72, 8), 0x20);	/* SR_TID */
		ck_assert_uint_eq(gt_bits(word(&after, entry), 16, 8), kept);
		ck_assert_uint_eq(count_copies(&after, entry, exit, kept, true), 1);
		ck_assert_uint_eq(count_copies(&after, exit, after.size, kept, false), 1);
		ck_assert_uint_eq(count_reads(&after, entry, after.size), 1);
	}
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

static unsigned count_kept(unsigned arch, const char *entry, const char *exit)
{
	unsigned count = 0;
	struct grafted g;

	graft(&g, arch, entry, exit);
	for (unsigned i = 0; i < KERNELS; i++)
		count += g.results[i].kept != 0;
	release(&g);
	return count;
}

/* Only an entry that asks for it can keep what only an exit that asks for it needs. */
START_TEST(kept_when_needed)
{
	if (archs[_i] >= 90)
		ck_assert_uint_ge(count_kept(archs[_i], "entry-two", "exit-block"), 5);
	ck_assert_uint_eq(count_kept(archs[_i], NULL, "exit-block"), 0);
	ck_assert_uint_eq(count_kept(archs[_i], "entry-two", NULL), 0);
	ck_assert_uint_eq(count_kept(archs[_i], "entry-two", "exit-literal"), count_kept(archs[_i], "entry-two", "exit-block"));
	ck_assert_uint_eq(count_kept(archs[_i], "entry-two", "exit"), 0);
	ck_assert_uint_eq(count_kept(archs[_i], "entry", "exit-block"), 0);
}
END_TEST

/* A multiprocessor's 65,536 registers, by 8 for each thread: for 2,048 threads 32 each, for 1,536 40, for 1,024 64. */
START_TEST(registers_that_cost_nothing)
{
	ck_assert(gt_registers_cost_nothing(32, 12, 90));
	ck_assert(!gt_registers_cost_nothing(33, 32, 90));
	ck_assert(gt_registers_cost_nothing(40, 33, 80));
	ck_assert(!gt_registers_cost_nothing(41, 40, 80));
	ck_assert(gt_registers_cost_nothing(40, 30, 86));
	ck_assert(!gt_registers_cost_nothing(41, 40, 89));
	ck_assert(gt_registers_cost_nothing(64, 20, 75));
	ck_assert(!gt_registers_cost_nothing(65, 64, 75));
}
END_TEST

/* Moves, and what else reads nothing that the stub writes. */
static bool in_run(gt_word word, unsigned kept)
{
	return gt_op(word) == GT_OP_S2R || gt_op(word) == GT_OP_NOP || gt_op(word) == GT_OP_MOV_CONSTANT || gt_op(word) == GT_OP_MOV_IMM ||
	       gt_op(word) == GT_OP_ULDC || (gt_op(word) == GT_OP_MOV && gt_bits(word, 32, 8) == kept);
}

struct since {
	unsigned compiled, written;
};

static void expect_late_enough(const struct since *since)
{
	ck_assert_uint_ge(since->written, since->compiled < 15 ? since->compiled : 15);
}

/*
 * Runs of those are shorter than the compiler had it, but what comes behind one waits as long as before for what comes
 * before it, and for what loads a uniform register within, or for 15 cycles; and for 6 for a move.
 */
START_TEST(runs_of_moves)
{
	const struct test_stub *test = &test_stubs[_i];
	struct since result = { 15, 15 }, uniform = result, move = { 15, 15 };
	unsigned kept, shorter = 0;
	struct view view, old;
	struct grafted g;
	uint64_t at;

	if (test->point != GT_POINT_EXIT)
		return;
	graft(&g, 90, "entry-two", test->name);
	kept = g.results[index_of("no_params")].kept ? g.results[index_of("no_params")].kept : 256;
	look(&view, g.after, "no_params");
	look(&old, g.before, "no_params");
	at = exit_leads_to(&old, &view, 90) + GT_WORD;
	for (unsigned i = 0; i < g.exit->count; i++, at += GT_WORD) {
		gt_word new = word(&view, at);
		struct since *each[] = { &result, &uniform, &move };

		if (!in_run(new, kept)) {
			expect_late_enough(&result);
			expect_late_enough(&uniform);
			ck_assert_uint_ge(move.written, 6);
			ck_assert_uint_eq(gt_bits(new, 105, 4), gt_bits(g.exit->words[i], 105, 4));
			/* A branch gives nothing. */
			if (gt_op(new) != GT_OP_BRA && !gt_is_exit(new))
				result = (struct since){ 0 };
		} else if (gt_op(new) == GT_OP_ULDC) {
			uniform = (struct since){ 0 };
		} else if (gt_op(new) != GT_OP_S2R && gt_op(new) != GT_OP_NOP) {
			move = (struct since){ 0 };
		}
		for (unsigned k = 0; k < 3; k++) {
			each[k]->compiled += gt_bits(g.exit->words[i], 105, 4);
			each[k]->written += gt_bits(new, 105, 4);
		}
		shorter += gt_bits(new, 105, 4) < gt_bits(g.exit->words[i], 105, 4);
	}
	ck_assert(strcmp(test->name, "exit-timeline") || shorter);
	gt_elf_close(&view.elf);
	gt_elf_close(&old.elf);
	release(&g);
}
END_TEST

/* At exit: nothing that a warp has only once, but, except on compute capability 9.0, a pair of uniform registers that the kernel does not name. */
START_TEST(exit_stubs_leave_the_warp_alone)
{
	const struct test_stub *stub = &test_stubs[_i % TEST_STUBS];
	struct gt_uniform places[GT_UNIFORM_MAX];
	struct view before, after;
	struct grafted g;

	if (stub->point != GT_POINT_EXIT)
		return;
	graft(&g, archs[_i / TEST_STUBS], NULL, stub->name);
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	for (uint64_t at = (before.size + 127) / 128 * 128; at < after.size; at += GT_WORD) {
		unsigned op = gt_op(word(&after, at));

		ck_assert(op != GT_OP_BSSY && op != GT_OP_BSYNC && op != GT_OP_BREAK);
		ck_assert(!strcmp(stub->name, "exit-aggregate") || gt_op_proper(word(&after, at)) != GT_OPP_SHFL);
		/* Elsewhere accesses keep their descriptor. */
		if (archs[_i / TEST_STUBS] == 90)
			ck_assert_int_eq(gt_uniform_places(word(&after, at), places), 0);
	}
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	release(&g);
}
END_TEST

static unsigned count_words(const struct gt_graft_stub *stub, gt_word pattern, gt_word mask)
{
	unsigned count = 0;

	for (unsigned i = 0; i < stub->count; i++)
		count += (stub->words[i] & mask) == pattern;
	return count;
}

/* The timeline's end asks for all that a block has in common; words as ptxas writes them for such code. */
START_TEST(values_of_the_block)
{
	static const gt_word op = 0xfff, low = ~0ull & ~0xff0000ull;	/* all but the register written */
	struct gt_graft_stub *stub = open_stub("exit-timeline", archs[_i]);
	unsigned kernels = 0, sizes = archs[_i] >= 100 ? 0x360 / 4 : 0;

	for (unsigned i = 0; i < 6; i++)	/* LDC R, c[0x0][4 * i], or [0x360 + 4 * i] */
		ck_assert_uint_ge(count_words(stub, (gt_word)0x800 << 64 | (uint64_t)(sizes + i) << 40 | 0xff007b82,
					      (gt_word)0xe00 << 64 | low), 1);
	for (unsigned i = 0; i < 3; i++)	/* S2R R, SR_CTAID.X to Z */
		ck_assert_uint_eq(count_words(stub, (gt_word)(0x2500 + 0x100 * i) << 64 | 0x7919,
					      (gt_word)0xff00 << 64 | low), 1);
	/* Loads that nothing stands behind are gone, but for that of the kernel's id. */
	for (unsigned i = 0; i < stub->count; i++)
		kernels += gt_reads_kernel(stub->words[i]);
	ck_assert_uint_eq(kernels, 1);
	ck_assert_uint_eq(count_words(stub, (gt_word)3 << 54 | GT_OP_LDC, (gt_word)0x1f << 54 | op), kernels);
	gt_graft_stub_free(stub);
}
END_TEST

/* Lane and multiprocessor are asked for at once where that is known. */
START_TEST(one_question)
{
	struct gt_graft_stub *stub = open_stub("entry-warp", archs[_i]);
	unsigned asked = 0;

	for (unsigned i = 0; i < stub->count; i++) {
		if (gt_op(stub->words[i]) != GT_OP_S2R || gt_reads_index(stub->words[i]))	/* no question once it is in the kernel */
			continue;
		asked++;
		ck_assert_uint_eq(gt_bits(stub->words[i], 72, 8), archs[_i] < 90 ? 0x00 : 0x03);	/* SR_LANEID, SR_VIRTID */
	}
	ck_assert_uint_eq(asked, 1);
	gt_graft_stub_free(stub);
}
END_TEST

/* Counting the bits of a mask takes its time: ptxas lets it rely on the barrier of the load behind it, which becomes a move. */
START_TEST(barriers_are_handed_down)
{
	struct gt_graft_stub *stub = open_stub("entry-aggregate", archs[_i]);
	unsigned counts = 0;

	for (unsigned i = 0; i < stub->count; i++) {
		if (gt_op(stub->words[i]) != 0x309)	/* POPC */
			continue;
		counts++;
		ck_assert_uint_ne(gt_write_barrier(stub->words[i]), GT_BARRIER_NONE);
	}
	ck_assert_uint_ge(counts, 1);
	gt_graft_stub_free(stub);
}
END_TEST

/* Between the two may be what announces itself: the reader of the count may wait for the load alone. */
START_TEST(barriers_are_handed_down_past_others)
{
	struct bytes bytes = load("entry-aggregate", 90);
	struct gt_graft_stub *stub;
	unsigned counts = 0;
	struct view view;
	uint64_t at = 0;

	look(&view, bytes, "__gt_stub");
	while (gt_op(word(&view, at)) != 0x309)
		at += GT_WORD;
	ck_assert_uint_eq(gt_write_barrier(word(&view, at)), GT_BARRIER_NONE);
	ck_assert(gt_loads_constant(word(&view, at + 2 * GT_WORD), GT_VALUE_BANK, true));
	ck_assert_uint_eq(gt_write_barrier(word(&view, at + 2 * GT_WORD)), 3);
	gt_word_write((uint8_t *)(uintptr_t)view.text + at + GT_WORD,
		      gt_with(gt_make_read_special(8, 0), 110, 3, 4));	/* S2R R8, SR_LANEID */
	gt_elf_close(&view.elf);
	stub = open_bytes(bytes, GT_POINT_ENTRY);
	free(bytes.data);
	for (unsigned i = 0; i < stub->count && !counts; i++) {
		if (gt_op(stub->words[i]) != 0x309)
			continue;
		counts++;
		ck_assert_uint_eq(gt_write_barrier(stub->words[i]), 3);
	}
	ck_assert_uint_eq(counts, 1);
	gt_graft_stub_free(stub);
}
END_TEST

/* What became of a load announces when it is there as the load did. */
START_TEST(values_take_their_time)
{
	gt_word load = (gt_word)0x800 << 64 | (uint64_t)0x00c49000 << 32 | 0x05047b82, word;	/* LDC R4, c[0x3][R5+0x1240] */
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = &word, .count = 1 };

	load = gt_with(gt_with(gt_with(load, 105, 4, 1), 110, 3, 2), 113, 3, 1);	/* barriers 2 and 1, at once */
	word = gt_with(load, 38, 16, GT_VALUE_FIRST + GT_VALUE_STEP * (GT_VALUE_GRID_SIZE + 1));
	ck_assert_ptr_null(gt_stub_fill_values(&stub));
	ck_assert(word == gt_with(gt_with(load, 24, 8, GT_RZ), 38, 21, 0x10));	/* c[0x0][0x10] */

	word = gt_with(load, 38, 16, GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUE_BLOCK);
	ck_assert_ptr_null(gt_stub_fill_values(&stub));
	ck_assert_uint_eq(gt_op(word), GT_OP_S2R);
	ck_assert_uint_eq(gt_bits(word, 72, 8), GT_SR_CTAID_X);
	ck_assert_uint_eq(gt_write_barrier(word), 2);
	ck_assert_uint_eq(gt_read_barrier(word), GT_BARRIER_NONE);	/* it reads no register */

	word = gt_with(load, 38, 16, GT_VALUE_FIRST + GT_VALUE_STEP * GT_VALUES);
	ck_assert_ptr_nonnull(gt_stub_fill_values(&stub));
}
END_TEST

/* The words without are from NVIDIA's libraries for sm_90 and sm_80; with, as ptxas writes the same access. */
START_TEST(accesses_without_descriptor)
{
	static const struct { uint64_t with[2], without[2]; } pairs[] = {	/* high, low */
		{ { 0x0c101900, 0x0002580402047980 }, { 0x00100900, 0x0000025802047980 } },	/* LD.E R4, [R2+0x258] */
		{ { 0x0c101904, 0x0001801302007985 }, { 0x00100913, 0x0000018002007385 } },	/* ST.E [R2+0x180], R19 */
		{ { 0x0c1e1900, 0x0000000404097981 }, { 0x001e0900, 0x0000000004097381 } },	/* LDG.E R9, [R4] */
		{ { 0x0c101b04, 0x01f8007686007986 }, { 0x00100b00, 0x01f8007686007386 } },	/* STG.E.64 [R134+0x1f800], R118 */
		{ { 0x0c10e384, 0x000000030400798e }, { 0x0010e300, 0x000000030400798e } },	/* RED.E [R4], R3 */
	};
	gt_word exit = (gt_word)0x000fea0003800000 << 64 | 0x794d;
	gt_word words[2] = { (gt_word)pairs[_i].with[0] << 64 | pairs[_i].with[1], exit };
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = words, .count = 2 };
	const char *why;

	ck_assert_int_eq(gt_stub_make_divergent(&stub, &why), 0);
	ck_assert(words[0] == ((gt_word)pairs[_i].without[0] << 64 | pairs[_i].without[1]));
	ck_assert(!stub.descriptor);
}
END_TEST

/* A negative offset has 32 bits in a generic access without descriptor; only loads from global memory have been seen with one. */
START_TEST(accesses_below)
{
	static const struct { uint64_t high, low; bool taken; } words[] = {
		{ 0x0c101900, 0xfffff80402047980, false },	/* LD.E R4, [R2-0x8] */
		{ 0x0c101904, 0xfffff81302007985, false },	/* ST.E [R2-0x8], R19 */
		{ 0x0c1e1900, 0xfffff80404097981, true },	/* LDG.E R9, [R4-0x8] */
		{ 0x0c101b04, 0xfffff87686007986, false },	/* STG.E.64 [R134-0x8], R118 */
		{ 0x0c10e384, 0xfffff8030400798e, false },	/* RED.E [R4-0x8], R3 */
		{ 0x081ee5c6, 0xfffff810020879a8, false },	/* ATOMG.E.ADD.64 R8, [R2-0x8], R16 */
	};
	gt_word exit = (gt_word)0x000fea0003800000 << 64 | 0x794d, word = (gt_word)words[_i].high << 64 | words[_i].low;
	gt_word code[2] = { word, exit };
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = code, .count = 2 };
	const char *why = "";

	ck_assert_int_eq(gt_stub_make_divergent(&stub, &why), words[_i].taken ? 0 : -EINVAL);
	if (!words[_i].taken)
		ck_assert_ptr_nonnull(strstr(why, "below an address"));
	if (_i < 2)
		ck_assert_uint_eq(gt_bits(gt_without_descriptor(word), 32, 32), 0xfffffff8);
}
END_TEST

/* NANOSLEEP R4 */
START_TEST(waiting_at_exit)
{
	gt_word code[2] = { (gt_word)0x000fe20003800000 << 64 | 0x000000040000735d, (gt_word)0x000fea0003800000 << 64 | 0x794d };
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = code, .count = 2 };
	const char *why = "";

	ck_assert_int_eq(gt_stub_make_divergent(&stub, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "waits for other threads"));
}
END_TEST

/* What threads do with one another must follow the question who is there, before they can part. */
START_TEST(groups_stay_together)
{
	static const gt_word exit = (gt_word)0x000fea0003800000 << 64 | 0x794d;
	static const gt_word guarded_exit = (gt_word)0x000fea0003800000 << 64 | 0x094d;
	static const gt_word who = (gt_word)0x000fe200000e0100 << 64 | 0x47806;			/* VOTE.ANY R4, PT, P0 */
	static const gt_word agree = (gt_word)0x000fe20000000000 << 64 | 0xff7806;		/* VOTE.ALL P0, P0 */
	static const gt_word shuffle = (gt_word)0x000e2400000e0000 << 64 | 0x00001f0402057589;	/* SHFL.IDX PT, R5, R2, R4, 0x1f */
	const struct { gt_word words[5]; int r; } codes[] = {
		{ { who, shuffle, agree, exit, exit }, 0 },
		{ { guarded_exit, who, shuffle, agree, exit }, 0 },
		{ { shuffle, who, exit, exit, exit }, -EINVAL },
		{ { who, guarded_exit, shuffle, exit, exit }, -EINVAL },
		{ { who, shuffle, guarded_exit, agree, exit }, -EINVAL },
		{ { who, gt_with(shuffle, 12, 4, 0), exit, exit, exit }, -EINVAL },
		{ { gt_with(who, 12, 4, 0), shuffle, exit, exit, exit }, -EINVAL },
		/* A place where others come in. */
		{ { who, gt_make_branch(90, 16, 48), who, shuffle, exit }, -EINVAL },
	};
	gt_word words[5];
	struct gt_graft_stub stub = { .point = GT_POINT_EXIT, .arch = 90, .words = words, .count = 5 };
	const char *why;

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		memcpy(words, codes[i].words, sizeof(words));
		ck_assert_msg(gt_stub_make_divergent(&stub, &why) == codes[i].r, "code %u", i);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("code");

	tcase_add_loop_test(tcase, exits_lead_to_the_probes, 0, ARCHS);
	tcase_add_loop_test(tcase, entry_comes_back, 0, ARCHS);
	tcase_add_test(tcase, no_load_of_the_stack_pointer);
	tcase_add_loop_test(tcase, numbers_are_filled_in, 0, 9);
	tcase_add_loop_test(tcase, the_hidden_parameter_is_an_operand, 0, 12);
	tcase_add_loop_test(tcase, the_entry_keeps_for_the_exit, 0, ARCHS);
	tcase_add_loop_test(tcase, kept_when_needed, 0, ARCHS);
	tcase_add_test(tcase, registers_that_cost_nothing);
	tcase_add_loop_test(tcase, runs_of_moves, 0, TEST_STUBS);
	tcase_add_loop_test(tcase, exit_stubs_leave_the_warp_alone, 0, ARCHS * TEST_STUBS);
	tcase_add_loop_test(tcase, values_of_the_block, 0, ARCHS);
	tcase_add_loop_test(tcase, one_question, 0, ARCHS);
	tcase_add_loop_test(tcase, barriers_are_handed_down, 0, ARCHS);
	tcase_add_test(tcase, barriers_are_handed_down_past_others);
	tcase_add_test(tcase, values_take_their_time);
	tcase_add_loop_test(tcase, accesses_without_descriptor, 0, 5);
	tcase_add_loop_test(tcase, accesses_below, 0, 6);
	tcase_add_test(tcase, waiting_at_exit);
	tcase_add_test(tcase, groups_stay_together);
	return run_case("code", tcase);
}
