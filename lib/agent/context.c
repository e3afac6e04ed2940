/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/context.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/agent/agent.h"
#include "lib/agent/service.h"
#include "lib/agent/table.h"

/* Setting up, copying out and letting go happen under this lock; launches only read. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gt_context contexts[GT_CONTEXTS_MAX];	/* by area */
static uint32_t next_number;
static struct gt_table *context_by_handle;

#define for_each_context(c) \
	for (struct gt_context *c = contexts; c < contexts + gt_session.contexts; c++) \
		if (c->used)

static struct gt_host_arena *area_of(const struct gt_context *context)
{
	return (void *)(gt_session.base + gt_session.areas + context->index * gt_session.area_size);
}

static uint64_t dev_total(void)
{
	return gt_session.slots + (uint64_t)GT_LAUNCH_SLOTS * sizeof(struct gt_launch_slot);
}

/* The rings begin where the reader waits for them, which is behind all that contexts before wrote there. */
static const struct gt_dev_arena *first_rings(const struct gt_context *context)
{
	static struct gt_dev_arena arena;	/* under the lock */
	const struct gt_host_arena *area = area_of(context);

	memcpy(&arena, gt_session.base + gt_session.dev_template, sizeof(arena));
	for (unsigned i = 0; i < GT_RINGS_MAX; i++) {
		arena.ring[i].head = __atomic_load_n(&area->ring_tail[i], __ATOMIC_RELAXED) & ~7ull;
		arena.ring[i].tail_seen = arena.ring[i].head;
	}
	return &arena;
}

static bool set_up_device_arena(struct gt_context *context)
{
	if (gt_cu.cuMemAlloc_v2(&context->dev, dev_total()))
		return false;
	return !gt_cu.cuStreamCreate(&context->stream, CU_STREAM_NON_BLOCKING) &&
	       !gt_cu.cuMemsetD8Async(context->dev, 0, dev_total(), context->stream) &&
	       !gt_cu.cuMemcpyHtoDAsync_v2(context->dev, gt_session.base + gt_session.dev_template,
					   gt_session.dev_size, context->stream) &&
	       !gt_cu.cuMemcpyHtoDAsync_v2(context->dev, first_rings(context), sizeof(struct gt_dev_arena),
					   context->stream) &&
	       !gt_cu.cuStreamSynchronize(context->stream);
}

/* Pin a piece of the host arena.  On the GPU, too, it must begin where the piece before it ends. */
static bool pin(struct gt_context *context, uint64_t from, uint64_t to)
{
	uint8_t *memory = (uint8_t *)area_of(context) + from;
	CUdeviceptr address;
	CUresult result;

	if (from == to)
		return true;
	result = gt_cu.cuMemHostRegister_v2(memory, to - from,
					    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	/* It may still be from a context that is gone. */
	if ((result && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) ||
	    gt_cu.cuMemHostGetDevicePointer_v2(&address, memory, 0))
		return false;
	if (!from)
		context->host = address;
	return address == context->host + from;
}

static bool unpin(struct gt_context *context, uint64_t from, uint64_t to)
{
	if (from != to)
		gt_cu.cuMemHostUnregister((uint8_t *)area_of(context) + from);
	return true;
}

/* Shared maps are other mappings than what lies between them, so each is pinned by itself. */
static bool for_each_piece(struct gt_context *context,
			   bool (*fn)(struct gt_context *context, uint64_t from, uint64_t to))
{
	uint64_t done = 0;

	for (unsigned i = 0; i < gt_session.shared_count; i++) {
		const struct gt_config_shared *shared = &gt_session.shared[i];

		if (!fn(context, done, shared->offset) ||
		    !fn(context, shared->offset, shared->offset + shared->bytes))
			return false;
		done = shared->offset + shared->bytes;
	}
	return fn(context, done, gt_session.host_size);
}

static void give_back_arenas(struct gt_context *context)
{
	for_each_piece(context, unpin);
	if (context->stream)
		gt_cu.cuStreamDestroy_v2(context->stream);
	if (context->dev)
		gt_cu.cuMemFree_v2(context->dev);
	context->stream = NULL;
	context->dev = 0;
}

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
		.area = area_of(context)->state == GT_CONTEXT_LIVE ? context->index : UINT32_MAX,
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

static void stamp(struct gt_context *context);

/* A launch may be what brings us here, in the middle of a stream capture, where allocating is forbidden unless relaxed. */
static void set_up(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	gt_cu.cuCtxGetDevice(&context->device);
	context->usable = set_up_device_arena(context) && for_each_piece(context, pin);
	if (context->usable) {
		__atomic_store_n(&area_of(context)->device, context->device, __ATOMIC_RELAXED);
		__atomic_store_n(&area_of(context)->state, GT_CONTEXT_LIVE, __ATOMIC_RELEASE);
	}
	announce(context);
	if (!context->usable) {
		gt_note(4, "no memory for probes on device %d: its kernels run without them",
			context->device);
		give_back_arenas(context);
		gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
		return;
	}
	context->stamping = gt_session.flags & GT_CONFIG_STAMP;
	if (context->stamping)
		stamp(context);
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
		if (__atomic_load_n(&area_of(context)->state, __ATOMIC_ACQUIRE) == GT_CONTEXT_UNUSED)
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

	pthread_mutex_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (!context)
		context = wait_for_unused();
	if (context && context->handle != handle) {
		begin(context, handle);
		if (gt_table_set(&context_by_handle, handle, context))
			context = NULL;
	}
	pthread_mutex_unlock(&lock);
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

/* ---- launch slots ---- */

#define KEPT (1ull << 63)	/* beside the owner's number; ids of launches have 48 bits */

static bool is_free(const struct gt_context *context, uint32_t slot, uint64_t owner)
{
	/* Pairs with the GPU's fence before it says that the launch has ended. */
	return !owner || (!(owner & KEPT) &&
			  __atomic_load_n(&area_of(context)->slot_done[slot], __ATOMIC_ACQUIRE) == owner);
}

/* The next free one becomes `owner`'s, with the slot's number in its low bits unless it is kept. */
static uint32_t take_slot(struct gt_context *context, uint64_t owner)
{
	for (unsigned i = 0; i < GT_LAUNCH_SLOTS; i++) {
		uint32_t slot = atomic_fetch_add_explicit(&context->next_slot, 1, memory_order_relaxed) %
				GT_LAUNCH_SLOTS;
		uint64_t before = atomic_load_explicit(&context->slot_owner[slot], memory_order_relaxed);

		if (slot && is_free(context, slot, before) &&
		    atomic_compare_exchange_strong(&context->slot_owner[slot], &before,
						   owner & KEPT ? owner : owner | slot))
			return slot;
	}
	return 0;
}

uint32_t gt_context_take_slot(struct gt_context *context, uint64_t id)
{
	return take_slot(context, id);
}

uint32_t gt_context_keep_slot(struct gt_context *context, uint64_t owner)
{
	return take_slot(context, owner | KEPT);
}

void gt_context_return_slot(struct gt_context *context, uint64_t id)
{
	atomic_compare_exchange_strong(&context->slot_owner[id & (GT_LAUNCH_SLOTS - 1)], &id, 0);
}

/* Not any more if the context is another by now. */
void gt_context_give_back_slot(struct gt_context *context, uint32_t slot, uint64_t owner)
{
	owner |= KEPT;
	atomic_compare_exchange_strong(&context->slot_owner[slot], &owner, 0);
}

struct gt_context *gt_context_with_arena(CUdeviceptr dev)
{
	for_each_context(context) {
		if (context->usable && context->dev == dev)
			return context;
	}
	return NULL;
}

/* Words of a spread map that are added up at a time, so that memory is gone through in order. */
#define SUM_WORDS 64

static void add_words(uint64_t *sums, const uint8_t *from, uint32_t word, size_t count)
{
	for (size_t i = 0; i < count; i++, from += word)
		sums[i] += word == 8 ? *(const uint64_t *)(const void *)from : *(const uint32_t *)(const void *)from;
}

/* Each sum is one store, so that whoever looks meanwhile sees the old or the new one. */
static void store_words(uint8_t *to, const uint64_t *sums, uint32_t word, size_t count)
{
	for (size_t i = 0; i < count; i++, to += word) {
		if (word == 8)
			__atomic_store_n((uint64_t *)(void *)to, sums[i], __ATOMIC_RELAXED);
		else
			__atomic_store_n((uint32_t *)(void *)to, (uint32_t)sums[i], __ATOMIC_RELAXED);
	}
}

static void add_up(const struct gt_config_spread *map, struct gt_host_arena *area)
{
	const uint8_t *copies = (uint8_t *)area + gt_session.snapshot + map->copies;
	uint8_t *to = (uint8_t *)area + map->sum;
	size_t left = map->bytes / map->word, count;

	for (; left; left -= count, copies += count * map->word, to += count * map->word) {
		uint64_t sums[SUM_WORDS] = { 0 };

		count = left < SUM_WORDS ? left : SUM_WORDS;
		for (uint32_t i = 0; i < map->count; i++)
			add_words(sums, copies + i * map->copy_bytes, map->word, count);
		store_words(to, sums, map->word, count);
	}
}

/* Under the lock, with the context current. */
static void copy_out(struct gt_context *context)
{
	struct gt_host_arena *area = area_of(context);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult result;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	result = gt_cu.cuMemcpyDtoHAsync_v2((uint8_t *)area + gt_session.snapshot, context->dev,
					    gt_session.dev_size, context->stream);
	if (!result)
		result = gt_cu.cuStreamSynchronize(context->stream);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	for (unsigned i = 0; !result && i < gt_session.spread_count; i++)
		add_up(&gt_session.spread[i], area);
	/* Pairs with the controller's acquire after it was told. */
	if (!result)
		__atomic_fetch_add(&area->snapshot, 1, __ATOMIC_RELEASE);
	else if (!context->unreadable)
		gt_note(4, "the maps in the memory of device %d cannot be read any more (CUresult %d): what they held since the last reading is lost",
			context->device, (int)result);
	context->unreadable = result != CUDA_SUCCESS;
}

static void with_context(struct gt_context *context, void (*fn)(struct gt_context *context))
{
	CUcontext popped;

	if (!context->usable || gt_cu.cuCtxPushCurrent_v2(context->handle))
		return;
	fn(context);
	gt_cu.cuCtxPopCurrent_v2(&popped);
}

void gt_contexts_flush(void)
{
	pthread_mutex_lock(&lock);
	for_each_context(context)
		with_context(context, copy_out);
	pthread_mutex_unlock(&lock);
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

	pthread_mutex_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context)
		with_context(context, copy_out);
	pthread_mutex_unlock(&lock);
}

/* Tell the controller of it, and of its end, if that is still to be done. */
static void settle(struct gt_context *context)
{
	struct gt_host_arena *area = area_of(context);

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

	pthread_mutex_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context) {
		gt_table_set(&context_by_handle, handle, NULL);
		context->handle = NULL;
		context->usable = false;
		settle(context);
	}
	pthread_mutex_unlock(&lock);
}

struct gt_context *gt_context_leave(CUcontext handle)
{
	struct gt_context *context;

	pthread_mutex_lock(&lock);
	context = gt_table_get(&context_by_handle, handle);
	if (context) {
		with_context(context, copy_out);
		gt_table_set(&context_by_handle, handle, NULL);
		context->leaving = true;
		context->handle = NULL;
		context->usable = false;
	}
	pthread_mutex_unlock(&lock);
	return context;
}

void gt_context_end(struct gt_context *context)
{
	if (!context)
		return;
	pthread_mutex_lock(&lock);
	context->leaving = false;
	settle(context);
	pthread_mutex_unlock(&lock);
}

/* Of a context that nobody uses for probes any more. */
static void release(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult result;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	result = gt_cu.cuCtxSynchronize();
	copy_out(context);
	if (!result && !atomic_load(&context->in_graphs)) {
		if (context->stamp_module)
			gt_cu.cuModuleUnload(context->stamp_module);
		give_back_arenas(context);
		context->usable = false;
	}
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

bool gt_contexts_release(void)
{
	bool all = true;

	pthread_mutex_lock(&lock);
	for_each_context(context) {
		with_context(context, release);
		all &= !context->usable;
		if (gt_table_get(&context_by_handle, context->handle) == context)
			gt_table_set(&context_by_handle, context->handle, NULL);
		memset(context, 0, sizeof(*context));
	}
	next_number = 0;
	pthread_mutex_unlock(&lock);
	return all;
}

/* ---- clock records, for GPUs whose timer the controller cannot read by itself ---- */

static const char stamp_ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".visible .entry stamp(.param .u64 to)\n{\n"
	"\t.reg .b64 %rd<3>;\n"
	"\tld.param.u64 %rd1, [to];\n"
	"\tmov.u64 %rd2, %globaltimer;\n"
	"\tst.volatile.global.u64 [%rd1], %rd2;\n"
	"\tret;\n}\n";

/* Far longer than a launch on an idle GPU takes. */
#define STAMP_PATIENCE_NS 20000000

static bool load_stamp(struct gt_context *context)
{
	if (context->stamp)
		return true;
	return !gt_cu.cuModuleLoadData(&context->stamp_module, stamp_ptx) &&
	       !gt_cu.cuModuleGetFunction(&context->stamp, context->stamp_module, "stamp");
}

static void tell_stamp(struct gt_context *context, uint64_t gpu)
{
	struct gt_rec_clock record = {
		.context = context->number, .before = context->stamp_before, .gpu = gpu, .after = gt_now(),
	};

	if (gt_emit(GT_REC_CLOCK, &record, sizeof(record)))
		context->stamped = true;
}

/* One that took longer than it should says little, but the first says more than nothing. */
static void take_late_stamp(struct gt_context *context)
{
	uint64_t gpu = __atomic_load_n(&area_of(context)->stamp, __ATOMIC_ACQUIRE);

	context->stamp_pending = false;
	if (gpu && !context->stamped)
		tell_stamp(context, gpu);
}

static void wait_for_stamp(struct gt_context *context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (context->stamped || !context->stamp_pending)
		return;
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	if (!gt_cu.cuStreamSynchronize(context->stream))
		take_late_stamp(context);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

static void stamp(struct gt_context *context)
{
	struct gt_host_arena *area = area_of(context);
	CUdeviceptr to = context->host + offsetof(struct gt_host_arena, stamp);
	void *params[] = { &to };
	uint64_t gpu;

	if (context->stamp_pending) {
		if (gt_cu.cuStreamQuery(context->stream) == CUDA_ERROR_NOT_READY)
			return;
		take_late_stamp(context);
	}
	if (!load_stamp(context)) {
		context->stamping = false;
		return;
	}
	__atomic_store_n(&area->stamp, 0, __ATOMIC_SEQ_CST);
	context->stamp_before = gt_now();
	if (gt_cu.cuLaunchKernel(context->stamp, 1, 1, 1, 1, 1, 1, 0, context->stream, params, NULL))
		return;
	do {
		gpu = __atomic_load_n(&area->stamp, __ATOMIC_ACQUIRE);
	} while (!gpu && gt_now() - context->stamp_before < STAMP_PATIENCE_NS);
	context->stamp_pending = !gpu;
	if (gpu)
		tell_stamp(context, gpu);
}

void gt_contexts_tick(bool last)
{
	pthread_mutex_lock(&lock);
	for_each_context(context) {
		if (context->stamping)
			with_context(context, stamp);
		if (last)
			with_context(context, wait_for_stamp);
		settle(context);
	}
	pthread_mutex_unlock(&lock);
}

void gt_context_start_stamps(uint32_t number)
{
	pthread_mutex_lock(&lock);
	for_each_context(context) {
		if (context->number == number)
			context->stamping = true;
	}
	pthread_mutex_unlock(&lock);
}
