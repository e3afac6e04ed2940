/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are only watched: all of the machine, or one and its descendants. */
#include <bpf/bpf.h>
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/gputrace.h>
#include "tests/suite.h"

/* A process that was started without us, with pipes to and from it. */
struct program {
	pid_t pid;
	int to, from;
};

static struct gputrace_target *target;
static struct gputrace_reader *reader;
static struct gputrace_link *link_;
static char folder[] = "/tmp/gputrace-watch-XXXXXX";
static char library[4096];	/* a copy of the software device's libcuda: other tests use that at the same time */
static char other[4096];	/* another copy */
static const char *loaded = library;	/* by programs that are started */

/* ---- the program ---- */

static int (*allocate)(uint64_t *address, size_t bytes);

static void call_times(int count)
{
	uint64_t address;

	/* There is no context, so it fails; a call it is all the same. */
	for (int i = 0; i < count; i++)
		allocate(&address, (size_t)i + 1);
}

/* A byte at a time: 'c' call once; 'f' a child calls twice and ends; the end of the file ends it. */
static void obey(int in, int out)
{
	void *driver = dlopen(loaded, RTLD_NOW);
	char c = 'r';

	*(void **)&allocate = driver ? dlsym(driver, "cuMemAlloc_v2") : NULL;
	if (!allocate)
		_exit(9);
	while (write(out, &c, 1) == 1 && read(in, &c, 1) == 1) {
		pid_t child = c == 'f' ? fork() : -1;

		if (child == 0) {
			call_times(2);
			_exit(0);
		}
		if (child > 0)
			waitpid(child, NULL, 0);
		else
			call_times(1);
	}
	_exit(0);
}

static void await(struct program *program)
{
	char c;

	ck_assert_int_eq(read(program->from, &c, 1), 1);
}

/* nested: it is a child of the process that is told here. */
static void start(struct program *program, int nested)
{
	int to[2], from[2];

	ck_assert_int_eq(pipe(to), 0);
	ck_assert_int_eq(pipe(from), 0);
	program->pid = fork();
	if (!program->pid) {
		pid_t inner = nested ? fork() : 0;

		for (int fd = 3; fd < 100; fd++) {
			if (fd != to[0] && fd != from[1])
				close(fd);
		}
		if (inner == 0)
			obey(to[0], from[1]);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	program->to = to[1];
	program->from = from[0];
	await(program);
}

static void tell(struct program *program, const char *what)
{
	for (; *what; what++) {
		ck_assert_int_eq(write(program->to, what, 1), 1);
		await(program);
	}
}

static void end(struct program *program)
{
	int status;

	close(program->to);
	ck_assert_int_eq(waitpid(program->pid, &status, 0), program->pid);
	ck_assert_int_eq(status, 0);
	close(program->from);
}

/* ---- */

static void watch(int pid)
{
	/* Other programs of this machine may have another libcuda. */
	struct gputrace_api_opts opts = { .size = sizeof(opts), .library = library };

	ck_assert_msg(!gputrace_target_watch(NULL, pid, &target), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_target_get_pid(target), pid);
	ck_assert_msg(!gputrace_attach_api(target, &opts, &link_), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
}

struct seen {
	unsigned calls, pid_count;
	int pids[64];
	unsigned of_pid[64];
};

/* Calls by process, to the end of the stream. */
static struct seen read_all(int type)
{
	const struct gputrace_event *event;
	struct seen seen = { 0 };
	unsigned i;
	int r;

	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(reader))) {
			ck_assert_int_eq(gputrace_event_get_type(event), type);
			ck_assert_str_eq(gputrace_event_get_name(event), "cuMemAlloc_v2");
			seen.calls++;
			for (i = 0; i < seen.pid_count && seen.pids[i] != gputrace_event_get_pid(event); i++)
				;
			ck_assert_uint_lt(i, 64);
			seen.pids[i] = gputrace_event_get_pid(event);
			seen.of_pid[i]++;
			seen.pid_count += i == seen.pid_count;
		}
	}
	ck_assert_int_eq(r, -ENODATA);
	gputrace_reader_unref(reader);
	gputrace_link_unref(link_);
	gputrace_target_unref(target);
	return seen;
}

static unsigned calls_of(const struct seen *seen, int pid)
{
	for (unsigned i = 0; i < seen->pid_count; i++) {
		if (seen->pids[i] == pid)
			return seen->of_pid[i];
	}
	return 0;
}

START_TEST(one_started_before_and_one_afterwards)
{
	struct program before, after;
	struct seen seen;

	start(&before, 0);
	tell(&before, "c");
	watch(GPUTRACE_EVERY_PROCESS);
	start(&after, 0);
	tell(&before, "c");
	tell(&after, "ccc");
	end(&before);
	end(&after);
	/* All processes never end: it is for us to say when it is enough. */
	ck_assert_int_eq(gputrace_target_has_exited(target, NULL), 0);
	ck_assert_int_ge(gputrace_reader_wait(reader, 100), 0);
	ck_assert_int_eq(gputrace_link_detach(link_), 0);
	seen = read_all(GPUTRACE_EVENT_API);
	ck_assert_uint_eq(calls_of(&seen, before.pid), 1);
	ck_assert_uint_eq(calls_of(&seen, after.pid), 3);
}
END_TEST

/* One that runs already, which is the child of the one that is named, and one that comes later; and nobody else. */
START_TEST(a_process_and_its_descendants)
{
	struct program parent, stranger;
	struct seen seen;

	start(&parent, 1);
	start(&stranger, 0);
	watch(parent.pid);
	tell(&stranger, "cf");
	tell(&parent, "cfc");
	end(&parent);
	/* By itself, since all have ended. */
	seen = read_all(GPUTRACE_EVENT_API);
	ck_assert_uint_eq(seen.calls, 1 + 2 + 1);
	ck_assert_uint_eq(seen.pid_count, 2);
	ck_assert_uint_eq(seen.of_pid[0] * seen.of_pid[1], 2 * 2);
	ck_assert_uint_eq(calls_of(&seen, parent.pid) + calls_of(&seen, stranger.pid), 0);
	end(&stranger);
}
END_TEST

/* Whatever file of libcuda they have; others on this machine may make calls as well. */
START_TEST(every_file_of_the_driver)
{
	struct gputrace_api_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_API_UPROBES };
	struct program programs[3];
	const struct gputrace_event *event;
	unsigned calls[3] = { 0 }, lost = 0;
	int r;

	start(&programs[0], 0);
	loaded = other;
	start(&programs[1], 0);
	ck_assert_msg(!gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), "%s", gputrace_last_error());
	ck_assert_msg(!gputrace_attach_api(target, &opts, &link_), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	start(&programs[2], 0);
	tell(&programs[0], "c");
	tell(&programs[1], "cc");
	tell(&programs[2], "ccc");
	for (int i = 0; i < 3; i++)
		end(&programs[i]);
	ck_assert_int_eq(gputrace_target_detach(target, 0), 0);
	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(reader))) {
			for (int i = 0; i < 3; i++)
				calls[i] += gputrace_event_get_type(event) == GPUTRACE_EVENT_API &&
					    gputrace_event_get_pid(event) == programs[i].pid;
			lost += gputrace_event_get_type(event) == GPUTRACE_EVENT_LOST;
		}
	}
	ck_assert_int_eq(r, -ENODATA);
	/* Others may be too fast for the ring, and then it says so. */
	for (int i = 0; i < 3 && !lost; i++)
		ck_assert_int_eq(calls[i], i + 1);
	gputrace_reader_unref(reader);
	gputrace_link_unref(link_);
	gputrace_target_unref(target);
}
END_TEST

/* Of a process that runs, the library is the one that it has mapped. */
START_TEST(functions_of_what_is_mapped)
{
	struct program program;
	struct seen seen;

	start(&program, 0);
	ck_assert_int_eq(gputrace_target_watch(NULL, program.pid, &target), 0);
	ck_assert_msg(!gputrace_attach_functions(target, "libcuda.so.1", "cuMemAlloc_v?", NULL, &link_), "%s",
		      gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	tell(&program, "cc");
	end(&program);
	seen = read_all(GPUTRACE_EVENT_CALL);
	ck_assert_uint_eq(seen.calls, 2);
	ck_assert_uint_eq(calls_of(&seen, program.pid), 2);
}
END_TEST

/* The map of watched.bpf.c, which only the operating system's kernel has; ours, since those of tests before may linger. */
static int find_counts(void)
{
	for (int fd = 3; fd < 1000; fd++) {
		struct bpf_map_info info = { 0 };
		uint32_t size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, "gt_test_calls"))
			return dup(fd);
	}
	ck_abort_msg("no map");
}

static uint64_t count_of(int counts, int pid)
{
	uint32_t key = (uint32_t)pid;
	uint64_t count = 0;

	bpf_map_lookup_elem(counts, &key, &count);
	return count;
}

static uint64_t number(struct gputrace_object *object, const char *name, uint32_t index)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);
	uint64_t value = 0;

	ck_assert_ptr_nonnull(map);
	ck_assert_msg(!gputrace_map_lookup(map, GPUTRACE_INSTANCE_INITIAL, &index, sizeof(index), &value,
					   gputrace_map_get_value_size(map)), "%s", gputrace_last_error());
	return value;
}

/* Arrays and variables of the kernel's programs: as they are now, and after the end. */
static void check_totals(struct gputrace_object *object, uint32_t total)
{
	ck_assert_uint_eq(number(object, "totals", 0), 1000);
	ck_assert_uint_eq(number(object, "totals", 1), 0);
	ck_assert_uint_eq(number(object, "totals", 2), 5 * total);
	ck_assert_uint_eq(number(object, ".bss", 0), total);
	ck_assert_uint_eq(number(object, ".data", 0), 5);
}

static void set_number(struct gputrace_object *object, const char *name, uint64_t value)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);
	uint32_t index = 0;

	ck_assert_int_eq(gputrace_map_update(map, GPUTRACE_INSTANCE_INITIAL, &index, sizeof(index), &value,
					     gputrace_map_get_value_size(map), 0), 0);
}

static int watch_by_object(int pid, struct gputrace_object **ret_object)
{
	uint64_t value;
	uint32_t key;

	ck_assert_msg(!gputrace_object_open_file(NULL, "tests/e2e/watched.bpf.o", ret_object), "%s", gputrace_last_error());
	set_number(*ret_object, "totals", 1000);
	set_number(*ret_object, ".data", 5);
	ck_assert_int_eq(gputrace_target_watch(NULL, pid, &target), 0);
	ck_assert_msg(!gputrace_attach_object(target, *ret_object, &link_), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	key = (uint32_t)getpid();
	ck_assert_int_eq(gputrace_map_lookup(gputrace_object_find_map(*ret_object, "gt_test_calls"),
					     GPUTRACE_INSTANCE_INITIAL, &key, sizeof(key), &value, sizeof(value)), -EOPNOTSUPP);
	return find_counts();
}

static void end_watch(struct gputrace_object *object, int counts)
{
	close(counts);
	gputrace_reader_unref(reader);
	gputrace_link_unref(link_);
	gputrace_target_unref(target);
	gputrace_object_unref(object);
}

/* A user's programs run for the descendants too, and for nobody else; the stream ends with the last of them. */
START_TEST(programs_for_descendants)
{
	struct program parent, stranger;
	struct gputrace_object *object;
	uint32_t key, *last = NULL;
	uint64_t sum = 0;
	int counts, r;

	start(&parent, 1);
	start(&stranger, 0);
	counts = watch_by_object(parent.pid, &object);
	tell(&stranger, "cf");
	tell(&parent, "cfc");
	end(&parent);
	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while (gputrace_reader_next(reader))
			;
	}
	ck_assert_int_eq(r, -ENODATA);
	for (; !bpf_map_get_next_key(counts, last, &key); last = &key)
		sum += count_of(counts, (int)key);
	ck_assert_uint_eq(sum, 1 + 2 + 1);
	ck_assert_uint_eq(count_of(counts, stranger.pid), 0);
	check_totals(object, 4);
	end(&stranger);
	gputrace_object_ref(object);
	end_watch(object, counts);
	check_totals(object, 4);
	/* Its maps are those of that target. */
	ck_assert_int_eq(gputrace_target_watch(NULL, getpid(), &target), 0);
	ck_assert_int_eq(gputrace_attach_object(target, object, &link_), -EBUSY);
	gputrace_target_unref(target);
	gputrace_object_unref(object);
}
END_TEST

/* In whatever file of libcuda, also one that nobody has had before. */
START_TEST(programs_in_every_file)
{
	struct program before, after;
	struct gputrace_object *object;
	int counts;

	start(&before, 0);
	counts = watch_by_object(GPUTRACE_EVERY_PROCESS, &object);
	loaded = other;
	start(&after, 0);
	ck_assert_int_ge(gputrace_reader_wait(reader, 100), 0);
	tell(&before, "c");
	tell(&after, "cc");
	ck_assert_uint_eq(count_of(counts, before.pid), 1);
	ck_assert_uint_eq(count_of(counts, after.pid), 2);
	ck_assert_int_eq(gputrace_link_detach(link_), 0);
	tell(&before, "c");
	ck_assert_uint_eq(count_of(counts, before.pid), 1);
	end(&before);
	end(&after);
	end_watch(object, counts);
}
END_TEST

START_TEST(what_cannot_be)
{
	struct gputrace_api_opts by_agent = { .size = sizeof(by_agent), .flags = GPUTRACE_API_AGENT };

	ck_assert_int_eq(gputrace_target_watch(NULL, 0, &target), -EINVAL);
	ck_assert_int_eq(gputrace_target_watch(NULL, -2, &target), -EINVAL);
	ck_assert_int_eq(gputrace_target_watch(NULL, 0x3ffffff, &target), -ESRCH);
	ck_assert_int_eq(gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), 0);
	ck_assert_int_eq(gputrace_attach_timeline(target, &link_), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "only watched"));
	ck_assert_int_eq(gputrace_attach_api(target, &by_agent, &link_), -EOPNOTSUPP);
	ck_assert_int_eq(gputrace_attach_nvtx(target, &link_), -EOPNOTSUPP);
	ck_assert_int_eq(gputrace_attach_copies(target, &link_), -EOPNOTSUPP);
	gputrace_target_unref(target);
	/* Also with nothing attached, letting go is the end. */
	ck_assert_int_eq(gputrace_target_watch(NULL, GPUTRACE_EVERY_PROCESS, &target), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_int_eq(gputrace_reader_wait(reader, 0), 0);
	ck_assert_int_eq(gputrace_target_detach(target, 0), 0);
	ck_assert_int_eq(gputrace_reader_wait(reader, PATIENCE_MS), -ENODATA);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}
END_TEST

static bool copy_driver(void)
{
	char command[16384];

	if (!mkdtemp(folder))
		return false;
	snprintf(library, sizeof(library), "%s/libcuda.so.1", folder);
	snprintf(other, sizeof(other), "%s/libcuda.so.550.54", folder);
	snprintf(command, sizeof(command), "cp -L '%s/libcuda.so.1' %s && cp %s %s", getenv("GPUTRACE_SIM_DIR"),
		 library, library, other);
	return system(command) == 0;
}

int main(void)
{
	TCase *tcase = tcase_create("watch");
	int status;

	if (geteuid()) {
		printf("skipped: uprobes need root\n");
		return 77;
	}
	if (!copy_driver())
		return 99;
	tcase_add_test(tcase, one_started_before_and_one_afterwards);
	tcase_add_test(tcase, a_process_and_its_descendants);
	tcase_add_test(tcase, every_file_of_the_driver);
	tcase_add_test(tcase, programs_for_descendants);
	tcase_add_test(tcase, programs_in_every_file);
	tcase_add_test(tcase, functions_of_what_is_mapped);
	tcase_add_test(tcase, what_cannot_be);
	status = run_case("watch", tcase);
	unlink(library);
	unlink(other);
	rmdir(folder);
	return status;
}
