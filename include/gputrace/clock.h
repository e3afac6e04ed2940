/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_CLOCK_H
#define GPUTRACE_CLOCK_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;

/*
 * The clock of one GPU: %globaltimer nanoseconds to CLOCK_MONOTONIC nanoseconds
 * and back, each with an error that holds.
 *
 * It needs no CUDA context.  By default it reads the GPU's timer register
 * through the NVIDIA kernel driver; where that is not possible it lives on
 * intervals that others took (gputrace_clock_add_interval()), and
 * gputrace_clock_get_source_text() says why.  Nothing is ever written to the GPU
 * and no setting of it is changed.
 *
 * A clock remembers its samples: about ten minutes at ten samples a second, then
 * thinned, so that events that come late are converted with what was known
 * before and after them.  Its memory is bounded (about 3 MiB).
 *
 * Every function may be called by any thread at any time; an object being used
 * must be held by a reference.  After fork() the child must not sample with its
 * parent's clock: gputrace_clock_update() says -ECHILD there.  Since 0.1.
 */
struct gputrace_clock;

/* How opts say which GPU. */
enum gputrace_clock_select {
	/* The n-th by PCI address, as CUDA_DEVICE_ORDER=PCI_BUS_ID counts without CUDA_VISIBLE_DEVICES. */
	GPUTRACE_CLOCK_BY_ORDINAL,
	GPUTRACE_CLOCK_BY_PCI,
	GPUTRACE_CLOCK_BY_UUID,
	GPUTRACE_CLOCK_NO_DEVICE,	/* intervals from elsewhere, taken on this host while the clock lives */
	GPUTRACE_CLOCK_OFFLINE		/* recorded intervals; the clocks of this host are not looked at */
};

/* Where a sample comes from, best first. */
enum gputrace_clock_source {
	GPUTRACE_CLOCK_SOURCE_NONE,
	GPUTRACE_CLOCK_SOURCE_REGISTER,	/* the GPU's timer register, mapped read-only */
	GPUTRACE_CLOCK_SOURCE_PING,	/* %globaltimer itself, stamped by code on the GPU */
	GPUTRACE_CLOCK_SOURCE_CALL	/* the timer register, asked of the kernel driver */
};

/* What an error bound rests on. */
enum gputrace_clock_bound {
	/*
	 * Narrow.  Takes the timer register and %globaltimer for one and the
	 * same counter, which everything measured supports.
	 */
	GPUTRACE_CLOCK_BOUND_REGISTER,
	/*
	 * From stamps of %globaltimer alone, or, where there are none or wide
	 * ones, from the register with 1.5 us on either side, which is more than
	 * the two were ever seen to be able to differ.
	 */
	GPUTRACE_CLOCK_BOUND_STRICT
};

struct gputrace_clock_opts {
	uint64_t size;
	uint32_t select;		/* enum gputrace_clock_select */
	uint32_t ordinal;		/* BY_ORDINAL: 0 is the first */
	uint32_t pci_domain, pci_bus, pci_device;	/* BY_PCI */
	/*
	 * Step of %globaltimer in ns, 1 to 1048576; the bounds allow for it.
	 * Default: the register's measured step on Hopper and later, where the
	 * two are equal, 1024 elsewhere.
	 */
	uint32_t tick_ns;
	uint8_t uuid[16];		/* BY_UUID */
	uint32_t reads;			/* register reads in one sample, 1 to 64; default 16; each takes 1 us */
	/*
	 * How far the GPU's rate may be, at any moment, from its mean over some
	 * seconds: parts per billion, default 500; and how much more for each
	 * second of distance, default 100, up to 5000 in all.  At most 100000 each.
	 */
	uint32_t rate_uncertainty_ppb;
	uint32_t rate_change_ppb_s;
	uint32_t reserved;
};

/* Counters since the clock was opened. */
struct gputrace_clock_stats {
	uint64_t size;			/* the caller's sizeof(struct gputrace_clock_stats) */
	uint64_t samples;		/* taken in, from every source */
	uint64_t rejects;		/* samples dropped: torn, impossible, or contradicted by their neighbours */
	uint64_t resets;		/* times the GPU's time jumped and the model began anew */
	uint64_t rate_breaks;		/* times its rate left the range assumed; bounds near these may not have held */
	uint64_t host_slews;		/* times CLOCK_MONOTONIC changed its rate against CLOCK_MONOTONIC_RAW */
	uint64_t disagreements;		/* stamps of %globaltimer that the register's model contradicts */
	uint64_t checks;		/* gputrace_clock_check_*() calls that could be decided */
	uint64_t violations;		/* of these, how many broke causality */
};

/*
 * Open the clock of a GPU.  ctx may be NULL.  Succeeds also when the GPU's timer
 * cannot be read: then only gputrace_clock_add_interval() feeds it.
 * -EINVAL, -E2BIG: opts; -ENOMEM.
 */
GPUTRACE_API int gputrace_clock_open(struct gputrace_ctx *ctx, const struct gputrace_clock_opts *opts,
				     struct gputrace_clock **ret_clock);
GPUTRACE_API struct gputrace_clock *gputrace_clock_ref(struct gputrace_clock *clock);
GPUTRACE_API struct gputrace_clock *gputrace_clock_unref(struct gputrace_clock *clock);

/*
 * Take a sample now: some tens of microseconds, no waiting (when another thread
 * is sampling this GPU, its sample serves).  Ten times a second is plenty: the
 * bound grows by 50 to 100 ns for each 100 ms since the last sample.
 * -EIO: the GPU no longer answers; -ECHILD: in a child of the process that
 * opened the clock.
 */
GPUTRACE_API int gputrace_clock_update(struct gputrace_clock *clock);

/*
 * Add a sample from elsewhere: at some moment between the CLOCK_MONOTONIC times
 * before_ns and after_ns the GPU's time was gpu_ns.  source: PING for values of
 * %globaltimer, REGISTER or CALL for values of the timer register.  Samples may
 * come late and out of order.
 * -EINVAL: before_ns > after_ns, more than 10 s apart, a time of 0 or above 2^61, or a source unknown;
 * -ERANGE: more than an hour outside the time that this clock has seen on the host;
 * -ENODATA: inside a break of the host's own clocks.
 */
GPUTRACE_API int gputrace_clock_add_interval(struct gputrace_clock *clock, uint64_t before_ns,
					     uint64_t after_ns, uint64_t gpu_ns, int source);

/*
 * When %globaltimer showed gpu_ns: the true moment lies within *ret_error_ns of
 * *ret_host_ns (CLOCK_MONOTONIC).  bound: enum gputrace_clock_bound.
 * -ENODATA: no sample yet, or a moment inside a reset of the GPU's clock;
 * -ERANGE: more than an hour away from every sample; -EINVAL: bound unknown.
 */
GPUTRACE_API int gputrace_clock_to_host(struct gputrace_clock *clock, uint64_t gpu_ns, int bound,
					uint64_t *ret_host_ns, uint64_t *ret_error_ns);

/* What %globaltimer showed at host_ns (CLOCK_MONOTONIC), within *ret_error_ns.  Errors as above. */
GPUTRACE_API int gputrace_clock_from_host(struct gputrace_clock *clock, uint64_t host_ns, int bound,
					  uint64_t *ret_gpu_ns, uint64_t *ret_error_ns);

/*
 * Causality, as a check on the whole chain.  A kernel cannot start before its
 * launch call is entered, nor end after the call that waited for it returned.
 * 1: it certainly did, and is counted; 0: no contradiction.  Nothing is
 * corrected.  -ENODATA, -ERANGE as in gputrace_clock_to_host().
 */
GPUTRACE_API int gputrace_clock_check_start(struct gputrace_clock *clock, uint64_t launch_enter_ns,
					    uint64_t gpu_start_ns);
GPUTRACE_API int gputrace_clock_check_end(struct gputrace_clock *clock, uint64_t gpu_end_ns,
					  uint64_t wait_return_ns);

/* Where the latest sample came from: enum gputrace_clock_source. */
GPUTRACE_API int gputrace_clock_get_source(struct gputrace_clock *clock);
/* "none", "register", "ping", "call"; NULL: unknown value. */
GPUTRACE_API const char *gputrace_clock_source_name(int source);
/*
 * A sentence on which GPU is read and how, or why it is not.  Never NULL; valid
 * as long as the clock.
 */
GPUTRACE_API const char *gputrace_clock_get_source_text(struct gputrace_clock *clock);

/*
 * How much faster the GPU's clock runs than CLOCK_MONOTONIC, parts per billion,
 * and how far that may be off (either may be NULL).  -ENODATA: fewer than two
 * samples.
 */
GPUTRACE_API int gputrace_clock_get_drift(struct gputrace_clock *clock, int64_t *ret_ppb,
					  uint64_t *ret_error_ppb);

/* The step of %globaltimer that the bounds allow for, ns; and set it when it was measured: 1 to 1048576, else -EINVAL. */
GPUTRACE_API uint32_t gputrace_clock_get_tick(struct gputrace_clock *clock);
GPUTRACE_API int gputrace_clock_set_tick(struct gputrace_clock *clock, uint32_t tick_ns);

/* Fill stats, as much of it as stats->size says.  -EINVAL: smaller than its first counter. */
GPUTRACE_API int gputrace_clock_get_stats(struct gputrace_clock *clock,
					  struct gputrace_clock_stats *stats);

/*
 * The same moment on CLOCK_MONOTONIC and on another clock of this host
 * (CLOCK_REALTIME, CLOCK_TAI, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW), taken now,
 * for exporters: *ret_other_ns is right within *ret_error_ns.  CLOCK_TAI equals
 * CLOCK_REALTIME on hosts where nobody told the kernel the leap seconds.
 * -EINVAL: not a clock of this kernel.
 */
GPUTRACE_API int gputrace_clock_host_pair(int clock_id, uint64_t *ret_monotonic_ns,
					  uint64_t *ret_other_ns, uint64_t *ret_error_ns);

GPUTRACE_END_DECLS

#endif
