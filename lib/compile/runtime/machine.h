/* SPDX-License-Identifier: Apache-2.0 */
/* The machine under the runtime, and the words that both are described in. */
#ifndef GT_COMPILE_MACHINE_H
#define GT_COMPILE_MACHINE_H

#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define INLINE inline __attribute__((always_inline))

#ifdef __NVPTX__
#include "lib/compile/runtime/machine-gpu.h"
#else
#include "lib/compile/runtime/machine-host.h"
#endif

#endif
