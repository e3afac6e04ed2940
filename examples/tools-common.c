/* SPDX-License-Identifier: Apache-2.0 */
#include "tools-common.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define TAKEN_AT_ONCE 64	/* events */
#define BURST_NS 1000000000

static volatile sig_atomic_t command_pid;
static volatile sig_atomic_t enough;	/* of a process that ran already */

/* What a message quotes may come from the command.  Some have several lines. */
static void vwarn(const struct tool *tool, const char *format, va_list args)
{
	char message[4096], *rest = message, *line;

	vsnprintf(message, sizeof(message), format, args);
	fflush(stdout);
	fprintf(stderr, "%s: ", tool->name);
	while ((line = strsep(&rest, "\n")))
		fprintf(stderr, "%s\n", tool_printable(line));
}

void tool_warn(const struct tool *tool, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vwarn(tool, format, args);
	va_end(args);
}

void tool_fail(struct tool *tool, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vwarn(tool, format, args);
	va_end(args);
	/* A command that still waits must not stay behind. */
	gputrace_reader_unref(tool->reader);
	gputrace_target_unref(tool->target);
	exit(EXIT_TOOL);
}

void tool_usage(const struct tool *tool)
{
	fprintf(stderr, "Try '%s --help'.\n", tool->name);
	exit(EXIT_TOOL);
}

static void set_device(struct tool *tool, const char *value)
{
	if (!strcmp(value, "sim"))
		tool->device = GPUTRACE_DEVICE_SIM;
	else if (!strcmp(value, "gpu"))
		tool->device = GPUTRACE_DEVICE_REAL;
	else
		tool_fail(tool, "--device is 'gpu' or 'sim', not '%s'", value);
}

static void set_pid(struct tool *tool, const char *value)
{
	char *end;
	long pid = strtol(value, &end, 10);

	if (pid <= 0 || pid > INT_MAX || *end)
		tool_fail(tool, "--pid is the number of a process, not '%s'", value);
	tool->pid = (int)pid;
}

void tool_option(struct tool *tool, int option, const char *value)
{
	switch (option) {
	case 'D':
		set_device(tool, value);
		break;
	case 'A':
		tool->agent = value;
		break;
	case 'p':
		set_pid(tool, value);
		break;
	case 'C':
		tool->copies = 1;
		break;
	case 'q':
		tool->quiet = 1;
		break;
	case 'h':
		fputs(tool->usage, stdout);
		exit(EXIT_SUCCESS);
	case 'V':
		printf("%s (libgputrace) %s\n", tool->name, gputrace_version());
		exit(EXIT_SUCCESS);
	default:
		tool_usage(tool);
	}
}

static void log_line(void *data, int level, const char *text)
{
	struct tool *tool = data;

	tool->error_told |= level <= GPUTRACE_LOG_ERROR;
	tool_warn(tool, "%s", text);
}

void tool_open(struct tool *tool)
{
	struct gputrace_ctx_opts opts = { .size = sizeof(opts), .log = log_line, .log_data = tool,
		.log_level = tool->quiet ? GPUTRACE_LOG_ERROR : GPUTRACE_LOG_WARNING };

	/* The command writes to the same place: whole lines only. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (gputrace_ctx_new(&opts, &tool->ctx))
		tool_fail(tool, "%s", gputrace_last_error());
}

/* An error may also be about the agent; what is about the command begins with its name. */
static int is_about(const char *command, const char *text)
{
	size_t length = strlen(command);

	return !strncmp(text, command, length) && text[length] == ':';
}

static int runs_already(const struct tool *tool)
{
	return tool->pid || tool->all || tool->follow;
}

/* One thing is traced.  What was not given is not spoken of: a tool may not have it. */
static void check(struct tool *tool, char **command)
{
	const char *given[4];
	int count = 0;

	if (command[0])
		given[count++] = "a command";
	if (tool->pid)
		given[count++] = "--pid";
	if (tool->all)
		given[count++] = "--all";
	if (tool->follow)
		given[count++] = "--follow";
	if (count > 1)
		tool_fail(tool, "%s and %s do not go together: give one of them", given[0], given[1]);
	if (tool->copies && !tool->pid)
		tool_fail(tool, "--copies goes with --pid");
	if (tool->agent && (tool->all || tool->follow))
		tool_fail(tool, "--agent goes with a command or --pid: no agent is put into anything here");
	if (tool->device == GPUTRACE_DEVICE_SIM && runs_already(tool))
		tool_fail(tool, "--device=sim goes with a command: what runs already has its driver");
}

static void attach(struct tool *tool)
{
	struct gputrace_live_opts opts = { .size = sizeof(opts), .agent = tool->agent,
					   .flags = tool->copies ? GPUTRACE_LIVE_COPIES : 0 };
	int error;

	if (tool->follow) {
		if (gputrace_reader_connect(tool->follow, &tool->reader))
			tool_fail(tool, "%s", gputrace_last_error());
		return;
	}
	if (tool->all)
		error = gputrace_target_watch(tool->ctx, GPUTRACE_EVERY_PROCESS, &tool->target);
	else
		error = gputrace_target_attach(tool->ctx, tool->pid, &opts, &tool->target);
	if (error || gputrace_reader_new(tool->target, NULL, &tool->reader))
		tool_fail(tool, "%s", gputrace_last_error());
}

void tool_spawn(struct tool *tool, char **command)
{
	struct gputrace_spawn_opts opts = { .size = sizeof(opts), .device = tool->device,
					    .agent = tool->agent };
	int error;

	check(tool, command);
	if (runs_already(tool)) {
		attach(tool);
		return;
	}
	if (!command[0]) {
		tool_warn(tool, "no command given");
		tool_usage(tool);
	}
	error = gputrace_target_spawn(tool->ctx, command, &opts, &tool->target);
	if (!error)
		error = gputrace_reader_new(tool->target, NULL, &tool->reader);
	if (!error)
		return;
	tool_warn(tool, "%s", gputrace_last_error());
	if (!is_about(command[0], gputrace_last_error()))
		exit(EXIT_TOOL);
	exit(error == -ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

/* The terminal sends its signals to the command as well; pass on those of other processes. */
static void pass_on(int number, siginfo_t *info, void *machine)
{
	(void)machine;
	if (command_pid && info->si_code != SI_KERNEL)
		kill(command_pid, number);
}

static void stop(int number, siginfo_t *info, void *machine)
{
	(void)number;
	(void)info;
	(void)machine;
	enough = 1;
}

/* Writing fails then, see end_unread(). */
static void note_nobody_reads(int number)
{
	(void)number;
}

static void catch_signals(const struct tool *tool)
{
	static const struct sigaction unread = { .sa_handler = note_nobody_reads, .sa_flags = SA_RESTART };
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_sigaction = runs_already(tool) ? stop : pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

	command_pid = tool->target ? gputrace_target_get_pid(tool->target) : 0;
	sigemptyset(&action.sa_mask);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	sigaction(SIGPIPE, &unread, NULL);
}

static void set_status(struct tool *tool, int status)
{
	command_pid = 0;
	tool->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void note_status(struct tool *tool)
{
	int status;

	if (tool->target && gputrace_target_has_exited(tool->target, &status) == 1)
		set_status(tool, status);
}

/* What was recorded is still read. */
static void let_go(const struct tool *tool)
{
	enough = 0;
	if (gputrace_target_detach(tool->target, 10000))
		tool_warn(tool, "%s", gputrace_last_error());
}

/* What it was, not what has failed since. */
static void note_write_error(struct tool *tool)
{
	if (!tool->write_error && ferror(stdout))
		tool->write_error = errno;
}

/* Nobody reads on, as behind head(1): the command goes on untraced, and how it ends is how the tool ends. */
static _Noreturn void end_unread(struct tool *tool)
{
	int status;

	if (tool->pid || tool->all)
		let_go(tool);
	note_status(tool);
	gputrace_reader_unref(tool->reader);
	gputrace_target_unref(tool->target);
	if (command_pid && !runs_already(tool) && waitpid(command_pid, &status, 0) == command_pid)
		set_status(tool, status);
	exit(tool->status);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/*
 * What there is now.  In a burst printing takes longer than it takes the program to fill its
 * rings, so what is in these is taken in between; for ever it would fill the memory.
 * Another's stream has room of its own.
 */
static void take(struct tool *tool, void (*handle)(const struct gputrace_event *event, void *data), void *data)
{
	const struct gputrace_event *event;
	int64_t end = now_ns() + BURST_NS;
	unsigned taken = 0;

	while ((event = gputrace_reader_next(tool->reader))) {
		handle(event, data);
		note_write_error(tool);
		if (tool->write_error == EPIPE)
			end_unread(tool);
		if (++taken % TAKEN_AT_ONCE == 0 && tool->target && !enough && now_ns() < end)
			gputrace_reader_wait(tool->reader, 0);
	}
}

void tool_follow(struct tool *tool, void (*handle)(const struct gputrace_event *event, void *data),
		 void *data)
{
	int ready;

	catch_signals(tool);
	if (tool->target && gputrace_target_resume(tool->target))
		tool_fail(tool, "%s", gputrace_last_error());
	if (tool->pid && !tool->quiet)
		tool_warn(tool, "process %d is traced now, until it ends or until Ctrl-C", tool->pid);
	do {
		ready = gputrace_reader_wait(tool->reader, 50);
		take(tool, handle, data);
		note_status(tool);
		if (enough && tool->target)
			let_go(tool);
	} while (ready >= 0 && (tool->target || !enough));
	if (ready < 0 && ready != -ENODATA)
		tool_fail(tool, "%s", gputrace_last_error());
	fflush(stdout);
}

int tool_finish(struct tool *tool, int did_something)
{
	if (tool->target && !tool->all && !tool->error_told && gputrace_target_count_agents(tool->target) == 0)
		tool_warn(tool, tool->device == GPUTRACE_DEVICE_SIM ?
			  "the command did not use CUDA" :
			  "the command did not use CUDA, or found no driver (libcuda.so.1) or no GPU; "
			  "--device=sim runs it on the software device");
	gputrace_reader_unref(tool->reader);
	gputrace_target_unref(tool->target);
	gputrace_ctx_unref(tool->ctx);
	fflush(stdout);
	note_write_error(tool);
	if (tool->write_error && tool->write_error != EPIPE) {
		tool_warn(tool, "writing the output: %s", strerror(tool->write_error));
		did_something = 0;
	}
	/* A command that failed says more than we can. */
	return tool->status || did_something ? tool->status : EXIT_TOOL;
}

const char *tool_printable(const char *text)
{
	static char buffers[4][2048];
	static unsigned turn;
	char *buffer = buffers[turn++ % 4];

	gputrace_escape(text, buffer, sizeof(buffers[0]));
	return buffer;
}

void tool_print_us(FILE *file, int width, uint64_t ns)
{
	fprintf(file, "%*" PRIu64 ".%03u", width > 4 ? width - 4 : 0, ns / 1000, (unsigned)(ns % 1000));
}
