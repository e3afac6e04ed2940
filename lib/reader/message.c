/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader/queue.h"
#include "lib/target/gpu.h"
#include "lib/target/kernel.h"

/* What an event has that is a number, and there by the same name. */
#define NUMBERS(X) \
	X(time) X(end) X(time_error) X(gpu_start) X(gpu_end) X(launch_id) X(range_id) X(external_id) \
	X(stream) X(value) X(count) X(type) X(pid) X(tid) X(device) X(result) X(api_function) X(stack_end) \
	X(kernel_id) X(context) X(shared_bytes) X(arg_count) X(spans) X(copy_kind) X(copy_bytes) \
	X(metric_value)

struct event_message {
	struct gt_message_head head;
	uint64_t time, end, time_error, gpu_start, gpu_end, launch_id, range_id, external_id, stream, value, count,
		 copy_bytes;
	double metric_value;
	uint64_t args[12];
	int32_t type, pid, tid, device, result, api_function, stack_end, copy_kind;
	uint32_t kernel_id, context, shared_bytes, arg_count, spans;
	uint32_t grid[3], block[3];
	int32_t gpu;			/* its index, -1: none */
	char command[16];
	/* What follows, in this order; a size of 0 is NULL, and a text's counts its end. */
	uint32_t stack_count, data_size, name_size, text_size, domain_size, unit_size;
};
_Static_assert(sizeof(struct event_message) % 8 == 0, "what follows is aligned");

static size_t whole_words(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

size_t gt_message_event_size(const struct gputrace_event *event)
{
	size_t data = event->data ? event->data_size : 0;
	size_t texts = text_size(event->name) + text_size(event->text) + text_size(event->domain) +
		       text_size(event->unit);
	size_t size;

	if (data > GT_MESSAGE_MAX || texts > GT_MESSAGE_MAX)
		return 0;
	size = sizeof(struct event_message) + event->stack_count * sizeof(*event->stack) + whole_words(data) +
	       whole_words(texts);
	return size <= GT_MESSAGE_MAX ? size : 0;
}

static char *append(char *at, const void *bytes, size_t size)
{
	if (size)
		memcpy(at, bytes, size);
	return at + size;
}

void gt_message_write_event(const struct gputrace_event *event, void *memory)
{
	struct event_message *message = memory;
	char *at = (char *)(message + 1);

	*message = (struct event_message){
		.head = { (uint32_t)gt_message_event_size(event), GT_MESSAGE_EVENT },
		.gpu = event->gpu ? (int32_t)event->gpu->index : -1,
		.stack_count = event->stack_count,
		.data_size = event->data ? (uint32_t)event->data_size : 0,
		.name_size = (uint32_t)text_size(event->name),
		.text_size = (uint32_t)text_size(event->text),
		.domain_size = (uint32_t)text_size(event->domain),
		.unit_size = (uint32_t)text_size(event->unit),
	};
#define WRITE(field) message->field = event->field;
	NUMBERS(WRITE)
#undef WRITE
	memcpy(message->args, event->args, sizeof(message->args));
	memcpy(message->grid, event->grid, sizeof(message->grid));
	memcpy(message->block, event->block, sizeof(message->block));
	memcpy(message->command, event->command, sizeof(message->command));
	at = append(at, event->stack, event->stack_count * sizeof(*event->stack));
	at = append(at, event->data, message->data_size);
	at += whole_words(message->data_size) - message->data_size;
	at = append(at, event->name, message->name_size);
	at = append(at, event->text, message->text_size);
	at = append(at, event->domain, message->domain_size);
	append(at, event->unit, message->unit_size);
}

/* A text that ends where it says, or none. */
static bool take_text(const char **at, uint32_t size, const char **ret_text)
{
	*ret_text = size ? *at : NULL;
	*at += size;
	return !size || strnlen(*ret_text, size) == size - 1;
}

static bool makes_sense(const struct event_message *message)
{
	return message->type > GPUTRACE_EVENT_NONE && message->type <= GPUTRACE_EVENT_METRIC &&
	       message->arg_count <= sizeof(message->args) / sizeof(message->args[0]) && message->spans <= 1 &&
	       message->stack_end >= 0 && message->stack_end <= GPUTRACE_STACK_LOST &&
	       message->copy_kind >= 0 && message->copy_kind <= GPUTRACE_COPY_MEMSET &&
	       (message->type != GPUTRACE_EVENT_METRIC ||
		(message->name_size && message->unit_size && message->gpu >= 0)) &&
	       message->gpu >= -1 && message->gpu < GT_GPUS_MAX &&
	       strnlen(message->command, sizeof(message->command)) < sizeof(message->command);
}

int gt_message_read_event(const struct gt_message_head *head, struct gputrace_gpu *const *gpus,
			  struct gt_queued **ret_queued)
{
	const struct event_message *message = (const void *)head;
	size_t rest = head->size - sizeof(*message);
	struct gputrace_event *event;
	struct gt_queued *queued;
	const char *at;

	/* None of the sums overflows: the sizes are of 32 bits each. */
	if (head->size < sizeof(*message) || head->size > GT_MESSAGE_MAX || !makes_sense(message) ||
	    message->stack_count * sizeof(uint64_t) + whole_words(message->data_size) +
	    whole_words((size_t)message->name_size + message->text_size + message->domain_size + message->unit_size) != rest)
		return -EPROTO;
	queued = gt_queued_new(message->type, NULL, rest);
	if (!queued)
		return -ENOMEM;
	memcpy(queued->bytes, message + 1, rest);
	event = &queued->event;
#define READ(field) event->field = message->field;
	NUMBERS(READ)
#undef READ
	memcpy(event->args, message->args, sizeof(event->args));
	memcpy(event->grid, message->grid, sizeof(event->grid));
	memcpy(event->block, message->block, sizeof(event->block));
	memcpy(event->command, message->command, sizeof(event->command));
	event->gpu = message->gpu >= 0 ? gpus[message->gpu] : NULL;
	event->stack_count = message->stack_count;
	event->stack = message->stack_count ? (const void *)queued->bytes : NULL;
	at = queued->bytes + message->stack_count * sizeof(uint64_t);
	event->data_size = message->data_size;
	event->data = message->data_size ? at : NULL;
	at += whole_words(message->data_size);
	if (!take_text(&at, message->name_size, &event->name) || !take_text(&at, message->text_size, &event->text) ||
	    !take_text(&at, message->domain_size, &event->domain) || !take_text(&at, message->unit_size, &event->unit) ||
	    (message->gpu >= 0 && !event->gpu)) {
		free(queued);
		return -EPROTO;
	}
	*ret_queued = queued;
	return 0;
}

_Static_assert(sizeof(struct gt_message_kernel) % 8 == 0, "what follows is aligned");

bool gt_message_write_kernel(const struct gputrace_kernel *kernel, struct gt_message_kernel *message)
{
	size_t texts = text_size(kernel->name) + text_size(kernel->reason);

	if (texts > GT_MESSAGE_MAX - sizeof(*message) - 8)
		return false;
	*message = (struct gt_message_kernel){
		.head = { (uint32_t)(sizeof(*message) + whole_words(texts)), GT_MESSAGE_KERNEL },
		.launches = kernel->launches, .plain_launches = kernel->plain_launches,
		.number = kernel->number, .id = kernel->id, .module = kernel->module, .arch = kernel->arch,
		.registers = kernel->registers, .shared_bytes = kernel->shared_bytes,
		.pid = kernel->pid, .route = kernel->route,
		.name_size = (uint32_t)text_size(kernel->name), .reason_size = (uint32_t)text_size(kernel->reason),
	};
	return true;
}

const char *gt_message_kernel_name(const struct gt_message_kernel *message)
{
	return (const char *)(message + 1);
}

const char *gt_message_kernel_reason(const struct gt_message_kernel *message)
{
	return message->reason_size ? gt_message_kernel_name(message) + message->name_size : NULL;
}

bool gt_message_check_kernel(const struct gt_message_head *head)
{
	const struct gt_message_kernel *message = (const void *)head;
	const char *at = (const char *)(message + 1), *name, *reason;

	return head->size >= sizeof(*message) && message->number < GT_KERNELS_MAX &&
	       message->route >= GPUTRACE_ROUTE_NONE && message->route <= GPUTRACE_ROUTE_GRAFT &&
	       sizeof(*message) + whole_words((size_t)message->name_size + message->reason_size) == head->size &&
	       take_text(&at, message->name_size, &name) && name && take_text(&at, message->reason_size, &reason);
}

void gt_message_write_gpu(const struct gputrace_gpu *gpu, struct gt_message_gpu *message)
{
	*message = (struct gt_message_gpu){
		.head = { sizeof(*message), GT_MESSAGE_GPU },
		.index = gpu->index, .arch = gpu->arch, .sm_count = gpu->sm_count,
	};
	memcpy(message->uuid, gpu->uuid, sizeof(message->uuid));
	memcpy(message->pci_address, gpu->pci_address, sizeof(message->pci_address));
	memcpy(message->name, gpu->name, sizeof(message->name));
}

int gt_message_read_gpu(const struct gt_message_head *head, struct gputrace_gpu **gpus)
{
	const struct gt_message_gpu *message = (const void *)head;
	struct gputrace_gpu *gpu;

	/* It does not change: events point to it. */
	if (head->size != sizeof(*message) || message->index >= GT_GPUS_MAX || gpus[message->index])
		return -EPROTO;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return -ENOMEM;
	gpu->index = message->index;
	gpu->arch = message->arch;
	gpu->sm_count = message->sm_count;
	memcpy(gpu->uuid, message->uuid, sizeof(gpu->uuid));
	memcpy(gpu->pci_address, message->pci_address, sizeof(gpu->pci_address) - 1);
	memcpy(gpu->name, message->name, sizeof(gpu->name) - 1);
	gpus[message->index] = gpu;
	return 0;
}
