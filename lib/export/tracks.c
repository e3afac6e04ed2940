/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/export/tracks.h"

#include <json-c/json.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A GPU runs 128 kernels at a time; what is more than that shares the last lane. */
#define LANES_MAX 128u
/* Streams with larger ids, or whose number is taken, are numbered from here on. */
#define FIRST_FREE_ROW (1 << 20)

/* A row number given away on a GPU. */
struct row {
	int device, number;
};

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int order_int(int a, int b)
{
	return (a > b) - (a < b);
}

static int compare_threads(const void *left, const void *right)
{
	const struct gt_thread *a = left, *b = right;
	int way = order_int(a->pid, b->pid);

	return way ? way : order_int(a->tid, b->tid);
}

static int compare_streams(const void *left, const void *right)
{
	const struct gt_stream *a = left, *b = right;
	int way = order_int(a->device, b->device);

	if (!way)
		way = order_int(a->pid, b->pid);
	if (!way)
		way = order(a->context, b->context);
	if (!way)
		way = order(a->stream, b->stream);
	return way ? way : order_int(a->copies, b->copies);
}

static int compare_groups(const void *left, const void *right)
{
	const struct gt_group *a = left, *b = right;
	int way = order_int(a->is_gpu, b->is_gpu);

	return way ? way : order_int(a->id, b->id);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int way = order_int(a->device, b->device);

	return way ? way : order_int(a->number, b->number);
}

struct gt_tracks *gt_tracks_new(void)
{
	struct gt_tracks *tracks = calloc(1, sizeof(*tracks));

	if (tracks)
		tracks->next_row = FIRST_FREE_ROW;
	return tracks;
}

static void free_thread(void *node)
{
	struct gt_thread *thread = node;

	json_object_put(thread->launch);
	free(thread->name);
	free(thread);
}

static void free_stream(void *node)
{
	struct gt_stream *stream = node;

	free(stream->lanes);
	free(stream);
}

static void free_group(void *node)
{
	struct gt_group *group = node;

	free(group->name);
	free(group);
}

struct gt_tracks *gt_tracks_free(struct gt_tracks *tracks)
{
	if (!tracks)
		return NULL;
	tdestroy(tracks->thread_tree, free_thread);
	tdestroy(tracks->stream_tree, free_stream);
	tdestroy(tracks->group_tree, free_group);
	tdestroy(tracks->row_tree, free);
	free(tracks);
	return NULL;
}

/* The element of a tree that equals `key`; when there is none, a copy of it is added. */
static void *find_or_add(void **tree, const void *key, size_t size,
			 int (*compare)(const void *, const void *), int *ret_added)
{
	void *const *node = tfind(key, tree, compare);
	void *copy;

	*ret_added = 0;
	if (node)
		return *node;
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, key, size);
	if (!tsearch(copy, tree, compare)) {
		free(copy);
		return NULL;
	}
	*ret_added = 1;
	return copy;
}

struct gt_thread *gt_tracks_thread(struct gt_tracks *tracks, int pid, int tid)
{
	struct gt_thread key = { .next = tracks->threads, .pid = pid, .tid = tid }, *thread;
	int added;

	thread = find_or_add(&tracks->thread_tree, &key, sizeof(key), compare_threads, &added);
	if (added)
		tracks->threads = thread;
	return thread;
}

struct gt_stream *gt_tracks_stream(struct gt_tracks *tracks, int device, int pid, uint32_t context,
				   uint64_t stream, int copies)
{
	struct gt_stream key = { .next = tracks->streams, .device = device, .pid = pid,
				 .context = context, .stream = stream, .copies = copies }, *found;
	int added;

	found = find_or_add(&tracks->stream_tree, &key, sizeof(key), compare_streams, &added);
	if (added)
		tracks->streams = found;
	return found;
}

struct gt_group *gt_tracks_group(struct gt_tracks *tracks, int is_gpu, int id)
{
	struct gt_group key = { .next = tracks->groups, .is_gpu = is_gpu, .id = id }, *group;
	int added;

	group = find_or_add(&tracks->group_tree, &key, sizeof(key), compare_groups, &added);
	if (added)
		tracks->groups = group;
	return group;
}

/* Give away a row number of a GPU: the wished one if it can be had.  -1: out of memory. */
static int take_row(struct gt_tracks *tracks, int device, uint64_t wish)
{
	struct row row = { .device = device, .number = (int)wish };
	int added;

	if (wish >= FIRST_FREE_ROW || tfind(&row, &tracks->row_tree, compare_rows))
		row.number = tracks->next_row++;
	if (!find_or_add(&tracks->row_tree, &row, sizeof(row), compare_rows, &added))
		return -1;
	return row.number;
}

static struct gt_lane *add_lane(struct gt_tracks *tracks, struct gt_stream *stream)
{
	struct gt_lane *lanes = reallocarray(stream->lanes, stream->lane_count + 1, sizeof(*lanes));
	int row;

	if (!lanes)
		return NULL;
	stream->lanes = lanes;
	row = take_row(tracks, stream->device, stream->lane_count || stream->copies ? UINT64_MAX : stream->stream);
	if (row < 0)
		return NULL;
	lanes[stream->lane_count] = (struct gt_lane){ .tid = row };
	return &lanes[stream->lane_count++];
}

struct gt_lane *gt_tracks_lane(struct gt_tracks *tracks, struct gt_stream *stream,
			       uint64_t start, uint64_t end)
{
	struct gt_lane *lane = NULL;

	for (unsigned i = 0; i < stream->lane_count && !lane; i++)
		if (stream->lanes[i].end <= start || i == LANES_MAX - 1)
			lane = &stream->lanes[i];
	if (!lane)
		lane = add_lane(tracks, stream);
	if (lane && lane->end < end)
		lane->end = end;
	return lane;
}
