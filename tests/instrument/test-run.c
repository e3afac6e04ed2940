/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs what comes out on the software device: how often each probe runs, with
 * what arguments, and that the kernels still compute the same.
 */
#include "tests/instrument/corpus.h"
#include "tests/instrument/kernel.h"

/*
 * Adds 1, size, address and space to the four words at dev, and stores the
 * first parameter of the kernel, if it gets them, in the fifth; kernel id and
 * launch word in the sixth and seventh; how long the parameters are in the last.
 */
#define COUNTING(variable) \
	".func probe(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n" \
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n" variable COUNTING_BODY
#define COUNTING_BODY \
	"\t.reg .b64 %d, %x, %p; .reg .b32 %w; .reg .pred %q;\n" \
	"\tld.param.b64 %d, [d]; ld.param.b64 %p, [p];\n" \
	"\tatom.global.add.u64 %x, [%d], 1;\n" \
	"\tld.param.b32 %w, [s]; cvt.u64.u32 %x, %w; atom.global.add.u64 %x, [%d+8], %x;\n" \
	"\tld.param.b64 %x, [a]; atom.global.add.u64 %x, [%d+16], %x;\n" \
	"\tld.param.b32 %w, [c]; cvt.u64.u32 %x, %w; atom.global.add.u64 %x, [%d+24], %x;\n" \
	"\tsetp.eq.u64 %q, %p, 0; @%q bra again;\n" \
	"\tshr.u64 %x, %p, 48; st.global.u64 [%d+56], %x;\n" \
	"\tand.b64 %p, %p, 0xffffffffffff;\n" \
	"\tld.u64 %x, [%p]; st.global.u64 [%d+32], %x;\n" \
	"again:\n" \
	"\tld.param.b32 %w, [k]; cvt.u64.u32 %x, %w; st.global.u64 [%d+40], %x;\n" \
	"\tld.param.b64 %x, [l]; st.global.u64 [%d+48], %x;\n" \
	"\tret;\n}\n"

/* Written out at its places, and, for its variable, called. */
static const char *const counting[] = { COUNTING(""), COUNTING("\t.local .b32 unused;\n") };

struct counters {
	uint64_t calls, sizes, addresses, spaces, first_param, kernel, launch, param_bytes;
};

static char *weave(const char *text, const struct gt_probe *probes, unsigned count, int called)
{
	static const unsigned which[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	struct gt_ptx *ptx = parse(text);
	struct gt_ptx_error error = { .text = "" };
	unsigned kernels = gt_ptx_kernel_count(ptx), k;
	struct gt_ptx_plan *plans = calloc(kernels + 1, sizeof(*plans));
	char names[16][128], *out = NULL;
	size_t length;

	ck_assert_uint_le(kernels, 16);
	for (k = 0; k < kernels; k++) {
		const char *name = gt_ptx_kernel(ptx, k)->name;

		plans[k] = (struct gt_ptx_plan){ .kernel_id = 100 + k, .probes = which, .probe_count = count };
		if (in_copies) {
			snprintf(names[k], sizeof(names[k]), "%s" COPY, name);
			plans[k].copy = names[k];
		}
	}
	ck_assert_msg(!gt_ptx_instrument(ptx, counting[called], probes, count, plans, &out, &length, &error), "%s",
		      error.text);
	free(plans);
	gt_ptx_free(ptx);
	return out;
}

static int call_probes;		/* rather than write them out */

/* Runs a kernel of this text with one kind of probe and returns what was counted. */
static struct counters count(const char *text, const char *kernel, const struct gt_probe *probe,
			     uint64_t switches, unsigned blocks, unsigned threads, struct block *params)
{
	struct counters counters = { 0 };
	char *out = weave(text, probe, 1, call_probes), name[128];

	ck_assert_uint_eq(count_of(out, "call probe,") > 0, call_probes && count_of(out, "__gt_off:") > 0);
	hide(text, kernel, switches, params, &counters);
	snprintf(name, sizeof(name), "%s%s", kernel, in_copies ? COPY : "");
	run(out, name, blocks, threads, params->bytes);
	free(out);
	return counters;
}

static const struct gt_probe entry = { GT_POINT_ENTRY, GT_PER_THREAD, 0, 0, "probe", "*", NULL, 0 };
static const struct gt_probe leave = { GT_POINT_EXIT, GT_PER_THREAD, 0, 0, "probe", "*", NULL, 0 };

static const struct {
	const char *file, *kernel;
	int n;
} ways_out[] = {
	{ "exits.ptx", "several", 70 },		/* returns in a loop, exit in a function and in the kernel */
	{ "exits.debug.ptx", "several", 70 },
	{ "exits.ptx", "predicated", 3 },
	{ "exits.ptx", "predicated", 31 },
	{ "exits.ptx", "predicated", 4 },
	{ "exits.ptx", "falls_off", 0 },
	{ "exits.ptx", "table", 0 },
	{ "exits.ptx", "table", 1 },
	{ "exits.ptx", "table", 6 },
	{ "exits.lineinfo.ptx", "several", 9 },
	{ "exits.ptx", "nothing", 0 },
	{ "corner.ptx", "bare", 0 },
	{ "corner.ptx", "empty", 0 },
	{ "corner.ptx", "one_line", 0 },
	{ "corner.ptx", "shadow", 0 },
	{ "asm.ptx", "scopes", 0 },
};

/* Every thread enters once and leaves once, in whatever way, and computes what it did before. */
START_TEST(entries_are_exits)
{
	const struct corpus_file *file = corpus;
	int plain[256], probed[256], i;
	struct block params;
	struct counters counters;
	char *text;

	while (strcmp(file->name, ways_out[_i].file))
		file++;
	text = corpus_load(file);
	for (i = 0; i < 256; i++)
		plain[i] = probed[i] = i * 7 % 50;
	params = pointer_and(plain, ways_out[_i].n);
	run(text, ways_out[_i].kernel, 1, 75, params.bytes);
	params = pointer_and(probed, ways_out[_i].n);
	counters = count(text, ways_out[_i].kernel, &leave, 1, 1, 75, &params);
	ck_assert_uint_eq(counters.calls, 75);
	ck_assert_uint_eq(counters.launch, 5 | 1ull << 48);
	ck_assert_mem_eq(plain, probed, sizeof(plain));
	counters = count(text, ways_out[_i].kernel, &entry, 1, 3, 75, &params);
	ck_assert_uint_eq(counters.calls, 3 * 75);
	ck_assert_uint_ge(counters.kernel, 100);
	/* Switched off, or another link on. */
	counters = count(text, ways_out[_i].kernel, &leave, 0, 1, 75, &params);
	ck_assert_uint_eq(counters.calls, 0);
	counters = count(text, ways_out[_i].kernel, &leave, 0xfffe, 1, 75, &params);
	ck_assert_uint_eq(counters.calls, 0);
	free(text);
}
END_TEST

static const struct {
	uint32_t point, granularity;
	unsigned calls, sizes;
} elected[] = {
	{ GT_POINT_ENTRY, GT_PER_WARP, 4 * 3, 0 },	/* 75 threads: three warps */
	{ GT_POINT_EXIT, GT_PER_WARP, 4 * 3, 0 },
	{ GT_POINT_ENTRY, GT_PER_BLOCK, 4, 0 },
	{ GT_POINT_EXIT, GT_PER_BLOCK, 4, 0 },
	{ GT_POINT_ENTRY, GT_PER_GROUP, 4 * 3, 4 * 75 },
};

START_TEST(one_elected_thread)
{
	char *text = corpus_load(&corpus[3]);	/* exits.ptx */
	struct gt_probe probe = entry;
	int memory[512] = { 0 };
	struct block params = pointer_and(memory, 70);
	struct counters counters;

	probe.point = elected[_i].point;
	probe.granularity = elected[_i].granularity;
	counters = count(text, "several", &probe, 1, 4, 75, &params);
	ck_assert_uint_eq(counters.calls, elected[_i].calls);
	ck_assert_uint_eq(counters.sizes, elected[_i].sizes);
	free(text);
}
END_TEST

/* Threads leave in groups of any size; the sizes add up to all of them. */
START_TEST(groups_add_up)
{
	char *text = corpus_load(&corpus[3]);
	struct gt_probe probe = leave;
	int memory[512], i;
	struct block params = pointer_and(memory, 70);
	struct counters counters;

	for (i = 0; i < 512; i++)
		memory[i] = i;
	probe.granularity = GT_PER_GROUP;
	counters = count(text, "several", &probe, 1, 4, 75, &params);
	ck_assert_uint_eq(counters.sizes, 4 * 75);
	ck_assert_uint_ge(counters.calls, 4 * 3);
	ck_assert_uint_le(counters.calls, 4 * 75);
	free(text);
}
END_TEST

START_TEST(addresses)
{
	static const struct {
		uint32_t point;
		unsigned per_thread;
	} points[] = { { GT_POINT_LOAD, 2 }, { GT_POINT_STORE, 1 }, { GT_POINT_ATOMIC, 0 } };
	char *text = corpus_load(&corpus[_i]);	/* the three builds of vecadd */
	float a[64], b[64], c[64];
	uint64_t expected, sum = 4 * (63 * 64 / 2);
	struct counters counters;
	struct block params;
	unsigned p;
	int n = 64, i;

	for (i = 0; i < 64; i++) {
		a[i] = (float)i;
		b[i] = 2;
	}
	for (p = 0; p < 3; p++) {
		struct gt_probe probe = entry;
		const void *pointers[3] = { a, b, c };

		probe.point = points[p].point;
		memset(c, 0, sizeof(c));
		memset(&params, 0, sizeof(params));
		memcpy(params.bytes, pointers, sizeof(pointers));
		memcpy(params.bytes + 24, &n, sizeof(n));
		/* 96 threads, of which 64 do something. */
		counters = count(text, "vecadd", &probe, 1, 3, 32, &params);
		expected = p == 0 ? 64 * ((uintptr_t)a + (uintptr_t)b) + 2 * sum :
			   p == 1 ? 64 * (uintptr_t)c + sum : 0;
		ck_assert_uint_eq(counters.calls, 64 * points[p].per_thread);
		ck_assert_uint_eq(counters.sizes, 4 * 64 * points[p].per_thread);
		ck_assert_uint_eq(counters.addresses, expected);
		for (i = 0; i < 64; i++)
			ck_assert(c[i] == (float)i + 2);
	}
	free(text);
}
END_TEST

/* The parameters' address works in all ways: cvta.param, copied, and from a function. */
START_TEST(parameters)
{
	static const char body[] =
		".target sm_75\n.address_size 64\n"
		".func f() { .reg .b64 %a; .shared .align 8 .b64 s; mov.u64 %a, s; st.shared.u32 [%a], 1; ret; }\n"
		".visible .entry k(.param .u64 a, .param .u32 b) { call f; ret; }\n";
	static const char *const versions[] = { ".version 8.0\n", ".version 7.0\n" };
	static const uint32_t points[] = { GT_POINT_ENTRY, GT_POINT_EXIT, GT_POINT_STORE };
	char text[512];
	unsigned v, p;

	for (v = 0; v < 2; v++) {
		snprintf(text, sizeof(text), "%s%s", versions[v], body);
		for (p = 0; p < 3; p++) {
			struct gt_probe probe = entry;
			struct block params = pointer_and((void *)(uintptr_t)0x123456789abcdef0, 4);
			struct counters counters;

			probe.point = points[p];
			probe.flags = GT_PROBE_WANTS_PARAMS;
			counters = count(text, "k", &probe, 1, 2, 33, &params);
			ck_assert_uint_eq(counters.calls, 66);
			ck_assert_uint_eq(counters.first_param, 0x123456789abcdef0);
			ck_assert_uint_eq(counters.param_bytes, 12);	/* 8 and 4 */
			ck_assert_uint_eq(counters.kernel, 100);
		}
	}
}
END_TEST

/*
 * Adds 1 to its thread's own of the words at dev: block and thread of one dimension, with all
 * three worked out.
 */
#define OF_THREAD \
	".func probe(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n" \
	"\t.param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n{\n" \
	"\t.reg .b32 %r<20>; .reg .b64 %rd<5>;\n" \
	"\tmov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r4, %r1, %r2, %r3;\n" \
	"\tmov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.x; mad.lo.s32 %r8, %r6, %r5, %r7;\n" \
	"\tmad.lo.s32 %r9, %r4, %r5, %r8; shl.b32 %r10, %r9, 3;\n" \
	"\tld.param.b64 %rd1, [d]; mul.wide.u32 %rd2, %r10, 1; add.s64 %rd3, %rd1, %rd2;\n" \
	"\tld.global.u64 %rd4, [%rd3]; add.s64 %rd4, %rd4, 1; st.global.u64 [%rd3], %rd4;\n\tret;\n}\n"

/* 5 rounds of 2 accesses, and threads with an odd number one more. */
static const char rounds[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry k(.param .u64 pm) { .reg .b64 %rd1; .reg .b32 %r<4>; .reg .pred %p<2>;\n"
	"ld.param.u64 %rd1, [pm]; mov.u32 %r1, 0; mov.u32 %r3, %tid.x; and.b32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 0;\n"
	"L: ld.global.u32 %r2, [%rd1]; ld.global.u32 %r2, [%rd1+4]; add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 5; @%p0 bra L;\n"
	"@%p1 ld.global.u32 %r2, [%rd1]; ret; }\n";

START_TEST(each_thread_has_its_own)
{
	static const struct gt_probe loads = { .point = GT_POINT_LOAD, .function = "probe", .kernel = "*" };
	uint64_t counts[3 * 33] = { 0 };
	uint32_t read[2] = { 0 };
	struct block params = pointer_and(read, 0);
	char *out = instrument_with(rounds, OF_THREAD, &loads, 1);

	hide(rounds, "k", 1, &params, counts);
	ck_assert_ptr_nonnull(strstr(out, "__gt_h0_0"));
	run(out, in_copies ? "k" COPY : "k", 3, 33, params.bytes);
	for (unsigned i = 0; i < 3 * 33; i++)
		ck_assert_uint_eq(counts[i], 10 + i % 33 % 2);
	free(out);
}
END_TEST

/* Beside its copy the kernel runs without probes, also where functions that it calls have some. */
START_TEST(kernels_beside_their_copies)
{
	const struct corpus_file *file = corpus;
	int plain[256], beside[256], i;
	struct block params;
	char *text, *out;

	in_copies = 1;
	while (strcmp(file->name, ways_out[_i].file))
		file++;
	text = corpus_load(file);
	for (i = 0; i < 256; i++)
		plain[i] = beside[i] = i * 7 % 50;
	params = pointer_and(plain, ways_out[_i].n);
	run(text, ways_out[_i].kernel, 1, 75, params.bytes);
	params = pointer_and(beside, ways_out[_i].n);
	out = weave(text, &leave, 1, call_probes);
	/* No hidden parameter: a probe that ran would write where zero points. */
	run(out, ways_out[_i].kernel, 1, 75, params.bytes);
	ck_assert_mem_eq(plain, beside, sizeof(plain));
	free(out);
	free(text);
}
END_TEST

#define LOOP(test, array) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

static void write_out(void)
{
	call_probes = in_copies = 0;
}

static void call(void)
{
	write_out();
	call_probes = 1;
}

static void copy(void)
{
	write_out();
	in_copies = 1;
}

static TCase *all(const char *name, void (*setup)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, NULL);
	LOOP(entries_are_exits, ways_out);
	LOOP(kernels_beside_their_copies, ways_out);
	LOOP(one_elected_thread, elected);
	tcase_add_test(tcase, groups_add_up);
	tcase_add_test(tcase, each_thread_has_its_own);
	tcase_add_loop_test(tcase, addresses, 0, 3);
	tcase_add_test(tcase, parameters);
	return tcase;
}

int main(void)
{
	int called = run_case("probes called", all("called", call));

	int copied = run_case("probes in copies", all("copied", copy));

	return run_case("probes written out", all("written out", write_out)) || called || copied;
}
