/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_GPU_H
#define GPUTRACE_GPU_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_target;
struct gputrace_event;

/*
 * A GPU that processes of a target use, one for each device of the machine,
 * whatever numbers CUDA_VISIBLE_DEVICES gives it in each process.  Belongs to the
 * target and lives as long; does not change.  Known once a reader has taken in a
 * CUDA context on it, or of one that is watched by gputrace_reader_add_metrics(); use it from the thread that uses the target.  Since 0.1.
 */
struct gputrace_gpu;

/* The GPU after `previous` (NULL: the first) in the order in which they came into use; NULL past the last. */
GPUTRACE_API const struct gputrace_gpu *
gputrace_target_next_gpu(struct gputrace_target *target, const struct gputrace_gpu *previous);

/* The GPU that an event is about: CONTEXT, LAUNCH, KERNEL, COPY, PRINT, DATA, METRIC; NULL: none, or not known. */
GPUTRACE_API const struct gputrace_gpu *gputrace_event_get_gpu(const struct gputrace_event *event);

/*
 * Its number in this target: the program's own ordinal where no other GPU has that
 * number already, else the lowest that is free.
 */
GPUTRACE_API uint32_t gputrace_gpu_get_index(const struct gputrace_gpu *gpu);
GPUTRACE_API const char *gputrace_gpu_get_name(const struct gputrace_gpu *gpu);
/* 16 bytes; all zeros where the driver tells none. */
GPUTRACE_API const uint8_t *gputrace_gpu_get_uuid(const struct gputrace_gpu *gpu);
/* "0000:1b:00.0", as lspci and nvidia-smi have it. */
GPUTRACE_API const char *gputrace_gpu_get_pci_address(const struct gputrace_gpu *gpu);
/* Compute capability times ten, and the number of multiprocessors (0: not known, as of a target that is watched). */
GPUTRACE_API uint32_t gputrace_gpu_get_arch(const struct gputrace_gpu *gpu);
GPUTRACE_API uint32_t gputrace_gpu_get_sm_count(const struct gputrace_gpu *gpu);

GPUTRACE_END_DECLS

#endif
