/* SPDX-License-Identifier: Apache-2.0 */
/* Additions that are held back: where they are, and that they come to the same. */
#include "tests/instrument/corpus.h"
#include "tests/instrument/kernel.h"

#define PARAMS \
	"(.param .b64 l, .param .b64 d, .param .b64 h, .param .b32 k,\n" \
	" .param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c)\n"
#define PROBE_OF(body) ".func probe" PARAMS "{\n\t.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>;\n" body "\tret;\n}\n"

/* Calls and bytes: first added without the old value, then with it, at once. */
#define BOTH PROBE_OF( \
	"\tld.param.u64 %rd1, [d]; mov.u64 %rd2, 1; red.relaxed.gpu.global.add.u64 [%rd1], %rd2;\n" \
	"\tadd.s64 %rd3, %rd1, 8; ld.param.u32 %rd4, [s]; red.relaxed.gpu.global.add.u64 [%rd3], %rd4;\n" \
	"\tatom.relaxed.gpu.global.add.u64 %rd5, [%rd1+16], 1;\n" \
	"\tatom.relaxed.gpu.global.add.u64 %rd5, [%rd1+24], %rd4;\n" \
	"\tred.relaxed.gpu.global.add.u32 [%rd1+32], 3;\n")

/* Calls alone. */
#define CALLS PROBE_OF( \
	"\tld.param.u64 %rd1, [d]; red.relaxed.gpu.global.add.u64 [%rd1], 1;\n" \
	"\tatom.relaxed.gpu.global.add.u64 %rd5, [%rd1+16], 1;\n")

struct counters {
	uint64_t calls, bytes, calls_at_once, bytes_at_once, threes;
};

static struct gt_probe summing(uint32_t point, uint32_t granularity)
{
	struct gt_probe probe = probe_at(point);

	probe.granularity = granularity;
	probe.flags = GT_PROBE_ADDS_LATER;
	return probe;
}

/* Is anything held back in the kernel? */
static bool holds(const char *text, const char *kernel)
{
	char entry[64];
	const char *begin, *end, *held;

	snprintf(entry, sizeof(entry), ".entry %s", kernel);
	begin = strstr(text, entry);
	ck_assert_ptr_nonnull(begin);
	end = strstr(begin + 1, ".entry");
	held = strstr(begin, "add.u32 %__gt_c0_0,");
	return held && (!end || held < end);
}

static struct counters count(const char *text, const char *probe_text, const char *kernel, const struct gt_probe *probe,
			     unsigned threads, struct block *params, bool *ret_holds)
{
	struct counters counters = { 0 };
	char *out = instrument_with(text, probe_text, probe, 1);

	*ret_holds = holds(out, kernel);
	hide(text, kernel, 1, params, &counters);
	run(out, kernel, 1, threads, params->bytes);
	free(out);
	return counters;
}

/* ---- all that there is ---- */

static const struct {
	const char *file, *kernel;
	int n;
	bool none;	/* a thread may leave in a function, or there is nothing but the way out: nothing is held back */
} kernels[] = {
	{ "exits.ptx", "several", 70, true },
	{ "exits.debug.ptx", "several", 70, true },
	{ "exits.ptx", "predicated", 3, false },
	{ "exits.ptx", "predicated", 31, false },
	{ "exits.ptx", "predicated", 4, false },
	{ "exits.debug.ptx", "predicated", 31, false },
	{ "exits.ptx", "falls_off", 0, false },
	{ "exits.ptx", "table", 0, false },
	{ "exits.ptx", "table", 1, false },
	{ "exits.ptx", "table", 6, false },
	{ "exits.debug.ptx", "table", 3, false },
	{ "exits.ptx", "nothing", 0, true },
	{ "corner.ptx", "bare", 0, true },
	{ "corner.ptx", "empty", 0, true },
	{ "corner.ptx", "one_line", 0, false },
	{ "corner.ptx", "shadow", 0, true },
	{ "asm.ptx", "scopes", 0, false },
	{ "asm.debug.ptx", "scopes", 0, false },
	{ "calls.ptx", "pointers", 0, true },
	{ "calls.ptx", "prints", 7, false },
	{ "calls.debug.ptx", "prints", 7, false },
};

/* As many as by other instructions at the same places, and the kernel computes what it did. */
START_TEST(nothing_is_lost)
{
	static const uint32_t points[] = {
		GT_POINT_LOAD, GT_POINT_STORE, GT_POINT_ATOMIC, GT_POINT_INST, GT_POINT_BLOCK,
	};
	const struct corpus_file *file = corpus;
	int plain[256], probed[256], i;
	struct counters counters;
	struct block params;
	bool held;
	char *text;

	while (strcmp(file->name, kernels[_i].file))
		file++;
	text = corpus_load(file);
	for (unsigned p = 0; p < 5; p++) {
		for (uint32_t per = GT_PER_THREAD; per <= GT_PER_BLOCK; per++) {
			struct gt_probe probe = summing(points[p], per);

			for (i = 0; i < 256; i++)
				plain[i] = probed[i] = i * 7 % 50;
			params = pointer_and(plain, kernels[_i].n);
			run(text, kernels[_i].kernel, 1, 75, params.bytes);
			params = pointer_and(probed, kernels[_i].n);
			counters = count(text, BOTH, kernels[_i].kernel, &probe, 75, &params, &held);
			ck_assert(points[p] != GT_POINT_INST || held == !kernels[_i].none);
			ck_assert_uint_eq(counters.calls, counters.calls_at_once);
			ck_assert_uint_eq(counters.bytes, counters.bytes_at_once);
			ck_assert_uint_eq(counters.threes, 3 * counters.calls);
			ck_assert_mem_eq(plain, probed, sizeof(plain));
			if (points[p] == GT_POINT_BLOCK && strcmp(kernels[_i].kernel, "empty"))
				ck_assert_uint_ge(counters.calls, per == GT_PER_THREAD ? 75 : per == GT_PER_WARP ? 3 : 1);
		}
	}
	free(text);
}
END_TEST

/* ---- loops ---- */

/* `rounds` times two loads; then what the first counter at `a` holds by then goes to a + 64. */
#define ROUNDS(rounds, begin, end) HEADER \
	".visible .entry k(.param .u64 a, .param .u32 n) {\n" \
	".reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<3>;\n" \
	"ld.param.u64 %rd1, [a]; mov.u32 %r1, 0;\n" begin \
	"L: ld.global.u32 %r2, [%rd1+128]; ld.global.u32 %r2, [%rd1+132];\n" \
	"add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, " rounds ";\n" end \
	"ld.global.u64 %rd2, [%rd1]; st.global.u64 [%rd1+64], %rd2; ret; }\n"

static const struct {
	const char *text;
	uint64_t seen, calls;
} loops[] = {
	/* After 32768 rounds, and again, the next round begins by adding 65536. */
	{ ROUNDS("70000", "", "@%p1 bra L;"), 131072, 140001 },
	{ ROUNDS("70000", "", "@!%p1 bra E; bra.uni L; E:"), 131072, 140001 },
	{ ROUNDS("70000", "T: .branchtargets E, L;", "selp.u32 %r3, 1, 0, %p1; brx.idx %r3, T; E:"), 131072, 140001 },
	{ ROUNDS("32768", "", "@%p1 bra L;"), 0, 65537 },
	{ ROUNDS("32769", "", "@%p1 bra L;"), 65536, 65539 },
};

START_TEST(long_loops_are_seen)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	uint64_t memory[32] = { 0 };
	struct block params = pointer_and(memory, 0);
	char *out = instrument_with(loops[_i].text, CALLS, &probe, 1);

	hide(loops[_i].text, "k", 1, &params, memory);
	run(out, "k", 1, 1, params.bytes);
	ck_assert_uint_eq(memory[8], loops[_i].seen);
	ck_assert_uint_eq(memory[0], loops[_i].calls);
	ck_assert_uint_eq(memory[2], loops[_i].calls);
	free(out);
}
END_TEST

static const struct {
	const char *kernel;
	unsigned checks;
} heads[] = {
	{ KERNEL("ld.u32 %r1, [%rd1]; ret;"), 0 },
	{ KERNEL("L: ld.u32 %r1, [%rd1]; @%p bra L; ret;"), 1 },
	{ KERNEL("@%p bra L; ld.u32 %r1, [%rd1]; L: ret;"), 0 },
	/* None in loops without an access; one for each of two around each other. */
	{ KERNEL("ld.u32 %r1, [%rd1]; L: add.u32 %r1, %r1, 1; @%p bra L; ld.u32 %r1, [%rd1]; ret;"), 0 },
	{ KERNEL("M: add.u32 %r1, %r1, 1; L: ld.u32 %r1, [%rd1]; @%p bra L; @%p bra M; ret;"), 2 },
	{ KERNEL("M: ld.u32 %r1, [%rd1]; L: add.u32 %r1, %r1, 1; @%p bra L; @%p bra M; ret;"), 1 },
	/* Into the middle, and the access behind the way back of the inner one. */
	{ KERNEL("bra M; L: add.u32 %r1, %r1, 1; M: @%p bra L; ld.u32 %r1, [%rd1]; @!%p bra M; ret;"), 1 },
	{ KERNEL("{ L: ld.u32 %r1, [%rd1]; @%p bra L; } { L: add.u32 %r1, %r1, 1; @%p bra L; } ret;"), 1 },
};

START_TEST(rounds_are_checked)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(heads[_i].kernel, BOTH, &probe, 1);

	ck_assert_msg(count_of(out, "%__gt_t, 65536;\n") == heads[_i].checks, "%s", out);
	free(out);
}
END_TEST

/* ---- what can wait, and what cannot ---- */

static const char load[] = KERNEL("ld.global.u32 %r1, [%rd1]; ret;");

static const struct {
	const char *probe;
	unsigned held;		/* of its additions */
} additions[] = {
	{ BOTH, 3 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; red.relaxed.gpu.global.add.u64 [%rd1+8], 65535;"), 1 },
	/* Too large, or nobody knows how large. */
	{ PROBE_OF("ld.param.u64 %rd1, [d]; red.relaxed.gpu.global.add.u64 [%rd1], 65536;"), 0 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; red.relaxed.gpu.global.add.u64 [%rd1], -1;"), 0 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; ld.param.u64 %rd2, [a]; red.relaxed.gpu.global.add.u64 [%rd1], %rd2;"), 0 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; mov.u64 %rd2, 1; add.s64 %rd2, %rd2, 1;"
		      "red.relaxed.gpu.global.add.u64 [%rd1], %rd2;"), 0 },
	/* The threads that are here, and as many times four. */
	{ PROBE_OF("ld.param.u64 %rd1, [d]; activemask.b32 %r1; popc.b32 %r2, %r1; cvt.u64.u32 %rd2, %r2;"
		      "mul.lo.s64 %rd3, %rd2, 4; red.relaxed.gpu.global.add.u64 [%rd1], %rd3;"), 1 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; ld.param.u32 %r1, [s]; activemask.b32 %r2; popc.b32 %r3, %r2; selp.b32 %r4, %r3, 1, %p1;"
		   "mul.wide.u32 %rd2, %r4, %r1; red.relaxed.gpu.global.add.u64 [%rd1], %rd2;"), 1 },
	/* The address differs from place to place. */
	{ PROBE_OF("ld.param.u64 %rd1, [d]; ld.param.u64 %rd2, [a]; and.b64 %rd3, %rd2, 56; add.s64 %rd4, %rd1, %rd3;"
		      "red.relaxed.gpu.global.add.u64 [%rd4], 1;"), 0 },
	/* It is made any number of times. */
	{ PROBE_OF("ld.param.u64 %rd1, [d]; M: red.relaxed.gpu.global.add.u64 [%rd1], 1;"
		      "activemask.b32 %r1; setp.eq.u32 %p1, %r1, 3; @%p1 bra M;"), 0 },
	/* Others wait for it, it is no sum, or not of this memory. */
	{ PROBE_OF("ld.param.u64 %rd1, [d]; atom.relaxed.gpu.global.add.u64 %rd2, [%rd1], 1;"), 0 },
	{ PROBE_OF("ld.param.u64 %rd1, [d]; red.relaxed.gpu.global.or.b64 [%rd1], 1;"), 0 },
	{ PROBE_OF("ld.param.u64 %rd1, [h]; red.relaxed.sys.global.add.u64 [%rd1], 1;"), 0 },
};

START_TEST(small_numbers_at_one_address_wait)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(load, additions[_i].probe, &probe, 1), name[32];

	for (unsigned i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "add.u32 %%__gt_c0_%u,", i);
		ck_assert_msg(count_of(out, name) == (i < additions[_i].held), "%s", out);
	}
	free(out);
	/* Not unless it was said that nobody looks. */
	probe.flags = 0;
	out = instrument_with(load, additions[_i].probe, &probe, 1);
	ck_assert_ptr_null(strstr(out, "__gt_c0"));
	free(out);
}
END_TEST

static const char *const not_held[] = {
	/* A function may end the thread, or nobody knows what it does. */
	HEADER ".func f() { exit; } .entry k(.param .u64 x) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [x];"
	" ld.u32 %r, [%rd]; call f; ret; }",
	HEADER ".extern .func f(); .entry k(.param .u64 x) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [x];"
	" ld.u32 %r, [%rd]; call f; ret; }",
	HEADER ".entry k(.param .u64 x) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [x]; P: .callprototype ()_ ();"
	" ld.u32 %r, [%rd]; call %rd, (), P; ret; }",
	/* It is the function that has the accesses. */
	HEADER ".func f(.param .u64 x) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [x]; ld.u32 %r, [%rd]; ret; }"
	" .entry k(.param .u64 x) { .reg .b64 %rd; ld.param.u64 %rd, [x]; .param .u64 y; st.param.u64 [y], %rd; call f, (y); ret; }",
};

START_TEST(not_where_threads_may_end_elsewhere)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(not_held[_i], BOTH, &probe, 1);

	ck_assert_msg(!strstr(out, "__gt_c0"), "%s", out);
	ck_assert_uint_ge(count_of(out, "red.relaxed.gpu.global.add.u64 "), 2);
	free(out);
}
END_TEST

/* System calls come back, and so do functions of the module that have no exit. */
START_TEST(calls_that_come_back)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(HEADER
		".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v); .func f() { ret; }"
		" .entry k(.param .u64 x) { .reg .b64 %rd; .reg .b32 %r; ld.param.u64 %rd, [x]; ld.u32 %r, [%rd];"
		" { .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], 0; st.param.b64 [v], 0;"
		" call (r), vprintf, (f, v); } call f; ret; }", BOTH, &probe, 1);

	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c0_0,"), 1);
	free(out);
}
END_TEST

/* Every way out, with the predicate of its own. */
START_TEST(each_way_out_adds)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(KERNEL("ld.u32 %r1, [%rd1]; @%p exit; @!%p ret; @%p bra E; ret; E: ld.u32 %r1, [%rd1];"),
				    BOTH, &probe, 1);

	ck_assert_uint_eq(count_of(out, "\t@%__gt_p red.relaxed.gpu.global.add.u64 [%rd1], %__gt_l;\n"), 4);
	ck_assert_uint_eq(count_of(out, "setp.lt.or.u32 %__gt_p, %__gt_t, 1, !%p;\n"), 1);
	ck_assert_uint_eq(count_of(out, "setp.lt.or.u32 %__gt_p, %__gt_t, 1, %p;\n"), 1);
	ck_assert_uint_eq(count_of(out, "setp.lt.u32 %__gt_p, %__gt_t, 1;\n"), 2);
	free(out);
}
END_TEST

/* Whoever is told at exit that a launch is over finds it in the map. */
START_TEST(before_programs_at_exit)
{
	struct gt_probe probes[] = { probe_at(GT_POINT_EXIT), summing(GT_POINT_LOAD, GT_PER_WARP) };
	static const char *const kernels_[] = {
		KERNEL("ld.u32 %r1, [%rd1]; ret;"), KERNEL("ld.u32 %r1, [%rd1]; @%p exit; trap;"), KERNEL("ld.u32 %r1, [%rd1];"),
	};
	char *out, *total, *told;

	probes[0].function = "told";
	for (unsigned i = 0; i < 3; i++) {
		out = instrument_with(kernels_[i], CALLS PROBE("told"), probes, 2);
		total = strstr(out, "\t@%__gt_p red.relaxed");
		told = strstr(out, "call told,");
		ck_assert_msg(total && told && total < told, "%s", out);
		free(out);
	}
}
END_TEST

/* Where the number of bytes is not in the text, it may be large: there the addition is made at once. */
START_TEST(unknown_sizes)
{
	struct gt_probe probe = summing(GT_POINT_LOAD, GT_PER_WARP);
	char *out = instrument_with(
		".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 x, .param .u32 n) {\n"
		".reg .b64 %rd<3>; .reg .b32 %r<4>; .shared .align 16 .b8 m[128];\n"
		"ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n]; mov.u32 %r2, m; ld.global.u32 %r3, [%rd1];\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], %r1, [%r2+64]; ret; }",
		BOTH, &probe, 1);

	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c0_1,"), 1);
	ck_assert_uint_eq(count_of(out, "red.relaxed.gpu.global.add.u64 [%rd3], %rd4;"), 1);
	free(out);
}
END_TEST

/* Four registers for each of two programs, no more in a kernel. */
START_TEST(registers_are_few)
{
#define ADD(at) "red.relaxed.gpu.global.add.u64 [%%rd2+" at "], 1;"
	static const char format[] = ".func prob%u" PARAMS "{ .reg .b64 %%rd<3>; ld.param.u64 %%rd1, [d]; add.s64 %%rd2, %%rd1, %u;"
		ADD("0") ADD("8") ADD("16") ADD("24") ADD("32") " ret; }\n";
	struct gt_probe probes[3];
	char text[4096], name[3][8], *at = text, *out;

	/* To other places, each of them. */
	for (unsigned i = 0; i < 3; i++) {
		probes[i] = summing(GT_POINT_LOAD, GT_PER_WARP);
		snprintf(name[i], sizeof(name[i]), "prob%u", i);
		probes[i].function = name[i];
		at += snprintf(at, sizeof(text) / 3, format, i, 64 * i);
	}
	out = instrument_with(load, text, probes, 3);
	for (unsigned i = 0; i < 3; i++) {
		char last[32], more[32];

		snprintf(last, sizeof(last), "add.u32 %%__gt_c%u_3,", i);
		snprintf(more, sizeof(more), "add.u32 %%__gt_c%u_4,", i);
		ck_assert_uint_eq(count_of(out, last), i < 2);
		ck_assert_uint_eq(count_of(out, more), 0);
	}
	free(out);
}
END_TEST

/* By its text: another name, so that two can be in one text. */
static char *two_probes(const char *first, const char *second, const char *kernel)
{
	struct gt_probe probes[] = { summing(GT_POINT_LOAD, GT_PER_WARP), summing(GT_POINT_STORE, GT_PER_WARP) };
	char text[4096], *out;

	probes[1].function = "prob2";
	ck_assert_uint_lt(strlen(first) + strlen(second), sizeof(text));
	strcpy(stpcpy(text, first), second);
	memcpy(strstr(text + strlen(first), "probe"), "prob2", 5);
	out = instrument_with(kernel, text, probes, 2);
	return out;
}

#define ADD_TO(to, value) PROBE_OF("ld.param.u64 %rd1, [d]; add.s64 %rd2, %rd1, " to "; red.relaxed.gpu.global.add.u64 [%rd2], " value ";")

/* What goes to the same place is summed up together. */
START_TEST(registers_are_shared)
{
	char *out = two_probes(ADD_TO("8", "1"), ADD_TO("8", "2"), KERNEL("ld.u32 %r1, [%rd1]; st.u32 [%rd1], %r1; ret;"));

	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c0_0, %__gt_c0_0, 1;"), 1);
	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c0_0, %__gt_c0_0, 2;"), 1);
	ck_assert_uint_eq(count_of(out, "red.relaxed"), 1);
	free(out);
	out = two_probes(ADD_TO("8", "1"), ADD_TO("16", "2"), KERNEL("ld.u32 %r1, [%rd1]; st.u32 [%rd1], %r1; ret;"));
	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c0_0, %__gt_c0_0, 1;"), 1);
	ck_assert_uint_eq(count_of(out, "add.u32 %__gt_c1_0, %__gt_c1_0, 2;"), 1);
	ck_assert_uint_eq(count_of(out, "red.relaxed"), 2);
	free(out);
}
END_TEST

START_TEST(shared_registers_lose_nothing)
{
	uint64_t counters[2] = { 0 };
	uint32_t memory[8] = { 0 };
	struct block params = pointer_and(memory, 0);
	static const char kernel[] = HEADER ".visible .entry k(.param .u64 a) { .reg .b64 %rd1; .reg .b32 %r1;\n"
		"ld.param.u64 %rd1, [a]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1+4], %r1; st.global.u32 [%rd1+8], %r1; ret; }\n";
	char *out = two_probes(ADD_TO("8", "1"), ADD_TO("8", "100"), kernel);

	hide(kernel, "k", 1, &params, counters);
	run(out, "k", 3, 64, params.bytes);
	ck_assert_uint_eq(counters[1], 3 * 2 * (1 + 2 * 100));	/* blocks, warps; a load and two stores */
	free(out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("sums");

	LOOP(nothing_is_lost, kernels);
	LOOP(long_loops_are_seen, loops);
	LOOP(rounds_are_checked, heads);
	LOOP(small_numbers_at_one_address_wait, additions);
	LOOP(not_where_threads_may_end_elsewhere, not_held);
	tcase_add_test(tcase, calls_that_come_back);
	tcase_add_test(tcase, each_way_out_adds);
	tcase_add_test(tcase, before_programs_at_exit);
	tcase_add_test(tcase, unknown_sizes);
	tcase_add_test(tcase, registers_are_few);
	tcase_add_test(tcase, registers_are_shared);
	tcase_add_test(tcase, shared_registers_lose_nothing);
	return run_case("sums", tcase);
}
