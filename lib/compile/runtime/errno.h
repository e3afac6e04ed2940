/* SPDX-License-Identifier: Apache-2.0 */
/* Error numbers as BPF programs know them; the GPU has no <errno.h>. */
#ifndef GT_COMPILE_RUNTIME_ERRNO_H
#define GT_COMPILE_RUNTIME_ERRNO_H

#define ENOENT 2
#define E2BIG 7
#define EAGAIN 11
#define EBUSY 16
#define EEXIST 17
#define EINVAL 22
#define ENOTSUP 95

#endif
