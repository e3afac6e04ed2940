/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/deep.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/exec.h"
#include "lib/agent/module/late.h"
#include "lib/agent/module/module.h"

/* Between clock samples, in ms: one alone says nothing of the clock's rate, so a few come soon. */
#define STAMP_PERIOD 50
#define STAMP_SOON 5
#define STAMPS_SOON 6
/* Between looks at copies, in ms: they are to be known before what came after them is delivered. */
#define COPIES_PERIOD 5

/* How long threads of the program may take to get out of our hooks: a launch waits when too many are queued. */
#define PATIENCE_MS (1000 * GT_LEAVING_S)
/* How long another controller waits for one that may be about to end its session. */
#define LEAVING_MS 2000
/* The same when that has hung up, and the thread is sure to let go of the process. */
#define ABANDONED_MS (2 * PATIENCE_MS)
/* How long the end of the program waits, if a signal's handler ends it while this thread is in a hook. */
#define INTERRUPTED_MS 1000

static atomic_bool started;	/* or about to be, or held */
static atomic_bool wanted;	/* while it was held */
static atomic_bool stopping;

/* What the controller wants of us; -1: nothing any more, or it talks nonsense. */
static int read_message(struct gt_msg *message)
{
	ssize_t n;

	if (!gt_session_is_open())
		return -1;
	n = recv(gt_session.socket, message, sizeof(*message), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n == (ssize_t)sizeof(*message) && message->magic == GT_WIRE_MAGIC ? 1 : -1;
}

/* False: let go of the process. */
static bool serve_message(void)
{
	struct gt_msg message;
	int r = read_message(&message);

	if (r <= 0)
		return !r;
	switch (message.type) {
	case GT_MSG_FLUSH:
		gt_contexts_flush();
		return gt_session_send(GT_MSG_FLUSHED, message.value);
	case GT_MSG_STAMP:
		gt_context_start_stamps((uint32_t)message.value);
		return true;
	case GT_MSG_DETACH:
		return false;
	default:
		return true;
	}
}

/*
 * The process as if we had never come, as far as that is possible: kernels with
 * the hidden parameter need their hooks as long as they are loaded.
 */
static void let_go(void)
{
	enum gt_leaving leaving;
	bool all;

	if (!gt_session_is_open())
		gt_note(4, "the program has closed the agent's connection: nothing more is seen of this process");
	gt_contexts_tick(true);
	atomic_store(&gt_active, false);
	gt_session_send(GT_MSG_LEAVING, GT_LEAVING_CALLS);
	if (!gt_wait_until_left(PATIENCE_MS)) {
		/* Somebody still uses it all, so it stays. */
		gt_session_send(GT_MSG_LEAVING, GT_LEAVING_STUCK);
		return;
	}
	gt_session_send(GT_MSG_LEAVING, GT_LEAVING_KERNELS);
	gt_execs_forget();
	gt_closing = true;
	all = gt_contexts_release();
	gt_closing = false;
	/* Nodes of graphs may run kernels that the program does not know, and must not be shown. */
	leaving = all ? gt_modules_leave() : GT_LEAVE_CHANGED;
	gt_late_forget();
	if (leaving != GT_LEAVE_CHANGED)
		gt_hooks_remove(leaving == GT_LEAVE_COPIES);
	gt_session_send(GT_MSG_BYE, 0);
	gt_session_close(!all);
}

static void say_goodbye(void)
{
	gt_contexts_tick(true);
	gt_contexts_flush();
	gt_session_send(GT_MSG_BYE, 0);
}

static int period(unsigned rounds)
{
	if (gt_session_records(GT_CONFIG_MEMCPY))
		return COPIES_PERIOD;
	return rounds < STAMPS_SOON ? STAMP_SOON : STAMP_PERIOD;
}

static bool is_stamp_due(unsigned rounds)
{
	return rounds < STAMPS_SOON || period(rounds) == STAMP_PERIOD || rounds % (STAMP_PERIOD / COPIES_PERIOD) == 0;
}

/*
 * 0: there is no message after so many ms; else there may be one.  A program may forbid itself to poll: then it is
 * looked for as often.
 */
static int wait_for_message(int ms)
{
	struct pollfd wait = { .fd = gt_session.socket, .events = POLLIN };
	const struct timespec pause = { .tv_nsec = ms * 1000000l };
	int r = poll(&wait, 1, ms);

	if (r < 0)
		nanosleep(&pause, NULL);
	return r;
}

static void serve_until_over(void)
{
	unsigned rounds = 0;

	for (;;) {
		int r = wait_for_message(period(rounds));

		if (atomic_load(&stopping)) {
			say_goodbye();
			return;
		}
		if (r && !serve_message()) {
			let_go();
			return;
		}
		if (r > 0)
			continue;
		gt_contexts_collect();
		if (is_stamp_due(rounds++))
			gt_contexts_tick(false);
	}
}

static void *serve(void *unused)
{
	(void)unused;
	gt_depth++;	/* whatever this thread asks of the driver is not the program's */
	serve_until_over();
	atomic_store(&started, false);
	return NULL;
}

static void start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The program may have made the default as small as its own threads need. */
	pthread_attr_setstacksize(&attr, GT_DEEP_BYTES);
	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, &attr, serve, NULL))
		atomic_store(&started, false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

void gt_service_start(void)
{
	atomic_store(&wanted, true);
	if (!atomic_exchange(&started, true))
		start_thread();
}

void gt_service_hold(void)
{
	atomic_store(&wanted, false);
	atomic_store(&started, true);
}

void gt_service_release(bool start)
{
	if (start || atomic_load(&wanted)) {
		start_thread();
		return;
	}
	atomic_store(&started, false);
	/* Somebody may just have found it held. */
	if (atomic_load(&wanted))
		gt_service_start();
}

void gt_service_in_child(void)
{
	atomic_store(&started, false);
	atomic_store(&wanted, false);
}

static bool wait_until_over(unsigned patience_ms)
{
	static const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t deadline = gt_now() + patience_ms * 1000000ull;

	while (atomic_load(&started)) {
		if (gt_now() >= deadline)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static bool is_abandoned(void)
{
	struct pollfd wait = { .fd = gt_session.socket };

	return poll(&wait, 1, 0) == 1 && wait.revents & POLLHUP;
}

bool gt_service_make_room(void)
{
	if (atomic_load(&stopping))
		return false;
	/* Nobody may have noticed yet that the last controller has gone. */
	if (gt_session.socket >= 0)
		gt_service_start();
	return wait_until_over(is_abandoned() ? ABANDONED_MS : LEAVING_MS) && gt_session.socket < 0;
}

/* This thread may have been interrupted under a lock, ours or the driver's, so the other one does the work. */
void gt_service_stop(bool interrupted)
{
	atomic_store(&stopping, true);
	if (!atomic_load(&started)) {
		if (atomic_load(&gt_active) && !interrupted)
			say_goodbye();
		return;
	}
	/* Wakes the thread; without, it would look after its next pause. */
	if (gt_session_is_open())
		shutdown(gt_session.socket, SHUT_RD);
	if (!wait_until_over(interrupted ? INTERRUPTED_MS : PATIENCE_MS))
		gt_note(4, "the program ended within a call of the driver: what maps in GPU memory held since they were last read is lost");
}
