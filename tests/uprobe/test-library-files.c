/* SPDX-License-Identifier: Apache-2.0 */
/* One library, several files: of programs that run and of those that come, in other folders and mount namespaces. */
#include <bpf/bpf.h>
#include <check.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/uprobe/library_files.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"
#include "tests/suite.h"

/* Of this process, since others on this machine may test the same; as long as what programs.bpf.c has in its place. */
static char soname[] = "libgtfake.so.1", file[sizeof(soname) + 2];
static char folder[] = "/tmp/gt-files-XXXXXX";
static struct gt_api_trace *trace;
static struct calls calls;
static bool missed;	/* what others do on this machine was too much, so notes may be missing */

static void command(const char *format, const char *a, const char *b)
{
	char line[1024];

	snprintf(line, sizeof(line), format, a, b);
	ck_assert_msg(system(line) == 0, "%s", line);
}

static void setup(void)
{
	char place[64];

	missed = false;
	snprintf(soname, sizeof(soname), "lib%06x.so.1", (unsigned)getpid() & 0xffffff);
	snprintf(file, sizeof(file), "%s.2", soname);
	strcpy(folder, "/tmp/gt-files-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (const char *name = "abc"; *name; name++)
		command("mkdir %s/%.1s", folder, name);
	snprintf(place, sizeof(place), "%s/$i/%s", folder, file);
	command("for i in a b c; do cp %s %s; done", FAKECUDA, place);
}

static void teardown(void)
{
	gt_api_trace_close(trace);
	trace = NULL;
	calls_clear(&calls);
	gt_notes_free(&fake_notes);
	for (int i = 0; i < 2; i++) {
		char place[64];

		snprintf(place, sizeof(place), "%s/m%d", folder, i);
		umount2(place, MNT_DETACH);
	}
	command("rm -r %s%s", folder, "");
}

/* ---- a program: allocates as often as it is told to, once it has loaded the file ---- */

static const char *subfolder;	/* of the file; a letter */
static bool apart;		/* in a mount namespace of its own, where it is /mnt */

static void program(int go, int ready)
{
	char path[64];
	struct fake fake;
	uint64_t address;
	unsigned char times;

	/* Not the others' ends of pipes, which would keep them from ending. */
	for (int fd = 3; fd < 100; fd++) {
		if (fd != go && fd != ready)
			close(fd);
	}
	snprintf(path, sizeof(path), "%s/%s", folder, subfolder);
	if (apart && (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		      mount(path, "/mnt", NULL, MS_BIND, NULL)))
		_exit(77);
	snprintf(path, sizeof(path), "%s/%s/%s", apart ? "" : folder, apart ? "mnt" : subfolder, file);
	setenv("GT_TEST_FAKECUDA", path, 1);
	fake_open(&fake);
	tell(ready);
	while (read(go, &times, 1) == 1) {
		while (times--)
			fake.cuMemAlloc_v2(&address, 1);
		tell(ready);
	}
}

static struct child begin(const char *where, bool in_namespace)
{
	struct child child;

	subfolder = where;
	apart = in_namespace;
	child = child_start(program);
	child_wait_ready(&child);
	return child;
}

static void allocate(struct child *child, unsigned char times)
{
	ck_assert_int_eq(write(child->go, &times, 1), 1);
	child_wait_ready(child);
}

/* ---- */

static void open_all(pid_t pid, const char *pattern, unsigned flags)
{
	struct gt_api_trace_opts opts = { .soname = soname, .pattern = pattern, .ring_bytes = 1 << 20, .pid = pid,
					  .flags = flags, .notes = &fake_notes };

	ck_assert_msg(gt_api_trace_open(&opts, &trace) == 0, "%s", gt_error_text());
}

static void take(void)
{
	ck_assert_int_ge(gt_api_trace_consume(trace, calls_add, &calls), 0);
}

static unsigned calls_of(pid_t pid)
{
	unsigned count = 0;

	for (size_t i = 0; i < calls.count; i++) {
		ck_assert_str_eq(calls.list[i].name, "cuMemAlloc_v2");
		ck_assert_uint_eq(calls.list[i].flags, 0);
		count += calls.list[i].pid == (uint32_t)pid;
	}
	return count;
}

static char *next_note(void)
{
	char *note = gt_notes_take(&fake_notes);

	while (note && strstr(note, "faster than they could be looked at")) {
		missed = true;
		free(note);
		note = gt_notes_take(&fake_notes);
	}
	return note;
}

static void expect_note(const char *text)
{
	char *note = next_note();

	if (missed && !note)
		return;
	ck_assert_msg(text ? note && strstr(note, text) : !note, "%s, not %s", note, text);
	free(note);
}

static void late_note(char text[256], const struct child *child, const char *path)
{
	snprintf(text, 256, "%s/%s, which process %d has loaded, was not watched before: calls of it are seen from now on",
		 path, file, (int)child->pid);
}

static void expect_none_so_far(void)
{
	char text[64];

	snprintf(text, sizeof(text), "no program has loaded %s so far", soname);
	expect_note(text);
}

static void expect_late(const struct child *child, const char *path)
{
	char text[256];

	late_note(text, child, path);
	expect_note(text);
}

/* Which processor they ran on decides which is met first. */
static void expect_late_both(const struct child *one, const char *path, const struct child *other, const char *other_path)
{
	char text[256], other_text[256], *note;

	late_note(text, one, path);
	late_note(other_text, other, other_path);
	note = next_note();
	if (note && strstr(note, other_text)) {
		expect_note(text);
	} else if (note || !missed) {
		ck_assert_msg(note && strstr(note, text), "%s, not %s", note, text);
		expect_note(other_text);
	}
	free(note);
}

/* All at once, as it is with containers that run when we come. */
START_TEST(test_running)
{
	struct child children[] = { begin("a", false), begin("a", false), begin("b", true), begin("c", false) };

	open_all(-1, _i & 1 ? "cuMemAlloc_v?" : NULL, _i & 2 ? GT_API_TRACE_SINGLE : 0);
	for (unsigned char i = 0; i < 4; i++)
		allocate(&children[i], 10 + i);
	take();
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(calls_of(children[i].pid), 10 + i);
		child_end(&children[i]);
	}
	ck_assert_uint_eq(gt_api_trace_lost(trace), 0);
	expect_note(NULL);
}
END_TEST

/* Calls before the file is met are not seen, which is said; all others are. */
START_TEST(test_later)
{
	struct child first = begin("a", false), second, third, fourth;
	char path[64];

	open_all(-1, NULL, 0);
	second = begin("a", false);
	allocate(&second, 2);
	third = begin("b", false);
	allocate(&third, 100);
	fourth = begin("c", true);
	take();
	snprintf(path, sizeof(path), "%s/b", folder);
	expect_late_both(&third, path, &fourth, "/mnt");
	allocate(&first, 1);
	allocate(&second, 20);
	allocate(&third, 3);
	allocate(&fourth, 4);
	take();
	ck_assert_uint_eq(calls_of(first.pid), 1);
	ck_assert_uint_eq(calls_of(second.pid), 22);
	ck_assert_uint_eq(calls_of(third.pid), 3);
	ck_assert_uint_eq(calls_of(fourth.pid), 4);
	expect_note(NULL);
	child_end(&first);
	child_end(&second);
	child_end(&third);
	child_end(&fourth);
}
END_TEST

/* Nobody has it yet. */
START_TEST(test_none)
{
	char path[64], text[96];
	struct child child;

	open_all(-1, NULL, 0);
	expect_none_so_far();
	child = begin("a", false);
	child_end(&child);
	/* The file is where it was, although the program has ended. */
	take();
	snprintf(path, sizeof(path), "%s/a", folder);
	expect_late(&child, path);
	child = begin("a", false);
	/* Of a process that is there it cannot be missed. */
	take();
	if (missed)
		free(next_note());
	allocate(&child, 5);
	take();
	ck_assert_uint_eq(calls_of(child.pid), 5);
	child_end(&child);
	/* With its mount namespace its file is gone. */
	child = begin("b", true);
	child_end(&child);
	take();
	snprintf(text, sizeof(text), "ended before calls of its /mnt/%s could be watched", file);
	expect_note(text);
	expect_note(NULL);
}
END_TEST

/* Only the process that is meant counts, and what it starts. */
START_TEST(test_tree)
{
	struct child inside = begin("a", false), outside = begin("b", false);

	open_all(inside.pid, NULL, 0);
	child_end(&outside);
	outside = begin("c", false);
	allocate(&outside, 3);
	allocate(&inside, 4);
	take();
	ck_assert_uint_eq(calls.count, 4);
	ck_assert_uint_eq(calls_of(inside.pid), 4);
	expect_note(NULL);
	child_end(&inside);
	child_end(&outside);
}
END_TEST

static struct child ending;
static ino_t inode;

static bool is_ending(void *data, int pid)
{
	(void)data;
	return pid == ending.pid;
}

static int end_first(void *data, const char *path)
{
	struct stat status;

	child_end(&ending);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_ino, inode);
	++*(unsigned *)data;
	return 0;
}

/* The path leads to the file whether or not the process is still there, in whose namespace it is. */
START_TEST(test_ended_meanwhile)
{
	static const struct gt_library_files_ops ops = { .is_wanted = is_ending, .attach = end_first };
	struct gt_library_files *files;
	unsigned attached = 0;
	struct stat status;
	char path[128];

	snprintf(path, sizeof(path), "%s/a/%s", folder, file);
	ck_assert_int_eq(stat(path, &status), 0);
	inode = status.st_ino;
	ending = begin("a", true);
	ck_assert_int_eq(gt_library_files_open(soname, NULL, &ops, &attached, &fake_notes, &files), 0);
	ck_assert_uint_eq(attached, 1);
	expect_note(NULL);
	gt_library_files_close(files);
}
END_TEST

/* What has the name but is nothing of the kind is spoken of once. */
START_TEST(test_other_file)
{
	struct child child;

	open_all(-1, "nothing*", 0);
	expect_note("no program has loaded");
	child = begin("b", false);
	take();
	expect_note("are not seen: ");
	child_end(&child);
	child = begin("b", false);
	take();
	expect_note(NULL);
	child_end(&child);
}
END_TEST

/* What two containers have from one layer of an image is one file for the kernel: each call counts once. */
START_TEST(test_shared_layer)
{
	struct child children[2];

	for (int i = 0; i < 2; i++) {
		char options[256], place[64];

		snprintf(place, sizeof(place), "%s/m%d", folder, i);
		command("mkdir %s %s.upper", place, place);
		command("mkdir %s.work%s", place, "");
		snprintf(options, sizeof(options), "lowerdir=%s/a,upperdir=%s.upper,workdir=%s.work", folder, place, place);
		if (mount("overlay", place, "overlay", 0, options)) {
			fprintf(stderr, "no overlay file system here (%s): not tested\n", strerror(errno));
			return;
		}
	}
	children[0] = begin("m0", false);
	children[1] = begin("m1", true);
	open_all(-1, NULL, _i ? GT_API_TRACE_SINGLE : 0);
	allocate(&children[0], 7);
	allocate(&children[1], 8);
	take();
	ck_assert_uint_eq(calls_of(children[0].pid), 7);
	ck_assert_uint_eq(calls_of(children[1].pid), 8);
	child_end(&children[0]);
	child_end(&children[1]);
}
END_TEST

/* The answer of a kernel before 6.6 to links to many places, which alone are made with 64 bytes of arguments. */
static void be_an_older_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_LINK_CREATE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 64, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Found out before there is a file to attach to; for good, so it comes last. */
START_TEST(test_older_kernel)
{
	struct child first, second;
	char path[64], other_path[64];

	be_an_older_kernel();
	open_all(-1, NULL, 0);
	expect_none_so_far();
	first = begin("a", false);
	second = begin("b", false);
	take();
	snprintf(path, sizeof(path), "%s/a", folder);
	snprintf(other_path, sizeof(other_path), "%s/b", folder);
	expect_late_both(&first, path, &second, other_path);
	allocate(&first, 6);
	allocate(&second, 7);
	take();
	ck_assert_uint_eq(calls_of(first.pid), 6);
	ck_assert_uint_eq(calls_of(second.pid), 7);
	expect_note(NULL);
	child_end(&first);
	child_end(&second);
}
END_TEST

/* ---- a user's programs ---- */

/* Their sections name the library. */
static void rename_library(char *object, size_t size)
{
	static const char name[] = "libgtfake.so.1";
	char *at = object;

	while ((at = memmem(at, (size_t)(object + size - at), name, strlen(name))))
		memcpy(at, soname, strlen(name));
}

static struct gt_kernel_programs *open_programs(pid_t pid)
{
	static const char *const names[] = { "on_named", "on_named_return" };
	const struct gt_program_links_opts opts = { .pid = pid, .follow = true, .notes = &fake_notes };
	static char object[1 << 20];
	struct gt_kernel_programs *programs;
	FILE *elf = fopen(PROGRAMS, "re");
	size_t size;

	ck_assert_ptr_nonnull(elf);
	size = fread(object, 1, sizeof(object), elf);
	fclose(elf);
	rename_library(object, size);
	ck_assert_msg(gt_kernel_programs_load(object, size, names, 2, NULL, 0, &programs) == 0, "%s", gt_error_text());
	ck_assert_msg(gt_kernel_programs_attach(programs, &opts) == 0, "%s", gt_error_text());
	return programs;
}

static void expect_count(const struct gt_kernel_programs *programs, uint64_t count)
{
	for (uint32_t index = 4; index <= 5; index++) {
		uint64_t value = 0;

		ck_assert_int_eq(bpf_map_lookup_elem(gt_kernel_programs_map_fd(programs, "counts"), &index, &value), 0);
		ck_assert_uint_eq(value, count);
	}
}

/* Files of programs that run, and of one that comes. */
START_TEST(test_programs)
{
	struct child first = begin("a", false), second = begin("b", true), third;
	struct gt_kernel_programs *programs = open_programs(-1);
	char path[64];

	allocate(&first, 2);
	allocate(&second, 3);
	expect_count(programs, 5);
	third = begin("c", false);
	gt_kernel_programs_look(programs);
	snprintf(path, sizeof(path), "%s/c", folder);
	expect_late(&third, path);
	allocate(&third, 10);
	expect_count(programs, 15);
	expect_note(NULL);
	gt_kernel_programs_detach(programs);
	child_end(&first);
	child_end(&second);
	child_end(&third);
}
END_TEST

/* Files of others are not looked at, and what others do in a file that counts does not. */
START_TEST(test_programs_of_a_tree)
{
	struct child inside = begin("a", false), same_file = begin("a", false), outside = begin("b", false);
	struct gt_kernel_programs *programs = open_programs(inside.pid);

	allocate(&inside, 2);
	allocate(&same_file, 3);
	allocate(&outside, 4);
	gt_kernel_programs_look(programs);
	allocate(&outside, 5);
	expect_count(programs, 2);
	expect_note(NULL);
	gt_kernel_programs_detach(programs);
	child_end(&inside);
	child_end(&same_file);
	child_end(&outside);
}
END_TEST

/* What runs under valgrind goes on, whoever else has the file. */
START_TEST(test_under_valgrind)
{
	struct child child = begin("a", false);
	struct gt_kernel_programs *programs;
	struct stat status;
	char line[512];
	FILE *pipe;

	snprintf(line, sizeof(line), "%s/a/%s", folder, file);
	ck_assert_int_eq(stat(line, &status), 0);
	ck_assert_int_eq(gt_translated_user(status.st_dev, status.st_ino), 0);
	snprintf(line, sizeof(line), "exec env LD_PRELOAD=%s/a/%s %s -q --tool=none cat", folder, file,
		 getenv("VALGRIND"));
	pipe = popen(line, "w");
	ck_assert_ptr_nonnull(pipe);
	while (!gt_translated_user(status.st_dev, status.st_ino))
		usleep(10000);
	open_all(-1, NULL, 0);
	expect_note("runs under valgrind with that file, and a breakpoint in it would end the process: wait until it has ended, or do without calls of /");
	expect_note(NULL);
	programs = open_programs(-1);
	expect_note(" runs under valgrind with /proc/");
	expect_note(NULL);
	allocate(&child, 3);
	take();
	ck_assert_uint_eq(calls.count, 0);
	expect_count(programs, 0);
	gt_kernel_programs_detach(programs);
	/* First the one that has inherited the other's pipes. */
	ck_assert_int_eq(pclose(pipe), 0);
	child_end(&child);
}
END_TEST

START_TEST(test_notes)
{
	struct gt_notes notes = { .count = 0 };
	char *note, text[32];

	ck_assert_ptr_null(gt_notes_take(&notes));
	for (unsigned i = 0; i < 100; i++)
		gt_notes_add(&notes, "note %u", i);
	for (unsigned i = 0; i < 64; i++) {
		note = gt_notes_take(&notes);
		snprintf(text, sizeof(text), "note %u", i);
		ck_assert_str_eq(note, text);
		free(note);
		/* Nothing overtakes those that were dropped. */
		gt_notes_add(&notes, "late");
	}
	note = gt_notes_take(&notes);
	ck_assert_str_eq(note, "100 more such notes found no room");
	free(note);
	gt_notes_add(&notes, "again");
	note = gt_notes_take(&notes);
	ck_assert_str_eq(note, "again");
	free(note);
	ck_assert_ptr_null(gt_notes_take(&notes));
	gt_notes_add(&notes, "left");
	gt_notes_free(&notes);
}
END_TEST

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

int main(void)
{
	TCase *t = tcase_create("library-files");

	skip_unless_permitted();
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_running, 0, 4);
	tcase_add_test(t, test_later);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_tree);
	tcase_add_test(t, test_ended_meanwhile);
	tcase_add_test(t, test_other_file);
	tcase_add_loop_test(t, test_shared_layer, 0, 2);
	tcase_add_test(t, test_programs);
	tcase_add_test(t, test_programs_of_a_tree);
	tcase_add_test(t, test_notes);
	if (is_set("VALGRIND") && !is_set("SANITIZE_FLAGS"))
		tcase_add_test(t, test_under_valgrind);
	else
		printf("without valgrind, or with sanitizers: test_under_valgrind not tried\n");
	tcase_add_test(t, test_older_kernel);
	return run_case("library-files", t);
}
