/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace-kernels: run a CUDA program and list the kernels that it loaded: how
 * often each was launched, and whether programs can be put into it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tools-common.h"

static const char usage[] =
	"Usage: gputrace-kernels [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	"       gputrace-kernels [OPTION]... -p PID\n"
	"       gputrace-kernels [OPTION]... --follow=PATH\n"
	"Run a CUDA program and list the kernels that it loaded, with their launches, what\n"
	"they need, and whether programs can be put into them or why not.\n"
	"\n"
	"  --follow=PATH     list those of the stream that gputrace-record publishes there\n"
	TOOL_OPTIONS_HELP;

static void handle(const struct gputrace_event *event, void *data)
{
	struct tool *tool = data;

	if (gputrace_event_get_type(event) == GPUTRACE_EVENT_NOTE && !tool->quiet)
		tool_warn(tool, "%s", tool_printable(gputrace_event_get_text(event)));
}

static const char *route_name(const struct gputrace_kernel *kernel)
{
	switch (gputrace_kernel_get_route(kernel)) {
	case GPUTRACE_ROUTE_PTX:
		return "PTX";
	case GPUTRACE_ROUTE_GRAFT:
		return "graft";
	default:
		return "none";
	}
}

static void print_kernel(const struct gputrace_kernel *kernel)
{
	const char *reason = gputrace_kernel_get_reason(kernel);
	uint32_t arch = gputrace_kernel_get_arch(kernel), module = gputrace_kernel_get_module(kernel);

	printf("%5" PRIu32 " %7d", gputrace_kernel_get_id(kernel), gputrace_kernel_get_pid(kernel));
	if (module)
		printf(" %6" PRIu32, module);
	else
		printf(" %6s", "-");
	if (arch)
		printf("   sm_%-3" PRIu32, arch);
	else
		printf("   %-6s", "?");
	printf(" %5" PRIu32 " %7" PRIu32 " %10" PRIu64 "  %-5s  %s\n", gputrace_kernel_get_registers(kernel),
	       gputrace_kernel_get_shared_bytes(kernel), gputrace_kernel_get_launches(kernel),
	       route_name(kernel), tool_printable(gputrace_kernel_get_display_name(kernel)));
	if (reason)
		printf("%57s %s%s\n", "", gputrace_kernel_get_route(kernel) == GPUTRACE_ROUTE_NONE ? "no probe: " : "",
		       tool_printable(reason));
	if (gputrace_kernel_get_plain_launches(kernel))
		printf("%57s %" PRIu64 " launches without programs\n", "", gputrace_kernel_get_plain_launches(kernel));
}

/* How many there are. */
static unsigned print_kernels(struct gputrace_reader *reader)
{
	const struct gputrace_kernel *kernel = NULL;
	unsigned count = 0;

	while ((kernel = gputrace_reader_next_kernel(reader, kernel))) {
		if (!count++)
			printf("%5s %7s %6s   %-6s %5s %7s %10s  %-5s  %s\n", "ID", "PROCESS", "MODULE", "ARCH",
			       "REGS", "SHARED", "LAUNCHES", "PROBE", "NAME");
		print_kernel(kernel);
	}
	return count;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "follow", required_argument, NULL, 'F' },
		TOOL_LONG_OPTIONS,
		{ 0 }
	};
	struct tool tool = { .name = "gputrace-kernels", .usage = usage };
	struct gputrace_link *timeline = NULL;
	unsigned count;
	int option;

	while ((option = getopt_long(argc, argv, "+" TOOL_SHORT_OPTIONS, options, NULL)) != -1) {
		if (option == 'F')
			tool.follow = optarg;
		else
			tool_option(&tool, option, optarg);
	}
	tool_open(&tool);
	tool_spawn(&tool, argv + optind);
	/* A kernel is looked at when somebody wants something of it. */
	if (!tool.follow && gputrace_attach_timeline(tool.target, &timeline))
		tool_fail(&tool, "%s", gputrace_last_error());

	tool_follow(&tool, handle, &tool);

	count = print_kernels(tool.reader);
	gputrace_link_unref(timeline);
	return tool_finish(&tool, count != 0);
}
