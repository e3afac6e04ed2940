/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_METRICS_H
#define GPUTRACE_METRICS_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_reader;
struct gputrace_event;

/* What to sample.  A GPU without GPM (before Hopper) has none of the counters. */
#define GPUTRACE_METRICS_UTILIZATION	0x01u	/* utilization.gpu, utilization.memory: % */
#define GPUTRACE_METRICS_MEMORY		0x02u	/* memory.used: bytes */
#define GPUTRACE_METRICS_POWER		0x04u	/* power.draw: W */
#define GPUTRACE_METRICS_TEMPERATURE	0x08u	/* temperature.gpu: C */
#define GPUTRACE_METRICS_CLOCKS		0x10u	/* clocks.sm, clocks.mem: MHz; clocks_event_reasons.active: bits */
#define GPUTRACE_METRICS_PCIE		0x20u	/* pcie.tx, pcie.rx: KB/s; of a GPU with GPM gpm.pcie_tx, gpm.pcie_rx: MiB/s */
#define GPUTRACE_METRICS_COUNTERS	0x40u	/* gpm.*: % of what there is, gpm.nvlink_tx, gpm.nvlink_rx: MiB/s */
#define GPUTRACE_METRICS_PROCESSES	0x80u	/* process.memory.used: bytes; process.utilization.sm, .memory: % */

struct gputrace_metrics_opts {
	uint64_t size;
	uint32_t period_ms;	/* from one sample to the next, 1 to 60000; default 100 */
	uint32_t select;	/* GPUTRACE_METRICS_*; default all */
};

/*
 * Sample metrics of the target's GPUs, as NVIDIA's management library (libnvidia-ml.so.1) gives them, into the
 * reader's stream from now on: GPUTRACE_EVENT_METRIC.  The target's GPUs are those of which the reader has taken in a
 * CUDA context; if it is only watched (gputrace_target_watch()), all of this machine, which
 * gputrace_target_next_gpu() lists from then on.  Of processes those of the target, or all if it is watched.
 * What a GPU or its driver does not give is left out, and a GPUTRACE_EVENT_NOTE says so once.
 *
 * A thread of the library asks, to the end of the stream.  Nobody waits for it but this function, which may take a
 * second where the GPU was asleep, and that end or the last gputrace_reader_unref(), which wait for the answer to what
 * has been asked, five seconds at most: a thread that the driver does not answer is left alone, and ends when it does.
 * Counters (GPM) are read ten times a second at most, over 100 ms at least.  A GPU without GPM measures pcie.tx and
 * pcie.rx for 20 ms each: with them, a period shorter than that is not kept to.
 *
 * A target on the software device has metrics of that, which are made up.  A process that traces itself and has not
 * loaded a driver yet has those of the one that the loader finds.
 *
 * -EOPNOTSUPP: the reader is a connected one; -EALREADY: it has metrics; -ENODATA: the stream has ended;
 * -EINVAL, -E2BIG: opts;
 * -ENOENT: there is no such library, or it cannot be loaded; -ENOSYS: it is too old; -ENODEV: there is no driver or no GPU;
 * -EACCES: the GPUs may not be looked at; -EIO: whatever else the library says (gputrace_last_vendor_error());
 * -ENOMEM; -EAGAIN: no thread.  Since 0.1.
 */
GPUTRACE_API int gputrace_reader_add_metrics(struct gputrace_reader *reader,
					     const struct gputrace_metrics_opts *opts);

/* METRIC: its value, in the unit that the second says ("%", "bytes", "W", "C", "MHz", "bits", "KB/s", "MiB/s").  Since 0.1. */
GPUTRACE_API double gputrace_event_get_metric_value(const struct gputrace_event *event);
GPUTRACE_API const char *gputrace_event_get_unit(const struct gputrace_event *event);

GPUTRACE_END_DECLS

#endif
