/* SPDX-License-Identifier: Apache-2.0 */
/* A program as it runs without us, and as it is traced. */
#ifndef TESTS_E2E_BOTH_H
#define TESTS_E2E_BOTH_H

#include "run.h"

extern bool real_device;	/* main() sets it, by run_wants_real_device() */
extern struct run run, plain;

/* With the timeline, and with programs that count threads. */
struct run_options timeline(void);
struct run_options counting(void);

/* The program printed the same and ended alike. */
void assert_same_output(void);

/* For a fixture. */
void free_both(void);

#endif
