/* SPDX-License-Identifier: Apache-2.0 */
/* A device of malloc'ed memory, and one module at a time on it. */
#ifndef TESTS_SIM_COMMON_H
#define TESTS_SIM_COMMON_H

#include "device.h"

extern struct test_device device;
extern struct sim_module *module;
extern struct sim_error err;

void setup(void);
void teardown(void);

/* Text behind a header of three lines, in place of the module before; -1, and err. */
int load(const char *body);
void load_ok(const char *body);
void load_fails(const char *body, int kind, unsigned line, const char *words);

int run(const char *name, unsigned blocks, unsigned threads, const void *params);
void run_ok(const char *name, unsigned blocks, unsigned threads, const void *params);

#endif
