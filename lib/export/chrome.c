/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/chrome.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/export/arrows.h"
#include "lib/export/json.h"
#include "lib/export/output.h"
#include "lib/export/tracks.h"
#include "lib/reader/event.h"
#include "lib/target/gpu.h"
#include "lib/util/error.h"

/* GPUs are sorted below the processes, by the same number as in Kineto. */
#define GPU_SORT_INDEX 5000000

struct gt_chrome {
	struct gt_output *output;
	struct gt_tracks *tracks;
	struct gt_arrows *arrows;
	const char *separator;		/* before the next element of traceEvents */
};

/* The row in which an element is shown. */
struct place {
	int pid, tid;
};

static int no_memory(void)
{
	return gt_error(-ENOMEM, "out of memory");
}

/* ---- elements of traceEvents ---- */

/* A new element with the members that all have, and an empty object "args". */
static struct json_object *element(const char *phase, const char *category, const char *name,
				   struct place place, uint64_t time)
{
	struct json_object *object = json_object_new_object();

	if (gt_json_set(object, "ph", gt_json_text(phase)) ||
	    (category && gt_json_set(object, "cat", gt_json_text(category))) ||
	    gt_json_set(object, "name", gt_json_text(name)) ||
	    gt_json_set(object, "pid", json_object_new_int(place.pid)) ||
	    gt_json_set(object, "tid", json_object_new_int(place.tid)) ||
	    gt_json_set(object, "ts", gt_json_us(time))) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static struct json_object *slice(const char *category, const char *name, struct place place,
				 uint64_t time, uint64_t end)
{
	struct json_object *object = element("X", category, name, place, time);

	if (gt_json_set(object, "dur", gt_json_us(end > time ? end - time : 0)) ||
	    gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

/* scope: "t" the thread, "p" the process, "g" all. */
static struct json_object *instant(const char *category, const char *name, const char *scope,
				   struct place place, uint64_t time)
{
	struct json_object *object = element("i", category, name, place, time);

	if (gt_json_set(object, "s", gt_json_text(scope)) ||
	    gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static int set_arg(struct json_object *object, const char *key, struct json_object *value)
{
	return gt_json_set(json_object_object_get(object, "args"), key, value);
}

/* Write an element; takes it over.  NULL: it could not be made. */
static int emit(struct gt_chrome *chrome, struct json_object *object)
{
	int error = gt_json_write(chrome->output, chrome->separator, object);

	chrome->separator = ",\n";
	return error;
}

/* As emit(), when making the element ended with `error`. */
static int emit_unless(struct gt_chrome *chrome, int error, struct json_object *object)
{
	if (error) {
		json_object_put(object);
		return error;
	}
	return emit(chrome, object);
}

static struct place host_place(const struct gputrace_event *event)
{
	return (struct place){ event->pid, event->tid ? event->tid : event->pid };
}

/* ---- arrows from launches to kernels ---- */

static struct json_object *arrow_end(const char *phase, uint64_t id, const struct gt_arrow_end *end)
{
	struct json_object *object = element(phase, "ac2g", "ac2g", (struct place){ end->pid, end->tid },
					     end->time);
	int error = gt_json_set(object, "id", json_object_new_uint64(id));

	if (!error && phase[0] == 'f')
		error = gt_json_set(object, "bp", gt_json_text("e"));
	if (error) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

/* Both ends at once, so that no arrow lacks one. */
static int draw(struct gt_chrome *chrome, struct gt_arrow *arrow)
{
	int error;

	if (!arrow || arrow->drawn || !arrow->from.known || !arrow->to.known)
		return 0;
	arrow->drawn = 1;
	error = emit(chrome, arrow_end("s", arrow->correlation, &arrow->from));
	return error ? error : emit(chrome, arrow_end("f", arrow->correlation, &arrow->to));
}

/* ---- calls and launches ---- */

/*
 * The driver's call and the launch that the agent saw within it are one thing
 * and shown as one slice, the call's.  The call ends later and so comes later,
 * if calls are recorded at all: a launch waits for it until the thread launches
 * again, and is shown by itself when none has come.
 */
static int release_launch(struct gt_chrome *chrome, struct gt_thread *thread)
{
	struct json_object *launch = thread->launch;

	thread->launch = NULL;
	return launch ? emit(chrome, launch) : 0;
}

static int set_launch_args(struct json_object *object, const struct gputrace_event *event,
			   const struct gt_arrow *arrow)
{
	int error = set_arg(object, "launch", json_object_new_uint64(event->launch_id));

	if (!error && event->external_id)
		error = set_arg(object, "External id", json_object_new_uint64(event->external_id));
	if (!error && event->range_id)
		error = set_arg(object, "range", json_object_new_uint64(event->range_id));
	if (!error && arrow)
		error = set_arg(object, "correlation", json_object_new_uint64(arrow->correlation));
	return error;
}

static int add_launch(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_thread *thread = gt_tracks_thread(chrome->tracks, event->pid, event->tid);
	struct gt_arrow *arrow = gt_arrows_of_launch(chrome->arrows, event->pid, event->launch_id);
	struct json_object *object;
	struct place place = host_place(event);
	int error;

	if (!thread)
		return no_memory();
	if (arrow)
		arrow->from = (struct gt_arrow_end){ 1, place.pid, place.tid, event->time };
	error = draw(chrome, arrow);
	if (error || (arrow && arrow->has_call))
		return error;
	object = slice("cuda_driver", "launch", place, event->time, event->end);
	error = set_launch_args(object, event, arrow);
	if (!error)
		error = set_arg(object, "kernel", gt_json_text(event->name));
	if (!error)
		error = set_arg(object, "result", json_object_new_int(event->result));
	if (!arrow || error)
		return emit_unless(chrome, error, object);
	error = release_launch(chrome, thread);
	thread->launch = object;
	thread->launch_id = event->launch_id;
	return error;
}

static const char *call_category(const struct gputrace_event *event)
{
	if (event->type == GPUTRACE_EVENT_API)
		return "cuda_driver";
	return event->name && !strncmp(event->name, "cuda", 4) ? "cuda_runtime" : "function";
}

/* Of a function of which only the name is known, the whole registers. */
static struct json_object *call_result(const struct gputrace_event *event)
{
	return event->type == GPUTRACE_EVENT_API ? json_object_new_int(event->result) :
						   json_object_new_uint64(event->value);
}

static struct json_object *call_slice(const struct gputrace_event *event)
{
	struct json_object *object = slice(call_category(event), event->name, host_place(event), event->time,
					   event->end);
	static const char *const numbers[] = { "arg0", "arg1", "arg2", "arg3", "arg4", "arg5" };
	int error;

	error = set_arg(object, "result", call_result(event));
	for (unsigned i = 0; i < event->arg_count && !error; i++) {
		const char *name = gputrace_event_get_arg_name(event, i);

		if (!name && i < sizeof(numbers) / sizeof(numbers[0]))
			name = numbers[i];
		if (name)
			error = set_arg(object, name, json_object_new_uint64(event->args[i]));
	}
	if (error) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

/* Move the arguments of the thread's held launch to the call around it. */
static int absorb_launch(struct gt_thread *thread, struct json_object *call)
{
	static const char *const moved[] = { "launch", "correlation", "kernel", "External id", "range" };
	struct json_object *args = json_object_object_get(thread->launch, "args");
	int error = 0;

	for (unsigned i = 0; i < sizeof(moved) / sizeof(moved[0]) && !error; i++) {
		struct json_object *value = json_object_object_get(args, moved[i]);

		if (value)
			error = set_arg(call, moved[i], json_object_get(value));
	}
	json_object_put(thread->launch);
	thread->launch = NULL;
	return error;
}

static int add_call(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_thread *thread = gt_tracks_thread(chrome->tracks, event->pid, event->tid);
	struct json_object *object = call_slice(event);
	struct gt_arrow *arrow;
	int error = 0;

	if (!thread || !object) {
		json_object_put(object);
		return no_memory();
	}
	if (!event->launch_id)
		return emit(chrome, object);
	if (thread->launch && thread->launch_id == event->launch_id)
		return emit_unless(chrome, absorb_launch(thread, object), object);
	arrow = gt_arrows_of_launch(chrome->arrows, event->pid, event->launch_id);
	/* Else the launch has been written: it is a slice within this one. */
	if (!arrow->from.known) {
		arrow->has_call = 1;
		error = set_launch_args(object, event, arrow);
	}
	return emit_unless(chrome, error, object);
}

/* ---- kernels ---- */

/* By its number in the target: two processes may give one ordinal to two GPUs. */
static int gpu_number(const struct gputrace_event *event)
{
	return event->gpu ? (int)event->gpu->index : event->device;
}

static int set_kernel_args(struct json_object *object, const struct gputrace_event *event)
{
	int error = set_arg(object, "device", json_object_new_int(gpu_number(event)));

	if (!error)
		error = set_arg(object, "context", json_object_new_int64(event->context));
	if (!error)
		error = set_arg(object, "stream", json_object_new_uint64(event->stream));
	if (!error)
		error = set_arg(object, "grid", gt_json_triple(event->grid));
	if (!error)
		error = set_arg(object, "block", gt_json_triple(event->block));
	if (!error)
		error = set_arg(object, "shared memory", json_object_new_int64(event->shared_bytes));
	if (!error)
		error = set_arg(object, "est. error ns", json_object_new_uint64(event->time_error));
	return error;
}

static int add_kernel(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_arrow *arrow = gt_arrows_of_kernel(chrome->arrows, event->pid, event->launch_id);
	struct gt_stream *stream;
	struct gt_lane *lane = NULL;
	struct json_object *object;
	struct place place;
	int error;

	stream = gt_tracks_stream(chrome->tracks, gpu_number(event), event->pid, event->context, event->stream);
	if (stream)
		lane = gt_tracks_lane(chrome->tracks, stream, event->time, event->end);
	if (!lane || !gt_tracks_group(chrome->tracks, 1, gpu_number(event)))
		return no_memory();
	place = (struct place){ gpu_number(event), lane->tid };
	object = slice("kernel", event->name, place, event->time, event->end);
	error = set_kernel_args(object, event);
	if (!error)
		error = set_launch_args(object, event, arrow);
	error = emit_unless(chrome, error, object);
	if (error || !arrow || arrow->to.known)
		return error;
	/* A graph runs its kernels again and again; the arrow leads to the first run. */
	arrow->to = (struct gt_arrow_end){ 1, place.pid, place.tid, event->time };
	return draw(chrome, arrow);
}

/* ---- annotations ---- */

static int set_range_args(struct json_object *object, const struct gputrace_event *event)
{
	int error = set_arg(object, "range", json_object_new_uint64(event->range_id));

	if (!error && event->domain[0])
		error = set_arg(object, "domain", gt_json_text(event->domain));
	if (!error && event->text)
		error = set_arg(object, "text", gt_json_text(event->text));
	return error;
}

/* One end of a range that may overlap others of its thread: the viewers give such a row of their own. */
static struct json_object *range_end(const char *phase, const struct gputrace_event *event, uint64_t time)
{
	struct json_object *object = element(phase, "user_annotation", event->name, host_place(event), time);

	if (gt_json_set(object, "id", json_object_new_uint64(event->range_id)) ||
	    gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static int add_range(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = event->spans ? range_end("b", event, event->time) :
				     slice("user_annotation", event->name, host_place(event), event->time, event->end);
	int error = emit_unless(chrome, set_range_args(object, event), object);

	if (error || !event->spans)
		return error;
	return emit(chrome, range_end("e", event, event->end));
}

static int add_mark(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = instant("user_annotation", event->name, "t", host_place(event), event->time);

	return emit_unless(chrome, set_range_args(object, event), object);
}

static int name_thread(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_thread *thread = gt_tracks_thread(chrome->tracks, event->pid, event->tid);
	char *copy = strdup(event->name);

	if (!thread || !copy) {
		free(copy);
		return no_memory();
	}
	free(thread->name);
	thread->name = copy;
	return 0;
}

/* ---- everything else ---- */

static int add_name(struct gt_chrome *chrome, int is_gpu, int id, const char *name)
{
	struct gt_group *group = gt_tracks_group(chrome->tracks, is_gpu, id);
	char *copy = strdup(name ? name : "");

	if (!group || !copy) {
		free(copy);
		return no_memory();
	}
	free(group->name);
	group->name = copy;
	return 0;
}

/* What the end of the file says of it, when the event's GPU may be gone. */
static int add_gpu(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	int error = add_name(chrome, 1, gpu_number(event), event->name);
	struct gt_group *group = error ? NULL : gt_tracks_group(chrome->tracks, 1, gpu_number(event));

	if (!group || !event->gpu)
		return error;
	snprintf(group->pci_address, sizeof(group->pci_address), "%s", event->gpu->pci_address);
	memcpy(group->uuid, event->gpu->uuid, sizeof(group->uuid));
	group->arch = event->gpu->arch;
	group->sm_count = event->gpu->sm_count;
	return 0;
}

static int add_data(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = instant("gpu_program", event->name, "p", host_place(event), event->time);
	int error = set_arg(object, "bytes", json_object_new_uint64(event->data_size));

	if (!error)
		error = set_arg(object, "data", gt_json_hex(event->data, event->data_size));
	return emit_unless(chrome, error, object);
}

static int add_text(struct gt_chrome *chrome, const struct gputrace_event *event,
		    const char *category, const char *name)
{
	struct json_object *object = instant(category, name, "p", host_place(event), event->time);
	int error = set_arg(object, "text", gt_json_text(event->text));

	return emit_unless(chrome, error, object);
}

static int add_lost(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	char name[64];
	struct json_object *object;
	int error;

	snprintf(name, sizeof(name), "%" PRIu64 " records lost", event->count);
	object = instant("lost", name, "g", host_place(event), event->time);
	error = set_arg(object, "count", json_object_new_uint64(event->count));
	if (!error)
		error = set_arg(object, "where", gt_json_text(event->name));
	return emit_unless(chrome, error, object);
}

static int add_event(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	switch (event->type) {
	case GPUTRACE_EVENT_PROCESS:
		return add_name(chrome, 0, event->pid, event->name);
	case GPUTRACE_EVENT_CONTEXT:
		return add_gpu(chrome, event);
	case GPUTRACE_EVENT_API:
	case GPUTRACE_EVENT_CALL:
		return add_call(chrome, event);
	case GPUTRACE_EVENT_LAUNCH:
		return add_launch(chrome, event);
	case GPUTRACE_EVENT_KERNEL:
		return add_kernel(chrome, event);
	case GPUTRACE_EVENT_DATA:
		return add_data(chrome, event);
	case GPUTRACE_EVENT_PRINT:
		return add_text(chrome, event, "gpu_program", event->text);
	case GPUTRACE_EVENT_FUNCTION:
		return event->text ? add_text(chrome, event, "not_probed", event->name) : 0;
	case GPUTRACE_EVENT_LOST:
		return add_lost(chrome, event);
	case GPUTRACE_EVENT_RANGE:
		return add_range(chrome, event);
	case GPUTRACE_EVENT_MARK:
		return add_mark(chrome, event);
	case GPUTRACE_EVENT_THREAD:
		return name_thread(chrome, event);
	case GPUTRACE_EVENT_NOTE:
		return add_text(chrome, event, "note", event->text);
	default:
		return 0;
	}
}

int gt_chrome_add(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	/* Lost records and notes may be about no process. */
	if (event->pid > 0 && !gt_tracks_group(chrome->tracks, 0, event->pid))
		return no_memory();
	return add_event(chrome, event);
}

/* ---- beginning and end of the file ---- */

/* What to add to CLOCK_MONOTONIC to get the time of day, now. */
static int64_t monotonic_epoch(void)
{
	struct timespec before, real, after;
	int64_t middle;

	clock_gettime(CLOCK_MONOTONIC, &before);
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &after);
	middle = (before.tv_sec + after.tv_sec) * INT64_C(500000000) + (before.tv_nsec + after.tv_nsec) / 2;
	return real.tv_sec * INT64_C(1000000000) + real.tv_nsec - middle;
}

int gt_chrome_new(struct gt_output *output, struct gt_chrome **ret_chrome)
{
	struct gt_chrome *chrome = calloc(1, sizeof(*chrome));
	char text[160];
	int error;

	if (!chrome)
		return no_memory();
	chrome->output = output;
	chrome->separator = "\n";
	chrome->tracks = gt_tracks_new();
	chrome->arrows = gt_arrows_new();
	error = chrome->tracks && chrome->arrows ? 0 : no_memory();
	snprintf(text, sizeof(text), "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\","
		 "\"baseTimeNanoseconds\":%" PRId64 ",\"traceEvents\":[", monotonic_epoch());
	if (!error)
		error = gt_output_write(output, text, strlen(text));
	if (error) {
		gt_chrome_free(chrome);
		return error;
	}
	*ret_chrome = chrome;
	return 0;
}

static int emit_metadata(struct gt_chrome *chrome, const char *what, struct place place,
			 const char *key, struct json_object *value)
{
	struct json_object *object = element("M", NULL, what, place, 0);

	if (gt_json_set(object, "args", json_object_new_object())) {
		json_object_put(value);
		json_object_put(object);
		return no_memory();
	}
	return emit_unless(chrome, set_arg(object, key, value), object);
}

static int emit_group(struct gt_chrome *chrome, const struct gt_group *group)
{
	struct place place = { group->id, 0 };
	char name[256], label[32] = "CPU";
	int error;

	if (group->is_gpu)
		snprintf(label, sizeof(label), "GPU %d", group->id);
	if (group->is_gpu && group->name)
		snprintf(name, sizeof(name), "%s: %s", label, group->name);
	else if (group->name)
		snprintf(name, sizeof(name), "%s", group->name);
	else
		snprintf(name, sizeof(name), "%s %d", group->is_gpu ? "GPU" : "process", group->id);
	error = emit_metadata(chrome, "process_name", place, "name", gt_json_text(name));
	if (!error)
		error = emit_metadata(chrome, "process_labels", place, "labels", gt_json_text(label));
	if (!error)
		error = emit_metadata(chrome, "process_sort_index", place, "sort_index",
				      json_object_new_int(group->is_gpu ? GPU_SORT_INDEX + group->id : group->id));
	return error;
}

static int emit_thread(struct gt_chrome *chrome, struct gt_thread *thread)
{
	struct place place = { thread->pid, thread->tid };
	char name[256];
	int error = release_launch(chrome, thread);

	if (thread->name)
		snprintf(name, sizeof(name), "thread %d: %s", thread->tid, thread->name);
	else
		snprintf(name, sizeof(name), "thread %d", thread->tid);
	return error ? error : emit_metadata(chrome, "thread_name", place, "name", gt_json_text(name));
}

static int emit_lane(struct gt_chrome *chrome, const struct gt_stream *stream, unsigned lane)
{
	struct place place = { stream->device, stream->lanes[lane].tid };
	char name[96];
	int error;

	if (lane)
		snprintf(name, sizeof(name), "stream %" PRIu64 " lane %u (process %d, context %u)",
			 stream->stream, lane + 1, stream->pid, stream->context);
	else
		snprintf(name, sizeof(name), "stream %" PRIu64 " (process %d, context %u)",
			 stream->stream, stream->pid, stream->context);
	error = emit_metadata(chrome, "thread_name", place, "name", gt_json_text(name));
	if (!error)
		error = emit_metadata(chrome, "thread_sort_index", place, "sort_index",
				      json_object_new_int(place.tid));
	return error;
}

static int emit_rows(struct gt_chrome *chrome)
{
	int error = 0;

	for (struct gt_group *group = chrome->tracks->groups; group && !error; group = group->next)
		error = emit_group(chrome, group);
	for (struct gt_thread *thread = chrome->tracks->threads; thread && !error; thread = thread->next)
		error = emit_thread(chrome, thread);
	for (struct gt_stream *stream = chrome->tracks->streams; stream && !error; stream = stream->next)
		for (unsigned lane = 0; lane < stream->lane_count && !error; lane++)
			error = emit_lane(chrome, stream, lane);
	return error;
}

/* The first four as Kineto calls them. */
static int set_identity(struct json_object *object, const struct gt_group *gpu)
{
	int error = gt_json_set(object, "computeMajor", json_object_new_int((int)(gpu->arch / 10)));
	char uuid[41], *to = uuid + sprintf(uuid, "GPU-");

	for (unsigned i = 0; i < sizeof(gpu->uuid); i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", gpu->uuid[i]);
	if (!error)
		error = gt_json_set(object, "computeMinor", json_object_new_int((int)(gpu->arch % 10)));
	if (!error)
		error = gt_json_set(object, "numSms", json_object_new_int((int)gpu->sm_count));
	if (!error)
		error = gt_json_set(object, "uuid", gt_json_text(uuid));
	return error ? error : gt_json_set(object, "pciAddress", gt_json_text(gpu->pci_address));
}

static int write_device(struct gt_chrome *chrome, const struct gt_group *gpu)
{
	struct json_object *object = json_object_new_object();
	int error = gt_json_set(object, "id", json_object_new_int(gpu->id));

	if (!error)
		error = gt_json_set(object, "name", gt_json_text(gpu->name));
	if (!error && gpu->sm_count)
		error = set_identity(object, gpu);
	return emit_unless(chrome, error, object);
}

int gt_chrome_finish(struct gt_chrome *chrome)
{
	static const char devices[] = "\n],\"deviceProperties\":[", end[] = "\n]}\n";
	int error = emit_rows(chrome);

	if (!error)
		error = gt_output_write(chrome->output, devices, sizeof(devices) - 1);
	chrome->separator = "\n";
	for (struct gt_group *group = chrome->tracks->groups; group && !error; group = group->next)
		if (group->is_gpu)
			error = write_device(chrome, group);
	return error ? error : gt_output_write(chrome->output, end, sizeof(end) - 1);
}

struct gt_chrome *gt_chrome_free(struct gt_chrome *chrome)
{
	if (!chrome)
		return NULL;
	gt_tracks_free(chrome->tracks);
	gt_arrows_free(chrome->arrows);
	free(chrome);
	return NULL;
}
