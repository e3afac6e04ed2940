/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/event.h"

#include <gputrace/gputrace.h>

#include "lib/uprobe/api_trace.h"

int gputrace_event_get_type(const struct gputrace_event *event)
{
	return event->type;
}

uint64_t gputrace_event_get_time(const struct gputrace_event *event)
{
	return event->time;
}

uint64_t gputrace_event_get_end(const struct gputrace_event *event)
{
	return event->end;
}

uint64_t gputrace_event_get_time_error(const struct gputrace_event *event)
{
	return event->time_error;
}

uint64_t gputrace_event_get_lateness(const struct gputrace_event *event)
{
	return event->lateness;
}

uint64_t gputrace_event_get_gpu_start(const struct gputrace_event *event)
{
	return event->gpu_start;
}

uint64_t gputrace_event_get_gpu_end(const struct gputrace_event *event)
{
	return event->gpu_end;
}

int gputrace_event_get_pid(const struct gputrace_event *event)
{
	return event->pid;
}

int gputrace_event_get_tid(const struct gputrace_event *event)
{
	return event->tid;
}

const char *gputrace_event_get_name(const struct gputrace_event *event)
{
	return event->name;
}

const char *gputrace_event_get_command(const struct gputrace_event *event)
{
	return event->command[0] ? event->command : NULL;
}

const char *gputrace_event_get_text(const struct gputrace_event *event)
{
	return event->text;
}

uint64_t gputrace_event_get_launch_id(const struct gputrace_event *event)
{
	return event->launch_id;
}

uint64_t gputrace_event_get_range_id(const struct gputrace_event *event)
{
	return event->range_id;
}

uint64_t gputrace_event_get_external_id(const struct gputrace_event *event)
{
	return event->external_id;
}

const char *gputrace_event_get_domain(const struct gputrace_event *event)
{
	return event->domain;
}

uint32_t gputrace_event_get_kernel_id(const struct gputrace_event *event)
{
	return event->kernel_id;
}

int gputrace_event_get_device(const struct gputrace_event *event)
{
	return event->device;
}

uint32_t gputrace_event_get_context(const struct gputrace_event *event)
{
	return event->context;
}

uint64_t gputrace_event_get_stream(const struct gputrace_event *event)
{
	return event->stream;
}

const uint32_t *gputrace_event_get_grid(const struct gputrace_event *event)
{
	return event->grid;
}

const uint32_t *gputrace_event_get_block(const struct gputrace_event *event)
{
	return event->block;
}

uint32_t gputrace_event_get_shared_bytes(const struct gputrace_event *event)
{
	return event->shared_bytes;
}

int gputrace_event_get_result(const struct gputrace_event *event)
{
	return event->result;
}

const uint64_t *gputrace_event_get_args(const struct gputrace_event *event, unsigned *ret_count)
{
	*ret_count = event->arg_count;
	return event->args;
}

const char *gputrace_event_get_arg_name(const struct gputrace_event *event, unsigned index)
{
	if (event->type != GPUTRACE_EVENT_API || index >= event->arg_count)
		return NULL;
	return gt_api_arg_name((uint32_t)event->api_function, index);
}

uint64_t gputrace_event_get_return_value(const struct gputrace_event *event)
{
	return event->value;
}

const uint64_t *gputrace_event_get_stack(const struct gputrace_event *event, unsigned *ret_count)
{
	*ret_count = event->stack_count;
	return event->stack;
}

int gputrace_event_get_stack_end(const struct gputrace_event *event)
{
	return event->stack_end;
}

const void *gputrace_event_get_data(const struct gputrace_event *event, size_t *ret_size)
{
	*ret_size = event->data_size;
	return event->data;
}

int gputrace_event_get_copy_kind(const struct gputrace_event *event)
{
	return event->copy_kind;
}

uint64_t gputrace_event_get_copy_bytes(const struct gputrace_event *event)
{
	return event->copy_bytes;
}

double gputrace_event_get_metric_value(const struct gputrace_event *event)
{
	return event->metric_value;
}

const char *gputrace_event_get_unit(const struct gputrace_event *event)
{
	return event->unit;
}

uint64_t gputrace_event_get_count(const struct gputrace_event *event)
{
	return event->count;
}
