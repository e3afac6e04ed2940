/* SPDX-License-Identifier: Apache-2.0 */
/* A user's programs for the kernel, out of an object that holds programs for the GPU too. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/util/error.h"
#include "tests/suite.h"

static char *object;
static size_t object_size;

static void read_object(void)
{
	FILE *f = fopen(PROGRAMS, "re");

	ck_assert_ptr_nonnull(f);
	object = malloc(1 << 20);
	object_size = fread(object, 1, 1 << 20, f);
	ck_assert_uint_gt(object_size, 0);
	fclose(f);
}

static void free_object(void)
{
	free(object);
}

static int attach_part(size_t size, const char *const *names, unsigned count, const char *libcuda, pid_t pid,
		       struct gt_kernel_programs **ret)
{
	const struct gt_program_links_opts opts = { .libcuda = libcuda, .pid = pid, .notes = &fake_notes };
	struct gt_kernel_programs *programs;
	int r = gt_kernel_programs_load(object, size, names, count, NULL, 0, &programs);

	if (r < 0)
		return r;
	r = gt_kernel_programs_attach(programs, &opts);
	if (r < 0)
		gt_kernel_programs_detach(programs);
	else
		*ret = programs;
	return r;
}

static int attach(const char *const *names, unsigned count, pid_t pid, struct gt_kernel_programs **ret)
{
	return attach_part(object_size, names, count, FAKECUDA, pid, ret);
}

static uint64_t count_at(const struct gt_kernel_programs *programs, uint32_t index)
{
	uint64_t value = 0;

	ck_assert_int_eq(bpf_map_lookup_elem(gt_kernel_programs_map_fd(programs, "counts"), &index, &value), 0);
	return value;
}

static void call(int go, int ready)
{
	struct fake fake;
	uint64_t dptr;

	(void)ready;
	wait_go(go);
	fake_open(&fake);
	for (int i = 0; i < 7; i++)
		fake.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	fake.cuMemAlloc_v2(&dptr, 3);
	fake.cuMemAlloc_v2(&dptr, 4);
}

/* Programs for one process; another one calls the same functions. */
START_TEST(test_attach)
{
	static const char *const names[] = { "on_launch", "on_alloc", "on_exit" };
	struct child child = child_start(call), other = child_start(call);
	struct gt_kernel_programs *programs;
	uint64_t *memory;
	int r = attach(names, 3, child.pid, &programs);

	ck_assert_msg(r == 0, "%s", gt_error_text());
	child_go(&child);
	child_go(&other);
	child_end(&child);
	child_end(&other);
	ck_assert_uint_eq(count_at(programs, 0), 7);
	ck_assert_uint_eq(count_at(programs, 1), 3 + 4);
	ck_assert_uint_ge(count_at(programs, 2), 2);
	ck_assert_uint_eq(count_at(programs, 3), 0);
	/* What a GPU would share. */
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
		      gt_kernel_programs_map_fd(programs, "counts"), 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_uint_eq(memory[0], 7);
	munmap(memory, 4096);
	ck_assert_int_eq(gt_kernel_programs_map_fd(programs, "only_gpu"), -ENOENT);
	ck_assert_int_eq(gt_kernel_programs_map_fd(programs, "none"), -ENOENT);
	gt_kernel_programs_detach(programs);
}
END_TEST

START_TEST(test_everybody)
{
	static const char *const names[] = { "on_launch" };
	struct child child = child_start(call), other = child_start(call);
	struct gt_kernel_programs *programs;

	ck_assert_int_eq(attach(names, 1, -1, &programs), 0);
	child_go(&child);
	child_go(&other);
	child_end(&child);
	child_end(&other);
	ck_assert_uint_eq(count_at(programs, 0), 14);
	ck_assert_uint_eq(count_at(programs, 1), 0);
	gt_kernel_programs_detach(programs);
	gt_kernel_programs_detach(NULL);
}
END_TEST

static void call_in_children(int go, int ready)
{
	(void)ready;
	wait_go(go);
	for (int i = 0; i < 2; i++) {
		struct fake fake;
		pid_t child = fork();

		if (!child) {
			fake_open(&fake);
			fake.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

/* Those that it has started, too; that its sleepable ones do not is said. */
START_TEST(test_started_processes)
{
	static const char *const names[] = { "on_launch", "on_launch_sleeping" };
	struct child child = child_start(call_in_children), other = child_start(call_in_children);
	struct gt_kernel_programs *programs;
	char text[128], *note;

	ck_assert_msg(attach(names, 2, child.pid, &programs) == 0, "%s", gt_error_text());
	ck_assert(gt_kernel_programs_have_processes(programs));
	child_go(&child);
	child_go(&other);
	child_end(&child);
	child_end(&other);
	ck_assert(!gt_kernel_programs_have_processes(programs));
	ck_assert_uint_eq(count_at(programs, 0), 2);
	ck_assert_uint_eq(count_at(programs, 4), 0);
	snprintf(text, sizeof(text), "program on_launch_sleeping runs for process %d only", (int)child.pid);
	note = gt_notes_take(&fake_notes);
	ck_assert_msg(note && strstr(note, text), "%s", note);
	free(note);
	ck_assert_ptr_null(gt_notes_take(&fake_notes));
	gt_kernel_programs_detach(programs);
}
END_TEST

static void check_refused(const char *name, int error, const char *sentence_has)
{
	const char *names[] = { "on_launch", name };
	struct gt_kernel_programs *programs = NULL;

	ck_assert_int_eq(attach(names, 2, -1, &programs), error);
	ck_assert_ptr_null(programs);
	ck_assert_msg(strstr(gt_error_text(), sentence_has) != NULL, "%s", gt_error_text());
}

START_TEST(test_refused)
{
	struct gt_kernel_programs *programs = NULL;
	const char *names[] = { "on_launch" };

	check_refused("absent", -ENOENT, "absent");
	check_refused("on_nothing", -ENOENT, "cuNoSuchFunction");
	check_refused("nowhere", -EINVAL, "names no function");
	check_refused("on_gpu", -EOPNOTSUPP, "cuda/entry:*");
	check_refused("refused", -EACCES, "invalid mem access");
	ck_assert_int_eq(attach_part(object_size, names, 1, NULL, -1, &programs), -ENOENT);
	ck_assert_int_lt(gt_kernel_programs_load("nonsense", 8, names, 1, NULL, 0, &programs), 0);
	/* Cut short anywhere: refused, or accepted when only the end's padding is gone. */
	for (size_t size = 0; size < object_size; size += 97) {
		if (attach_part(size, names, 1, FAKECUDA, -1, &programs) == 0)
			gt_kernel_programs_detach(programs);
	}
}
END_TEST

static int printed;

static int count_print(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	printed++;
	return 0;
}

/* The host program's own print function hears nothing of ours and is in place afterwards. */
START_TEST(test_host_uses_libbpf)
{
	libbpf_set_print(count_print);
	check_refused("on_nothing", -ENOENT, "cuNoSuchFunction");
	ck_assert_int_eq(printed, 0);
	ck_assert_ptr_eq(libbpf_set_print(count_print), count_print);
	ck_assert_ptr_null(bpf_object__open_file("/nonexistent", NULL));
	ck_assert_int_gt(printed, 0);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("kernel-programs");

	skip_unless_permitted();
	tcase_add_checked_fixture(t, read_object, free_object);
	tcase_add_test(t, test_attach);
	tcase_add_test(t, test_everybody);
	tcase_add_test(t, test_started_processes);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_host_uses_libbpf);
	return run_case("kernel-programs", t);
}
