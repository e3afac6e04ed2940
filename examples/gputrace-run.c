/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace-run: run a CUDA program with the programs of a BPF object file
 * attached, GPU and kernel side; print what they send, and their maps at the end.
 */
#include <stdio.h>
#include <string.h>

#include "print-map.h"
#include "tools-common.h"

static const char usage[] =
	"Usage: gputrace-run [OPTION]... OBJECT [--] COMMAND [ARGUMENT]...\n"
	"       gputrace-run [OPTION]... -p PID OBJECT\n"
	"Run a CUDA program with everything attached that the BPF object file OBJECT holds,\n"
	"print the records that its programs send, and its maps when the command has ended.\n"
	"\n"
	"  -a, --all         print elements that are zero as well\n"
	"  -k, --kernels     print, after the maps, which kernel has which kernel_id\n"
	TOOL_OPTIONS_HELP;

/* Reasons for kernels to lack a program that are told. */
#define REASONS_MAX 10u

struct run {
	struct tool tool;
	struct gputrace_object *object;
	int all, kernels;
};

static void handle(const struct gputrace_event *event, void *data)
{
	struct run *run = data;
	const void *bytes;
	size_t size;

	switch (gputrace_event_get_type(event)) {
	case GPUTRACE_EVENT_DATA:
		bytes = gputrace_event_get_data(event, &size);
		printf("%s: ", tool_printable(gputrace_event_get_name(event)));
		print_bytes(bytes, size);
		putchar('\n');
		break;
	case GPUTRACE_EVENT_PRINT:
		printf("%s\n", tool_printable(gputrace_event_get_text(event)));
		break;
	case GPUTRACE_EVENT_LOST:
		tool_warn(&run->tool, "%llu records of %s were lost",
			  (unsigned long long)gputrace_event_get_count(event),
			  tool_printable(gputrace_event_get_name(event)));
		break;
	case GPUTRACE_EVENT_NOTE:
		if (!run->tool.quiet)
			tool_warn(&run->tool, "%s", tool_printable(gputrace_event_get_text(event)));
		break;
	}
}

/* Kernels that a program's pattern means; of them, those that carry programs; of them, those with a place for it. */
struct kernels {
	unsigned matching, probed, placed;
};

static struct kernels count_kernels(const struct run *run, const struct gputrace_program *program)
{
	const char *pattern = gputrace_program_get_pattern(program);
	const struct gputrace_kernel *kernel = NULL;
	struct kernels count = { 0 };

	while ((kernel = gputrace_target_next_kernel(run->tool.target, kernel))) {
		if (!gputrace_kernel_name_matches(gputrace_kernel_get_name(kernel), pattern))
			continue;
		count.matching++;
		count.probed += gputrace_kernel_get_route(kernel) != GPUTRACE_ROUTE_NONE;
		count.placed += gputrace_kernel_has_program(kernel, program);
	}
	return count;
}

/* Why it did not run, as far as reasons of kernels do not tell; 1 if no kernel matches. */
static int report_program(const struct run *run, const struct gputrace_program *program, const struct kernels *count)
{
	if (count->probed && !count->placed)
		tool_warn(&run->tool, "program %s (%s) never ran: it is at no place in %s", gputrace_program_get_name(program),
			  gputrace_program_get_section(program),
			  count->matching == 1 ? "the kernel that matches" : "any of the kernels that match");
	/* Without CUDA there is nothing to match, which tool_finish() says. */
	if (count->matching || !gputrace_target_count_agents(run->tool.target))
		return 0;
	tool_warn(&run->tool, "program %s: no kernel matches '%s'", gputrace_program_get_name(program),
		  gputrace_program_get_pattern(program));
	return 1;
}

static int is_asked_for(const struct run *run, const struct gputrace_kernel *kernel)
{
	struct gputrace_program *program = NULL;

	while ((program = gputrace_object_next_program(run->object, program))) {
		const char *pattern = gputrace_program_get_pattern(program);

		if (pattern && gputrace_kernel_name_matches(gputrace_kernel_get_name(kernel), pattern))
			return 1;
	}
	return 0;
}

/* Why kernels lack programs. */
struct lacks {
	struct lack {
		const struct gputrace_kernel *kernel;	/* the first with this reason */
		unsigned more;
	} list[REASONS_MAX];
	unsigned count, others;
};

static void add_lack(struct lacks *lacks, const struct gputrace_kernel *kernel)
{
	const char *reason = gputrace_kernel_get_reason(kernel);
	unsigned i = 0;

	while (i < lacks->count && strcmp(gputrace_kernel_get_reason(lacks->list[i].kernel), reason))
		i++;
	if (i < lacks->count)
		lacks->list[i].more++;
	else if (i < REASONS_MAX)
		lacks->list[lacks->count++].kernel = kernel;
	else
		lacks->others++;
}

static void report_lack(const struct run *run, const char *what, const struct lack *lack)
{
	char more[48] = "";

	if (lack->more)
		snprintf(more, sizeof(more), " and %u more", lack->more);
	tool_warn(&run->tool, "%s kernel %s%s: %s", what, tool_printable(gputrace_kernel_get_display_name(lack->kernel)), more,
		  tool_printable(gputrace_kernel_get_reason(lack->kernel)));
}

/* Kernels that should have programs and lack them (not in), or some of them (not all in). */
static void report_kernels(const struct run *run, const char *what, int partly)
{
	const struct gputrace_kernel *kernel = NULL;
	struct lacks lacks = { 0 };

	while ((kernel = gputrace_target_next_kernel(run->tool.target, kernel))) {
		if (gputrace_kernel_get_reason(kernel) && is_asked_for(run, kernel) &&
		    (gputrace_kernel_get_route(kernel) != GPUTRACE_ROUTE_NONE) == partly)
			add_lack(&lacks, kernel);
	}
	for (unsigned i = 0; i < lacks.count; i++)
		report_lack(run, what, &lacks.list[i]);
	if (lacks.others)
		tool_warn(&run->tool, "%s %u more %s", what, lacks.others, lacks.others == 1 ? "kernel" : "kernels");
}

static void list_kernels(const struct run *run)
{
	const struct gputrace_kernel *kernel = NULL;

	while ((kernel = gputrace_target_next_kernel(run->tool.target, kernel)))
		fprintf(stderr, "  %s\n", tool_printable(gputrace_kernel_get_display_name(kernel)));
}

/* Say which programs had no kernel, or no place in one, to run in; 1 if any program was attached to something. */
static int report_programs(struct run *run)
{
	struct gputrace_program *program = NULL;
	int attached = 0, unmatched = 0;
	struct kernels count;

	while ((program = gputrace_object_next_program(run->object, program))) {
		if (!gputrace_program_get_pattern(program)) {
			attached = 1;	/* a kernel-side program: it is attached, or we would not be here */
			continue;
		}
		count = count_kernels(run, program);
		attached |= count.probed != 0;
		unmatched |= report_program(run, program, &count);
	}
	if (unmatched && gputrace_target_next_kernel(run->tool.target, NULL)) {
		tool_warn(&run->tool, "the kernels of this command are:");
		list_kernels(run);
	}
	return attached;
}

static void print_maps(struct run *run)
{
	struct gputrace_map *map = NULL;

	if (gputrace_object_refresh_maps(run->object, 5000))
		tool_warn(&run->tool, "%s", gputrace_last_error());
	while ((map = gputrace_object_next_map(run->object, map)))
		print_map(map, run->all);
}

/* Whose numbers programs saw. */
static void print_kernels(const struct run *run)
{
	const struct gputrace_kernel *kernel = NULL;

	puts("kernels:");
	while ((kernel = gputrace_target_next_kernel(run->tool.target, kernel)))
		printf("  [%u] %s (process %d)\n", (unsigned)gputrace_kernel_get_id(kernel),
		       tool_printable(gputrace_kernel_get_display_name(kernel)), gputrace_kernel_get_pid(kernel));
}

/* Options up to the next other word, or to "--". */
static void parse_options(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "kernels", no_argument, NULL, 'k' },
		TOOL_LONG_OPTIONS,
		{ 0 }
	};
	int option;

	while ((option = getopt_long(argc, argv, "+ak" TOOL_SHORT_OPTIONS, options, NULL)) != -1) {
		if (option == 'a')
			run->all = 1;
		else if (option == 'k')
			run->kernels = 1;
		else
			tool_option(&run->tool, option, optarg);
	}
}

/* The object, then the command; options may stand before each, up to "--". */
static char **parse(struct run *run, int argc, char **argv, const char **ret_object)
{
	int ended;

	parse_options(run, argc, argv);
	ended = !strcmp(argv[optind - 1], "--");
	*ret_object = argv[optind];
	if (!*ret_object)
		return argv + optind;
	optind++;
	if (!ended)
		parse_options(run, argc, argv);
	return argv + optind;
}

int main(int argc, char **argv)
{
	struct run run = { .tool = { .name = "gputrace-run", .usage = usage } };
	struct gputrace_link *link = NULL;
	const char *object;
	char **words = parse(&run, argc, argv, &object);
	int attached;

	if (!object) {
		tool_warn(&run.tool, "no BPF object file given");
		tool_usage(&run.tool);
	}
	tool_open(&run.tool);
	if (gputrace_object_open_file(run.tool.ctx, object, &run.object))
		tool_fail(&run.tool, "%s", gputrace_last_error());
	tool_spawn(&run.tool, words);
	if (gputrace_attach_object(run.tool.target, run.object, &link))
		tool_fail(&run.tool, "%s", gputrace_last_error());

	tool_follow(&run.tool, handle, &run);

	print_maps(&run);
	if (run.kernels)
		print_kernels(&run);
	report_kernels(&run, "not in", 0);
	report_kernels(&run, "not all in", 1);
	attached = report_programs(&run);
	gputrace_link_unref(link);
	gputrace_object_unref(run.object);
	return tool_finish(&run.tool, attached);
}
