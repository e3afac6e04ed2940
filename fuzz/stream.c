/* SPDX-License-Identifier: Apache-2.0 */
/* A stream that another process publishes, behind its greeting. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gputrace/gputrace.h>

#include "lib/reader/connect.h"
#include "lib/reader/message.h"

#define MOST 100000	/* fits a socket's buffer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned long long sum;

/* All that an event refers to is there. */
static void touch(const struct gputrace_event *event)
{
	const char *texts[] = { gputrace_event_get_name(event), gputrace_event_get_text(event),
				gputrace_event_get_domain(event), gputrace_event_get_command(event),
				gputrace_event_get_unit(event) };
	const struct gputrace_gpu *gpu = gputrace_event_get_gpu(event);
	unsigned stack_count, arg_count;
	const uint64_t *stack = gputrace_event_get_stack(event, &stack_count);
	const uint8_t *bytes;
	size_t size;

	for (int i = 0; i < 5; i++)
		sum += texts[i] ? strlen(texts[i]) : 0;
	for (unsigned i = 0; i < stack_count; i++)
		sum += stack[i];
	bytes = gputrace_event_get_data(event, &size);
	for (size_t i = 0; i < size; i++)
		sum += bytes[i];
	gputrace_event_get_args(event, &arg_count);
	for (unsigned i = 0; i < arg_count; i++)
		sum += gputrace_event_get_arg_name(event, i) != NULL;
	sum += gpu ? strlen(gputrace_gpu_get_name(gpu)) + strlen(gputrace_gpu_get_pci_address(gpu)) : 0;
}

static void touch_kernels(struct gputrace_reader *reader)
{
	const struct gputrace_kernel *kernel = NULL;

	while ((kernel = gputrace_reader_next_kernel(reader, kernel))) {
		const char *reason = gputrace_kernel_get_reason(kernel);

		sum += strlen(gputrace_kernel_get_name(kernel)) + strlen(gputrace_kernel_get_display_name(kernel));
		sum += reason ? strlen(reason) : 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_message_hello hello = { .head = { sizeof(hello), GT_MESSAGE_HELLO }, .magic = GT_MESSAGE_MAGIC };
	const struct gputrace_event *event;
	struct gputrace_reader *reader;
	int fds[2];

	snprintf(hello.version, sizeof(hello.version), "%s", PACKAGE_VERSION);
	if (size > MOST || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) ||
	    send(fds[0], &hello, sizeof(hello), 0) != (ssize_t)sizeof(hello) ||
	    send(fds[0], data, size, MSG_DONTWAIT) != (ssize_t)size || gt_source_open(fds[1], &reader))
		return 0;
	close(fds[0]);
	while (gputrace_reader_wait(reader, -1) == 1) {
		while ((event = gputrace_reader_next(reader)))
			touch(event);
	}
	touch_kernels(reader);
	gputrace_reader_unref(reader);
	return 0;
}
