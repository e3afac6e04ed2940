/* SPDX-License-Identifier: Apache-2.0 */
/* A calloc() that is called instead of the C library's, by the agent and the driver too. */
#ifndef TESTS_E2E_CALLOC_H
#define TESTS_E2E_CALLOC_H

#include <stdbool.h>

/* Who asks, by the file that its code is in; true: it gets no memory.  NULL: nobody minds.  Any thread may ask at any time. */
typedef bool calloc_handler(const char *file);
extern calloc_handler *_Atomic on_calloc;

#endif
