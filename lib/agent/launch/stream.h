/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_LAUNCH_STREAM_H
#define GT_AGENT_LAUNCH_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/cuda_abi.h"

/* The legacy default stream: number 0, never captured. */
static inline bool gt_stream_is_default(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY;
}

/* The driver's number of another stream, which is `captured` now or not. */
uint64_t gt_stream_number(CUstream stream, bool captured);

#endif
