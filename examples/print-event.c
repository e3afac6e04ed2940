/* SPDX-License-Identifier: Apache-2.0 */
#include "print-event.h"

#include <inttypes.h>

#include "tools-common.h"

static void print_call_args(const struct gputrace_event *event)
{
	unsigned n;
	const uint64_t *args = gputrace_event_get_args(event, &n);

	for (unsigned i = 0; i < n; i++) {
		const char *name = gputrace_event_get_arg_name(event, i);

		/* Addresses and handles are large, sizes and counts mostly are not. */
		printf(args[i] < UINT64_C(1) << 32 ? " %s=%" PRIu64 : " %s=0x%" PRIx64, name ? name : "?", args[i]);
	}
	if (gputrace_event_get_result(event))
		printf(" -> error %d", gputrace_event_get_result(event));
}

/* Of a function of which only the name is known. */
static void print_registers(const struct gputrace_event *event)
{
	unsigned n;
	const uint64_t *args = gputrace_event_get_args(event, &n);

	for (unsigned i = 0; i < n; i++)
		printf("%s%#" PRIx64, i ? ", " : " (", args[i]);
	printf(") = %#" PRIx64, gputrace_event_get_return_value(event));
}

static void print_kernel_args(const struct gputrace_event *event)
{
	const uint32_t *grid = gputrace_event_get_grid(event), *block = gputrace_event_get_block(event);

	if (grid && block)
		printf(" <<<(%u,%u,%u), (%u,%u,%u), %u>>>", grid[0], grid[1], grid[2],
		       block[0], block[1], block[2], gputrace_event_get_shared_bytes(event));
	printf(" launch=%" PRIu64 " device=%d stream=%" PRIu64, gputrace_event_get_launch_id(event),
	       gputrace_event_get_device(event), gputrace_event_get_stream(event));
	if (gputrace_event_get_time_error(event) == UINT64_MAX)
		printf(" error=unknown");
	else if (gputrace_event_get_time_error(event))
		printf(" error=%" PRIu64 "ns", gputrace_event_get_time_error(event));
	if (gputrace_event_get_type(event) == GPUTRACE_EVENT_LAUNCH && gputrace_event_get_result(event))
		printf(" -> error %d", gputrace_event_get_result(event));
}

static void print_copy(const struct gputrace_event *event)
{
	printf(" %" PRIu64 " bytes launch=%" PRIu64 " device=%d stream=%" PRIu64, gputrace_event_get_copy_bytes(event),
	       gputrace_event_get_launch_id(event), gputrace_event_get_device(event), gputrace_event_get_stream(event));
	if (gputrace_event_get_text(event))
		printf(" (%s)", gputrace_event_get_text(event));
	else
		printf(" error=%" PRIu64 "ns", gputrace_event_get_time_error(event));
}

static void print_metric(const struct gputrace_event *event)
{
	const struct gputrace_gpu *gpu = gputrace_event_get_gpu(event);

	/* All digits of a number of bytes. */
	printf(" %.15g %s", gputrace_event_get_metric_value(event), tool_printable(gputrace_event_get_unit(event)));
	if (gpu)
		printf(" gpu=%" PRIu32, gputrace_gpu_get_index(gpu));
	if (gputrace_event_get_text(event))
		printf(" (%s)", tool_printable(gputrace_event_get_text(event)));
}

static void print_ids(const struct gputrace_event *event)
{
	if (gputrace_event_get_range_id(event))
		printf(" range=%" PRIu64, gputrace_event_get_range_id(event));
	if (gputrace_event_get_external_id(event))
		printf(" external=%" PRIu64, gputrace_event_get_external_id(event));
}

static void print_range(const struct gputrace_event *event)
{
	print_ids(event);
	if (gputrace_event_get_domain(event)[0])
		printf(" domain=%s", tool_printable(gputrace_event_get_domain(event)));
	if (gputrace_event_get_text(event))
		printf(" (%s)", gputrace_event_get_text(event));
}

static void print_details(const struct gputrace_event *event)
{
	size_t size;

	switch (gputrace_event_get_type(event)) {
	case GPUTRACE_EVENT_CONTEXT:
		printf(" (clock: %s)", tool_printable(gputrace_event_get_text(event)));
		break;
	case GPUTRACE_EVENT_API:
		print_call_args(event);
		print_ids(event);
		break;
	case GPUTRACE_EVENT_CALL:
		print_registers(event);
		break;
	case GPUTRACE_EVENT_LAUNCH:
	case GPUTRACE_EVENT_KERNEL:
		print_kernel_args(event);
		print_ids(event);
		break;
	case GPUTRACE_EVENT_COPY:
		print_copy(event);
		print_ids(event);
		break;
	case GPUTRACE_EVENT_METRIC:
		print_metric(event);
		break;
	case GPUTRACE_EVENT_RANGE:
	case GPUTRACE_EVENT_MARK:
		print_range(event);
		break;
	case GPUTRACE_EVENT_DATA:
		gputrace_event_get_data(event, &size);
		printf(" %zu bytes", size);
		break;
	case GPUTRACE_EVENT_LOST:
		printf(" %" PRIu64 " records", gputrace_event_get_count(event));
		break;
	default:
		if (gputrace_event_get_text(event))
			printf("%s%s", gputrace_event_get_name(event) ? " " : "",
			       tool_printable(gputrace_event_get_text(event)));
	}
}

static void print_frame(const struct gputrace_frame *frame)
{
	const char *name = gputrace_frame_get_name(frame), *module = gputrace_frame_get_module(frame);
	const char *file = gputrace_frame_get_file(frame);

	printf("%54s", "");
	if (name)
		printf("%s", tool_printable(name));
	else
		printf("%#" PRIx64, gputrace_frame_get_address(frame));
	if (file)
		printf(" at %s:%" PRIu32, tool_printable(file), gputrace_frame_get_line(frame));
	else if (module)
		printf(" in %s+%#" PRIx64, tool_printable(module), gputrace_frame_get_offset(frame));
	if (gputrace_frame_get_caller(frame))
		printf(" (inlined)");
	if (!name)
		printf(" (%s)", gputrace_frame_get_reason(frame));
	putchar('\n');
}

static void print_stack(const struct print *print, const struct gputrace_event *event)
{
	static const char *const ends[] = {
		[GPUTRACE_STACK_FULL] = "[cut off] (there are more callers than frames were asked for)",
		[GPUTRACE_STACK_CUT] = "[cut off] (the stack goes on behind the bytes that were copied)",
		[GPUTRACE_STACK_LOST] = "[unknown] (what called this function could not be found)",
	};
	const struct gputrace_frame *frame;
	unsigned count;
	const uint64_t *stack = gputrace_event_get_stack(event, &count);
	int known = 0;

	for (unsigned i = 0; print->symbolizer && i < count; i++) {
		/* Within the call instruction; the address itself is behind it. */
		if (gputrace_symbolizer_resolve(print->symbolizer, gputrace_event_get_pid(event),
						gputrace_event_get_time(event), stack[i] - 1, &frame))
			continue;
		/* A function without a frame pointer had its register for something else: all from here on is chance. */
		if (known && !gputrace_frame_get_module(frame)) {
			printf("%54s[unknown] (a function without a frame pointer is in the way)\n", "");
			return;
		}
		known = gputrace_frame_get_module(frame) != NULL;
		for (; frame; frame = gputrace_frame_get_caller(frame))
			print_frame(frame);
	}
	if (count && ends[gputrace_event_get_stack_end(event)])
		printf("%54s%s\n", "", ends[gputrace_event_get_stack_end(event)]);
}

void print_event(struct print *print, const struct gputrace_event *event)
{
	static const char *const kinds[] = {
		"?", "process", "exit", "context", "api", "launch", "kernel", "data", "print", "function",
		"lost", "note", "call", "range", "mark", "thread", "copy", "metric"
	};
	unsigned type = (unsigned)gputrace_event_get_type(event);
	uint64_t time = gputrace_event_get_time(event), end = gputrace_event_get_end(event);

	if (!print->origin) {
		print->origin = time;
		printf("%14s %12s %-8s %15s  %s\n", "TIME us", "DURATION us", "KIND", "PROCESS/THREAD", "WHAT");
	}
	/* The stream is in order of ends, so what began earlier can come later. */
	if (time >= print->origin)
		tool_print_us(stdout, 14, time - print->origin);
	else
		printf("%14s", "(before)");
	putchar(' ');
	if (end > time)
		tool_print_us(stdout, 12, end - time);
	else
		printf("%12s", "-");
	printf(" %-8s %7d/%-7d  %s", type < sizeof(kinds) / sizeof(kinds[0]) ? kinds[type] : "?",
	       gputrace_event_get_pid(event), gputrace_event_get_tid(event),
	       tool_printable(gputrace_event_get_name(event)));
	print_details(event);
	putchar('\n');
	print_stack(print, event);
}
