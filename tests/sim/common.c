/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"	/* three lines */

struct test_device device;
struct sim_module *module;
struct sim_error err;

void setup(void)
{
	test_device_init(&device);
	module = NULL;
}

void teardown(void)
{
	sim_module_unload(module);
	test_device_done(&device);
}

int load(const char *body)
{
	char *text = malloc(strlen(body) + sizeof(HEADER));
	int result;

	strcpy(text, HEADER);
	strcat(text, body);
	sim_module_unload(module);
	module = NULL;
	result = sim_module_load(&device.dev, text, strlen(text), &module, &err);
	free(text);
	return result;
}

void load_ok(const char *body)
{
	ck_assert_msg(!load(body), "%s", err.text);
}

void load_fails(const char *body, int kind, unsigned line, const char *words)
{
	ck_assert_msg(load(body) == -1, "accepted: %s", body);
	ck_assert_msg(err.kind == kind && err.line == line && strstr(err.text, words),
		      "kind %d line %u: %s", err.kind, err.line, err.text);
}

int run(const char *name, unsigned blocks, unsigned threads, const void *params)
{
	struct sim_launch launch = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 },
				     .params = params, .grid_id = 42 };
	struct sim_kernel *kernel = sim_module_find_kernel(module, name);

	ck_assert_ptr_nonnull(kernel);
	return sim_kernel_run(kernel, &launch, &err);
}

void run_ok(const char *name, unsigned blocks, unsigned threads, const void *params)
{
	ck_assert_msg(!run(name, blocks, threads, params), "%s", err.text);
}
