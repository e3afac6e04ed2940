/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/context.h"

/* Between clock samples, in ms: one alone says nothing of the clock's rate, so a few come soon. */
#define STAMP_PERIOD 50
#define STAMP_SOON 5
#define STAMPS_SOON 6

static pthread_t thread;
static atomic_bool started;
static int stop_fd = -1;

/* False when the controller has gone away or talks nonsense. */
static bool serve_message(void)
{
	struct gt_msg message;
	ssize_t n = recv(gt_session.socket, &message, sizeof(message), MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n != (ssize_t)sizeof(message) || message.magic != GT_WIRE_MAGIC)
		return false;
	switch (message.type) {
	case GT_MSG_FLUSH:
		gt_contexts_flush();
		return gt_session_send(GT_MSG_FLUSHED, message.value);
	case GT_MSG_STAMP:
		gt_context_start_stamps((unsigned)message.value);
		return true;
	default:
		return true;
	}
}

static void *serve(void *unused)
{
	struct pollfd fds[] = {
		{ .fd = gt_session.socket, .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
	};

	unsigned rounds = 0;

	(void)unused;
	gt_depth++;	/* whatever this thread asks of the driver is not the program's */
	for (;;) {
		int r = poll(fds, 2, rounds < STAMPS_SOON ? STAMP_SOON : STAMP_PERIOD);

		if (r > 0 && fds[1].revents)
			return NULL;
		if (r > 0 && fds[0].revents && !serve_message()) {
			atomic_store(&gt_active, false);
			return NULL;
		}
		if (r == 0) {
			gt_contexts_stamp();
			rounds++;
		}
	}
}

void gt_service_start(void)
{
	sigset_t all, before;

	if (atomic_exchange(&started, true))
		return;
	stop_fd = eventfd(0, EFD_CLOEXEC);
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (stop_fd < 0 || pthread_create(&thread, NULL, serve, NULL))
		atomic_store(&started, false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gt_service_stop(void)
{
	uint64_t one = 1;

	if (atomic_load(&started) && write(stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(thread, NULL);
	if (!atomic_load(&gt_active))
		return;
	gt_contexts_stamp();
	gt_contexts_flush();
	gt_session_send(GT_MSG_BYE, 0);
}
