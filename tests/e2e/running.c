/* SPDX-License-Identifier: Apache-2.0 */
#include "running.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/suite.h"

struct program program;
struct gputrace_target *target;
struct gputrace_reader *reader;
struct gputrace_link *timeline;

/*
 * A copy of the software device: breakpoints that other tests set by uprobes come and go in the file's pages for
 * all processes, also while functions of a running one are being hooked.
 */
static char driver[32];

static void copy_driver(void)
{
	char command[8192];

	strcpy(driver, "/tmp/gputrace-live-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(driver));
	snprintf(command, sizeof(command), "cp -L '%s/libcuda.so.1' %s", getenv("GPUTRACE_SIM_DIR"), driver);
	ck_assert_int_eq(system(command), 0);
}

static void remove_driver(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/libcuda.so.1", driver);
	unlink(path);
	rmdir(driver);
}

/* In a mount namespace of its own, where the agent's folder is another. */
static void hide_agent(void)
{
	char folder[4096];

	snprintf(folder, sizeof(folder), "%s", getenv("GPUTRACE_AGENT"));
	*strrchr(folder, '/') = 0;
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", folder, "tmpfs", 0, NULL))
		_exit(126);
}

void start_program(const char *path, const char *what, const char *threads, const char *more, bool apart)
{
	int in[2], out[2];

	copy_driver();
	ck_assert_int_eq(pipe(in), 0);
	ck_assert_int_eq(pipe(out), 0);
	program.pid = fork();
	if (!program.pid) {
		setenv("LD_LIBRARY_PATH", driver, 1);
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 100; fd++)
			close(fd);
		if (apart)
			hide_agent();
		execl(path, path, what, threads, more, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	program.in = fdopen(in[1], "w");
	program.out = fdopen(out[0], "r");
}

void expect(const char *text)
{
	char line[64] = "";

	ck_assert_msg(fgets(line, sizeof(line), program.out) != NULL, "the program said nothing, not %s", text);
	line[strcspn(line, "\n")] = 0;
	ck_assert_str_eq(line, text);
}

void say(const char *text)
{
	fputs(text, program.in);
	fflush(program.in);
}

void finish(void)
{
	int status;

	say(".\n");
	expect("exact");
	ck_assert_int_eq(waitpid(program.pid, &status, 0), program.pid);
	ck_assert_int_eq(status, 0);
	fclose(program.in);
	fclose(program.out);
	program.pid = 0;
}

void end_program(void)
{
	if (program.pid > 0)
		kill(program.pid, SIGKILL);
	remove_driver();
}

void attach_with(const struct gputrace_live_opts *opts)
{
	int r = gputrace_target_attach(NULL, program.pid, opts, &target);

	ck_assert_msg(!r, "attach: %s", gputrace_last_error());
	ck_assert_int_eq(gputrace_attach_timeline(target, &timeline), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	r = gputrace_target_resume(target);
	ck_assert_msg(!r, "resume: %s", gputrace_last_error());
}

void attach(void)
{
	attach_with(NULL);
}

void take(struct seen *seen)
{
	const struct gputrace_event *event;

	while ((event = gputrace_reader_next(reader))) {
		seen->launches += gputrace_event_get_type(event) == GPUTRACE_EVENT_LAUNCH;
		seen->kernels += gputrace_event_get_type(event) == GPUTRACE_EVENT_KERNEL;
		seen->exits += gputrace_event_get_type(event) == GPUTRACE_EVENT_EXIT;
		if (gputrace_event_get_type(event) == GPUTRACE_EVENT_LOST)
			seen->lost += (unsigned)gputrace_event_get_count(event);
		if (gputrace_event_get_type(event) == GPUTRACE_EVENT_NOTE)
			snprintf(seen->notes, sizeof(seen->notes), "%s", gputrace_event_get_text(event));
	}
}

void take_more(struct seen *seen)
{
	ck_assert_int_ge(gputrace_reader_wait(reader, PATIENCE_MS), 0);
	take(seen);
}

void detach(struct seen *seen)
{
	int r = gputrace_target_detach(target, PATIENCE_MS);

	ck_assert_msg(!r, "detach: %s", gputrace_last_error());
	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1)
		take(seen);
	ck_assert_int_eq(r, -ENODATA);
	gputrace_link_unref(timeline);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}

const struct gputrace_kernel *find_kernel(const char *name, int probed)
{
	const struct gputrace_kernel *kernel = NULL;

	while ((kernel = gputrace_target_next_kernel(target, kernel))) {
		if (!strcmp(gputrace_kernel_get_name(kernel), name) &&
		    (gputrace_kernel_get_route(kernel) != GPUTRACE_ROUTE_NONE) == probed)
			return kernel;
	}
	return NULL;
}

unsigned resident_kb(void)
{
	char name[64], line[256];
	unsigned kb = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)program.pid);
	file = fopen(name, "r");
	while (fgets(line, sizeof(line), file))
		sscanf(line, "VmRSS: %u", &kb);
	fclose(file);
	return kb;
}

void wait_for_at_most(unsigned (*count)(void), unsigned most)
{
	while (count() > most)
		usleep(10000);
}
