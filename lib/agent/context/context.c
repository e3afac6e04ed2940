/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/context/context.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/parts.h"
#include "lib/agent/lock.h"
#include "lib/agent/service.h"
#include "lib/agent/table.h"

/* Setting up, copying out and letting go happen under this lock; launches only read. */
static GT_LOCK(lock);
static struct gt_context contexts[GT_CONTEXTS_MAX];	/* by area */
static uint32_t next_number;
static struct gt_table *context_by_handle;

#define for_each_context(c) \
	for (struct gt_context *c = contexts; c < contexts + gt_session.contexts; c++) \
		if (c->used)

static int attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	gt_cu.cuDeviceGetAttribute(&value, which, device);
	return value;
}

/* Without this nobody would read its rings, so it is tried again. */
static void announce(struct gt_context *context)
{
	struct gt_rec_context record = {
		.context = context->number, .device = context->device,
		.area = gt_context_area(context)->state == GT_CONTEXT_LIVE ? context->index : UINT32_MAX,
	};
	CUdevice device = context->device;
	CUuuid uuid = { { 0 } };

	if (gt_cu.cuDeviceGetUuid_v2)
		gt_cu.cuDeviceGetUuid_v2(&uuid, device);
	memcpy(record.uuid, uuid.bytes, sizeof(record.uuid));
	record.arch = (uint32_t)(attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
				 attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	record.sm_count = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	record.pci_domain = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
	record.pci_bus = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
	record.pci_device = (uint32_t)attribute(device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
	gt_cu.cuDeviceGetName(record.name, (int)sizeof(record.name) - 1, device);
	context->announced = gt_emit(GT_REC_CONTEXT, &record, sizeof(record));
}

/* A launch may be what brings us here, in the middle of a stream capture, where allocating is forbidden unless relaxed. */
static void set_up(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	gt_cu.cuCtxGetDevice(&context->device);
	context->usable = gt_arenas_set_up(context);
	if (context->usable) {
		__atomic_store_n(&gt_context_area(context)->device, context->device, __ATOMIC_RELAXED);
		__atomic_store_n(&gt_context_area(context)->state, GT_CONTEXT_LIVE, __ATOMIC_RELEASE);
	}
	announce(context);
	if (!context->usable) {
		gt_note(4, "no memory for probes on device %d: its kernels run without them",
			context->device);
		gt_arenas_give_back(context);
		gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
		return;
	}
	context->stamping = gt_session.flags & GT_CONFIG_STAMP;
	if (context->stamping)
		gt_stamp_take(context);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	gt_service_start();
}

/* NULL: none is free; *ret_soon: one will be when the controller has taken in what an ended context left. */
static struct gt_context *find_unused(bool *ret_soon)
{
	*ret_soon = false;
	for (unsigned i = 0; i < gt_session.contexts; i++) {
		struct gt_context *context = &contexts[i];

		context->index = i;
		if (context->used)
			continue;
		/* Pairs with the controller's release when all is ready for the next. */
		if (__atomic_load_n(&gt_context_area(context)->state, __ATOMIC_ACQUIRE) == GT_CONTEXT_UNUSED)
			return context;
		*ret_soon = true;
	}
	return NULL;
}

/* Making a context takes the driver far longer than the controller needs; one that does not answer costs this long once. */
#define AREA_PATIENCE_NS 10000000000ull

static struct gt_context *wait_for_unused(void)
{
	static bool hopeless;
	const struct timespec pause = { .tv_nsec = 500000 };
	uint64_t deadline = gt_now() + AREA_PATIENCE_NS;
	struct gt_context *context;
	bool soon;

	for (;;) {
		context = find_unused(&soon);
		if (context || !soon || hopeless || gt_now() > deadline)
			break;
		nanosleep(&pause, NULL);
	}
	if (!context && !hopeless)
		gt_note(4, "more than %u CUDA contexts at a time%s: kernels of further ones run without probes",
			gt_session.contexts, soon ? ", and nobody takes in what ended ones left" : "");
	hopeless = !context;
	return context;
}

static void begin(struct gt_context *context, CUcontext handle)
{
	unsigned index = context->index;

	memset(context, 0, sizeof(*context));
	context->index = index;
	context->used = true;
	context->handle = handle;
	context->number = next_number++;
	set_up(context);
}

static struct gt_context *open_context(CUcontext handle)
{
	struct gt_context *context;

	gt_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (!context)
		context = wait_for_unused();
	if (context && context->handle != handle) {
		begin(context, handle);
		if (gt_table_set(&context_by_handle, handle, context))
			context = NULL;
	}
	gt_unlock(&lock);
	return context;
}

struct gt_context *gt_context_current(void)
{
	struct gt_context *context;
	CUcontext handle = NULL;

	if (gt_cu.cuCtxGetCurrent(&handle) || !handle)
		return NULL;
	context = gt_table_get(&context_by_handle, handle);
	if (!context && atomic_load_explicit(&gt_active, memory_order_relaxed))
		context = open_context(handle);
	return context && context->usable ? context : NULL;
}

struct gt_context *gt_context_with_arena(CUdeviceptr dev)
{
	for_each_context(context) {
		if (context->usable && context->dev == dev)
			return context;
	}
	return NULL;
}

static void with_context(struct gt_context *context, void (*fn)(struct gt_context *context))
{
	CUcontext popped;

	if (!context->usable || gt_cu.cuCtxPushCurrent_v2(context->handle))
		return;
	fn(context);
	gt_cu.cuCtxPopCurrent_v2(&popped);
}

/* What the GPU has left so far. */
static void copy_out(struct gt_context *context)
{
	gt_arena_copy_out(context);
	gt_copies_collect(context);
}

/* When it may be the last time. */
static void copy_out_end(struct gt_context *context)
{
	gt_arena_copy_out(context);
	gt_copies_collect_last(context);
}

void gt_contexts_flush(void)
{
	gt_lock(&lock);
	for_each_context(context)
		with_context(context, copy_out);
	gt_unlock(&lock);
}

static void finish(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)context;
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	gt_cu.cuCtxSynchronize();	/* an error in it comes again when it is copied out */
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

/* Without the lock: what a kernel waits for may be another thread's work in a context that is new. */
void gt_context_finish(CUcontext handle)
{
	struct gt_context *context = gt_table_get(&context_by_handle, handle);

	if (context)
		with_context(context, finish);
}

void gt_context_flush(CUcontext handle)
{
	struct gt_context *context;

	gt_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context)
		with_context(context, copy_out_end);
	gt_unlock(&lock);
}

/* Tell the controller of it, and of its end, if that is still to be done. */
static void settle(struct gt_context *context)
{
	struct gt_host_arena *area = gt_context_area(context);

	if (!context->announced)
		announce(context);
	if (context->handle || context->leaving || !context->announced)
		return;
	/* Pairs with the reader's acquire. */
	if (__atomic_load_n(&area->state, __ATOMIC_RELAXED) == GT_CONTEXT_LIVE)
		__atomic_store_n(&area->state, GT_CONTEXT_GONE, __ATOMIC_RELEASE);
	context->used = false;
}

void gt_context_forget(CUcontext handle)
{
	struct gt_context *context;

	gt_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context) {
		gt_table_set(&context_by_handle, handle, NULL);
		context->handle = NULL;
		context->usable = false;
		gt_copies_forget(context, false);
		settle(context);
	}
	gt_unlock(&lock);
}

static void copy_out_last(struct gt_context *context)
{
	copy_out_end(context);
	gt_copies_forget(context, true);
}

struct gt_context *gt_context_leave(CUcontext handle)
{
	struct gt_context *context;

	gt_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context) {
		with_context(context, copy_out_last);
		gt_table_set(&context_by_handle, handle, NULL);
		context->leaving = true;
		context->handle = NULL;
		context->usable = false;
	}
	gt_unlock(&lock);
	return context;
}

void gt_context_end(struct gt_context *context)
{
	if (!context)
		return;
	gt_lock(&lock);
	context->leaving = false;
	settle(context);
	gt_unlock(&lock);
}

/* Of a context that nobody uses for probes any more. */
static void release(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult result;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	result = gt_cu.cuCtxSynchronize();
	copy_out_last(context);
	if (!result && !atomic_load(&context->in_graphs)) {
		if (context->stamp_module)
			gt_cu.cuModuleUnload(context->stamp_module);
		gt_arenas_give_back(context);
		context->usable = false;
	}
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

bool gt_contexts_release(void)
{
	bool all = true;

	gt_lock(&lock);
	for_each_context(context) {
		with_context(context, release);
		all &= !context->usable;
		if (gt_table_get(&context_by_handle, context->handle) == context)
			gt_table_set(&context_by_handle, context->handle, NULL);
		memset(context, 0, sizeof(*context));
	}
	next_number = 0;
	gt_unlock(&lock);
	return all;
}

void gt_contexts_tick(bool last)
{
	gt_lock(&lock);
	for_each_context(context) {
		if (context->stamping)
			with_context(context, gt_stamp_take);
		if (last)
			with_context(context, gt_stamp_wait);
		if (last && gt_copies_any(context))
			with_context(context, gt_copies_collect_last);
		settle(context);
	}
	gt_unlock(&lock);
}

void gt_contexts_collect(void)
{
	if (!(gt_session.flags & GT_CONFIG_MEMCPY))
		return;
	gt_lock(&lock);
	for_each_context(context) {
		if (gt_copies_any(context))
			with_context(context, gt_copies_collect);
	}
	gt_unlock(&lock);
}

void gt_context_start_stamps(uint32_t number)
{
	gt_lock(&lock);
	for_each_context(context) {
		if (context->number == number)
			context->stamping = true;
	}
	gt_unlock(&lock);
}
