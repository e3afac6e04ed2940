/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics from within: the vendor's structures, what waits for the reader, reasons in words. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/metrics/nvml_abi.h"
#include "lib/metrics/outbox.h"
#include "lib/metrics/reasons.h"
#include "tests/suite.h"

/* By the documentation's declarations, for a machine whose long is 64 bits. */
START_TEST(sizes_are_the_vendors)
{
	ck_assert_uint_eq(sizeof(struct gt_nvml_utilization), 8);
	ck_assert_uint_eq(sizeof(struct gt_nvml_memory), 40);
	ck_assert_uint_eq(offsetof(struct gt_nvml_memory, used), 32);
	ck_assert_uint_eq(GT_NVML_MEMORY_VERSION, 0x02000028);
	ck_assert_uint_eq(sizeof(struct gt_nvml_pci), 68);
	ck_assert_uint_eq(offsetof(struct gt_nvml_pci, bus), 20);
	ck_assert_uint_eq(sizeof(struct gt_nvml_process), 24);
	ck_assert_uint_eq(offsetof(struct gt_nvml_process, used_memory), 8);
	ck_assert_uint_eq(sizeof(struct gt_nvml_process_utilization), 32);
	ck_assert_uint_eq(offsetof(struct gt_nvml_process_utilization, sm), 16);
	ck_assert_uint_eq(sizeof(struct gt_nvml_gpm_metric), 40);
	ck_assert_uint_eq(offsetof(struct gt_nvml_gpm_metric, value), 8);
	ck_assert_uint_eq(offsetof(struct gt_nvml_gpm_request, metrics), 24);
	ck_assert_uint_eq(sizeof(struct gt_nvml_gpm_request), 24 + 333 * 40);
	ck_assert_uint_eq(sizeof(enum gt_nvml_return), 4);
	ck_assert_uint_eq(sizeof(enum gt_nvml_clock), 4);
}
END_TEST

START_TEST(what_nobody_reads_is_counted)
{
	struct gt_outbox outbox;
	struct gt_metric *metrics;
	uint64_t lost;
	size_t count;

	gt_outbox_init(&outbox);
	ck_assert_ptr_null(gt_outbox_take(&outbox, &count, &lost));
	for (int i = 0; i < 65536 + 3; i++)
		gt_outbox_put(&outbox, &(struct gt_metric){ .name = "n", .value = i, .note = i > 65535 ? strdup("x") : NULL });
	metrics = gt_outbox_take(&outbox, &count, &lost);
	ck_assert_uint_eq(count, 65536);
	ck_assert_uint_eq(lost, 3);
	for (size_t i = 0; i < count; i++)
		ck_assert(metrics[i].value == (double)i);
	free(metrics);
	ck_assert_ptr_null(gt_outbox_take(&outbox, &count, &lost));
	ck_assert_uint_eq(lost, 0);
	gt_outbox_put(&outbox, &(struct gt_metric){ .note = strdup("still there") });
	gt_outbox_free(&outbox);
}
END_TEST

START_TEST(reasons_have_names)
{
	char text[GT_REASONS_SIZE];

	ck_assert(gt_reasons_are("clocks_event_reasons.active"));
	ck_assert(!gt_reasons_are("clocks.sm"));
	ck_assert_str_eq(gt_reasons_text(0, text), "none");
	ck_assert_str_eq(gt_reasons_text(1, text), "gpu_idle");
	ck_assert_str_eq(gt_reasons_text(0x88, text), "hw_slowdown, hw_power_brake_slowdown");
	ck_assert_str_eq(gt_reasons_text(0x100 | 0xa00, text), "display_clocks_setting, 0xa00");
	ck_assert_uint_lt(strlen(gt_reasons_text(UINT64_MAX, text)), sizeof(text));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("parts");

	tcase_add_test(tcase, sizes_are_the_vendors);
	tcase_add_test(tcase, what_nobody_reads_is_counted);
	tcase_add_test(tcase, reasons_have_names);
	return run_case("metrics-parts", tcase);
}
