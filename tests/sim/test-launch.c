/* SPDX-License-Identifier: Apache-2.0 */
/* Launches on the PTX machine: memory, limits and errors, and the progress of threads that wait for one another. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "tests/suite.h"

static const char poke[] =
	".entry poke(.param .u64 p) {\n.reg .b64 %p, %l; .reg .b32 %t;\n.shared .align 4 .b8 s[64]; .local .align 8 .b8 d[64];\n"
	"ld.param.u64 %p, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 4; add.u64 %p, %p, %l;\n"
	"st.global.u32 [%p], %t;\nret; }\n"						/* line 8 */
	".entry shared(.param .u64 p) {\n.reg .b64 %p; .reg .b32 %t; .shared .align 4 .b8 s[64];\n"
	"ld.param.u64 %p, [p]; mov.u32 %t, s;\nst.shared.u32 [%p], %t; ret; }\n"	/* line 13 */
	".entry local(.param .u64 p) {\n.reg .b64 %p; .local .align 8 .b8 d[64];\n"
	"ld.param.u64 %p, [p]; st.local.u64 [d], %p;\nst.local.u32 [%p], 5; ret; }\n";	/* line 17 */

START_TEST(test_bad_global)
{
	uint32_t *memory = test_alloc(&device, 256);
	struct { void *p; } params = { memory };
	char address[32];

	load_ok(poke);
	run_ok("poke", 1, 64, &params);
	ck_assert_uint_eq(memory[63], 63);
	ck_assert_int_eq(run("poke", 1, 96, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 8);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)(uintptr_t)(memory + 64));
	ck_assert_msg(strstr(err.text, "'poke'") && strstr(err.text, "line 8") && strstr(err.text, address) &&
		      strstr(err.text, "block (0,0,0)") && strstr(err.text, "thread (64,0,0)"), "%s", err.text);
	params.p = (char *)memory + 2;
	ck_assert_int_eq(run("poke", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ALIGN);
	params.p = NULL;
	ck_assert_int_eq(run("poke", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
}
END_TEST

START_TEST(test_bad_shared_and_local)
{
	struct { uint64_t p; } params = { 60 };

	load_ok(poke);
	run_ok("shared", 1, 1, &params);
	params.p = 64;
	ck_assert_int_eq(run("shared", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 13);
	params.p = 8;
	run_ok("local", 1, 1, &params);
	params.p = 1 << 20;
	ck_assert_int_eq(run("local", 1, 1, &params), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_uint_eq(err.line, 17);
}
END_TEST

START_TEST(test_launch_limits)
{
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1025, 1, 1 } };
	struct sim_kernel *kernel;

	load_ok(".extern .shared .align 16 .b8 s[];\n.entry k() { .reg .b32 %r; mov.u32 %r, s; ret; }\n"
		".entry small() .maxntid 32 { ret; }\n.entry exact() .reqntid 64 { ret; }");
	kernel = sim_module_find_kernel(module, "k");
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_LAUNCH);
	launch.block[0] = 32;
	launch.dynamic_shared = device.dev.max_shared_per_block + 1;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	launch.dynamic_shared--;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), 0);
	launch.grid[1] = 0;
	ck_assert_int_eq(sim_kernel_run(kernel, &launch, &err), -1);
	ck_assert_int_eq(run("small", 1, 64, NULL), -1);
	ck_assert_int_eq(run("exact", 1, 32, NULL), -1);
	ck_assert_int_eq(run("exact", 1, 64, NULL), 0);
}
END_TEST

START_TEST(test_trap_and_deadlock)
{
	load_ok(".entry t() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 3;\n@%p trap; ret; }\n"
		".entry d() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 32;\n"
		"@%p bar.sync 1, 64;\n@!%p bar.sync 2, 64; ret; }");
	ck_assert_int_eq(run("t", 1, 32, NULL), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_TRAP);
	ck_assert_uint_eq(err.line, 5);
	ck_assert_ptr_nonnull(strstr(err.text, "thread (3,0,0)"));
	ck_assert_int_eq(run("d", 1, 64, NULL), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot come"));
}
END_TEST

START_TEST(test_stack_overflow)
{
	load_ok(".func f(.param .b32 a) {\n.param .b32 x; .reg .b32 %r; ld.param.b32 %r, [a]; st.param.b32 [x], %r;\n"
		"call f, (x); ret; }\n.entry k() { .param .b32 y; .reg .b32 %r; mov.b32 %r, 1; st.param.b32 [y], %r; call f, (y); ret; }");
	ck_assert_int_eq(run("k", 1, 1, NULL), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_ADDRESS);
	ck_assert_ptr_nonnull(strstr(err.text, "stack overflow"));
}
END_TEST

/* alloca in a called function is undone when it returns: 400 calls of 1000 bytes fit. */
START_TEST(test_alloca)
{
	uint32_t *out = test_alloc(&device, 4 * 32), i;
	struct { void *out; } params = { out };

	load_ok(".func (.param .b32 r) f(.param .b32 a) { .reg .b64 %p, %n; .reg .b32 %a, %b; ld.param.b32 %a, [a];\n"
		"and.b32 %b, %a, 1; mad.lo.u32 %b, %b, 8, 992; cvt.u64.u32 %n, %b; alloca.u64 %p, %n, 16; st.local.u32 [%p], %a;\n"
		"add.u64 %p, %p, %n; st.local.u32 [%p+-4], 7; sub.u64 %p, %p, %n; ld.local.u32 %a, [%p]; add.u32 %a, %a, 1;\n"
		"st.param.b32 [r], %a; ret; }\n"
		".entry k(.param .u64 out) { .reg .b64 %p, %l; .reg .b32 %a, %i; .reg .pred %q; .param .b32 x; .param .b32 y;\n"
		"ld.param.u64 %p, [out]; mov.u32 %a, %tid.x; mul.wide.u32 %l, %a, 4; add.u64 %p, %p, %l; mov.u32 %i, 0;\n"
		"L: st.param.b32 [x], %a; call (y), f, (x); ld.param.b32 %a, [y]; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 400;\n"
		"@%q bra L; st.global.u32 [%p], %a; ret; }");
	run_ok("k", 1, 32, &params);
	for (i = 0; i < 32; i++)
		ck_assert_uint_eq(out[i], i + 400);
}
END_TEST

/* Shared variables of kernels that do not meet may overlap; those of one call tree may not. */
START_TEST(test_shared_layout)
{
	uint32_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };

	load_ok(".shared .align 4 .b8 common[16];\n"
		".func (.param .b32 r) deep() { .shared .align 4 .b8 own[32]; .reg .b32 %a; mov.u32 %a, common; sub.u32 %a, own, %a; st.param.b32 [r], %a; ret; }\n"
		".entry one(.param .u64 out) { .shared .align 8 .b8 mine[8]; .reg .b32 %a, %b; .reg .b64 %p; .param .b32 x;\n"
		"ld.param.u64 %p, [out]; mov.u32 %a, mine; st.global.u32 [%p], %a; call (x), deep; ld.param.b32 %b, [x]; st.global.u32 [%p+4], %b;\n"
		"st.shared.u32 [mine], 3; st.shared.u32 [common], 4; ld.shared.u32 %a, [mine]; st.global.u32 [%p+8], %a; ret; }\n"
		".entry two() { .shared .align 8 .b8 other[64]; .reg .b32 %a; mov.u32 %a, other; ret; }");
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "one"))->static_shared, 56);
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "two"))->static_shared, 64);
	run_ok("one", 1, 1, &params);
	ck_assert_uint_eq(out[1], 16);
	ck_assert_uint_eq(out[2], 3);
}
END_TEST

START_TEST(test_dynamic_shared)
{
	uint32_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .dynamic_shared = 40,
				     .params = &params };

	load_ok(".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 fixed[20];\n"
		".entry k(.param .u64 out) { .reg .b32 %a, %b; .reg .b64 %p; ld.param.u64 %p, [out]; mov.u32 %b, fixed;\n"
		"mov.u32 %a, dyn; sub.u32 %a, %a, %b; st.global.u32 [%p], %a; mov.u32 %a, %dynamic_smem_size; st.global.u32 [%p+4], %a;\n"
		"mov.u32 %a, 77; st.shared.u32 [dyn+36], %a; ld.shared.u32 %b, [dyn+36]; st.global.u32 [%p+8], %b; ret; }");
	ck_assert_msg(!sim_kernel_run(sim_module_kernel(module, 0), &launch, &err), "%s", err.text);
	ck_assert_uint_eq(out[0], 32);
	ck_assert_uint_eq(out[1], 40);
	ck_assert_uint_eq(out[2], 77);
}
END_TEST

START_TEST(test_globaltimer)
{
	uint64_t *out = test_alloc(&device, 64);
	struct { void *out; } params = { out };

	load_ok(".entry k(.param .u64 out) { .reg .b64 %p, %a, %b; ld.param.u64 %p, [out]; mov.u64 %a, %globaltimer;\n"
		"mov.u64 %b, %globaltimer; sub.u64 %b, %b, %a; st.global.u64 [%p], %a; st.global.u64 [%p+8], %b;\n"
		"mov.u64 %a, %clock64; mov.u64 %b, %clock64; sub.u64 %b, %b, %a; st.global.u64 [%p+16], %b; ret; }");
	device.timer = 1000000;
	run_ok("k", 1, 1, &params);
	ck_assert_uint_eq(out[0], 1000032);
	ck_assert_uint_eq(out[1], 32);
	ck_assert_uint_lt(out[2], 1ull << 40);
}
END_TEST

/* Each lane takes a lock that one lane of its warp holds: all must come through. */
START_TEST(test_spin_locks)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };

	load_ok(".entry leave(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"L: atom.global.cas.b32 %a, [%p], 0, 1; setp.ne.u32 %q, %a, 0;\n@%q bra L;\n"
		"ld.volatile.global.u32 %a, [%p+4]; add.u32 %a, %a, 1; st.volatile.global.u32 [%p+4], %a; membar.gl;\n"
		"st.volatile.global.u32 [%p], 0; ret; }\n"
		".entry inside(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"L: atom.global.exch.b32 %a, [%p], 1; setp.ne.u32 %q, %a, 0;\n@%q bra L;\n"
		"ld.volatile.global.u32 %a, [%p+4]; add.u32 %a, %a, 1; st.volatile.global.u32 [%p+4], %a; membar.gl;\n"
		"atom.global.exch.b32 %a, [%p], 0; bar.warp.sync 0xffffffff; bar.sync 0; ret; }");
	run_ok("leave", 6, 128, &params);
	ck_assert_uint_eq(memory[1], 6 * 128);
	memory[1] = 0;
	run_ok("inside", 4, 96, &params);
	ck_assert_uint_eq(memory[1], 4 * 96);
}
END_TEST

/*
 * Lanes that are done wait for those of their warp that go on: that add to memory, that compute, that wait for
 * another warp (64 threads), which works for 100,000 turns first.
 */
START_TEST(test_waiting_together)
{
	static const struct { const char *name; unsigned threads; } kernels[] = {
		{ "adds", 32 }, { "computes", 32 }, { "waits", 64 },
	};
	uint32_t *memory = test_alloc(&device, 4096);
	struct { void *p; } params = { memory };

#define BEGIN(name) \
	".entry " name "(.param .u64 p) { .reg .b64 %p, %o; .reg .b32 %a, %n, %w; .reg .pred %q; ld.param.u64 %p, [p];\n" \
	"mov.u32 %w, %tid.x; mul.wide.u32 %o, %w, 4; add.u64 %o, %o, %p; mov.u32 %n, %laneid;\n"
#define END "activemask.b32 %a; st.global.u32 [%o+64], %a; ret; }\n"
	load_ok(BEGIN("adds") "shr.u32 %n, %n, 4; mul.lo.u32 %n, %n, 20000; add.u32 %n, %n, 1;\n"
		"L: atom.global.add.u32 %a, [%p], 1; sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n" END
		BEGIN("computes") "shr.u32 %n, %n, 4; mul.lo.u32 %n, %n, 150000; add.u32 %n, %n, 1;\n"
		"L: sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n" END
		BEGIN("waits") "setp.ge.u32 %q, %w, 32; @%q bra OTHER; setp.lt.u32 %q, %n, 16; @%q bra OUT;\n"
		"L: ld.volatile.global.u32 %a, [%p+4]; setp.eq.u32 %q, %a, 0; @%q bra L; bra OUT;\n"
		"OTHER: mov.u32 %n, 100000;\n"
		"M: sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra M; st.volatile.global.u32 [%p+4], 1;\nOUT: " END);
	for (unsigned i = 0; i < 3; i++) {
		memset(memory, 0, 4096);
		run_ok(kernels[i].name, 1, kernels[i].threads, &params);
		for (unsigned t = 0; t < kernels[i].threads; t++)
			ck_assert_msg(memory[16 + t] == 0xffffffff, "%s: thread %u with %#x", kernels[i].name, t, memory[16 + t]);
	}
}
END_TEST

/* At least the time that is asked for: 20 times 100 us. */
START_TEST(test_nanosleep)
{
	uint64_t *memory = test_alloc(&device, 64), began, ended;
	struct { void *p; } params = { memory };
	struct timespec t;

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %n, %t; .reg .pred %q; ld.param.u64 %p, [p]; mov.u32 %n, 20;\n"
		"mov.u32 %t, 100000;\nL: nanosleep.u32 %t; sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra L;\n"
		"red.global.add.u64 [%p], 1; ret; }");
	clock_gettime(CLOCK_MONOTONIC, &t);
	began = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	run_ok("k", 2, 64, &params);
	clock_gettime(CLOCK_MONOTONIC, &t);
	ended = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	ck_assert_uint_eq(memory[0], 128);
	ck_assert_uint_ge(ended - began, 20 * 100000);
}
END_TEST

/* The last block of an ordinary launch lets all others go. */
START_TEST(test_blocks_wait)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a, %n; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"mov.u32 %a, %ctaid.x; mov.u32 %n, %nctaid.x; sub.u32 %n, %n, 1; setp.eq.u32 %q, %a, %n;\n"
		"@%q st.volatile.global.u32 [%p], 1;\nL: ld.volatile.global.u32 %a, [%p]; setp.eq.u32 %q, %a, 0;\n@%q bra L;\n"
		"red.global.add.u32 [%p+4], 1; ret; }");
	run_ok("k", 200, 32, &params);
	ck_assert_uint_eq(memory[1], 200 * 32);
}
END_TEST

static void *let_go(void *arg)
{
	uint32_t *memory = arg;

	while (!__atomic_load_n(&memory[1], __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&memory[0], 5, __ATOMIC_RELEASE);
	return NULL;
}

/* A kernel waits for the host, and a second one runs meanwhile. */
START_TEST(test_host_and_kernels)
{
	uint32_t *memory = test_alloc(&device, 64);
	struct { void *p; } params = { memory };
	pthread_t thread;

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; .reg .pred %q; ld.param.u64 %p, [p];\n"
		"st.release.sys.global.u32 [%p+4], 1;\nL: ld.acquire.sys.global.u32 %a, [%p]; setp.ne.u32 %q, %a, 5;\n@%q bra L;\n"
		"st.global.u32 [%p+8], %a; ret; }");
	pthread_create(&thread, NULL, let_go, memory);
	run_ok("k", 1, 1, &params);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(memory[2], 5);
}
END_TEST

static void *add_many(void *arg)
{
	struct { void *p; } params = { arg };
	struct sim_launch launch = { .grid = { 40, 1, 1 }, .block = { 64, 1, 1 }, .params = &params };
	struct sim_error e;
	long failed = 0;

	for (int i = 0; i < 10; i++)
		failed |= sim_kernel_run(sim_module_kernel(module, 0), &launch, &e);
	return (void *)failed;
}

START_TEST(test_concurrent_atomics)
{
	uint32_t *memory = test_alloc(&device, 64);
	pthread_t threads[2];
	void *failed;
	int i;

	load_ok(".entry k(.param .u64 p) { .reg .b64 %p; .reg .b32 %a; ld.param.u64 %p, [p];\n"
		"red.global.add.u32 [%p], 1; atom.global.add.f32 %a, [%p+4], 0f3f800000; atom.add.u64 %p, [%p+8], 1; ret; }");
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add_many, memory);
	for (i = 0; i < 1000; i++)
		__atomic_fetch_add(&memory[0], 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	ck_assert_uint_eq(memory[0], 2 * 10 * 40 * 64 + 1000);
	ck_assert_uint_eq(((uint64_t *)memory)[1], 2 * 10 * 40 * 64);
}
END_TEST

/* Lanes meet behind an if and behind a loop that they leave at different times. */
START_TEST(test_convergence)
{
	uint32_t *out = test_alloc(&device, 4 * 96), i;
	struct { void *out; } params = { out };

	load_ok(".entry k(.param .u64 out) { .reg .b64 %p, %l; .reg .b32 %t, %m, %i; .reg .pred %q; ld.param.u64 %p, [out];\n"
		"mov.u32 %t, %tid.x; mul.wide.u32 %l, %t, 12; add.u64 %p, %p, %l; setp.lt.u32 %q, %t, 5;\n"
		"@%q bra COLD;\nJOIN: activemask.b32 %m; st.global.u32 [%p], %m; mov.u32 %i, 0;\n"
		"LOOP: setp.eq.u32 %q, %i, %t;\n@%q bra DONE;\nadd.u32 %i, %i, 1; bra LOOP;\n"
		"DONE: activemask.b32 %m; st.global.u32 [%p+4], %m; ret;\n"
		"COLD: activemask.b32 %m; st.global.u32 [%p+8], %m; bra JOIN; }");
	run_ok("k", 1, 32, &params);
	for (i = 0; i < 32; i++) {
		ck_assert_uint_eq(out[3 * i], 0xffffffff);
		ck_assert_uint_eq(out[3 * i + 1], 0xffffffff);
		ck_assert_uint_eq(out[3 * i + 2], i < 5 ? 31 : 0);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("launch");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_bad_global);
	tcase_add_test(tcase, test_bad_shared_and_local);
	tcase_add_test(tcase, test_launch_limits);
	tcase_add_test(tcase, test_trap_and_deadlock);
	tcase_add_test(tcase, test_stack_overflow);
	tcase_add_test(tcase, test_alloca);
	tcase_add_test(tcase, test_shared_layout);
	tcase_add_test(tcase, test_dynamic_shared);
	tcase_add_test(tcase, test_globaltimer);
	tcase_add_test(tcase, test_spin_locks);
	tcase_add_test(tcase, test_waiting_together);
	tcase_add_test(tcase, test_nanosleep);
	tcase_add_test(tcase, test_blocks_wait);
	tcase_add_test(tcase, test_host_and_kernels);
	tcase_add_test(tcase, test_concurrent_atomics);
	tcase_add_test(tcase, test_convergence);
	return run_case("sim-launch", tcase);
}
