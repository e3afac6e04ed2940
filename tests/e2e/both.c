/* SPDX-License-Identifier: Apache-2.0 */
#include "both.h"

#include <check.h>

bool real_device;
struct run run, plain;

struct run_options timeline(void)
{
	return (struct run_options){ .timeline = true, .real_device = real_device };
}

struct run_options counting(void)
{
	return (struct run_options){
		.timeline = true, .object = "examples/bpf/threads.bpf.o", .real_device = real_device,
	};
}

void assert_same_output(void)
{
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, plain.status);
}

void free_both(void)
{
	run_free(&run);
	run_free(&plain);
}
