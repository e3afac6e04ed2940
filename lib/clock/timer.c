/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/timer.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/clock/slope.h"
#include "lib/util/error.h"

#define CALLS 4			/* a call takes 8 us */
#define REUSE_NS 1000000
#define PROOF_READS 64

struct gt_timer {
	struct gt_timer *next;
	unsigned refs;
	pid_t pid;
	struct gt_rm rm;
	int source;
	uint32_t tick;
	char text[640];
	pthread_mutex_t lock;		/* protects what follows, and the reads themselves */
	struct gt_timer_sample last;
	size_t last_reads;		/* asked for then */
};

/* Every timer of this process. */
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gt_timer *timers;

int64_t gt_timer_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return now.tv_sec * GT_NS_PER_S + now.tv_nsec;
}

/* Nothing after it starts before everything before it is done. */
static inline void wait_here(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy\n\tisb" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/* Both halves; again when the low one wrapped in between. */
static uint64_t read_whole(const struct gt_rm *rm)
{
	uint32_t high = rm->sys->read(rm->high), low, seen;

	do {
		seen = high;
		low = rm->sys->read(rm->low);
		high = rm->sys->read(rm->high);
	} while (high != seen && high != UINT32_MAX);
	return (uint64_t)high << 32 | low;
}

/* The whole value of a low half read less than 2 s after `near`. */
static int64_t widen(uint64_t near, uint32_t low)
{
	return (int64_t)(near + (uint32_t)(low - (uint32_t)near));
}

/* With a step of 32 ns the low 5 bits of a good reading are 0. */
static bool torn(const struct gt_timer *timer, int64_t gpu)
{
	return timer->tick == GT_MODEL_REGISTER_TICK && gpu % GT_MODEL_REGISTER_TICK != 0;
}

static int take_register(struct gt_timer *timer, size_t reads, struct gt_timer_sample *sample)
{
	uint64_t whole = read_whole(&timer->rm);
	struct gt_reading reading;
	uint32_t low;

	/* A device that left the bus reads as all ones. */
	if (whole >> 32 == UINT32_MAX || whole == 0)
		return gt_error(-EIO, "the timer register of the GPU reads as 0x%llx: the GPU no longer answers",
				(unsigned long long)whole);
	sample->n = 0;
	for (size_t i = 0; i < reads; i++) {
		reading.before = gt_timer_now();
		wait_here();
		low = timer->rm.sys->read(timer->rm.low);
		wait_here();
		reading.after = gt_timer_now() + 1;
		reading.gpu = widen(whole, low);
		if (!torn(timer, reading.gpu))
			sample->readings[sample->n++] = reading;
	}
	return sample->n ? 0 : gt_error(-EAGAIN, "every reading of the GPU's timer register was torn");
}

static int take_calls(struct gt_timer *timer, size_t reads, struct gt_timer_sample *sample)
{
	struct gt_reading *reading;
	uint64_t ns;
	int r;

	sample->n = 0;
	for (size_t i = 0; i < CALLS && i < reads; i++) {
		reading = &sample->readings[sample->n];
		reading->before = gt_timer_now();
		r = gt_rm_call_time(&timer->rm, &ns);
		reading->after = gt_timer_now() + 1;
		if (r < 0)
			return r;
		reading->gpu = (int64_t)ns;
		sample->n++;
	}
	return 0;
}

static int take(struct gt_timer *timer, size_t reads, struct gt_timer_sample *sample)
{
	sample->tick = timer->tick;
	sample->source = timer->source;
	return timer->source == GPUTRACE_CLOCK_SOURCE_REGISTER ? take_register(timer, reads, sample) :
								 take_calls(timer, reads, sample);
}

/* ---- proof that this is a running clock, and its step ---- */

static uint32_t common_step(const struct gt_timer_sample *sample)
{
	int64_t a = 0, b, rest;

	for (size_t i = 1; i < sample->n; i++) {
		b = sample->readings[i].gpu - sample->readings[i - 1].gpu;
		while (b) {
			rest = a % b;
			a = b;
			b = rest;
		}
	}
	return a > 0 && a <= GT_MODEL_TICK_MAX ? (uint32_t)a : 0;
}

/* A microsecond each for 64 reads: it must advance as the host's clock does, give or take 1 %. */
static int prove(struct gt_timer *timer)
{
	struct gt_timer_sample sample;
	const struct gt_reading *first, *last;
	int64_t gpu, least, most;
	uint32_t step;
	int r;

	timer->tick = 1;
	r = take(timer, PROOF_READS, &sample);
	if (r < 0)
		return r;
	first = &sample.readings[0];
	last = &sample.readings[sample.n - 1];
	gpu = last->gpu - first->gpu;
	least = last->before - first->after;
	most = last->after - first->before;
	step = common_step(&sample);
	if (step == 0 || gpu < least - least / 100 - step || gpu > most + most / 100 + step)
		return gt_error(-EPROTO, "what should be the GPU's timer advanced by %lld while %lld to %lld ns passed",
				(long long)gpu, (long long)least, (long long)most);
	/* A few calls, 8 us apart, cannot show the step. */
	timer->tick = timer->source == GPUTRACE_CLOCK_SOURCE_REGISTER ? step : GT_MODEL_REGISTER_TICK;
	return 0;
}

static void describe(struct gt_timer *timer, const char *why_not_mapped)
{
	const struct gt_rm_card *card = &timer->rm.card;
	const char *version = timer->rm.version[0] ? timer->rm.version : "of unknown release";

	if (timer->source == GPUTRACE_CLOCK_SOURCE_REGISTER)
		snprintf(timer->text, sizeof(timer->text),
			 "timer register of GPU %04x:%02x:%02x, step %u ns, NVIDIA driver %s", card->domain,
			 card->bus, card->slot, timer->tick, version);
	else
		snprintf(timer->text, sizeof(timer->text),
			 "timer of GPU %04x:%02x:%02x by calls to the NVIDIA driver %s, since %s", card->domain,
			 card->bus, card->slot, version, why_not_mapped);
}

/* The register if it can be had, else calls. */
static int choose_source(struct gt_timer *timer)
{
	char why[256];
	int r;

	timer->source = GPUTRACE_CLOCK_SOURCE_REGISTER;
	r = gt_rm_map_time(&timer->rm);
	if (r == 0)
		r = prove(timer);
	if (r < 0) {
		snprintf(why, sizeof(why), "%s", gt_error_text());
		timer->source = GPUTRACE_CLOCK_SOURCE_CALL;
		r = prove(timer);
		if (r < 0)
			return r;
	}
	describe(timer, why);
	return 0;
}

/* ---- one for each GPU and process ---- */

static struct gt_timer *find_shared(const struct gt_rm_sys *sys, const struct gt_rm_card *card)
{
	for (struct gt_timer *timer = timers; timer; timer = timer->next)
		if (timer->pid == getpid() && timer->rm.sys == sys && timer->rm.card.domain == card->domain &&
		    timer->rm.card.bus == card->bus && timer->rm.card.slot == card->slot)
			return timer;
	return NULL;
}

static int open_locked(const struct gt_rm_sys *sys, const struct gt_rm_select *select,
		       struct gt_timer **ret_timer)
{
	struct gt_timer *timer, *shared;
	int r;

	timer = calloc(1, sizeof(*timer));
	if (!timer)
		return gt_error(-ENOMEM, "no memory for a GPU's timer");
	r = gt_rm_open(&timer->rm, sys, select);
	if (r < 0) {
		free(timer);
		return r;
	}
	shared = find_shared(sys, &timer->rm.card);
	r = shared ? 0 : choose_source(timer);
	if (shared || r < 0) {
		gt_rm_close(&timer->rm, true);
		free(timer);
		if (r < 0)
			return r;
		shared->refs++;
		*ret_timer = shared;
		return 0;
	}
	pthread_mutex_init(&timer->lock, NULL);
	timer->refs = 1;
	timer->pid = getpid();
	timer->next = timers;
	timers = timer;
	*ret_timer = timer;
	return 0;
}

int gt_timer_open(const struct gt_rm_sys *sys, const struct gt_rm_select *select, struct gt_timer **ret_timer)
{
	int r;

	pthread_mutex_lock(&timers_lock);
	r = open_locked(sys, select, ret_timer);
	pthread_mutex_unlock(&timers_lock);
	return r;
}

struct gt_timer *gt_timer_unref(struct gt_timer *timer)
{
	struct gt_timer **link = &timers;

	if (!timer)
		return NULL;
	pthread_mutex_lock(&timers_lock);
	if (--timer->refs == 0) {
		while (*link != timer)
			link = &(*link)->next;
		*link = timer->next;
		gt_rm_close(&timer->rm, timer->pid == getpid());
		pthread_mutex_destroy(&timer->lock);
		free(timer);
	}
	pthread_mutex_unlock(&timers_lock);
	return NULL;
}

int gt_timer_take(struct gt_timer *timer, size_t reads, bool fresh, struct gt_timer_sample *ret_sample)
{
	struct gt_timer_sample *last = &timer->last;
	int r = 0;

	if (timer->pid != getpid())
		return gt_error(-ECHILD, "this clock was opened by the parent process; open one here");
	pthread_mutex_lock(&timer->lock);
	if (fresh || last->n == 0 || timer->last_reads < reads ||
	    gt_timer_now() - last->readings[last->n - 1].after > REUSE_NS) {
		r = take(timer, reads, last);
		timer->last_reads = reads;
		if (r < 0)
			last->n = 0;
	}
	if (r == 0)
		*ret_sample = *last;
	pthread_mutex_unlock(&timer->lock);
	return r;
}

const char *gt_timer_text(const struct gt_timer *timer)
{
	return timer->text;
}

/* Ada and older update %globaltimer in coarser steps than the register. */
uint32_t gt_timer_globaltimer_tick(const struct gt_timer *timer)
{
	uint32_t arch = timer->rm.arch;

	return arch == GT_RM_ARCH_HOPPER || arch > GT_RM_ARCH_ADA ? timer->tick : 0;
}
