/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a Chrome trace: a thread of a process, or a lane of a stream on a GPU.
 * The format knows a row by two small integers only, so streams of different
 * programs get different numbers here, and kernels of one stream that overlap
 * (nodes of a graph) are spread over lanes: the viewers drop slices that overlap
 * without nesting.
 */
#ifndef GT_EXPORT_TRACKS_H
#define GT_EXPORT_TRACKS_H

#include <stdint.h>

struct json_object;

struct gt_thread {
	struct gt_thread *next;
	int pid, tid;
	char *name;			/* as the program calls it; NULL: it does not */
	struct json_object *launch;	/* its last launch, held back: the call around it may follow */
	uint64_t launch_id;
};

struct gt_lane {
	int tid;			/* the row's number on its GPU */
	uint64_t end;			/* of the last kernel in it */
};

struct gt_stream {
	struct gt_stream *next;
	int device, pid;
	uint32_t context;
	uint64_t stream;
	int copies;			/* its copies have rows of their own: their times have an error beside its kernels' */
	struct gt_lane *lanes;
	unsigned lane_count;
};

/* A process or a GPU. */
struct gt_group {
	struct gt_group *next;
	int is_gpu, id;
	char *name;			/* may be NULL */
	/* Of a GPU; sm_count 0: nothing more is known of it. */
	uint8_t uuid[16];
	char pci_address[24];
	uint32_t arch, sm_count;
};

/* Everything met so far, newest first. */
struct gt_tracks {
	struct gt_thread *threads;
	struct gt_stream *streams;
	struct gt_group *groups;
	/* Private: trees of tsearch(3). */
	void *thread_tree, *stream_tree, *group_tree, *row_tree;
	int next_row;
};

struct gt_tracks *gt_tracks_new(void);
struct gt_tracks *gt_tracks_free(struct gt_tracks *tracks);

/* Find or make; NULL when out of memory. */
struct gt_thread *gt_tracks_thread(struct gt_tracks *tracks, int pid, int tid);
struct gt_stream *gt_tracks_stream(struct gt_tracks *tracks, int device, int pid, uint32_t context,
				   uint64_t stream, int copies);
struct gt_group *gt_tracks_group(struct gt_tracks *tracks, int is_gpu, int id);

/* A lane of the stream in which [start, end] is free, now taken; NULL when out of memory. */
struct gt_lane *gt_tracks_lane(struct gt_tracks *tracks, struct gt_stream *stream,
			       uint64_t start, uint64_t end);

#endif
