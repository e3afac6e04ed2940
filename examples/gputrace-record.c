/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gputrace-record: run a CUDA program and record what its processes called and
 * what the GPU did, on one clock; printed, or as a trace file for Perfetto.
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-table.h"
#include "print-event.h"
#include "tools-common.h"

static const char usage[] =
	"Usage: gputrace-record [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	"       gputrace-record [OPTION]... -p PID\n"
	"       gputrace-record [OPTION]... --all\n"
	"       gputrace-record [OPTION]... --follow=PATH\n"
	"Run a CUDA program and print the driver calls it makes and the kernels that run\n"
	"on the GPU, in order of their ends (times are microseconds of CLOCK_MONOTONIC).\n"
	"\n"
	"  -o, --output=FILE write a trace in Chrome's JSON format instead of printing;\n"
	"                    open it at https://ui.perfetto.dev; FILE.folded gets folded\n"
	"                    stacks for flamegraph.pl, and means --stacks; FILE.json.gz\n"
	"                    and FILE.folded.gz are compressed\n"
	"  --table           print what kernels and copies took in all, by their names,\n"
	"                    instead of each event; with -o beside the file\n"
	"  --stacks[=N]      take stacks of at most N (127) frames with calls\n"
	"  --unwind[=BYTES]  find the callers also in code without frame pointers, in a copy\n"
	"                    of at most BYTES (16384) of the stack; means --stacks=1024\n"
	"  --functions=LIBRARY:PATTERN\n"
	"                    record calls of other functions too, as libnccl.so.2:nccl*;\n"
	"                    can be given several times\n"
	"  --api=WAY         record driver calls by 'uprobes' or by the 'agent'; 'any', the\n"
	"                    default: by uprobes where they are permitted\n"
	"  --no-api          do not record driver calls\n"
	"  --memcpy          record when copies and memsets run on the GPU, too\n"
	"  --metrics[=MS]    sample metrics of the GPUs (utilization, memory, power, clocks, ...)\n"
	"                    each MS milliseconds (100)\n"
	"  --all             record driver calls of all programs, those that run and those\n"
	"                    started later, but no kernels, until Ctrl-C or SIGTERM\n"
	"  --publish=PATH    let others read along at this path\n"
	"  --follow=PATH     read along what another gputrace-record publishes there\n"
	TOOL_OPTIONS_HELP;

/* The most that the library takes, by frame pointers and by unwinding a copy. */
#define STACK_FRAMES 127
#define UNWIND_FRAMES 1024
#define UNWIND_BYTES "16384"
#define UNWIND_BYTES_MAX 61440
#define METRICS_MS_MAX 60000

/* Kernels without times that are named one by one. */
#define NAMED_MAX 10u

#define FUNCTIONS_MAX 16u

/* The timeline, the ranges, copies, the driver's calls, and those of other functions. */
#define LINKS (4 + FUNCTIONS_MAX)

struct record {
	struct tool tool;
	struct gputrace_writer *writer;
	const char *output;
	uint32_t api_flags, stack_frames, stack_bytes, metrics_ms;
	const char *functions[FUNCTIONS_MAX], *publish;
	unsigned functions_count;
	struct gputrace_symbolizer *symbolizer;
	int no_api, memcpy, tabular, metrics;
	int write_failed;
	uint64_t launches, kernels, copies, calls, others, values, lost, unended, max_error;
	struct print print;
	struct kernel_table table;
};

static void count(struct record *record, const struct gputrace_event *event)
{
	uint64_t error = gputrace_event_get_time_error(event);

	switch (gputrace_event_get_type(event)) {
	case GPUTRACE_EVENT_API:
		record->calls++;
		break;
	case GPUTRACE_EVENT_CALL:
		record->others++;
		break;
	case GPUTRACE_EVENT_LAUNCH:
		record->launches++;
		break;
	case GPUTRACE_EVENT_KERNEL:
		record->kernels++;
		record->max_error = error > record->max_error ? error : record->max_error;
		break;
	case GPUTRACE_EVENT_COPY:
		record->copies++;
		record->max_error = error > record->max_error ? error : record->max_error;
		break;
	case GPUTRACE_EVENT_METRIC:
		record->values++;
		break;
	case GPUTRACE_EVENT_EXIT:
		record->unended += gputrace_event_get_count(event);
		break;
	case GPUTRACE_EVENT_LOST:
		record->lost += gputrace_event_get_count(event);
		break;
	}
}

static void handle(const struct gputrace_event *event, void *data)
{
	struct record *record = data;

	count(record, event);
	if (record->tabular && kernel_table_add(&record->table, event))
		tool_fail(&record->tool, "out of memory");
	if (record->writer) {
		if (!record->write_failed && gputrace_writer_add(record->writer, event)) {
			record->write_failed = 1;
			tool_warn(&record->tool, "%s", gputrace_last_error());
		}
	} else if (!record->tool.quiet && !record->tabular) {
		print_event(&record->print, event);
	}
	if ((record->writer || record->tabular) && gputrace_event_get_type(event) == GPUTRACE_EVENT_NOTE && !record->tool.quiet)
		tool_warn(&record->tool, "%s", tool_printable(gputrace_event_get_text(event)));
}

static void close_output(struct record *record)
{
	if (!record->writer)
		return;
	if (gputrace_writer_close(record->writer) && !record->write_failed) {
		record->write_failed = 1;
		tool_warn(&record->tool, "%s", gputrace_last_error());
	}
}

static void report_output(const struct record *record)
{
	if (record->output && !record->write_failed)
		fprintf(stderr, "%s: wrote %s\n", record->tool.name, record->output);
}

static void summarise(const struct record *record)
{
	fflush(stdout);
	if (record->tool.all) {
		fprintf(stderr, "%s: %" PRIu64 " driver calls, ", record->tool.name, record->calls);
		if (record->metrics)
			fprintf(stderr, "%" PRIu64 " values of metrics, ", record->values);
		fprintf(stderr, "%" PRIu64 " lost\n", record->lost);
		report_output(record);
		return;
	}
	fprintf(stderr, "%s: %" PRIu64 " launches, %" PRIu64 " kernels on the GPU, ", record->tool.name, record->launches,
		record->kernels);
	if (record->copies)
		fprintf(stderr, "%" PRIu64 " copies, ", record->copies);
	if (record->values)
		fprintf(stderr, "%" PRIu64 " values of metrics, ", record->values);
	fprintf(stderr, "%" PRIu64 " driver calls, %" PRIu64 " lost", record->calls, record->lost);
	if (record->max_error == UINT64_MAX) {
		fprintf(stderr, ", clock error not known for some kernels or copies");
	} else if (record->kernels || record->copies) {
		fprintf(stderr, ", clock error at most ");
		tool_print_us(stderr, 0, record->max_error);
		fprintf(stderr, " us");
	}
	fputc('\n', stderr);
	if (record->unended)
		fprintf(stderr, "%s: %" PRIu64 " kernels were not seen to end: they failed or were still running\n",
			record->tool.name, record->unended);
	report_output(record);
}

/* Launched, but not on the timeline: which kernels, and why. */
static void report_untimed(const struct record *record)
{
	const struct gputrace_kernel *kernel = NULL;
	unsigned count = 0;

	while ((kernel = gputrace_reader_next_kernel(record->tool.reader, kernel))) {
		if (gputrace_kernel_get_route(kernel) != GPUTRACE_ROUTE_NONE || !gputrace_kernel_get_launches(kernel))
			continue;
		if (++count <= NAMED_MAX)
			tool_warn(&record->tool, "no times of kernel %s: %s",
				  tool_printable(gputrace_kernel_get_display_name(kernel)),
				  tool_printable(gputrace_kernel_get_reason(kernel)));
	}
	if (count > NAMED_MAX)
		tool_warn(&record->tool, "nor of %u more; gputrace-kernels lists them", count - NAMED_MAX);
}

/* Of kernels on the timeline: launches that are not. */
static void report_plain_launches(const struct record *record)
{
	const struct gputrace_kernel *kernel = NULL;
	uint64_t count = 0;

	while ((kernel = gputrace_reader_next_kernel(record->tool.reader, kernel)))
		count += gputrace_kernel_get_plain_launches(kernel);
	if (count)
		tool_warn(&record->tool, "no times of %" PRIu64 " launches that ran without programs: before these were on or "
			  "when they were off again, or where the kernel could not be launched with them", count);
}

static void set_api(struct record *record, const char *way)
{
	if (!strcmp(way, "uprobes"))
		record->api_flags = GPUTRACE_API_UPROBES;
	else if (!strcmp(way, "agent"))
		record->api_flags = GPUTRACE_API_AGENT;
	else if (!strcmp(way, "any"))
		record->api_flags = 0;
	else
		tool_fail(&record->tool, "--api is 'any', 'uprobes' or 'agent', not '%s'", way);
}

static int is_folded(const struct record *record)
{
	return record->output && (!fnmatch("*.folded", record->output, 0) || !fnmatch("*.folded.gz", record->output, 0));
}

static uint32_t number_of(struct record *record, const char *option, const char *text, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (n < 1 || n > max || *end)
		tool_fail(&record->tool, "%s is a number from 1 to %lu, not '%s'", option, max, text);
	return (uint32_t)n;
}

static void set_metrics(struct record *record, const char *period)
{
	record->metrics = 1;
	if (period)
		record->metrics_ms = number_of(record, "--metrics", period, METRICS_MS_MAX);
}

/* Which of both options is given first does not matter. */
static void set_stacks(struct record *record, const char *frames, const char *bytes)
{
	uint32_t most = bytes ? UNWIND_FRAMES : STACK_FRAMES;

	/* The library wants whole words. */
	if (bytes)
		record->stack_bytes = (number_of(record, "--unwind", bytes, UNWIND_BYTES_MAX) + 7) & ~7u;
	record->stack_frames = frames && *frames ? number_of(record, "--stacks", frames, most) :
			       frames || bytes || is_folded(record) ? most : 0;
}

static void add_functions(struct record *record, const char *functions)
{
	if (record->functions_count == FUNCTIONS_MAX)
		tool_fail(&record->tool, "--functions can be given %u times at most", FUNCTIONS_MAX);
	record->functions[record->functions_count++] = functions;
}

/* What would do nothing is a mistake. */
static void check(struct record *record)
{
	if (record->output && !strcmp(record->output, "-"))
		tool_fail(&record->tool, "--output is a file, not '-': without it events are printed");
	if (record->tool.follow &&
	    (record->no_api || record->api_flags || record->functions_count || record->memcpy || record->metrics))
		tool_fail(&record->tool, "--follow takes what the other records: give --api, --no-api, --functions, --memcpy and --metrics there");
	if (record->tool.all && (record->memcpy || record->tabular))
		tool_fail(&record->tool, "--all records driver calls, and nothing that the GPU does: %s goes with a command or -p",
			  record->memcpy ? "--memcpy" : "--table");
	if (record->tool.follow && record->publish)
		tool_fail(&record->tool, "--follow and --publish do not go together: others can follow the same path");
	if (record->no_api && record->api_flags)
		tool_fail(&record->tool, "--api and --no-api do not go together");
	if (record->api_flags == GPUTRACE_API_AGENT && record->tool.all)
		tool_fail(&record->tool, "--api=agent goes with a command or -p: with --all no agent gets into the programs");
	if (record->no_api && record->tool.all && !record->functions_count && !record->metrics)
		tool_fail(&record->tool, "--all records calls, and --no-api none: give --functions or --metrics");
}

static char **parse(struct record *record, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "api", required_argument, NULL, 'a' },
		{ "no-api", no_argument, NULL, 'N' },
		{ "memcpy", no_argument, NULL, 'M' },
		{ "metrics", optional_argument, NULL, 'm' },
		{ "all", no_argument, NULL, 'L' },
		{ "publish", required_argument, NULL, 'P' },
		{ "follow", required_argument, NULL, 'F' },
		{ "table", no_argument, NULL, 'T' },
		{ "stacks", optional_argument, NULL, 's' },
		{ "unwind", optional_argument, NULL, 'u' },
		{ "functions", required_argument, NULL, 'f' },
		TOOL_LONG_OPTIONS,
		{ 0 }
	};
	const char *frames = NULL, *bytes = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "+o:" TOOL_SHORT_OPTIONS, options, NULL)) != -1) {
		if (option == 'o')
			record->output = optarg;
		else if (option == 'a')
			set_api(record, optarg);
		else if (option == 'N')
			record->no_api = 1;
		else if (option == 'M')
			record->memcpy = 1;
		else if (option == 'm')
			set_metrics(record, optarg);
		else if (option == 'T')
			record->tabular = 1;
		else if (option == 'L')
			record->tool.all = 1;
		else if (option == 'P')
			record->publish = optarg;
		else if (option == 'F')
			record->tool.follow = optarg;
		else if (option == 's')
			frames = optarg ? optarg : "";
		else if (option == 'u')
			bytes = optarg ? optarg : UNWIND_BYTES;
		else if (option == 'f')
			add_functions(record, optarg);
		else
			tool_option(&record->tool, option, optarg);
	}
	set_stacks(record, frames, bytes);
	if (record->no_api && (frames || bytes) && !record->functions_count)
		tool_fail(&record->tool, "--stacks and --unwind are of calls, and --no-api records none");
	check(record);
	return argv + optind;
}

static void attach_functions(struct record *record, const char *functions, struct gputrace_link **link)
{
	struct gputrace_functions_opts opts = { .size = sizeof(opts), .stack_frames = record->stack_frames,
						.stack_bytes = record->stack_bytes };
	const char *colon = strrchr(functions, ':');
	char library[4096];

	if (!colon || colon - functions >= (ptrdiff_t)sizeof(library))
		tool_fail(&record->tool, "--functions is LIBRARY:PATTERN, not '%s'", functions);
	snprintf(library, sizeof(library), "%.*s", (int)(colon - functions), functions);
	if (gputrace_attach_functions(record->tool.target, library, colon + 1, &opts, link))
		tool_fail(&record->tool, "%s", gputrace_last_error());
}

/* Without calls the GPU's side is still recorded, unless they were asked for or there is nothing else. */
static void attach_api(struct record *record, struct gputrace_link **link)
{
	struct gputrace_api_opts opts = { .size = sizeof(opts), .flags = record->api_flags,
					  .stack_frames = record->stack_frames, .stack_bytes = record->stack_bytes };

	if (record->no_api || !gputrace_attach_api(record->tool.target, &opts, link))
		return;
	if (record->api_flags || record->stack_frames || (record->tool.all && !record->functions_count && !record->metrics))
		tool_fail(&record->tool, "%s", gputrace_last_error());
	tool_warn(&record->tool, "without driver calls: %s", gputrace_last_error());
}

static void attach(struct record *record, struct gputrace_link *links[LINKS])
{
	if (!record->tool.all && (gputrace_attach_timeline(record->tool.target, &links[0]) ||
				  gputrace_attach_nvtx(record->tool.target, &links[2])))
		tool_fail(&record->tool, "%s", gputrace_last_error());
	if (record->memcpy && gputrace_attach_copies(record->tool.target, &links[3]))
		tool_fail(&record->tool, "%s", gputrace_last_error());
	attach_api(record, &links[1]);
	for (unsigned i = 0; i < record->functions_count; i++)
		attach_functions(record, record->functions[i], &links[4 + i]);
}

static void add_metrics(struct record *record)
{
	struct gputrace_metrics_opts opts = { .size = sizeof(opts), .period_ms = record->metrics_ms };

	if (record->metrics && gputrace_reader_add_metrics(record->tool.reader, &opts))
		tool_fail(&record->tool, "%s", gputrace_last_error());
}

static void open_output(struct record *record)
{
	int format = is_folded(record) ? GPUTRACE_FORMAT_FOLDED_STACKS : GPUTRACE_FORMAT_CHROME_JSON;

	if (record->stack_frames && gputrace_symbolizer_new(record->tool.ctx, &record->symbolizer))
		tool_fail(&record->tool, "%s", gputrace_last_error());
	gputrace_reader_set_symbolizer(record->tool.reader, record->symbolizer);
	record->print.symbolizer = record->symbolizer;
	if (!record->output)
		return;
	if (gputrace_writer_open(record->tool.ctx, record->output, format, &record->writer))
		tool_fail(&record->tool, "%s", gputrace_last_error());
	gputrace_writer_set_symbolizer(record->writer, record->symbolizer);
}

int main(int argc, char **argv)
{
	struct record record = { .tool = { .name = "gputrace-record", .usage = usage } };
	struct gputrace_link *links[LINKS] = { NULL };
	char **command = parse(&record, argc, argv);

	tool_open(&record.tool);
	tool_spawn(&record.tool, command);
	if (!record.tool.follow)
		attach(&record, links);
	add_metrics(&record);
	open_output(&record);
	if (record.publish && gputrace_reader_publish(record.tool.reader, record.publish, NULL))
		tool_fail(&record.tool, "%s", gputrace_last_error());

	tool_follow(&record.tool, handle, &record);

	close_output(&record);
	if (!record.tool.quiet) {
		if (record.table.count)
			kernel_table_print(&record.table);
		else if (record.tabular)
			tool_warn(&record.tool, "no table: nothing ran on the GPU of which the times are known");
		summarise(&record);
		report_untimed(&record);
		report_plain_launches(&record);
	}
	for (unsigned i = 0; i < LINKS; i++)
		gputrace_link_unref(links[i]);
	gputrace_symbolizer_unref(record.symbolizer);
	kernel_table_clear(&record.table);
	if (record.write_failed)
		record.tool.status = EXIT_TOOL;
	return tool_finish(&record.tool, record.launches || record.kernels || record.copies || record.calls || record.others || record.values);
}
