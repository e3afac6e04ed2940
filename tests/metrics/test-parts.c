/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics from within: the vendor's structures, what waits for the reader, reasons in words. */
#include <check.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/gputrace.h>
#include <math.h>
#include <stdio.h>

#include "lib/metrics/device.h"
#include "lib/metrics/outbox.h"
#include "lib/metrics/reasons.h"
#include "lib/reader/reader.h"
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

/* ---- a management library of which we say what it answers ---- */

#define MS UINT64_C(1000000)
#define HOUR (3600000 * MS)

static unsigned samples_taken;
static uint64_t utilization_us;

static const char *words(enum gt_nvml_return result)
{
	static char text[16];

	snprintf(text, sizeof(text), "error %d", result);
	return text;
}

static enum gt_nvml_return find_device(const char *uuid, gt_nvml_device *ret_device)
{
	ck_assert_str_eq(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
	*ret_device = NULL;
	return GT_NVML_SUCCESS;
}

static enum gt_nvml_return take_sample(gt_nvml_device device, gt_nvml_gpm_sample sample)
{
	(void)device;
	(void)sample;
	samples_taken++;
	return GT_NVML_SUCCESS;
}

static bool is_refreshed;

/* Their numbers, but the second is not supported.  Where the counters are as they were: 0, and parts of 0. */
static enum gt_nvml_return give_rates(struct gt_nvml_gpm_request *request)
{
	for (unsigned i = 0; i < request->count; i++) {
		struct gt_nvml_gpm_metric *metric = &request->metrics[i];

		metric->result = metric->id == GT_NVML_GPM_SM_UTIL ? GT_NVML_NOT_SUPPORTED : GT_NVML_SUCCESS;
		metric->value = is_refreshed ? metric->id : metric->id == GT_NVML_GPM_DRAM_BW_UTIL ? (double)-NAN : 0;
	}
	return GT_NVML_SUCCESS;
}

static enum gt_nvml_return no_rates(struct gt_nvml_gpm_request *request)
{
	(void)request;
	return GT_NVML_NOT_SUPPORTED;
}

/* 7 uses 4096 bytes, of 8 it is not known. */
static enum gt_nvml_return list(gt_nvml_device device, uint32_t *count, struct gt_nvml_process *processes)
{
	(void)device;
	*count = 2;
	processes[0] = (struct gt_nvml_process){ .pid = 7, .used_memory = 4096 };
	processes[1] = (struct gt_nvml_process){ .pid = 8, .used_memory = UINT64_MAX };
	return GT_NVML_SUCCESS;
}

/* The last sample, also if it has been seen. */
static enum gt_nvml_return utilization(gt_nvml_device device, struct gt_nvml_process_utilization *samples,
				       uint32_t *count, uint64_t since_us)
{
	(void)device;
	ck_assert(since_us == 0 || since_us == 1000 || since_us == 1001);
	*count = 1;
	samples[0] = (struct gt_nvml_process_utilization){ .pid = 7, .time_us = utilization_us, .sm = 60, .memory = 5 };
	return GT_NVML_SUCCESS;
}

static struct gt_outbox outbox;
static struct gt_metric *metrics;
static size_t metric_count;

static void take_what_has_come(void)
{
	uint64_t lost;

	free(metrics);
	metrics = gt_outbox_take(&outbox, &metric_count, &lost);
	ck_assert_uint_eq(lost, 0);
}

static void expect_metric(size_t i, const char *name, int pid, double value)
{
	ck_assert_uint_lt(i, metric_count);
	ck_assert_ptr_null(metrics[i].note);
	ck_assert_str_eq(metrics[i].name, name);
	ck_assert_int_eq(metrics[i].pid, pid);
	ck_assert(metrics[i].value == value);
}

static void expect_note(size_t i, const char *text)
{
	ck_assert_uint_eq(i + 1, metric_count);
	ck_assert_str_eq(metrics[i].note, text);
	free(metrics[i].note);
}

/* Two samples are a tenth of a second apart at least: a tick a little before that waits, one long before does nothing. */
START_TEST(counters_at_each_tick)
{
	struct gt_nvml nvml = { .nvmlErrorString = words, .nvmlGpmSampleGet = take_sample, .nvmlGpmMetricsGet = give_rates };
	struct gt_gpm gpm = { .supported = true };
	struct gt_missing missing = { 0 };
	uint64_t begin, earlier;

	is_refreshed = true;
	gt_outbox_init(&outbox);
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_COUNTERS, &missing, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 0);
	ck_assert_uint_eq(samples_taken, 1);

	gpm.earlier_time = gt_reader_now() + HOUR;
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_COUNTERS, &missing, &outbox);
	ck_assert_uint_eq(samples_taken, 1);

	begin = gt_reader_now();
	earlier = gpm.earlier_time = begin - 92 * MS;
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_COUNTERS, &missing, &outbox);
	ck_assert_uint_eq(samples_taken, 2);
	ck_assert_uint_ge(gt_reader_now(), begin + 8 * MS);
	ck_assert_uint_ge(gpm.earlier_time, begin + 8 * MS);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 6);
	expect_metric(0, "gpm.graphics_util", 0, 1);
	expect_metric(1, "gpm.sm_occupancy", 0, 3);
	expect_metric(2, "gpm.any_tensor_util", 0, 5);
	expect_metric(3, "gpm.dram_bw_util", 0, 10);
	expect_metric(4, "gpm.nvlink_tx", 0, 61);
	expect_metric(5, "gpm.nvlink_rx", 0, 60);
	ck_assert_uint_eq(metrics[0].time, earlier);
	ck_assert_uint_ge(metrics[0].end, earlier + 100 * MS);
	ck_assert_str_eq(missing.text, "gpm.sm_util (error 3)");

	/* And not at all where the rates are not given. */
	nvml.nvmlGpmMetricsGet = no_rates;
	gpm.earlier_time = gt_reader_now() - 100 * MS;
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_COUNTERS, &missing, &outbox);
	ck_assert(!gpm.supported);
	gt_outbox_free(&outbox);
}
END_TEST

/* What the driver has not refreshed is no value: the next sample is compared with the one before it. */
START_TEST(counters_that_are_as_they_were)
{
	struct gt_nvml nvml = { .nvmlErrorString = words, .nvmlGpmSampleGet = take_sample, .nvmlGpmMetricsGet = give_rates };
	struct gt_gpm gpm = { .supported = true };
	struct gt_missing missing = { 0 };
	uint64_t earlier;

	gt_outbox_init(&outbox);
	is_refreshed = false;
	/* Once more where the machine was so slow that it gave up. */
	do {
		earlier = gpm.earlier_time = gt_reader_now() - 100 * MS;
		gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_PCIE, &missing, &outbox);
		take_what_has_come();
	} while (gt_reader_now() - earlier >= 1000 * MS);
	ck_assert_uint_eq(metric_count, 0);
	ck_assert_uint_eq(gpm.earlier_time, earlier);
	is_refreshed = true;
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_PCIE, &missing, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 2);
	expect_metric(0, "gpm.pcie_tx", 0, 20);
	expect_metric(1, "gpm.pcie_rx", 0, 21);
	ck_assert_uint_eq(metrics[0].time, earlier);
	ck_assert_uint_gt(gpm.earlier_time, earlier);

	/* If they never are, the rest is taken as it comes, and it is said. */
	is_refreshed = false;
	gpm.earlier_time = gt_reader_now() - 1000 * MS;
	gt_gpm_sample(&gpm, &nvml, NULL, NULL, GPUTRACE_METRICS_COUNTERS, &missing, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 5);
	expect_metric(0, "gpm.graphics_util", 0, 0);
	ck_assert_str_eq(missing.text, "gpm.sm_util (error 3), gpm.dram_bw_util (error 21)");
	free(metrics);
	gt_outbox_free(&outbox);
}
END_TEST

/* Of an old driver with few functions: what it gives, and one note of the rest. */
START_TEST(a_driver_with_little)
{
	const struct gt_nvml nvml = { .nvmlErrorString = words, .nvmlDeviceGetHandleByUUID = find_device,
				      .nvmlDeviceGetComputeRunningProcesses_v3 = list,
				      .nvmlDeviceGetProcessUtilization = utilization };
	struct gt_metric_device device = { .identity = { .name = "G", .index = 3 } };

	for (uint8_t i = 0; i < 16; i++)
		device.identity.uuid[i] = i;
	gt_outbox_init(&outbox);
	utilization_us = 1000;
	gt_metric_device_sample(&device, &nvml, 0xff, &outbox);
	take_what_has_come();
	expect_metric(0, "process.memory.used", 7, 4096);
	expect_note(1, "metrics of GPU 3 (G) that it or its driver does not give: gpm.* (error 13), "
		    "process.memory.used of some (error 21), utilization.gpu (error 13), utilization.memory (error 13), "
		    "memory.used (error 13), power.draw (error 13), temperature.gpu (error 13), clocks.sm (error 13), "
		    "clocks.mem (error 13), clocks_event_reasons.active (error 13), pcie.tx (error 13), pcie.rx (error 13)");
	/* The sample of before was left out; a new one is given, once. */
	utilization_us = 1001;
	gt_metric_device_sample(&device, &nvml, 0xff, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 3);
	expect_metric(1, "process.utilization.sm", 7, 60);
	expect_metric(2, "process.utilization.memory", 7, 5);
	gt_metric_device_sample(&device, &nvml, 0xff, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 1);
	free(metrics);
	gt_outbox_free(&outbox);
}
END_TEST

static enum gt_nvml_return find_nothing(const char *uuid, gt_nvml_device *ret_device)
{
	(void)uuid;
	(void)ret_device;
	return GT_NVML_NOT_FOUND;
}

static enum gt_nvml_return find_by_place(const char *address, gt_nvml_device *ret_device)
{
	ck_assert_str_eq(address, "0000:1b:00.0");
	*ret_device = NULL;
	return GT_NVML_SUCCESS;
}

static enum gt_nvml_return temperature(gt_nvml_device device, uint32_t sensor, uint32_t *ret_celsius)
{
	(void)device;
	(void)sensor;
	*ret_celsius = 44;
	return GT_NVML_SUCCESS;
}

static unsigned asked;

static enum gt_nvml_return rates(gt_nvml_device device, struct gt_nvml_utilization *ret_utilization)
{
	(void)device;
	*ret_utilization = (struct gt_nvml_utilization){ .gpu = 61 + asked, .memory = 31 + asked };
	asked++;
	return GT_NVML_SUCCESS;
}

/* Both values of the utilization are of one moment. */
START_TEST(utilization_is_asked_for_once)
{
	const struct gt_nvml nvml = { .nvmlErrorString = words, .nvmlDeviceGetHandleByUUID = find_device,
				      .nvmlDeviceGetUtilizationRates = rates };
	struct gt_metric_device device = { .identity = { .name = "G" } };

	for (uint8_t i = 0; i < 16; i++)
		device.identity.uuid[i] = i;
	gt_outbox_init(&outbox);
	for (unsigned i = 0; i < 2; i++)
		gt_metric_device_sample(&device, &nvml, GPUTRACE_METRICS_UTILIZATION, &outbox);
	ck_assert_uint_eq(asked, 2);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 4);
	expect_metric(0, "utilization.gpu", 0, 61);
	expect_metric(1, "utilization.memory", 0, 31);
	expect_metric(2, "utilization.gpu", 0, 62);
	expect_metric(3, "utilization.memory", 0, 32);
	ck_assert_uint_eq(metrics[0].time, metrics[1].time);
	ck_assert_uint_eq(metrics[0].end, metrics[1].end);
	free(metrics);
	gt_outbox_free(&outbox);
}
END_TEST

/* One whose UUID is that of a part of it is looked for where it is; of one that is nowhere that is said, once. */
START_TEST(a_gpu_by_its_place)
{
	struct gt_nvml nvml = { .nvmlErrorString = words, .nvmlDeviceGetHandleByUUID = find_nothing,
				.nvmlDeviceGetHandleByPciBusId_v2 = find_by_place, .nvmlDeviceGetTemperature = temperature };
	struct gt_metric_device found = { .identity = { .name = "G", .pci_address = "0000:1b:00.0" } }, lost = found;

	gt_outbox_init(&outbox);
	gt_metric_device_sample(&found, &nvml, GPUTRACE_METRICS_TEMPERATURE, &outbox);
	take_what_has_come();
	ck_assert_uint_eq(metric_count, 1);
	expect_metric(0, "temperature.gpu", 0, 44);
	nvml.nvmlDeviceGetHandleByPciBusId_v2 = find_nothing;
	for (int i = 0; i < 2; i++)
		gt_metric_device_sample(&lost, &nvml, GPUTRACE_METRICS_TEMPERATURE, &outbox);
	take_what_has_come();
	expect_note(0, "no metrics of GPU 0 (G): the driver's management library does not find it (error 6)");
	free(metrics);
	gt_outbox_free(&outbox);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("parts");

	tcase_add_test(tcase, sizes_are_the_vendors);
	tcase_add_test(tcase, what_nobody_reads_is_counted);
	tcase_add_test(tcase, reasons_have_names);
	tcase_add_test(tcase, counters_at_each_tick);
	tcase_add_test(tcase, counters_that_are_as_they_were);
	tcase_add_test(tcase, a_driver_with_little);
	tcase_add_test(tcase, utilization_is_asked_for_once);
	tcase_add_test(tcase, a_gpu_by_its_place);
	return run_case("metrics-parts", tcase);
}
