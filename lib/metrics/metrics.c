/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/metrics/metrics.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/ctx.h"
#include "lib/metrics/device.h"
#include "lib/metrics/machine.h"
#include "lib/metrics/nvml.h"
#include "lib/metrics/outbox.h"
#include "lib/metrics/reasons.h"
#include "lib/reader/reader.h"
#include "lib/target/spawn.h"
#include "lib/util/error.h"

#define DEFAULT_PERIOD_MS 100u
#define PERIOD_MAX_MS 60000u
#define ALL 0xffu
#define GRACE_NS UINT64_C(5000000000)	/* for what the driver is asked when all is over */

struct gt_metrics {
	struct gt_nvml nvml;
	uint64_t period_ns;
	uint32_t select;
	struct gt_outbox outbox;
	bool found_processes;		/* of the target, among those that the driver lists */
	pid_t pid;			/* a child of fork() has no such thread */
	pthread_t thread;
	pthread_mutex_t lock;		/* of what follows, to the condition */
	unsigned device_count;		/* devices below it belong to the thread */
	bool stop, stopped;
	bool left;			/* nobody waits for the thread any more: it frees all this */
	pthread_cond_t changed;
	struct gt_metric_device devices[GT_GPUS_MAX];
};

/* ---- the thread that samples ---- */

static void sample_all(struct gt_metrics *metrics, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		gt_metric_device_sample(&metrics->devices[i], &metrics->nvml, metrics->select, &metrics->outbox);
}

/* false: that time has come.  Called with the lock. */
static bool wait_until(struct gt_metrics *metrics, uint64_t time)
{
	struct timespec t = gt_reader_moment(time);

	return pthread_cond_timedwait(&metrics->changed, &metrics->lock, &t) != ETIMEDOUT;
}

static void destroy(struct gt_metrics *metrics)
{
	for (unsigned i = 0; i < metrics->device_count; i++)
		gt_metric_device_close(&metrics->devices[i], &metrics->nvml);
	gt_nvml_close(&metrics->nvml);
	gt_outbox_free(&metrics->outbox);
	pthread_cond_destroy(&metrics->changed);
	pthread_mutex_destroy(&metrics->lock);
	free(metrics);
}

/* What destroy() gives back, but for the library. */
static void prepare(struct gt_metrics *metrics)
{
	pthread_condattr_t attributes;

	gt_outbox_init(&metrics->outbox);
	pthread_mutex_init(&metrics->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&metrics->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void *run(void *data)
{
	struct gt_metrics *metrics = data;
	uint64_t next = gt_reader_now();
	bool left;

	pthread_mutex_lock(&metrics->lock);
	while (!metrics->stop) {
		unsigned count = metrics->device_count;
		uint64_t now;

		pthread_mutex_unlock(&metrics->lock);
		sample_all(metrics, count);
		now = gt_reader_now();
		/* Moments that have passed meanwhile are left out. */
		if (next <= now)
			next += ((now - next) / metrics->period_ns + 1) * metrics->period_ns;
		pthread_mutex_lock(&metrics->lock);
		while (!metrics->stop && metrics->device_count == count && wait_until(metrics, next))
			;
	}
	metrics->stopped = true;
	left = metrics->left;
	pthread_cond_signal(&metrics->changed);
	pthread_mutex_unlock(&metrics->lock);
	if (left)
		destroy(metrics);
	return NULL;
}

/* false: what it has asked the driver is not answered yet, and it will free all. */
static bool stop(struct gt_metrics *metrics)
{
	uint64_t deadline = gt_reader_now() + GRACE_NS;
	pthread_t thread = metrics->thread;
	bool stopped;

	pthread_mutex_lock(&metrics->lock);
	metrics->stop = true;
	pthread_cond_signal(&metrics->changed);
	while (!metrics->stopped && wait_until(metrics, deadline))
		;
	stopped = metrics->stopped;
	metrics->left = !stopped;
	pthread_mutex_unlock(&metrics->lock);
	if (stopped)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	return stopped;
}

/* With no signal: those of the program are for its own threads. */
static int start(struct gt_metrics *metrics)
{
	sigset_t all, before;
	int error;

	metrics->pid = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&metrics->thread, NULL, run, metrics);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error ? gt_error(-error, "no thread that samples metrics: %s", strerror(error)) : 0;
}

/* ---- the reader's side ---- */

static void add_device(struct gt_metrics *metrics, const struct gputrace_gpu *gpu)
{
	pthread_mutex_lock(&metrics->lock);
	metrics->devices[metrics->device_count] = (struct gt_metric_device){ .gpu = gpu, .identity = *gpu };
	metrics->device_count++;
	pthread_cond_signal(&metrics->changed);
	pthread_mutex_unlock(&metrics->lock);
}

/* They come in the order of the target's list, and none goes. */
static void follow_gpus(struct gt_metrics *metrics, const struct gputrace_target *target)
{
	unsigned index = 0;

	for (const struct gputrace_gpu *gpu = target->gpus; gpu; gpu = gpu->next) {
		if (index++ == metrics->device_count)
			add_device(metrics, gpu);
	}
}

static bool is_wanted(const struct gputrace_target *target, int pid)
{
	if (!pid || target->kind == GT_TARGET_WATCHED)
		return true;
	for (const struct gt_process *process = target->processes; process; process = process->next) {
		if (process->pid == pid)
			return true;
	}
	return false;
}

static void push(struct gputrace_reader *reader, const struct gt_metric *metric)
{
	bool reasons = gt_reasons_are(metric->name);
	struct gt_queued *queued = gt_queued_new(GPUTRACE_EVENT_METRIC, NULL, reasons ? GT_REASONS_SIZE : 0);

	reader->metrics->found_processes |= metric->pid != 0;
	if (queued) {
		queued->event.time = metric->time;
		queued->event.end = metric->end;
		queued->event.pid = metric->pid;
		queued->event.gpu = metric->gpu;
		queued->event.name = metric->name;
		queued->event.unit = metric->unit;
		queued->event.metric_value = metric->value;
		if (reasons)
			queued->event.text = gt_reasons_text((uint64_t)metric->value, queued->bytes);
	}
	gt_reader_push(reader, queued);
}

static void take_all(struct gputrace_reader *reader)
{
	uint64_t lost;
	size_t count;
	struct gt_metric *taken = gt_outbox_take(&reader->metrics->outbox, &count, &lost);

	for (size_t i = 0; i < count; i++) {
		if (taken[i].note)
			gt_reader_push_note(reader, NULL, taken[i].note, 0);
		else if (is_wanted(reader->target, taken[i].pid))
			push(reader, &taken[i]);
		free(taken[i].note);
	}
	free(taken);
	if (lost)
		gt_reader_push_lost(reader, NULL, "metrics", lost);
}

void gt_metrics_collect(struct gputrace_reader *reader)
{
	if (!reader->metrics)
		return;
	follow_gpus(reader->metrics, reader->target);
	take_all(reader);
}

/* The first list may have been made before a process had come to use the GPU, or the last after it had gone. */
static void tell_of_processes(struct gputrace_reader *reader)
{
	const struct gt_metrics *metrics = reader->metrics;
	unsigned lists = 0;

	for (unsigned i = 0; i < metrics->device_count; i++)
		lists += metrics->devices[i].usage.lists;
	if (lists > 2 && !metrics->found_processes && reader->target->kind != GT_TARGET_WATCHED)
		gt_reader_push_note(reader, NULL, "metrics of processes: the driver listed none of this target whenever it was asked; in a container it may know them by other numbers", 0);
}

void gt_metrics_end(struct gputrace_reader *reader)
{
	if (!reader->metrics)
		return;
	if (stop(reader->metrics)) {
		take_all(reader);
		tell_of_processes(reader);
		destroy(reader->metrics);
	} else {
		gt_reader_push_note(reader, NULL, "metrics end early: the driver's management library does not answer", 0);
	}
	reader->metrics = NULL;
}

void gt_metrics_free(struct gt_metrics *metrics)
{
	if (metrics && metrics->pid == getpid() && stop(metrics))
		destroy(metrics);
}

static int open_library(struct gt_nvml *nvml, const struct gputrace_target *target)
{
	char path[4096];

	if (!target->software_device)
		return gt_nvml_open(nvml, NULL);
	snprintf(path, sizeof(path), "%s/libnvidia-ml.so.1", gt_spawn_sim_directory());
	return gt_nvml_open(nvml, path);
}

static int check_opts(const struct gputrace_metrics_opts *opts, struct gputrace_metrics_opts *known)
{
	int r = gt_opts_read(opts, sizeof(uint64_t), known, sizeof(*known));

	if (!r && known->period_ms > PERIOD_MAX_MS)
		r = gt_error(-EINVAL, "period_ms is %u: give 1 to %u", known->period_ms, PERIOD_MAX_MS);
	if (!r && known->select & ~ALL)
		r = gt_error(-EINVAL, "unknown flags in struct gputrace_metrics_opts");
	return r;
}

int gputrace_reader_add_metrics(struct gputrace_reader *reader, const struct gputrace_metrics_opts *opts)
{
	struct gputrace_metrics_opts known;
	struct gt_metrics *metrics;
	int r = check_opts(opts, &known);

	if (r)
		return r;
	if (reader->source)
		return gt_error(-EOPNOTSUPP, "a connected reader has the metrics that the process that publishes has added");
	if (reader->metrics)
		return gt_error(-EALREADY, "the reader has metrics already");
	if (reader->ended)
		return gt_error(-ENODATA, "the stream has ended: there is nothing to have metrics of");
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return gt_error(-ENOMEM, "out of memory");
	metrics->period_ns = (known.period_ms ? known.period_ms : DEFAULT_PERIOD_MS) * UINT64_C(1000000);
	metrics->select = known.select ? known.select : ALL;
	r = open_library(&metrics->nvml, reader->target);
	if (r) {
		free(metrics);
		return r;
	}
	prepare(metrics);
	if (reader->target->kind == GT_TARGET_WATCHED)
		r = gt_machine_add_gpus(reader->target, &metrics->nvml);
	if (!r)
		r = start(metrics);
	if (r)
		destroy(metrics);
	else
		reader->metrics = metrics;
	return r;
}
