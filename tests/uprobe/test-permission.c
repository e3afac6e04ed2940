/* SPDX-License-Identifier: Apache-2.0 */
/* What is said, and what works, with fewer rights. */
#include <check.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif

static int open_own(void)
{
	struct gt_api_trace_opts opts = fake_opts(getpid());
	struct gt_api_trace *trace;
	int r = gt_api_trace_open(&opts, &trace);

	if (r == 0)
		gt_api_trace_close(trace);
	return r;
}

static void keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};

	ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
}

/* Tests run in processes of their own, so what they give up is theirs alone. */
START_TEST(test_ordinary_user)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(open_own(), -EPERM);
	ck_assert_msg(strstr(gt_error_text(), "lacks CAP_BPF and CAP_PERFMON") != NULL, "%s", gt_error_text());
	ck_assert_msg(strstr(gt_error_text(), "unprivileged_bpf_disabled") != NULL, "%s", gt_error_text());
}
END_TEST

START_TEST(test_half_the_rights)
{
	keep_capabilities(1ull << CAP_BPF);
	ck_assert_int_eq(open_own(), -EPERM);
	ck_assert_msg(strstr(gt_error_text(), "lacks CAP_PERFMON;") != NULL, "%s", gt_error_text());
}
END_TEST

START_TEST(test_enough)
{
	keep_capabilities(1ull << CAP_BPF | 1ull << CAP_PERFMON);
	ck_assert_msg(open_own() == 0, "%s", gt_error_text());
}
END_TEST

/* A kernel without type information, as far as anybody here can see. */
START_TEST(test_no_type_information)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL)) {
		printf("test_no_type_information not run: this machine lets nobody make a namespace\n");
		return;
	}
	ck_assert_int_eq(open_own(), -EOPNOTSUPP);
	ck_assert_msg(strstr(gt_error_text(), "/sys/kernel/btf/vmlinux is not there") != NULL, "%s",
		      gt_error_text());
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("permission");

	skip_unless_permitted();
	tcase_add_test(t, test_ordinary_user);
	tcase_add_test(t, test_half_the_rights);
	tcase_add_test(t, test_enough);
	tcase_add_test(t, test_no_type_information);
	return run_case("permission", t);
}
