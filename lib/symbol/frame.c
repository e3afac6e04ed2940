/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/frame.h"

#include <stdlib.h>
#include <string.h>

struct gputrace_frame *gt_frame_new(uint64_t address)
{
	struct gputrace_frame *frame = calloc(1, sizeof(*frame));

	if (frame)
		frame->address = address;
	return frame;
}

void gt_frame_free(struct gputrace_frame *frame)
{
	while (frame) {
		struct gputrace_frame *caller = frame->caller;

		free(frame->name);
		free(frame->file);
		free(frame);
		frame = caller;
	}
}

size_t gt_frame_text_bytes(const struct gputrace_frame *frame)
{
	size_t bytes = 0;

	for (; frame; frame = frame->caller)
		bytes += (frame->name ? strlen(frame->name) : 0) + (frame->file ? strlen(frame->file) : 0);
	return bytes;
}

const struct gputrace_frame *gputrace_frame_get_caller(const struct gputrace_frame *frame)
{
	return frame->caller;
}

uint64_t gputrace_frame_get_address(const struct gputrace_frame *frame)
{
	return frame->address;
}

const char *gputrace_frame_get_name(const struct gputrace_frame *frame)
{
	return frame->name;
}

const char *gputrace_frame_get_module(const struct gputrace_frame *frame)
{
	return frame->module;
}

uint64_t gputrace_frame_get_offset(const struct gputrace_frame *frame)
{
	return frame->offset;
}

const char *gputrace_frame_get_file(const struct gputrace_frame *frame)
{
	return frame->file;
}

uint32_t gputrace_frame_get_line(const struct gputrace_frame *frame)
{
	return frame->line;
}

const char *gputrace_frame_get_reason(const struct gputrace_frame *frame)
{
	return frame->reason;
}

const void *gputrace_frame_get_build_id(const struct gputrace_frame *frame, size_t *ret_size)
{
	*ret_size = frame->build_id_size;
	return frame->build_id;
}
