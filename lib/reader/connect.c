/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/connect.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/reader/message.h"
#include "lib/reader/reader.h"
#include "lib/symbol/symbolizer.h"
#include "lib/target/kernel.h"
#include "lib/util/error.h"

#define ROOM (2u * GT_MESSAGE_MAX)	/* for one message at least, wherever it begins */

struct gt_source {
	bool greeted;
	int over;			/* why nothing more comes: -ENODATA, -ECONNRESET, -EPROTO, -ENOMEM */
	const char *reason;
	uint64_t events;		/* taken in */
	struct gputrace_gpu *gpus[GT_GPUS_MAX];
	struct gputrace_kernel **kernels;	/* by number; of some nothing has come yet */
	uint32_t kernel_room;
	uint64_t name_bytes;		/* of theirs */
	size_t begin, end;		/* of what has come and is not used yet */
	_Alignas(uint64_t) char buffer[ROOM];
};

static void give_up(struct gt_source *source, int error, const char *reason)
{
	source->over = error;
	source->reason = reason;
	source->begin = source->end = 0;
}

/* ---- messages ---- */

/* The first one, if all of it is there. */
static const struct gt_message_head *first(struct gt_source *source)
{
	const struct gt_message_head *head = (const void *)(source->buffer + source->begin);
	size_t there = source->end - source->begin;

	if (there < sizeof(*head))
		return NULL;
	if (head->size < sizeof(*head) || head->size % 8 || head->size > GT_MESSAGE_MAX) {
		give_up(source, -EPROTO, "what comes is not a stream of this library");
		return NULL;
	}
	return there < head->size ? NULL : head;
}

static void greet(struct gt_source *source, const struct gt_message_head *head)
{
	const struct gt_message_hello *hello = (const void *)head;

	if (head->kind != GT_MESSAGE_HELLO || head->size != sizeof(*hello) || hello->magic != GT_MESSAGE_MAGIC)
		give_up(source, -EPROTO, "what comes is not a stream of this library");
	else if (strncmp(hello->version, PACKAGE_VERSION, sizeof(hello->version)))
		give_up(source, -EPROTO, "the stream is of another version of this library");
	source->greeted = true;
}

static void end(struct gt_source *source, const struct gt_message_head *head)
{
	const struct gt_message_end *message = (const void *)head;

	if (head->size != sizeof(*message) || message->events != source->events)
		give_up(source, -EPROTO, "events of the stream are missing");
	else
		give_up(source, -ENODATA, "the stream has ended and everything was delivered");
}

static void take_gpu(struct gt_source *source, const struct gt_message_head *head)
{
	int r = gt_message_read_gpu(head, source->gpus);

	if (r)
		give_up(source, r, r == -ENOMEM ? "out of memory" : "a message makes no sense");
}

static int make_room(struct gt_source *source, uint32_t number)
{
	uint32_t room = source->kernel_room ? source->kernel_room : 64;
	struct gputrace_kernel **more;

	if (number < source->kernel_room)
		return 0;
	while (room <= number)
		room *= 2;
	more = reallocarray(source->kernels, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + source->kernel_room, 0, (room - source->kernel_room) * sizeof(*more));
	source->kernels = more;
	source->kernel_room = room;
	return 0;
}

static struct gputrace_kernel *add_kernel(struct gt_source *source, const struct gt_message_kernel *message)
{
	struct gputrace_kernel *kernel = source->name_bytes > GT_KERNEL_NAMES_MAX ? NULL :
		gt_kernel_new(message->number, message->pid, message->id, gt_message_kernel_name(message));

	if (!kernel)
		return NULL;
	source->name_bytes += gt_kernel_name_bytes(kernel);
	source->kernels[message->number] = kernel;
	return kernel;
}

static int update_kernel(struct gt_source *source, const struct gt_message_kernel *message)
{
	struct gputrace_kernel *kernel;
	int r = make_room(source, message->number);

	if (r)
		return r;
	kernel = source->kernels[message->number];
	/* What it is called does not change: names of it may be in use. */
	if (kernel && (kernel->pid != message->pid || kernel->id != message->id ||
		       strcmp(kernel->name, gt_message_kernel_name(message))))
		return -EPROTO;
	if (!kernel)
		kernel = add_kernel(source, message);
	if (!kernel)
		return -ENOMEM;
	kernel->module = message->module;
	kernel->arch = message->arch;
	kernel->registers = message->registers;
	kernel->shared_bytes = message->shared_bytes;
	kernel->route = message->route;
	kernel->launches = message->launches;
	kernel->plain_launches = message->plain_launches;
	gt_kernel_set_reason(kernel, gt_message_kernel_reason(message));
	return 0;
}

static void take_kernel(struct gt_source *source, const struct gt_message_head *head)
{
	int r = gt_message_check_kernel(head) ? update_kernel(source, (const void *)head) : -EPROTO;

	if (r)
		give_up(source, r, r == -ENOMEM ? "out of memory" : "a message makes no sense");
}

/* The next event's message; what comes before it is taken in.  NULL: it has not come, or there is none any more. */
static const struct gt_message_head *next_event(struct gt_source *source)
{
	const struct gt_message_head *head;

	while (!source->over && (head = first(source))) {
		size_t size = head->size;

		if (source->greeted && head->kind == GT_MESSAGE_EVENT)
			return head;
		if (!source->greeted)
			greet(source, head);
		else if (head->kind == GT_MESSAGE_GPU)
			take_gpu(source, head);
		else if (head->kind == GT_MESSAGE_KERNEL)
			take_kernel(source, head);
		else if (head->kind == GT_MESSAGE_END)
			end(source, head);
		else
			give_up(source, -EPROTO, "a message makes no sense");
		if (!source->over)
			source->begin += size;
	}
	return NULL;
}

static void receive(struct gt_source *source, int fd)
{
	ssize_t n;

	if (source->begin) {
		memmove(source->buffer, source->buffer + source->begin, source->end - source->begin);
		source->end -= source->begin;
		source->begin = 0;
	}
	n = recv(fd, source->buffer + source->end, ROOM - source->end, MSG_DONTWAIT);
	if (n > 0)
		source->end += (size_t)n;
	else if (!n || (errno != EAGAIN && errno != EINTR))
		give_up(source, -ECONNRESET, "the process that publishes the stream is gone, and what it had not sent with it");
}

/* ---- the reader ---- */

int gt_source_wait(struct gputrace_reader *reader, int timeout_ms)
{
	struct gt_source *source = reader->source;
	uint64_t start = gt_reader_now();

	for (;;) {
		struct pollfd wait = { .fd = reader->epoll_fd, .events = POLLIN };
		uint64_t waited;

		if (next_event(source))
			return 1;
		if (source->over)
			return gt_error(source->over, "%s", source->reason);
		waited = (gt_reader_now() - start) / 1000000;
		if (poll(&wait, 1, timeout_ms < 0 ? -1 : waited < (uint64_t)timeout_ms ? timeout_ms - (int)waited : 0) == 1)
			receive(source, reader->epoll_fd);
		else if (timeout_ms >= 0 && waited >= (uint64_t)timeout_ms)
			return 0;
	}
}

static void count_lost(struct gputrace_reader *reader, const struct gputrace_event *event)
{
	if (event->type == GPUTRACE_EVENT_LOST &&
	    __builtin_add_overflow(reader->lost, event->count, &reader->lost))
		reader->lost = UINT64_MAX;
}

struct gt_queued *gt_source_next(struct gputrace_reader *reader)
{
	struct gt_source *source = reader->source;
	const struct gt_message_head *head = next_event(source);
	const struct gputrace_event *event;
	struct gt_queued *queued;
	int r;

	if (!head)
		return NULL;
	r = gt_message_read_event(head, source->gpus, &queued);
	if (r) {
		give_up(source, r, r == -ENOMEM ? "out of memory" : "a message makes no sense");
		return NULL;
	}
	source->begin += head->size;
	source->events++;
	event = &queued->event;
	count_lost(reader, event);
	if (reader->symbolizer && event->stack_count)
		gt_symbolizer_note(reader->symbolizer, event->pid, event->time, event->stack, event->stack_count);
	return queued;
}

const struct gputrace_kernel *gt_source_next_kernel(const struct gt_source *source,
						    const struct gputrace_kernel *previous)
{
	uint32_t number = previous ? previous->number + 1 : 0;

	while (number < source->kernel_room && !source->kernels[number])
		number++;
	return number < source->kernel_room ? source->kernels[number] : NULL;
}

void gt_source_free(struct gt_source *source)
{
	if (!source)
		return;
	for (unsigned i = 0; i < GT_GPUS_MAX; i++)
		free(source->gpus[i]);
	for (uint32_t i = 0; i < source->kernel_room; i++)
		gt_kernel_free(source->kernels[i]);
	free(source->kernels);
	free(source);
}

int gt_source_open(int fd, struct gputrace_reader **ret_reader)
{
	struct gputrace_reader *reader = calloc(1, sizeof(*reader));

	if (reader)
		reader->source = calloc(1, sizeof(*reader->source));
	if (!reader || !reader->source) {
		free(reader);
		close(fd);
		return gt_error(-ENOMEM, "out of memory");
	}
	reader->references = 1;
	reader->epoll_fd = fd;
	*ret_reader = reader;
	return 0;
}

int gputrace_reader_connect(const char *path, struct gputrace_reader **ret_reader)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, r;

	if (!path || !*path || strlen(path) >= sizeof(address.sun_path))
		return gt_error(-EINVAL, "a path of 1 to %zu bytes is needed", sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return gt_error(-errno, "no socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		r = -errno;
		close(fd);
		return gt_error(r, "%s: %s", path, r == -ECONNREFUSED ? "nobody publishes a stream there" :
				strerror(-r));
	}
	return gt_source_open(fd, ret_reader);
}
