/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/chrome.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/export/arrows.h"
#include "lib/export/element.h"
#include "lib/export/json.h"
#include "lib/export/output.h"
#include "lib/export/rows.h"
#include "lib/export/tracks.h"
#include "lib/reader/event.h"
#include "lib/target/gpu.h"
#include "lib/uprobe/api_trace.h"
#include "lib/util/error.h"

struct gt_chrome {
	struct gt_elements elements;	/* of traceEvents */
	struct gt_tracks *tracks;
	struct gt_arrows *arrows;
};

static int no_memory(void)
{
	return gt_error(-ENOMEM, "out of memory");
}

static struct gt_place host_place(const struct gputrace_event *event)
{
	return (struct gt_place){ event->pid, event->tid ? event->tid : event->pid };
}

/* ---- arrows from launches to kernels, and from calls to copies ---- */

static struct json_object *arrow_end(const char *phase, uint64_t id, const struct gt_arrow_end *end)
{
	struct json_object *object = gt_element(phase, "ac2g", "ac2g", (struct gt_place){ end->pid, end->tid },
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
	error = gt_elements_add(&chrome->elements, arrow_end("s", arrow->correlation, &arrow->from));
	return error ? error : gt_elements_add(&chrome->elements, arrow_end("f", arrow->correlation, &arrow->to));
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
	return launch ? gt_elements_add(&chrome->elements, launch) : 0;
}

static int set_launch_args(struct json_object *object, const struct gputrace_event *event,
			   const struct gt_arrow *arrow)
{
	int error = gt_element_set(object, "launch", json_object_new_uint64(event->launch_id));

	if (!error && event->external_id)
		error = gt_element_set(object, "External id", json_object_new_uint64(event->external_id));
	if (!error && event->range_id)
		error = gt_element_set(object, "range", json_object_new_uint64(event->range_id));
	if (!error && arrow)
		error = gt_element_set(object, "correlation", json_object_new_uint64(arrow->correlation));
	return error;
}

static int add_launch(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_thread *thread = gt_tracks_thread(chrome->tracks, event->pid, event->tid);
	struct gt_arrow *arrow = gt_arrows_of_launch(chrome->arrows, event->pid, event->launch_id);
	struct json_object *object;
	struct gt_place place = host_place(event);
	int error;

	if (!thread)
		return no_memory();
	if (arrow)
		arrow->from = (struct gt_arrow_end){ 1, place.pid, place.tid, event->time };
	error = draw(chrome, arrow);
	if (error || (arrow && arrow->has_call))
		return error;
	object = gt_element_slice("cuda_driver", "launch", place, event->time, event->end);
	error = set_launch_args(object, event, arrow);
	if (!error)
		error = gt_element_set(object, "kernel", gt_json_text(event->name));
	if (!error)
		error = gt_element_set(object, "result", json_object_new_int(event->result));
	if (!arrow || error)
		return gt_elements_add_unless(&chrome->elements, error, object);
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
	struct json_object *object = gt_element_slice(call_category(event), event->name, host_place(event), event->time,
					   event->end);
	static const char *const numbers[] = { "arg0", "arg1", "arg2", "arg3", "arg4", "arg5" };
	int error;

	error = gt_element_set(object, "result", call_result(event));
	for (unsigned i = 0; i < event->arg_count && !error; i++) {
		const char *name = gputrace_event_get_arg_name(event, i);

		if (!name && i < sizeof(numbers) / sizeof(numbers[0]))
			name = numbers[i];
		if (name)
			error = gt_element_set(object, name, json_object_new_uint64(event->args[i]));
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
			error = gt_element_set(call, moved[i], json_object_get(value));
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
		return gt_elements_add(&chrome->elements, object);
	if (thread->launch && thread->launch_id == event->launch_id)
		return gt_elements_add_unless(&chrome->elements, absorb_launch(thread, object), object);
	arrow = gt_arrows_of_launch(chrome->arrows, event->pid, event->launch_id);
	/* Else the launch has been written: it is a slice within this one. */
	if (!arrow->from.known) {
		arrow->has_call = 1;
		error = set_launch_args(object, event, arrow);
	}
	error = gt_elements_add_unless(&chrome->elements, error, object);
	if (error || gt_api_is_launch((uint32_t)event->api_function))
		return error;
	/* Of a copy there is nothing else that its arrow could come from. */
	arrow->from = (struct gt_arrow_end){ 1, event->pid, host_place(event).tid, event->time };
	return draw(chrome, arrow);
}

/* ---- kernels and copies ---- */

/* By its number in the target: two processes may give one ordinal to two GPUs. */
static int gpu_number(const struct gputrace_event *event)
{
	return event->gpu ? (int)event->gpu->index : event->device;
}

static int set_gpu_args(struct json_object *object, const struct gputrace_event *event)
{
	int error = gt_element_set(object, "device", json_object_new_int(gpu_number(event)));

	if (!error)
		error = gt_element_set(object, "context", json_object_new_int64(event->context));
	if (!error)
		error = gt_element_set(object, "stream", json_object_new_uint64(event->stream));
	if (!error)
		error = gt_element_set(object, "est. error ns", json_object_new_uint64(event->time_error));
	return error;
}

static int set_kernel_args(struct json_object *object, const struct gputrace_event *event)
{
	int error = gt_element_set(object, "grid", gt_json_triple(event->grid));

	if (!error)
		error = gt_element_set(object, "block", gt_json_triple(event->block));
	if (!error)
		error = gt_element_set(object, "shared memory", json_object_new_int64(event->shared_bytes));
	return error;
}

static int set_copy_args(struct json_object *object, const struct gputrace_event *event)
{
	uint64_t ns = event->end - event->time;
	int error = gt_element_set(object, "bytes", json_object_new_uint64(event->copy_bytes));

	/* As Kineto calls it; bytes in a ns are GB in a second. */
	if (!error && ns)
		error = gt_element_set(object, "memory bandwidth (GB/s)",
				       json_object_new_double((double)event->copy_bytes / (double)ns));
	return error;
}

/* What ran in a stream; copies: in a row of those. */
static int add_work(struct gt_chrome *chrome, const struct gputrace_event *event, const char *category, int copies,
		    int (*set_args)(struct json_object *object, const struct gputrace_event *event))
{
	struct gt_arrow *arrow = gt_arrows_of_kernel(chrome->arrows, event->pid, event->launch_id);
	struct gt_stream *stream;
	struct gt_lane *lane = NULL;
	struct json_object *object;
	struct gt_place place;
	int error;

	stream = gt_tracks_stream(chrome->tracks, gpu_number(event), event->pid, event->context, event->stream, copies);
	if (stream)
		lane = gt_tracks_lane(chrome->tracks, stream, event->time, event->end);
	if (!lane || !gt_tracks_group(chrome->tracks, 1, gpu_number(event)))
		return no_memory();
	place = (struct gt_place){ gpu_number(event), lane->tid };
	object = gt_element_slice(category, event->name, place, event->time, event->end);
	error = set_gpu_args(object, event);
	if (!error)
		error = set_args(object, event);
	if (!error)
		error = set_launch_args(object, event, arrow);
	error = gt_elements_add_unless(&chrome->elements, error, object);
	if (error || !arrow || arrow->to.known)
		return error;
	/* A graph runs its kernels again and again; the arrow leads to the first run. */
	arrow->to = (struct gt_arrow_end){ 1, place.pid, place.tid, event->time };
	return draw(chrome, arrow);
}

static int add_kernel(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	return add_work(chrome, event, "kernel", 0, set_kernel_args);
}

/* One whose time is not known is shown where it was called for. */
static int add_untimed_copy(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = gt_element_instant("untimed", event->name, "t", host_place(event), event->time);
	int error = gt_element_set(object, "text", gt_json_text(event->text));

	if (!error)
		error = gt_element_set(object, "bytes", json_object_new_uint64(event->copy_bytes));
	return gt_elements_add_unless(&chrome->elements, error, object);
}

static int add_copy(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	if (event->time_error == UINT64_MAX)
		return add_untimed_copy(chrome, event);
	return add_work(chrome, event, event->copy_kind == GPUTRACE_COPY_MEMSET ? "gpu_memset" : "gpu_memcpy", 1,
			set_copy_args);
}

/* ---- names of processes and GPUs ---- */

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
static int name_gpu(struct gt_chrome *chrome, const struct gputrace_event *event, const char *name)
{
	int error = add_name(chrome, 1, gpu_number(event), name);
	struct gt_group *group = error ? NULL : gt_tracks_group(chrome->tracks, 1, gpu_number(event));

	if (!group || !event->gpu)
		return error;
	snprintf(group->pci_address, sizeof(group->pci_address), "%s", event->gpu->pci_address);
	memcpy(group->uuid, event->gpu->uuid, sizeof(group->uuid));
	group->arch = event->gpu->arch;
	group->sm_count = event->gpu->sm_count;
	return 0;
}

/* ---- metrics ---- */

/* A track of the GPU, or of the process that uses it, which says of which GPU it is. */
static struct json_object *counter(const struct gputrace_event *event)
{
	struct gt_place place = { event->pid ? event->pid : gpu_number(event), 0 };
	char name[128];

	snprintf(name, sizeof(name), event->pid ? "%s (GPU %d)" : "%s", event->name, gpu_number(event));
	/* The value of a counter holds until the next: it counts from where its time begins. */
	return gt_element("C", "metric", name, place, event->time);
}

static int add_metric(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct gt_group *group = gt_tracks_group(chrome->tracks, 1, gpu_number(event));
	struct json_object *object;
	int error;

	if (!group)
		return no_memory();
	/* The GPU of a machine that is watched: no context tells its name. */
	if (!group->name && event->gpu) {
		error = name_gpu(chrome, event, event->gpu->name);
		if (error)
			return error;
	}
	/* JSON has no other numbers. */
	if (!isfinite(event->metric_value))
		return 0;
	object = counter(event);
	error = gt_json_set(object, "args", json_object_new_object());
	if (!error)
		error = gt_element_set(object, event->unit, json_object_new_double(event->metric_value));
	return gt_elements_add_unless(&chrome->elements, error, object);
}

/* ---- annotations ---- */

static int set_range_args(struct json_object *object, const struct gputrace_event *event)
{
	int error = gt_element_set(object, "range", json_object_new_uint64(event->range_id));

	if (!error && event->domain[0])
		error = gt_element_set(object, "domain", gt_json_text(event->domain));
	if (!error && event->text)
		error = gt_element_set(object, "text", gt_json_text(event->text));
	return error;
}

/* One end of a range that may overlap others of its thread: the viewers give such a row of their own. */
static struct json_object *range_end(const char *phase, const struct gputrace_event *event, uint64_t time)
{
	struct json_object *object = gt_element(phase, "user_annotation", event->name, host_place(event), time);

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
				     gt_element_slice("user_annotation", event->name, host_place(event), event->time, event->end);
	int error = gt_elements_add_unless(&chrome->elements, set_range_args(object, event), object);

	if (error || !event->spans)
		return error;
	return gt_elements_add(&chrome->elements, range_end("e", event, event->end));
}

static int add_mark(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = gt_element_instant("user_annotation", event->name, "t", host_place(event), event->time);

	return gt_elements_add_unless(&chrome->elements, set_range_args(object, event), object);
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

static int add_data(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	struct json_object *object = gt_element_instant("gpu_program", event->name, "p", host_place(event), event->time);
	int error = gt_element_set(object, "bytes", json_object_new_uint64(event->data_size));

	if (!error)
		error = gt_element_set(object, "data", gt_json_hex(event->data, event->data_size));
	return gt_elements_add_unless(&chrome->elements, error, object);
}

static int add_text(struct gt_chrome *chrome, const struct gputrace_event *event,
		    const char *category, const char *name)
{
	struct json_object *object = gt_element_instant(category, name, "p", host_place(event), event->time);
	int error = gt_element_set(object, "text", gt_json_text(event->text));

	return gt_elements_add_unless(&chrome->elements, error, object);
}

static int add_lost(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	char name[64];
	struct json_object *object;
	int error;

	snprintf(name, sizeof(name), "%" PRIu64 " records lost", event->count);
	object = gt_element_instant("lost", name, "g", host_place(event), event->time);
	error = gt_element_set(object, "count", json_object_new_uint64(event->count));
	if (!error)
		error = gt_element_set(object, "where", gt_json_text(event->name));
	return gt_elements_add_unless(&chrome->elements, error, object);
}

static int add_event(struct gt_chrome *chrome, const struct gputrace_event *event)
{
	switch (event->type) {
	case GPUTRACE_EVENT_PROCESS:
		return add_name(chrome, 0, event->pid, event->name);
	case GPUTRACE_EVENT_CONTEXT:
		return name_gpu(chrome, event, event->name);
	case GPUTRACE_EVENT_API:
	case GPUTRACE_EVENT_CALL:
		return add_call(chrome, event);
	case GPUTRACE_EVENT_LAUNCH:
		return add_launch(chrome, event);
	case GPUTRACE_EVENT_KERNEL:
		return add_kernel(chrome, event);
	case GPUTRACE_EVENT_COPY:
		return add_copy(chrome, event);
	case GPUTRACE_EVENT_METRIC:
		return add_metric(chrome, event);
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
	chrome->elements = (struct gt_elements){ output, "\n" };
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

int gt_chrome_finish(struct gt_chrome *chrome)
{
	static const char devices[] = "\n],\"deviceProperties\":[", end[] = "\n]}\n";
	struct gt_output *output = chrome->elements.output;
	int error = 0;

	for (struct gt_thread *thread = chrome->tracks->threads; thread && !error; thread = thread->next)
		error = release_launch(chrome, thread);
	if (!error)
		error = gt_rows_write(&chrome->elements, chrome->tracks);
	if (!error)
		error = gt_output_write(output, devices, sizeof(devices) - 1);
	chrome->elements.separator = "\n";
	if (!error)
		error = gt_rows_write_devices(&chrome->elements, chrome->tracks);
	return error ? error : gt_output_write(output, end, sizeof(end) - 1);
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
