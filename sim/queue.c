/* SPDX-License-Identifier: Apache-2.0 */
/* Operations, their order, and the threads that run them. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sim/queue.h"

/*
 * Enough threads that kernels which wait for each other all run.  A thread that
 * has nothing to do looks again for a while before it sleeps, since a program
 * that launches and waits in turn would otherwise pay two wake-ups a launch.
 */
#define MAX_WORKERS	256
#define SPINS		1500
#define MAX_QUEUED	8192	/* operations of a context */

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t work_cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static struct sim_op *ready_head, **ready_tail = &ready_head;
static atomic_uint ready_count;
static unsigned workers, spinning, sleeping, woken, waiting;

static void pause_briefly(void)
{
	__builtin_ia32_pause();
}

static int spins(void)
{
	static atomic_int count = -1;
	int n = atomic_load_explicit(&count, memory_order_relaxed);

	if (n < 0) {
		n = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPINS : 0;
		atomic_store_explicit(&count, n, memory_order_relaxed);
	}
	return n;
}

struct sim_op *sim_op_new(void)
{
	struct sim_op *op = calloc(1, sizeof(*op));

	if (op) {
		atomic_init(&op->refs, 1);
		op->pending = 1;
		op->work.type = SIM_WORK_EMPTY;
	}
	return op;
}

struct sim_op *sim_op_ref(struct sim_op *op)
{
	if (op)
		atomic_fetch_add_explicit(&op->refs, 1, memory_order_relaxed);
	return op;
}

struct sim_op *sim_op_unref(struct sim_op *op)
{
	if (op && atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) == 1) {
		sim_work_clear(&op->work);
		free(op->after);
		free(op);
	}
	return NULL;
}

void sim_op_own(struct sim_op *op, struct CUctx_st *ctx)
{
	op->work.ctx = ctx;
	atomic_fetch_add_explicit(&ctx->queued, 1, memory_order_relaxed);
}

void sim_queue_wait_for_room(struct CUctx_st *ctx)
{
	struct timespec pause = { .tv_nsec = 50000 };

	while (atomic_load_explicit(&ctx->queued, memory_order_relaxed) > MAX_QUEUED)
		nanosleep(&pause, NULL);
}

bool sim_op_is_done(const struct sim_op *op)
{
	/* Pairs with the store in sim_op_complete(): what the operation wrote is seen. */
	return !op || atomic_load_explicit(&op->done, memory_order_acquire);
}

CUresult sim_op_after(struct sim_op *op, struct sim_op *before)
{
	if (sim_op_is_done(before) || before == op)
		return CUDA_SUCCESS;
	if (before->after_count == before->after_space) {
		size_t space = before->after_space ? before->after_space * 2 : 4;
		struct sim_op **after = realloc(before->after, space * sizeof(*after));

		if (!after)
			return CUDA_ERROR_OUT_OF_MEMORY;
		before->after = after;
		before->after_space = space;
	}
	before->after[before->after_count++] = sim_op_ref(op);
	op->pending++;
	return CUDA_SUCCESS;
}

/* Queue an operation that waits for nothing; the queue holds a reference. */
static void make_ready(struct sim_op *op)
{
	op->ready_next = NULL;
	*ready_tail = sim_op_ref(op);
	ready_tail = &op->ready_next;
	atomic_fetch_add(&ready_count, 1);
}

static struct sim_op *take_ready(void)
{
	struct sim_op *op = ready_head;

	if (op) {
		ready_head = op->ready_next;
		if (!ready_head)
			ready_tail = &ready_head;
		atomic_fetch_sub(&ready_count, 1);
	}
	return op;
}

/* Lets go of the operations that waited for this one. */
void sim_op_complete(struct sim_op *op)
{
	atomic_store_explicit(&op->done, true, memory_order_release);
	for (size_t i = 0; i < op->after_count; i++) {
		if (--op->after[i]->pending == 0)
			make_ready(op->after[i]);
		sim_op_unref(op->after[i]);
	}
	op->after_count = 0;
	if (waiting)
		pthread_cond_broadcast(&done_cond);
}

static void *worker(void *unused);

static bool start_worker(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool ok;

	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&thread, NULL, worker, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok) {
		pthread_setname_np(thread, "gputrace-sim");
		pthread_detach(thread);
		workers++;
	}
	return ok;
}

/* See to it that `own` threads besides the caller are not too few for what is ready. */
static void call_workers(unsigned own)
{
	unsigned ready = atomic_load(&ready_count);
	unsigned awake = spinning + own;

	for (; awake < ready; awake++) {
		if (sleeping) {
			sleeping--;
			woken++;
			pthread_cond_signal(&work_cond);
		} else if (workers >= MAX_WORKERS || !start_worker()) {
			break;
		} else {
			spinning++;	/* the new thread begins as one that looks for work */
		}
	}
}

void sim_op_submit(struct sim_op *op)
{
	if (--op->pending == 0) {
		make_ready(op);
		call_workers(0);
	}
}

/* Called and returns with sim_lock held, counted as spinning on entry and not on return. */
static struct sim_op *find_work(void)
{
	struct sim_op *op = take_ready();

	while (!op) {
		pthread_mutex_unlock(&sim_lock);
		for (int i = spins(); i && !atomic_load(&ready_count); i--)
			pause_briefly();
		pthread_mutex_lock(&sim_lock);
		op = take_ready();
		if (op)
			break;
		spinning--;
		sleeping++;
		/* Whoever wakes a thread has counted it out of the sleeping ones. */
		while (!woken)
			pthread_cond_wait(&work_cond, &sim_lock);
		woken--;
		spinning++;
		op = take_ready();
	}
	spinning--;
	return op;
}

static void *worker(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&sim_lock);
	for (;;) {
		struct sim_op *op = find_work();
		struct CUctx_st *ctx = op->work.ctx;

		pthread_mutex_unlock(&sim_lock);
		/* After a failed kernel a context runs nothing more, but owes callbacks. */
		if (!ctx || !atomic_load(&ctx->error) || op->work.type == SIM_WORK_CALLBACK) {
			CUresult result = sim_work_run(&op->work);

			if (result != CUDA_SUCCESS && ctx)
				sim_context_fail(ctx, result, NULL);
		}
		atomic_store(&op->time, ctx ? sim_clock(ctx->gpu) : sim_now());
		sim_work_clear(&op->work);
		if (ctx)
			atomic_fetch_sub_explicit(&ctx->queued, 1, memory_order_relaxed);
		pthread_mutex_lock(&sim_lock);
		sim_op_complete(op);
		call_workers(1);
		spinning++;
		sim_op_unref(op);
	}
	return NULL;
}

void sim_op_wait(struct sim_op *op)
{
	for (int i = spins(); i && !sim_op_is_done(op); i--)
		pause_briefly();
	if (sim_op_is_done(op))
		return;
	pthread_mutex_lock(&sim_lock);
	waiting++;
	while (!sim_op_is_done(op))
		pthread_cond_wait(&done_cond, &sim_lock);
	waiting--;
	pthread_mutex_unlock(&sim_lock);
}
