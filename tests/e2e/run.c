/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define ARGS_MAX 16
#define RUN_LINKS 6

bool run_wants_real_device(void)
{
	const char *device = getenv("GPUTRACE_TEST_DEVICE");

	return device && !strcmp(device, "gpu");
}

static void gather_arguments(const char **argv, va_list args)
{
	int n = 1;

	argv[0] = TARGET_PATH;
	while (n < ARGS_MAX && (argv[n] = va_arg(args, const char *)))
		n++;
	argv[n] = NULL;
}

/* Send our stdout, and with it that of children, to a file; the old one, for later. */
static int redirect(FILE *file)
{
	int saved = dup(STDOUT_FILENO);

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	return saved;
}

static void restore(int saved, FILE *file, struct run *run)
{
	size_t n;

	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	rewind(file);
	n = fread(run->output, 1, sizeof(run->output) - 1, file);
	run->output[n] = 0;
	fclose(file);
}

static void copy_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text ? text : "");
}

static void keep(struct run_event *kept, unsigned index, const struct gputrace_event *event)
{
	struct run_event *k = &kept[index];
	const uint64_t *stack;

	if (index >= RUN_KEPT)
		return;
	copy_text(k->domain, sizeof(k->domain), gputrace_event_get_domain(event));
	copy_text(k->text, sizeof(k->text), gputrace_event_get_text(event));
	k->range_id = gputrace_event_get_range_id(event);
	k->external_id = gputrace_event_get_external_id(event);
	copy_text(k->name, sizeof(k->name), gputrace_event_get_name(event));
	k->time = gputrace_event_get_time(event);
	k->end = gputrace_event_get_end(event);
	k->error = gputrace_event_get_time_error(event);
	k->launch_id = gputrace_event_get_launch_id(event);
	k->stream = gputrace_event_get_stream(event);
	k->bytes = gputrace_event_get_copy_bytes(event);
	k->copy_kind = gputrace_event_get_copy_kind(event);
	k->gpu_start = gputrace_event_get_gpu_start(event);
	k->gpu_end = gputrace_event_get_gpu_end(event);
	k->context = gputrace_event_get_context(event);
	k->tid = gputrace_event_get_tid(event);
	k->pid = gputrace_event_get_pid(event);
	memcpy(k->grid, gputrace_event_get_grid(event), sizeof(k->grid));
	memcpy(k->block, gputrace_event_get_block(event), sizeof(k->block));
	memcpy(k->args, gputrace_event_get_args(event, &k->arg_count), sizeof(k->args));
	k->result = gputrace_event_get_result(event);
	stack = gputrace_event_get_stack(event, &k->stack_count);
	if (stack)
		memcpy(k->stack, stack, k->stack_count * sizeof(*stack));
}

static void take(struct run *run, const struct gputrace_event *event)
{
	int type = gputrace_event_get_type(event);
	unsigned index = run->events[type]++;
	size_t size;

	switch (type) {
	case GPUTRACE_EVENT_KERNEL:
		keep(run->kernels, index, event);
		break;
	case GPUTRACE_EVENT_LAUNCH:
		keep(run->launches, index, event);
		break;
	case GPUTRACE_EVENT_API:
		keep(run->calls, index, event);
		break;
	case GPUTRACE_EVENT_COPY:
		keep(run->copies, index, event);
		break;
	case GPUTRACE_EVENT_RANGE:
		keep(run->ranges, index, event);
		run->open_ranges += gputrace_event_get_text(event) != NULL;
		break;
	case GPUTRACE_EVENT_MARK:
	case GPUTRACE_EVENT_THREAD:
		if (run->mark_count < sizeof(run->marks) / sizeof(run->marks[0]))
			keep(run->marks, run->mark_count++, event);
		break;
	case GPUTRACE_EVENT_DATA:
		gputrace_event_get_data(event, &size);
		run->data_bytes += size;
		break;
	case GPUTRACE_EVENT_LOST:
		run->lost += gputrace_event_get_count(event);
		if (!strcmp(gputrace_event_get_name(event), "kernel ring of calls"))
			run->lost_calls += gputrace_event_get_count(event);
		if (!strcmp(gputrace_event_get_name(event), "the ring of kernels and printed text"))
			run->lost_kernels += gputrace_event_get_count(event);
		if (!strcmp(gputrace_event_get_name(event), "ring of a thread"))
			run->lost_of_threads += gputrace_event_get_count(event);
		break;
	case GPUTRACE_EVENT_NOTE:
		strncat(run->notes, gputrace_event_get_text(event),
			sizeof(run->notes) - strlen(run->notes) - 1);
		break;
	}
}

static void detach_all(struct run *run, struct gputrace_link *const *links, const struct run_options *options)
{
	for (int i = 0; i < RUN_LINKS; i++) {
		if (links[i])
			ck_assert_int_eq(gputrace_link_detach(links[i]), 0);
	}
	if (options->detached)
		options->detached(run);
}

static void follow(struct run *run, struct gputrace_reader *reader, struct gputrace_link *const *links,
		   const struct run_options *options)
{
	const struct gputrace_event *event;
	uint64_t last = 0, last_end = 0;
	int r;

	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(reader))) {
			uint64_t end = gputrace_event_get_end(event);
			uint64_t error = gputrace_event_get_time_error(event);
			const char *name = gputrace_event_get_name(event);

			/* Certainly out of order: earlier than another even at the ends of both errors. */
			run->disorder += error < UINT64_MAX - end && end + error < last;
			if (error < end && end - error > last)
				last = end - error;
			ck_assert_uint_eq(gputrace_event_get_lateness(event), last_end > end ? last_end - end : 0);
			if (end > last_end)
				last_end = end;
			take(run, event);
			if (run->watch)
				run->watch(run, event);
			if (options->detach_at && name && gputrace_event_get_type(event) == GPUTRACE_EVENT_KERNEL &&
			    !strcmp(name, options->detach_at))
				detach_all(run, links, options);
		}
	}
	ck_assert_msg(r == -ENODATA, "the program does not end (%d)", r);
}

static void attach_api(struct run *run, const struct run_options *options, struct gputrace_link **links)
{
	static const uint32_t uprobes[] = { GPUTRACE_API_UPROBES, 0 };

	for (const uint32_t *flags = options->api_flags ? options->api_flags : uprobes; *flags; flags++) {
		struct gputrace_api_opts opts = {
			.size = sizeof(opts),
			.flags = *flags == RUN_API_ANY ? 0 : *flags,
			.ring_bytes = options->api_ring_bytes,
			.stack_frames = options->stack_frames,
		};
		int r = gputrace_attach_api(run->target, &opts, links++);

		ck_assert_msg(!r, "api: %s", gputrace_last_error());
	}
}

void run_target(struct run *run, const struct run_options *options, ...)
{
	const char *argv[ARGS_MAX + 1];
	struct gputrace_spawn_opts spawn = {
		.size = sizeof(spawn),
		.device = options->real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
		.gpu_ring_bytes = options->gpu_ring_bytes,
		.agent_ring_bytes = options->agent_ring_bytes,
	};
	/*
	 * The stream is in order as far as records are written within the window, for which on a busy
	 * host a thread may have to wait: so at the end.  Where the run itself hangs on events, they come at once.
	 */
	struct gputrace_reader_opts reading = {
		.size = sizeof(reading),
		.window_ns = options->detach_at || run->watch ? 0 : PATIENCE_MS * 1000000ull,
	};
	struct gputrace_link *links[RUN_LINKS] = { NULL };
	struct gputrace_reader *reader;
	FILE *file = tmpfile();
	va_list args;
	int saved, r;

	va_start(args, options);
	gather_arguments(argv, args);
	va_end(args);
	saved = redirect(file);
	r = gputrace_target_spawn(NULL, (char *const *)argv, &spawn, &run->target);
	ck_assert_msg(!r, "spawn: %s", gputrace_last_error());
	if (options->timeline) {
		r = gputrace_attach_timeline(run->target, &links[0]);
		ck_assert_msg(!r, "timeline: %s", gputrace_last_error());
	}
	if (options->nvtx) {
		r = gputrace_attach_nvtx(run->target, &links[RUN_LINKS - 1]);
		ck_assert_msg(!r, "nvtx: %s", gputrace_last_error());
	}
	if (options->copies) {
		r = gputrace_attach_copies(run->target, &links[RUN_LINKS - 2]);
		ck_assert_msg(!r, "copies: %s", gputrace_last_error());
	}
	if (options->object) {
		r = gputrace_object_open_file(NULL, options->object, &run->object);
		ck_assert_msg(!r, "%s: %s", options->object, gputrace_last_error());
		if (options->opened)
			options->opened(run);
		r = options->attach ? 0 : gputrace_attach_object(run->target, run->object, &links[1]);
		ck_assert_msg(!r, "attach: %s", gputrace_last_error());
		if (options->attach)
			options->attach(run);
		if (options->attached)
			options->attached(run);
	}
	if (options->api)
		attach_api(run, options, &links[2]);
	ck_assert_int_eq(gputrace_reader_new(run->target, &reading, &reader), 0);
	r = gputrace_target_resume(run->target);
	ck_assert_msg(!r, "resume: %s", gputrace_last_error());
	follow(run, reader, links, options);
	ck_assert_uint_eq(run->lost, gputrace_reader_get_lost(reader));
	restore(saved, file, run);
	ck_assert_int_eq(gputrace_target_has_exited(run->target, &run->status), 1);
	gputrace_reader_unref(reader);
	for (int i = 0; i < RUN_LINKS; i++)
		gputrace_link_unref(links[i]);
}

void run_plain(struct run *run, bool real_device, ...)
{
	const char *argv[ARGS_MAX + 1];
	FILE *file = tmpfile();
	va_list args;
	int saved;
	pid_t pid;

	va_start(args, real_device);
	gather_arguments(argv, args);
	va_end(args);
	saved = redirect(file);
	pid = fork();
	if (!pid) {
		if (!real_device)
			setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, &run->status, 0), pid);
	restore(saved, file, run);
}

void run_free(struct run *run)
{
	gputrace_target_unref(run->target);
	gputrace_object_unref(run->object);
	memset(run, 0, sizeof(*run));
}

void run_watch_late(struct run *run, const struct gputrace_event *event)
{
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_LAUNCH || run->events[GPUTRACE_EVENT_LAUNCH] != 1)
		return;
	while (!gputrace_target_has_exited(run->target, NULL))
		usleep(1000);
}

uint64_t run_map_value(struct run *run, const char *name, int instance, uint32_t index)
{
	struct gputrace_map *map = gputrace_object_find_map(run->object, name);
	uint64_t value;
	int r;

	ck_assert_ptr_nonnull(map);
	r = gputrace_map_lookup(map, instance, &index, sizeof(index), &value, sizeof(value));
	ck_assert_msg(!r, "lookup in %s: %s", name, gputrace_last_error());
	return value;
}
