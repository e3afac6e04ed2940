/* SPDX-License-Identifier: Apache-2.0 */
/* What the example tools have in common: options, starting the command, following it to its end. */
#ifndef TOOLS_COMMON_H
#define TOOLS_COMMON_H

#include <getopt.h>
#include <gputrace/gputrace.h>
#include <stdio.h>

/* Exit statuses of a tool that could not do its work, as env(1) and timeout(1) have them. */
#define EXIT_TOOL 125		/* the tool itself failed, or there was nothing it could do */
#define EXIT_CANNOT_RUN 126	/* the command could not be run */
#define EXIT_NOT_FOUND 127	/* there is no such command */

struct tool {
	const char *name;
	const char *usage;
	/* Options. */
	uint32_t device;	/* enum gputrace_device_kind */
	const char *agent;
	int all;		/* every process, by the operating system's kernel alone */
	const char *follow;	/* the stream that another process publishes there */
	int pid;		/* a process that runs already, 0: a command is started */
	int copies;		/* of kernels that it has loaded, with programs in them */
	int quiet;
	/* Once started. */
	struct gputrace_ctx *ctx;
	struct gputrace_target *target;	/* NULL: another process traces it */
	struct gputrace_reader *reader;
	int error_told;		/* the library had one for the user */
	int status;		/* of the command, as the tool will return it */
	int write_error;	/* errno of the standard output, 0: all is written */
};

#define TOOL_SHORT_OPTIONS "p:qhV"
#define TOOL_LONG_OPTIONS \
	{ "device", required_argument, NULL, 'D' }, \
	{ "agent", required_argument, NULL, 'A' }, \
	{ "pid", required_argument, NULL, 'p' }, \
	{ "copies", no_argument, NULL, 'C' }, \
	{ "quiet", no_argument, NULL, 'q' }, \
	{ "help", no_argument, NULL, 'h' }, \
	{ "version", no_argument, NULL, 'V' }
#define TOOL_OPTIONS_HELP \
	"  -p, --pid=PID     trace this process, which runs already, until it ends or until\n" \
	"                    Ctrl-C or SIGTERM; it goes on as it was\n" \
	"  --copies          with --pid: also look into kernels loaded before, by copies of them\n" \
	"  --device=gpu|sim  the real GPU (default), or the software device of libgputrace\n" \
	"  --agent=PATH      use this libgputrace-agent.so\n" \
	"  -q, --quiet       errors only\n" \
	"  -h, --help        this text\n" \
	"  -V, --version     the library's version\n" \
	"\n" \
	"The exit status is the command's (128 + n if signal n ended it); 125 if the tool\n" \
	"could do nothing, 126 if the command cannot be run, 127 if it does not exist.\n"

/* One of the options above; anything else is an error.  May exit. */
void tool_option(struct tool *tool, int option, const char *value);

/* A message on stderr after the tool's name; tool_fail() exits with EXIT_TOOL. */
void tool_warn(const struct tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void tool_fail(struct tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void tool_usage(const struct tool *tool);

/* Make the context, early: before anything else of the library. */
void tool_open(struct tool *tool);

/* Prepare the command, which then waits, or what runs already.  Exits if it cannot be. */
void tool_spawn(struct tool *tool, char **command);

/*
 * Let the command run and hand over each event until it has ended and all is
 * read.  Signals sent to the tool go to the command; a process that ran already
 * is let go at the first of them.
 */
void tool_follow(struct tool *tool, void (*event)(const struct gputrace_event *event, void *data),
		 void *data);

/* Drop everything and return the exit status; `did_something` 0: nothing could be traced. */
int tool_finish(struct tool *tool, int did_something);

/* What a program says, without what a terminal would obey; good until the next call but three. */
const char *tool_printable(const char *text);

/* Nanoseconds as microseconds, "12.345". */
void tool_print_us(FILE *file, int width, uint64_t ns);

#endif
