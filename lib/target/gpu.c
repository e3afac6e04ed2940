/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader/event.h"
#include "lib/target/target.h"

static bool is_same(const struct gputrace_gpu *gpu, const struct gt_rec_context *record)
{
	return !memcmp(gpu->uuid, record->uuid, sizeof(gpu->uuid)) && gpu->pci_domain == record->pci_domain &&
	       gpu->pci_bus == record->pci_bus && gpu->pci_device == record->pci_device;
}

static bool is_taken(const struct gputrace_target *target, uint32_t index)
{
	for (const struct gputrace_gpu *gpu = target->gpus; gpu; gpu = gpu->next) {
		if (gpu->index == index)
			return true;
	}
	return false;
}

/* Processes that see different GPUs call each of them 0. */
static int choose_index(const struct gputrace_target *target, int ordinal, uint32_t *ret_index)
{
	uint32_t index = (uint32_t)ordinal;

	if (index >= GT_GPUS_MAX || is_taken(target, index))
		for (index = 0; index < GT_GPUS_MAX && is_taken(target, index); index++)
			;
	*ret_index = index;
	return index < GT_GPUS_MAX ? 0 : -ENOSPC;
}

static int open_clock(const struct gputrace_target *target, struct gputrace_gpu *gpu)
{
	struct gputrace_clock_opts opts = { .size = sizeof(opts) };
	int r;

	/* Of processes that are only watched no GPU time comes. */
	if (target->software_device || target->kind == GT_TARGET_WATCHED) {
		opts.select = GPUTRACE_CLOCK_NO_DEVICE;
		opts.tick_ns = 32;
	} else {
		opts.select = GPUTRACE_CLOCK_BY_PCI;
		opts.pci_domain = gpu->pci_domain;
		opts.pci_bus = gpu->pci_bus;
		opts.pci_device = gpu->pci_device;
	}
	r = gputrace_clock_open(target->ctx, &opts, &gpu->clock);
	if (!r && opts.select == GPUTRACE_CLOCK_BY_PCI)
		gputrace_clock_update(gpu->clock);
	return r;
}

static int add(struct gputrace_target *target, const struct gt_rec_context *record, struct gputrace_gpu **ret_gpu)
{
	struct gputrace_gpu *gpu = calloc(1, sizeof(*gpu)), **link;
	int r;

	if (!gpu)
		return -ENOMEM;
	memcpy(gpu->uuid, record->uuid, sizeof(gpu->uuid));
	gpu->pci_domain = record->pci_domain;
	gpu->pci_bus = record->pci_bus;
	gpu->pci_device = record->pci_device;
	snprintf(gpu->pci_address, sizeof(gpu->pci_address), "%04x:%02x:%02x.0", gpu->pci_domain, gpu->pci_bus & 0xff,
		 gpu->pci_device & 0xff);
	gpu->arch = record->arch;
	gpu->sm_count = record->sm_count;
	memcpy(gpu->name, record->name, sizeof(gpu->name) - 1);
	r = choose_index(target, record->device, &gpu->index);
	if (!r)
		r = open_clock(target, gpu);
	if (r) {
		free(gpu);
		return r;
	}
	for (link = &target->gpus; *link; link = &(*link)->next)
		;
	*link = *ret_gpu = gpu;
	return 0;
}

int gt_gpu_get(struct gputrace_target *target, const struct gt_rec_context *record, struct gputrace_gpu **ret_gpu)
{
	for (struct gputrace_gpu *gpu = target->gpus; gpu; gpu = gpu->next) {
		if (is_same(gpu, record)) {
			*ret_gpu = gpu;
			return 0;
		}
	}
	return add(target, record, ret_gpu);
}

void gt_gpus_free(struct gputrace_target *target)
{
	while (target->gpus) {
		struct gputrace_gpu *gpu = target->gpus;

		target->gpus = gpu->next;
		gputrace_clock_unref(gpu->clock);
		free(gpu);
	}
}

const struct gputrace_gpu *gputrace_target_next_gpu(struct gputrace_target *target,
						    const struct gputrace_gpu *previous)
{
	return previous ? previous->next : target->gpus;
}

const struct gputrace_gpu *gputrace_event_get_gpu(const struct gputrace_event *event)
{
	return event->gpu;
}

uint32_t gputrace_gpu_get_index(const struct gputrace_gpu *gpu)
{
	return gpu->index;
}

const char *gputrace_gpu_get_name(const struct gputrace_gpu *gpu)
{
	return gpu->name;
}

const uint8_t *gputrace_gpu_get_uuid(const struct gputrace_gpu *gpu)
{
	return gpu->uuid;
}

const char *gputrace_gpu_get_pci_address(const struct gputrace_gpu *gpu)
{
	return gpu->pci_address;
}

uint32_t gputrace_gpu_get_arch(const struct gputrace_gpu *gpu)
{
	return gpu->arch;
}

uint32_t gputrace_gpu_get_sm_count(const struct gputrace_gpu *gpu)
{
	return gpu->sm_count;
}
