/* SPDX-License-Identifier: Apache-2.0 */
/* Probes grafted onto stored machine code: what changes, what does not, what is refused. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/insn.h"
#include "lib/agent/graft/stub.h"
#include "lib/agent/instrument/text.h"
#include "tests/graft/stubs.h"
#include "tests/suite.h"

static const unsigned archs[] = { 75, 80, 90 };
static const char *const kernel_names[] = {
	"bounded", "ends_in_call", "endless", "no_params", "odd_params", "own_stack", "params_32760",
	"params_4096", "params_5000", "three_exits",
};
#define KERNELS (sizeof(kernel_names) / sizeof(kernel_names[0]))

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes load(const char *name, unsigned arch)
{
	struct bytes bytes = { 0 };
	char path[4096];
	long size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%u.cubin", TEST_DATA, name, arch);
	file = fopen(path, "rb");
	ck_assert_msg(file != NULL, "%s", path);
	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	bytes.data = malloc((size_t)size);
	bytes.size = fread(bytes.data, 1, (size_t)size, file);
	ck_assert_uint_eq(bytes.size, (size_t)size);
	fclose(file);
	return bytes;
}

static struct gt_graft_stub *open_bytes(struct bytes bytes, uint32_t point)
{
	char why[GT_GRAFT_WHY] = "";
	struct gt_graft_stub *stub;
	int r = gt_graft_stub_open(bytes.data, bytes.size, point, &stub, why);

	ck_assert_msg(!r, "%s", why);
	return stub;
}

static struct gt_graft_stub *open_stub(const char *name, unsigned arch)
{
	struct bytes bytes = load(name, arch);
	struct gt_graft_stub *stub = open_bytes(bytes, strncmp(name, "exit", 4) ? GT_POINT_ENTRY : GT_POINT_EXIT);

	free(bytes.data);
	return stub;
}

/* One graft of all fixtures with the same stubs, kernel ids from 100 on. */
struct grafted {
	struct bytes before, after;
	struct gt_graft_stub *entry, *exit;
	struct gt_graft_plan plans[KERNELS];
	struct gt_graft_result results[KERNELS];
	char why[GT_GRAFT_WHY];
	int r;
};

static void graft(struct grafted *g, unsigned arch, const char *entry, const char *exit)
{
	memset(g, 0, sizeof(*g));
	g->before = load("kernels", arch);
	g->entry = entry ? open_stub(entry, arch) : NULL;
	g->exit = exit ? open_stub(exit, arch) : NULL;
	for (unsigned i = 0; i < KERNELS; i++)
		g->plans[i] = (struct gt_graft_plan){ kernel_names[i], 100 + i, g->entry, g->exit };
	g->r = gt_graft(g->before.data, g->before.size, 0, g->plans, KERNELS, (void **)&g->after.data,
			&g->after.size, g->results, g->why);
}

static void release(struct grafted *g)
{
	free(g->before.data);
	free(g->after.data);
	gt_graft_stub_free(g->entry);
	gt_graft_stub_free(g->exit);
}

static unsigned index_of(const char *name)
{
	unsigned i = 0;

	while (strcmp(kernel_names[i], name))
		i++;
	return i;
}

/* A kernel in one of the two files. */
struct view {
	struct gt_elf elf;
	struct gt_elf_kernel kernel;
	const uint8_t *text;
	uint64_t size;
};

static void look(struct view *view, struct bytes bytes, const char *name)
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

static gt_word word(const struct view *view, uint64_t at)
{
	ck_assert_uint_le(at + GT_WORD, view->size);
	return gt_word_read(view->text + at);
}

/* ---- all stubs, all kernels, all architectures ---- */

START_TEST(every_stub_goes_in)
{
	const struct test_stub *stub = &test_stubs[_i % TEST_STUBS];
	unsigned arch = archs[_i / TEST_STUBS];
	bool exit = stub->point == GT_POINT_EXIT;
	struct grafted g;

	graft(&g, arch, exit ? NULL : stub->name, exit ? stub->name : NULL);
	ck_assert_msg(!g.r, "%s", g.why);
	for (unsigned i = 0; i < KERNELS; i++) {
		if (!strcmp(kernel_names[i], "params_32760")) {
			ck_assert(!g.results[i].done);
			ck_assert_int_eq(g.results[i].reason, GT_REASON_PARAMS);
			continue;
		}
		ck_assert_msg(g.results[i].done, "sm_%u %s in %s: %s", arch, stub->name, kernel_names[i],
			      g.results[i].why);
	}
	release(&g);
}
END_TEST

/*
 * Hash tables, printing and functions of the program's own: what the code of test_programs
 * lacks on older architectures and on sm_90; NULL: nothing, it goes in.
 */
static const struct {
	const char *older, *newer;
} program_whys[TEST_PROGRAMS] = {
	{ "needs section .nv.constant2.", NULL }, { "needs section .nv.constant2.", NULL },
	{ "needs section .rela.text.", NULL }, { "whole warps", "keeps values for whole warps, which at exit are not together" },
	{ "needs section .rela.text.", NULL }, { "whole warps", "uses registers of whole warps in an unknown way" },
};

static void program_is_refused(const struct test_program *program, unsigned arch, const char *expected)
{
	uint32_t point = program->alone ? GT_POINT_EXIT : GT_POINT_ENTRY;
	struct bytes bytes = load(program->stub, arch);
	char why[GT_GRAFT_WHY] = "";
	struct gt_graft_stub *stub;

	ck_assert_int_eq(gt_graft_stub_open(bytes.data, bytes.size, point, &stub, why), -EINVAL);
	ck_assert_msg(strstr(why, expected) != NULL, "%s on sm_%u: %s", program->stub, arch, why);
	free(bytes.data);
}

START_TEST(programs_that_call)
{
	const struct test_program *program = &test_programs[_i % TEST_PROGRAMS];
	unsigned arch = archs[_i / TEST_PROGRAMS];
	const char *why = arch < 90 ? program_whys[_i % TEST_PROGRAMS].older : program_whys[_i % TEST_PROGRAMS].newer;
	struct grafted g;

	if (why) {
		program_is_refused(program, arch, why);
		return;
	}
	graft(&g, arch, program->alone ? NULL : program->stub, program->alone ? program->stub : NULL);
	ck_assert_msg(!g.r, "%s", g.why);
	for (unsigned i = 0; i < KERNELS; i++)
		ck_assert_msg(g.results[i].done == !!strcmp(kernel_names[i], "params_32760"), "%s in %s: %s", program->stub,
			      kernel_names[i], g.results[i].why);
	release(&g);
}
END_TEST

/* Older architectures keep parameters above 4096 bytes elsewhere. */
static uint32_t base_of(unsigned arch, const char *name)
{
	return arch >= 90 ? 0x210 : strcmp(name, "params_5000") ? 0x160 : 0x1a80;
}

START_TEST(parameters)
{
	static const struct { const char *name; uint32_t offset, count; } expected[] = {
		{ "no_params", 0, 0 }, { "endless", 8, 1 }, { "three_exits", 24, 3 },
		{ "odd_params", 8, 3 }, { "params_4096", 4096, 2 }, { "params_5000", 5000, 1 },
	};
	struct grafted g;
	struct view view;

	graft(&g, archs[_i], "entry", "exit");
	ck_assert_int_eq(g.r, 0);
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct gt_graft_result *result = &g.results[index_of(expected[i].name)];

		ck_assert_uint_eq(result->hidden_offset, expected[i].offset);
		ck_assert_uint_eq(result->param_count, expected[i].count);
		look(&view, g.after, expected[i].name);
		ck_assert_uint_eq(view.elf.sections[view.kernel.constants].sh_size,
				  base_of(archs[_i], expected[i].name) + expected[i].offset + 24);
		gt_elf_close(&view.elf);
	}
	release(&g);
}
END_TEST

/* The records of odd_params for sm_90, byte by byte where they have to do with parameters. */
START_TEST(parameter_records)
{
	static const uint8_t hidden[] = { 4, 0x17, 12, 0, 0, 0, 0, 0, 3, 0, 8, 0, 0, 0xf0, 0x61, 0 };
	static const uint8_t bank[] = { 0x10, 0x02, 32, 0 };
	struct gt_note_record record;
	struct gt_note_walk walk;
	unsigned params = 0, found = 0;
	struct grafted g;
	struct view view;

	graft(&g, 90, "entry", NULL);
	look(&view, g.after, "odd_params");
	walk = gt_note_begin(&view.elf, view.kernel.info);
	while (gt_note_next(&walk, &record)) {
		if (record.attribute == GT_ATTR_KPARAM && !params++)
			found += record.size == sizeof(hidden) && !memcmp(record.start, hidden, sizeof(hidden));
		if (record.attribute == GT_ATTR_CBANK_PARAM_SIZE)
			found += record.value == 32;
		if (record.attribute == GT_ATTR_PARAM_CBANK)
			found += !memcmp(record.payload + 4, bank, sizeof(bank));
	}
	ck_assert_uint_eq(params, 4);
	ck_assert_uint_eq(found, 3);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

/* ---- code ---- */

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

/* The numbers that differ from kernel to kernel stand where the special registers were read. */
START_TEST(numbers_are_filled_in)
{
	static const char *const names[] = { "params_4096", "params_5000", "three_exits" };
	const char *name = names[_i / 3];
	unsigned arch = archs[_i % 3], ids = 0, offsets = 0, i = index_of(name);
	uint32_t moved = base_of(arch, name) - base_of(arch, "no_params"), pad = _i / 3 == 2 ? 4 : 0;	/* 20 bytes of parameters */
	struct grafted g;
	struct view view;

	graft(&g, arch, "entry", "exit");
	look(&view, g.after, name);
	for (uint64_t at = 0; at < view.size; at += GT_WORD) {
		if (gt_op(word(&view, at)) != GT_OP_MOV_IMM)
			continue;
		ids += gt_bits(word(&view, at), 32, 32) == (0x80000000u | (100 + i));
		offsets += gt_bits(word(&view, at), 32, 32) == ((moved | pad) << 16 | (moved + g.results[i].hidden_offset));
	}
	ck_assert_uint_ge(ids, 2);
	ck_assert_uint_ge(offsets, 2);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

/* At exit: nothing that a warp has only once, but uniform registers that the kernel does not name. */
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
		/* Older accesses need a descriptor, and the address of the parameters is a uniform register's. */
		if (archs[_i / TEST_STUBS] >= 90 && !(stub->flags & GT_PROBE_WANTS_PARAMS))
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

	for (unsigned i = 0; i < 6; i++)	/* LDC R, c[0x0][4 * i] */
		ck_assert_uint_eq(count_words(stub, (gt_word)0x800 << 64 | (uint64_t)i << 40 | 0xff007b82,
					      (gt_word)0xe00 << 64 | low), 1);
	for (unsigned i = 0; i < 3; i++)	/* S2R R, SR_CTAID.X to Z */
		ck_assert_uint_eq(count_words(stub, (gt_word)(0x2500 + 0x100 * i) << 64 | 0x7919,
					      (gt_word)0xff00 << 64 | low), 1);
	/* Loads that nothing stands behind are gone. */
	ck_assert_uint_eq(count_words(stub, (gt_word)3 << 54 | GT_OP_LDC, (gt_word)0x1f << 54 | op), 0);
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
	ck_assert_uint_eq(stub.uniform_pairs, 0);
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

START_TEST(registers_and_stack)
{
	unsigned arch = archs[_i], found = 0;
	struct gt_note_record record;
	struct gt_note_walk walk;
	struct grafted g;
	struct view view;
	uint32_t registers;

	graft(&g, arch, "entry-big", NULL);
	registers = g.results[index_of("no_params")].registers;
	ck_assert_uint_ge(registers, 16);
	ck_assert_uint_le(registers, 64);
	look(&view, g.after, "no_params");
	if (arch < 90)
		ck_assert_uint_eq(view.elf.sections[view.kernel.text].sh_info >> 24, registers);
	walk = gt_note_begin(&view.elf, view.elf.info);
	while (gt_note_next(&walk, &record)) {
		if (!record.payload || gt_read32(record.payload) != view.kernel.symbol)
			continue;
		if (record.attribute == GT_ATTR_REGCOUNT)
			found += gt_read32(record.payload + 4) == registers;
		/* The probe's local array. */
		if (record.attribute == GT_ATTR_MIN_STACK)
			found += gt_read32(record.payload + 4) >= 512;
	}
	ck_assert_uint_eq(found, 2);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

/* ---- several probes ---- */

START_TEST(attach_order)
{
	char why[GT_GRAFT_WHY] = "", *text, *kernel, *first, *second;

	for (unsigned i = 0; i < TEST_STUBS; i++) {
		if (strcmp(test_stubs[i].name, "entry-two"))
			continue;
		ck_assert_msg(!test_stub_text(&test_stubs[i], &text, why), "%s", why);
		/* Called or taken in, first() is before second() in the kernel. */
		kernel = strstr(text, ".entry");
		first = strstr(kernel, strstr(kernel, "call first,") ? "call first," : "or.b64 %rd2, %rd2, 1;");
		second = strstr(kernel, strstr(kernel, "call second,") ? "call second," : "or.b64 %rd2, %rd2, 2;");
		ck_assert_ptr_nonnull(first);
		ck_assert_ptr_nonnull(second);
		ck_assert(first < second);
		/* Nothing of one kernel is left in the text. */
		ck_assert_ptr_null(strstr(text, "[__gt_launch+"));
		free(text);
	}
}
END_TEST

START_TEST(threads_are_alone_at_exit)
{
	static const struct gt_probe probe = { .point = GT_POINT_EXIT, .function = "ring", .kernel = "*" };
	char why[GT_GRAFT_WHY] = "", *text;
	unsigned which = 0;

	ck_assert_msg(!gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_EXIT, true, &text, why), "%s", why);
	ck_assert_ptr_null(strstr(text, "activemask"));
	ck_assert_ptr_null(strstr(text, "shfl"));
	ck_assert_ptr_nonnull(strstr(text, "mov.b32 %r1, %lanemask_eq;"));
	ck_assert_ptr_nonnull(strstr(text, "mov.b32 %r8, %r7;"));
	free(text);
}
END_TEST

/* The driver's linker leaves functions that are called in sections of their own. */
START_TEST(nothing_is_called)
{
	char why[GT_GRAFT_WHY] = "", *text, *kernel;

	ck_assert_msg(!test_stub_text(&test_stubs[_i], &text, why), "%s", why);
	kernel = strstr(text, ".entry");
	ck_assert_ptr_nonnull(kernel);
	ck_assert_ptr_null(strstr(kernel, "call "));
	free(text);
}
END_TEST

/* What would become several instructions stays as it is under a predicate. */
START_TEST(predicated_statements_stay)
{
	static const struct gt_probe probe = { .point = GT_POINT_EXIT, .function = "p", .kernel = "*" };
	static const char probe_text[] =
		PROBE("p", "\tmov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 3;\n"
			   "\t@%p1 mov.u32 %r2, %ctaid.y;\n\t@!%p1 add.u64 %rd2, %rd1, 0x123456789a;\n"
			   "\tadd.u64 %rd2, %rd2, 0x123456789b; st.global.u32 [%rd2], %r2;\n");
	char why[GT_GRAFT_WHY] = "", *text;
	unsigned which = 0;

	ck_assert_msg(!gt_graft_stub_text(probe_text, &probe, 1, &which, 1, GT_POINT_EXIT, false, &text, why), "%s", why);
	ck_assert_ptr_nonnull(strstr(text, "@%p1 mov.u32 %r2, %ctaid.y;"));
	ck_assert_ptr_nonnull(strstr(text, "@!%p1 add.u64 %rd2, %rd1, 0x123456789a;"));
	ck_assert_ptr_null(strstr(text, "%ctaid.x"));
	ck_assert_ptr_null(strstr(text, "add.u64 %rd2, %rd2, 0x123456789b"));
	free(text);
}
END_TEST

#define CALLED(name, body) ".func (.param .b64 func_retval0) " name "(\n\t.param .b64 " name "_param_0\n)\n{\n" \
	"\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [" name "_param_0];\n" body \
	"\tst.param.b64 [func_retval0], %rd1;\n\tret;\n}\n"
#define CALL(name) "\t{\n\t.param .b64 param0;\n\tst.param.b64 [param0], %rd1;\n\t.param .b64 retval0;\n" \
	"\tcall.uni (retval0),\n\t" name ",\n\t(\n\tparam0\n\t);\n\tld.param.b64 %rd2, [retval0];\n\t}\n"

static int stub_of(const char *probe_text, char **ret_text, char why[GT_GRAFT_WHY])
{
	static const struct gt_probe probe = { .point = GT_POINT_ENTRY, .function = "p", .kernel = "*" };
	unsigned which = 0;

	why[0] = '\0';
	return gt_graft_stub_text(probe_text, &probe, 1, &which, 1, GT_POINT_ENTRY, false, ret_text, why);
}

static unsigned count_in(const char *text, const char *word)
{
	unsigned count = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		count++;
	return count;
}

/* A function that is called twice is there twice, with labels and arguments of each call. */
START_TEST(calls_are_written_out)
{
	char why[GT_GRAFT_WHY], *text;

	ck_assert_msg(!stub_of(CALLED("f", "\tsetp.eq.u64 %p1, %rd1, 0;\n\t@%p1 bra $L__BB0_1;\n\t@%p1 ret;\n$L__BB0_1:\n")
			       PROBE("p", CALL("f") CALL("f") "\tst.global.u64 [%rd1], %rd2;\n"), &text, why), "%s", why);
	ck_assert_ptr_null(strstr(text, ".func"));
	ck_assert_ptr_null(strstr(text, "call"));
	ck_assert_uint_eq(count_in(text, "$L__1BB0_1:\n"), 1);
	ck_assert_uint_eq(count_in(text, "$L__2BB0_1:\n"), 1);
	ck_assert_uint_eq(count_in(text, "\tmov.b64 __gt_a2_0, %rd1;\n"), 1);
	ck_assert_uint_eq(count_in(text, "\tmov.b64 %rd2, __gt_r2;\n"), 1);
	ck_assert_uint_eq(count_in(text, "\t@%p1 bra __gt_end2;\n"), 1);
	ck_assert_uint_eq(count_in(text, "__gt_end1:\n"), 1);
	free(text);
}
END_TEST

static const struct {
	const char *text, *why;
} odd_texts[] = {
	/* What calls itself, directly and not, and what no function of the text is. */
	{ CALLED("f", CALL("f")) PROBE("p", CALL("f")), "too deeply" },
	{ CALLED("f", CALL("g")) CALLED("g", CALL("f")) PROBE("p", CALL("f")), "too deeply" },
	{ PROBE("p", CALL("p")), "too deeply" },
	{ PROBE("p", CALL("unknown")), "not known" },
	/* Calls through a register, on a condition, without braces; other labels; arrays as arguments. */
	{ PROBE("p", CALL("%rd3")), "not known" },
	{ CALLED("f", "") PROBE("p", "\t{\n\t@%p1 call f, (%rd1);\n\t}\n"), "not known" },
	{ CALLED("f", "") PROBE("p", "\tcall f, (%rd1);\n"), "not known" },
	{ CALLED("f", "again:\n") PROBE("p", CALL("f")), "not known" },
	{ CALLED("f", "") PROBE("p", "\t{\n\t.param .align 8 .b8 param0[16];\n\tcall f, (param0);\n\t}\n"), "not known" },
	/* Functions without an end. */
	{ ".func f()\n" PROBE("p", CALL("f")), "not known" },
	{ ".func p() { ret; }\n", "not known" },
	{ CALLED("f", "") ".func p()\n{\n\tret;\n", "not known" },
};

START_TEST(odd_texts_refused)
{
	char why[GT_GRAFT_WHY], *text;

	ck_assert_int_eq(stub_of(odd_texts[_i].text, &text, why), -EINVAL);
	ck_assert_msg(strstr(why, odd_texts[_i].why) != NULL, "%s", why);
}
END_TEST

/* Ten calls of what makes ten calls, and so on: as text it would be without bounds. */
START_TEST(long_texts_refused)
{
	struct ptx_text all = { 0 };
	char why[GT_GRAFT_WHY], *text;

	gt_text_puts(&all, CALLED("f0", ""));
	for (char level = '1'; level < '9'; level++) {
		gt_text_printf(&all, ".func f%c()\n{\n\t.reg .b64 %%rd<4>;\n", level);
		for (unsigned i = 0; i < 10; i++)
			gt_text_printf(&all, "\t{\n\tcall f%c;\n\t}\n", level - 1);
		gt_text_puts(&all, "\tret;\n}\n");
	}
	gt_text_puts(&all, PROBE("p", "\t{\n\tcall f8;\n\t}\n"));
	ck_assert_int_eq(stub_of(all.data, &text, why), -EINVAL);
	ck_assert_msg(strstr(why, "too long") != NULL, "%s", why);
	gt_text_free(&all);
}
END_TEST

START_TEST(texts_refused)
{
	static const struct gt_probe probe = { .point = GT_POINT_LOAD, .function = "ring", .kernel = "*" };
	static const struct gt_probe entry = { .point = GT_POINT_ENTRY, .function = "p", .kernel = "*" };
	char why[GT_GRAFT_WHY], *text = NULL;
	unsigned which = 0;

	ck_assert_int_eq(gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_LOAD, false, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_ENTRY, false, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(test_probes, &entry, 1, &which, 0, GT_POINT_ENTRY, false, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(".func p() { .reg .b32 %r; mov.u32 %r, %lanemask_ge; }", &entry, 1, &which,
					    1, GT_POINT_ENTRY, false, &text, why), -EINVAL);
	ck_assert_ptr_null(text);
}
END_TEST

/* ---- refusals ---- */

static void expect(struct bytes kernels, const char *name, const char *entry, const char *exit, unsigned arch,
		   enum gt_reason reason)
{
	struct gt_graft_plan plan = {
		name, 1, entry ? open_stub(entry, arch) : NULL, exit ? open_stub(exit, arch) : NULL,
	};
	struct gt_graft_result result;
	char why[GT_GRAFT_WHY] = "";
	void *image = NULL;
	size_t size;
	int r = gt_graft(kernels.data, kernels.size, 0, &plan, 1, &image, &size, &result, why);

	ck_assert_msg(r == (reason ? -ENOENT : 0), "%s: %d %s %s", name, r, why, result.why);
	ck_assert_int_eq(result.done, !reason);
	ck_assert_msg(result.reason == reason, "%s: %s", name, result.why);
	if (reason)
		ck_assert_uint_gt(strlen(result.why), 10);
	free(image);
	gt_graft_stub_free((struct gt_graft_stub *)plan.entry);
	gt_graft_stub_free((struct gt_graft_stub *)plan.exit);
}

START_TEST(functions_that_end_threads)
{
	struct bytes debug = load("debug", 90);

	expect(debug, "calls", NULL, "exit", 90, GT_REASON_UNSUPPORTED);
	expect(debug, "calls", "entry", NULL, 90, GT_REASON_NONE);
	expect(debug, "calls_nothing", "entry", "exit", 90, GT_REASON_NONE);
	free(debug.data);
}
END_TEST

/* Down to 24 registers. */
START_TEST(registers_given_away)
{
	struct bytes kernels = load("setmaxnreg", 90);

	expect(kernels, "gives_registers", "entry-big", "exit", 90, GT_REASON_NONE);
	expect(kernels, "gives_registers", NULL, "exit-big", 90, GT_REASON_LIMITS);
	free(kernels.data);
}
END_TEST

/* What a kernel launches gets no hidden parameter. */
START_TEST(launched_by_the_gpu)
{
	struct bytes kernels = load("nested", 90);

	expect(kernels, "child", "entry", NULL, 90, GT_REASON_UNSUPPORTED);
	expect(kernels, "child", NULL, "exit", 90, GT_REASON_UNSUPPORTED);
	expect(kernels, "parent", "entry", "exit", 90, GT_REASON_NONE);
	expect(kernels, "neighbour", "entry", "exit", 90, GT_REASON_NONE);
	free(kernels.data);
}
END_TEST

/* The same stub, said to take more registers. */
static struct gt_graft_stub *stub_with_registers(unsigned registers)
{
	struct bytes bytes = load("entry", 90);
	struct gt_graft_stub *stub;
	struct gt_note_record record;
	struct gt_note_walk walk;
	struct view view;

	look(&view, bytes, "__gt_stub");
	walk = gt_note_begin(&view.elf, view.elf.info);
	while (gt_note_next(&walk, &record))
		if (record.attribute == GT_ATTR_REGCOUNT)
			gt_write32((uint8_t *)(uintptr_t)record.payload + 4, registers);
	stub = open_bytes(bytes, GT_POINT_ENTRY);
	gt_elf_close(&view.elf);
	free(bytes.data);
	return stub;
}

/* 1024 threads leave 64 registers for each, 896 leave 72. */
START_TEST(blocks_must_still_fit)
{
	static const unsigned registers[] = { 64, 65, 72 };
	struct bytes kernels = load("kernels", 90);

	for (unsigned i = 0; i < 3; i++) {
		struct gt_graft_stub *stub = stub_with_registers(registers[i]);
		struct gt_graft_plan plans[] = { { "bounded", 1, stub, NULL }, { "three_exits", 2, stub, NULL } };
		struct gt_graft_result results[2];
		char why[GT_GRAFT_WHY];
		void *image = NULL;
		size_t size;

		ck_assert_int_eq(gt_graft(kernels.data, kernels.size, 0, plans, 2, &image, &size, results, why),
				 i ? -ENOENT : 0);
		for (unsigned k = 0; i && k < 2; k++)
			ck_assert_int_eq(results[k].reason, GT_REASON_LIMITS);
		free(image);
		gt_graft_stub_free(stub);
	}
	free(kernels.data);
}
END_TEST

START_TEST(other_architectures)
{
	struct bytes kernels = load("kernels", 90), old = load("kernels", 80), newer;

	expect(kernels, "three_exits", "entry", NULL, 80, GT_REASON_UNSUPPORTED);
	/* Within one family newer probes suit older code, not the other way round. */
	expect(old, "three_exits", "entry", NULL, 75, GT_REASON_UNSUPPORTED);
	newer = load("kernels", 90);
	newer.data[offsetof(Elf64_Ehdr, e_flags) + 1] = 100;
	expect(newer, "three_exits", "entry", NULL, 90, GT_REASON_UNSUPPORTED);
	free(kernels.data);
	free(old.data);
	free(newer.data);
}
END_TEST

START_TEST(bad_plans)
{
	struct bytes kernels = load("kernels", 80);
	struct gt_graft_stub *entry = open_stub("entry", 80);
	struct gt_graft_plan plans[] = {
		{ "nowhere", 1, entry, NULL }, { "endless", 1, NULL, NULL }, { "endless", 1u << 31, entry, NULL },
		{ "endless", 1, NULL, entry }, { "no_params", 1, entry, NULL }, { "no_params", 2, entry, NULL },
	};
	struct gt_graft_result results[6];
	char why[GT_GRAFT_WHY];
	void *image;
	size_t size;

	ck_assert_int_eq(gt_graft(kernels.data, kernels.size, 0, plans, 6, &image, &size, results, why), 0);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(results[i].done, i == 4);
	free(image);
	ck_assert_int_eq(gt_graft(kernels.data, 63, 0, plans, 6, &image, &size, results, why), -EINVAL);
	gt_graft_stub_free(entry);
	free(kernels.data);
}
END_TEST

/* ---- the check ---- */

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

START_TEST(the_check_sees_wrong_stubs)
{
	unsigned arch = archs[_i];
	struct view before, after;
	struct grafted g;
	uint64_t entry, exit = 0, at;

	graft(&g, arch, "entry", "exit");
	look(&before, g.before, "three_exits");
	look(&after, g.after, "three_exits");
	entry = (before.size + 127) / 128 * 128;
	for (at = GT_WORD; at < before.size && !exit; at += GT_WORD)
		if (gt_is_exit(word(&before, at)))
			exit = (uint64_t)gt_target(word(&after, at), arch, (int64_t)at);
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
	TCase *tcase = tcase_create("graft");

	tcase_add_loop_test(tcase, every_stub_goes_in, 0, 3 * TEST_STUBS);
	tcase_add_loop_test(tcase, programs_that_call, 0, 3 * TEST_PROGRAMS);
	tcase_add_loop_test(tcase, parameters, 0, 3);
	tcase_add_test(tcase, parameter_records);
	tcase_add_loop_test(tcase, exits_lead_to_the_probes, 0, 3);
	tcase_add_loop_test(tcase, entry_comes_back, 0, 3);
	tcase_add_loop_test(tcase, numbers_are_filled_in, 0, 9);
	tcase_add_loop_test(tcase, exit_stubs_leave_the_warp_alone, 0, 3 * TEST_STUBS);
	tcase_add_loop_test(tcase, values_of_the_block, 0, 3);
	tcase_add_test(tcase, values_take_their_time);
	tcase_add_loop_test(tcase, accesses_without_descriptor, 0, 5);
	tcase_add_test(tcase, groups_stay_together);
	tcase_add_loop_test(tcase, registers_and_stack, 0, 3);
	tcase_add_test(tcase, attach_order);
	tcase_add_test(tcase, threads_are_alone_at_exit);
	tcase_add_loop_test(tcase, nothing_is_called, 0, TEST_STUBS);
	tcase_add_test(tcase, predicated_statements_stay);
	tcase_add_test(tcase, calls_are_written_out);
	tcase_add_loop_test(tcase, odd_texts_refused, 0, sizeof(odd_texts) / sizeof(odd_texts[0]));
	tcase_add_test(tcase, long_texts_refused);
	tcase_add_test(tcase, texts_refused);
	tcase_add_test(tcase, functions_that_end_threads);
	tcase_add_test(tcase, registers_given_away);
	tcase_add_test(tcase, launched_by_the_gpu);
	tcase_add_test(tcase, blocks_must_still_fit);
	tcase_add_test(tcase, other_architectures);
	tcase_add_test(tcase, bad_plans);
	tcase_add_loop_test(tcase, the_check_sees_every_bit, 0, 3);
	tcase_add_loop_test(tcase, the_check_sees_wrong_stubs, 0, 3);
	return run_case("graft", tcase);
}
