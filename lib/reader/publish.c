/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each reader in another process has a socket and a buffer of its own.  What finds
 * no room in it is counted, and told in the stream as soon as there is some again.
 */
#include "lib/reader/publish.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/ctx.h"
#include "lib/reader/message.h"
#include "lib/reader/reader.h"
#include "lib/target/target.h"
#include "lib/util/error.h"

#define DEFAULT_BUFFER (16u << 20)
#define LEAST_BUFFER (64u << 10)
#define DEFAULT_LINGER_MS 1000u
#define FOLLOWERS_MAX 64u
#define BACKLOG 16
#define SEND_AT 65536u		/* bytes that make it worth while to send before the reader waits again */

struct follower {
	struct follower *next;
	int fd;			/* -1: gone */
	char *buffer;
	size_t begin, used;
	size_t unsent;		/* put there since it was last tried to send */
	uint64_t events, lost;	/* sent; not sent and not told */
	uint64_t gpus;		/* told; bits by index */
	uint64_t kernels;	/* told, up to this change of theirs */
	bool finished;		/* told that this is the end */
};

struct gt_publisher {
	struct gputrace_target *target;
	int listen_fd;
	struct sockaddr_un address;
	struct stat socket;	/* what we made there */
	size_t room;		/* of each buffer */
	unsigned linger_ms;
	struct follower *followers;
	unsigned count;
	bool ended;
	_Alignas(uint64_t) char message[GT_MESSAGE_MAX];
};

/* Room that is kept for saying what was lost, and for the end. */
#define RESERVE 1024u

/* ---- a buffer ---- */

static void put(const struct gt_publisher *publisher, struct follower *follower, const void *bytes, size_t size)
{
	size_t at = (follower->begin + follower->used) % publisher->room;
	size_t first = size < publisher->room - at ? size : publisher->room - at;

	memcpy(follower->buffer + at, bytes, first);
	memcpy(follower->buffer, (const char *)bytes + first, size - first);
	follower->used += size;
	follower->unsent += size;
}

static void drop(struct follower *follower)
{
	close(follower->fd);
	follower->fd = -1;
	follower->used = 0;
}

/* As much as it takes now. */
static void send_some(const struct gt_publisher *publisher, struct follower *follower)
{
	follower->unsent = 0;
	while (follower->used) {
		size_t part = publisher->room - follower->begin;
		ssize_t n = send(follower->fd, follower->buffer + follower->begin,
				 part < follower->used ? part : follower->used, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			drop(follower);
		if (n < 0)
			return;
		follower->begin = (follower->begin + (size_t)n) % publisher->room;
		follower->used -= (size_t)n;
	}
}

/* ---- events ---- */

static void put_lost(const struct gt_publisher *publisher, struct follower *follower)
{
	_Alignas(uint64_t) char message[RESERVE - sizeof(struct gt_message_end)];
	struct gputrace_event lost = {
		.type = GPUTRACE_EVENT_LOST, .device = -1, .name = "buffer of a reader in another process",
		.count = follower->lost,
	};

	if (!follower->lost)
		return;
	lost.time = lost.end = gt_reader_now();
	gt_message_write_event(&lost, message);
	put(publisher, follower, message, gt_message_event_size(&lost));
	follower->events++;
	follower->lost = 0;
}

static void put_gpu(const struct gt_publisher *publisher, struct follower *follower, const struct gputrace_gpu *gpu)
{
	struct gt_message_gpu message;

	if (!gpu || follower->gpus >> gpu->index & 1)
		return;
	gt_message_write_gpu(gpu, &message);
	put(publisher, follower, &message, sizeof(message));
	follower->gpus |= 1ull << gpu->index;
}

/* Padding to a multiple of 8, too. */
static void put_kernel(const struct gt_publisher *publisher, struct follower *follower,
		       const struct gputrace_kernel *kernel, const struct gt_message_kernel *message)
{
	static const char zeros[8];
	size_t size = sizeof(*message) + message->name_size + message->reason_size;

	put(publisher, follower, message, sizeof(*message));
	put(publisher, follower, kernel->name, message->name_size);
	if (kernel->reason)
		put(publisher, follower, kernel->reason, message->reason_size);
	put(publisher, follower, zeros, message->head.size - size);
}

static bool has_room(const struct gt_publisher *publisher, const struct follower *follower, size_t size)
{
	return follower->used + size + sizeof(struct gt_message_gpu) + RESERVE <= publisher->room;
}

/* Kernels that are new or not what they were, as many as there is room for; false: some are left. */
static bool put_kernels(const struct gt_publisher *publisher, struct follower *follower)
{
	const struct gputrace_kernel *kernel = gt_kernels_changed_since(&publisher->target->kernels, follower->kernels);

	for (; kernel; kernel = kernel->later) {
		struct gt_message_kernel message;
		bool fits = gt_message_write_kernel(kernel, &message) &&
			    message.head.size + sizeof(struct gt_message_gpu) + RESERVE <= publisher->room;

		if (fits && !has_room(publisher, follower, message.head.size))
			return false;
		if (fits)
			put_kernel(publisher, follower, kernel, &message);
		else
			follower->lost++;
		follower->kernels = kernel->change;
	}
	return true;
}

static void put_event(const struct gt_publisher *publisher, struct follower *follower,
		      const struct gputrace_event *event, size_t size)
{
	if (!put_kernels(publisher, follower) || !size || !has_room(publisher, follower, size)) {
		follower->lost++;
		return;
	}
	put_lost(publisher, follower);
	put_gpu(publisher, follower, event->gpu);
	put(publisher, follower, publisher->message, size);
	follower->events++;
	if (follower->unsent >= SEND_AT)
		send_some(publisher, follower);
}

void gt_publisher_tell(struct gt_publisher *publisher, const struct gputrace_event *event)
{
	size_t size = gt_message_event_size(event);

	if (!publisher->count)
		return;
	if (size)
		gt_message_write_event(event, publisher->message);
	for (struct follower *follower = publisher->followers; follower; follower = follower->next) {
		if (follower->fd >= 0)
			put_event(publisher, follower, event, size);
	}
}

/* The end comes after all kernels, which may have to wait until there is room. */
static void finish(const struct gt_publisher *publisher, struct follower *follower)
{
	struct gt_message_end end = { .head = { sizeof(end), GT_MESSAGE_END } };

	if (!follower->finished && put_kernels(publisher, follower)) {
		put_lost(publisher, follower);
		end.events = follower->events;
		put(publisher, follower, &end, sizeof(end));
		follower->finished = true;
	}
	send_some(publisher, follower);
}

void gt_publisher_end(struct gt_publisher *publisher)
{
	if (publisher->ended)
		return;
	publisher->ended = true;
	/* How often each was launched is told once more, now that it is known. */
	gt_kernels_touch_launched(&publisher->target->kernels);
	for (struct follower *follower = publisher->followers; follower; follower = follower->next) {
		if (follower->fd >= 0)
			finish(publisher, follower);
	}
}

/* ---- who comes and goes ---- */

/* Only our own user and root: they may look into the traced programs anyway. */
static bool may_follow(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (peer.uid == geteuid() || !peer.uid);
}

static void add(struct gt_publisher *publisher, int fd)
{
	struct gt_message_hello hello = {
		.head = { sizeof(hello), GT_MESSAGE_HELLO }, .magic = GT_MESSAGE_MAGIC,
	};
	struct follower *follower = NULL;

	if (publisher->count < FOLLOWERS_MAX && may_follow(fd))
		follower = calloc(1, sizeof(*follower));
	if (follower)
		follower->buffer = malloc(publisher->room);
	if (!follower || !follower->buffer) {
		free(follower);
		close(fd);
		return;
	}
	follower->fd = fd;
	follower->next = publisher->followers;
	publisher->followers = follower;
	publisher->count++;
	snprintf(hello.version, sizeof(hello.version), "%s", PACKAGE_VERSION);
	put(publisher, follower, &hello, sizeof(hello));
}

/* They have nothing to say: whoever does, or has hung up, is not wanted. */
static bool is_there(const struct follower *follower)
{
	char byte;

	return follower->fd >= 0 && recv(follower->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 &&
	       (errno == EAGAIN || errno == EINTR);
}

static void forget(struct gt_publisher *publisher, struct follower **link)
{
	struct follower *follower = *link;

	*link = follower->next;
	publisher->count--;
	if (follower->fd >= 0)
		close(follower->fd);
	free(follower->buffer);
	free(follower);
}

static void let_in(struct gt_publisher *publisher)
{
	/* Some at a time, however many knock. */
	for (int i = 0; i < BACKLOG; i++) {
		int fd = accept4(publisher->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		add(publisher, fd);
	}
}

static void serve(const struct gt_publisher *publisher, struct follower *follower)
{
	if (publisher->ended) {
		finish(publisher, follower);
		return;
	}
	put_kernels(publisher, follower);
	send_some(publisher, follower);
}

void gt_publisher_serve(struct gt_publisher *publisher)
{
	struct follower **link = &publisher->followers;

	if (!publisher->ended)
		let_in(publisher);
	while (*link) {
		if (is_there(*link))
			serve(publisher, *link);
		if (is_there(*link))
			link = &(*link)->next;
		else
			forget(publisher, link);
	}
}

/* ---- beginning and ending ---- */

/* One that was left behind by a process that was killed is in nobody's way. */
static int bind_socket(struct gt_publisher *publisher, int fd)
{
	const struct sockaddr *address = (const void *)&publisher->address;
	const char *path = publisher->address.sun_path;
	struct stat status;
	int probe;

	if (!bind(fd, address, sizeof(publisher->address)))
		return 0;
	if (errno != EADDRINUSE || lstat(path, &status) || !S_ISSOCK(status.st_mode))
		return -errno;
	probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (probe < 0)
		return -errno;
	if (!connect(probe, address, sizeof(publisher->address)) || errno != ECONNREFUSED) {
		close(probe);
		return -EADDRINUSE;
	}
	close(probe);
	return unlink(path) || bind(fd, address, sizeof(publisher->address)) ? -errno : 0;
}

static int open_socket(struct gt_publisher *publisher, struct gputrace_reader *reader)
{
	struct epoll_event event = { .events = EPOLLIN };
	const char *path = publisher->address.sun_path;
	int r;

	publisher->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (publisher->listen_fd < 0)
		return -errno;
	r = bind_socket(publisher, publisher->listen_fd);
	if (r)
		return r;
	/* Nobody gets in before listen(). */
	if (stat(path, &publisher->socket) || chmod(path, 0600) || listen(publisher->listen_fd, BACKLOG) ||
	    epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, publisher->listen_fd, &event))
		return -errno;
	return 0;
}

static int check_opts(struct gputrace_publish_opts *opts)
{
	if (!opts->buffer_bytes)
		opts->buffer_bytes = DEFAULT_BUFFER;
	if (!opts->linger_ms)
		opts->linger_ms = DEFAULT_LINGER_MS;
	if (opts->reserved)
		return gt_error(-EINVAL, "the reserved field of struct gputrace_publish_opts is not 0");
	if (opts->buffer_bytes < LEAST_BUFFER || opts->buffer_bytes > 1u << 30)
		return gt_error(-EINVAL, "buffer_bytes is %llu: give 65536 to 2^30",
				(unsigned long long)opts->buffer_bytes);
	return 0;
}

int gputrace_reader_publish(struct gputrace_reader *reader, const char *path, const struct gputrace_publish_opts *opts)
{
	struct gputrace_publish_opts known;
	struct gt_publisher *publisher;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (!r)
		r = check_opts(&known);
	if (r)
		return r;
	if (!path || !*path || strlen(path) >= sizeof(publisher->address.sun_path))
		return gt_error(-EINVAL, "a path of 1 to %zu bytes is needed", sizeof(publisher->address.sun_path) - 1);
	if (!reader->target || reader->publisher)
		return gt_error(-EBUSY, "this reader publishes its stream already, or is one of another process's stream");
	publisher = calloc(1, sizeof(*publisher));
	if (!publisher)
		return gt_error(-ENOMEM, "out of memory");
	publisher->target = reader->target;
	publisher->room = known.buffer_bytes;
	publisher->linger_ms = known.linger_ms;
	publisher->address.sun_family = AF_UNIX;
	strcpy(publisher->address.sun_path, path);
	r = open_socket(publisher, reader);
	if (r) {
		gt_publisher_close(publisher);
		return gt_error(r, "%s: %s", path, r == -EADDRINUSE ? "is there already, and in use or no socket" :
				strerror(-r));
	}
	reader->publisher = publisher;
	return 0;
}

/* Give the slow ones a moment. */
static void linger(struct gt_publisher *publisher)
{
	uint64_t deadline = gt_reader_now() + publisher->linger_ms * 1000000ull;

	for (;;) {
		struct pollfd wait[FOLLOWERS_MAX];
		unsigned count = 0;

		gt_publisher_serve(publisher);
		for (struct follower *follower = publisher->followers; follower; follower = follower->next) {
			if (follower->used || !follower->finished)
				wait[count++] = (struct pollfd){ .fd = follower->fd, .events = POLLOUT };
		}
		if (!count || gt_reader_now() >= deadline)
			return;
		poll(wait, count, 10);
	}
}

void gt_publisher_close(struct gt_publisher *publisher)
{
	struct stat status;

	if (!publisher)
		return;
	gt_publisher_end(publisher);
	linger(publisher);
	while (publisher->followers)
		forget(publisher, &publisher->followers);
	if (publisher->listen_fd >= 0)
		close(publisher->listen_fd);
	if (publisher->socket.st_ino && !lstat(publisher->address.sun_path, &status) &&
	    status.st_dev == publisher->socket.st_dev && status.st_ino == publisher->socket.st_ino)
		unlink(publisher->address.sun_path);
	free(publisher);
}
