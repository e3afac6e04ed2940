/* SPDX-License-Identifier: Apache-2.0 */
/* The header for BPF authors, seen from C code of this library. */
#ifndef GT_OBJECT_GPU_ABI_H
#define GT_OBJECT_GPU_ABI_H

#include <linux/types.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#include <gputrace/bpf/gputrace_gpu.h>
#pragma GCC diagnostic pop

#endif
