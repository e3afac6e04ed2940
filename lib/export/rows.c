/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/rows.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/export/element.h"
#include "lib/export/json.h"
#include "lib/export/tracks.h"

/* GPUs are sorted below the processes, by the same number as in Kineto. */
#define GPU_SORT_INDEX 5000000

static int emit_metadata(struct gt_elements *elements, const char *what, struct gt_place place,
			 const char *key, struct json_object *value)
{
	struct json_object *object = gt_element("M", NULL, what, place, 0);
	int error = gt_json_set(object, "args", json_object_new_object());

	if (error)
		json_object_put(value);
	else
		error = gt_element_set(object, key, value);
	return gt_elements_add_unless(elements, error, object);
}

static int emit_group(struct gt_elements *elements, const struct gt_group *group)
{
	struct gt_place place = { group->id, 0 };
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
	error = emit_metadata(elements, "process_name", place, "name", gt_json_text(name));
	if (!error)
		error = emit_metadata(elements, "process_labels", place, "labels", gt_json_text(label));
	if (!error)
		error = emit_metadata(elements, "process_sort_index", place, "sort_index",
				      json_object_new_int(group->is_gpu ? GPU_SORT_INDEX + group->id : group->id));
	return error;
}

static int emit_thread(struct gt_elements *elements, const struct gt_thread *thread)
{
	struct gt_place place = { thread->pid, thread->tid };
	char name[256];

	if (thread->name)
		snprintf(name, sizeof(name), "thread %d: %s", thread->tid, thread->name);
	else
		snprintf(name, sizeof(name), "thread %d", thread->tid);
	return emit_metadata(elements, "thread_name", place, "name", gt_json_text(name));
}

static int emit_lane(struct gt_elements *elements, const struct gt_stream *stream, unsigned lane)
{
	struct gt_place place = { stream->device, stream->lanes[lane].tid };
	const char *what = stream->copies ? " copies" : "";
	char name[96];
	int error;

	if (lane)
		snprintf(name, sizeof(name), "stream %" PRIu64 "%s lane %u (process %d, context %u)",
			 stream->stream, what, lane + 1, stream->pid, stream->context);
	else
		snprintf(name, sizeof(name), "stream %" PRIu64 "%s (process %d, context %u)",
			 stream->stream, what, stream->pid, stream->context);
	error = emit_metadata(elements, "thread_name", place, "name", gt_json_text(name));
	if (!error)
		error = emit_metadata(elements, "thread_sort_index", place, "sort_index",
				      json_object_new_int(place.tid));
	return error;
}

int gt_rows_write(struct gt_elements *elements, const struct gt_tracks *tracks)
{
	int error = 0;

	for (const struct gt_group *group = tracks->groups; group && !error; group = group->next)
		error = emit_group(elements, group);
	for (const struct gt_thread *thread = tracks->threads; thread && !error; thread = thread->next)
		error = emit_thread(elements, thread);
	for (const struct gt_stream *stream = tracks->streams; stream && !error; stream = stream->next)
		for (unsigned lane = 0; lane < stream->lane_count && !error; lane++)
			error = emit_lane(elements, stream, lane);
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

static int write_device(struct gt_elements *elements, const struct gt_group *gpu)
{
	struct json_object *object = json_object_new_object();
	int error = gt_json_set(object, "id", json_object_new_int(gpu->id));

	if (!error)
		error = gt_json_set(object, "name", gt_json_text(gpu->name));
	if (!error && gpu->sm_count)
		error = set_identity(object, gpu);
	return gt_elements_add_unless(elements, error, object);
}

int gt_rows_write_devices(struct gt_elements *elements, const struct gt_tracks *tracks)
{
	int error = 0;

	for (const struct gt_group *group = tracks->groups; group && !error; group = group->next)
		if (group->is_gpu)
			error = write_device(elements, group);
	return error;
}
