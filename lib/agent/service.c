/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include "lib/agent/agent.h"
#include "lib/agent/context.h"

/* Between clock samples, in ms: one alone says nothing of the clock's rate, so a few come soon. */
#define STAMP_PERIOD 50
#define STAMP_SOON 5
#define STAMPS_SOON 6

static pthread_t thread;
static atomic_bool started;	/* or about to be */
static atomic_bool running;	/* `thread` is set */
static atomic_bool stopping;

/* False when the controller has gone away or talks nonsense. */
static bool serve_message(void)
{
	struct gt_msg message;
	ssize_t n;

	if (!gt_session_is_open())
		return false;
	n = recv(gt_session.socket, &message, sizeof(message), MSG_DONTWAIT);
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
	struct pollfd wait = { .fd = gt_session.socket, .events = POLLIN };
	unsigned rounds = 0;

	(void)unused;
	gt_depth++;	/* whatever this thread asks of the driver is not the program's */
	for (;;) {
		int r = poll(&wait, 1, rounds < STAMPS_SOON ? STAMP_SOON : STAMP_PERIOD);

		if (atomic_load(&stopping))
			return NULL;
		if (r > 0 && !serve_message()) {
			if (!gt_session_is_open())
				gt_note(4, "the program has closed the agent's connection: nothing more is seen of this process");
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
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, serve, NULL))
		atomic_store(&started, false);
	else
		atomic_store(&running, true);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gt_service_stop(void)
{
	atomic_store(&stopping, true);
	if (atomic_load(&running)) {
		/* Wakes the thread; without, it would look after its next pause. */
		if (gt_session_is_open())
			shutdown(gt_session.socket, SHUT_RD);
		pthread_join(thread, NULL);
	}
	if (!atomic_load(&gt_active))
		return;
	gt_contexts_stamp();
	gt_contexts_flush();
	gt_session_send(GT_MSG_BYE, 0);
}
