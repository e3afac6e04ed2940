/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/launch/launch.h"

#include <errno.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/context/context.h"
#include "lib/agent/launch/fit.h"
#include "lib/agent/launch/stream.h"
#include "lib/agent/thread.h"

static _Atomic uint64_t next_launch = 1;

uint64_t gt_launch_next_id(void)
{
	return (atomic_fetch_add_explicit(&next_launch, 1, memory_order_relaxed) << GT_SLOT_BITS) & GT_LAUNCH_ID_MASK;
}

size_t gt_launch_room(const struct gt_kernel *kernel)
{
	size_t list, buffer;

	if (!kernel || !kernel->probed)
		return 16;
	list = (kernel->param_count + 1) * sizeof(void *);
	buffer = kernel->hidden_offset + sizeof(struct gt_launch_param);
	return (list > buffer ? list : buffer) + 16;
}

/* Why it has no programs, and what may help, if that has not been asked for. */
static const char *loaded_before(void)
{
	return gt_session.probe_count && (gt_session.flags & (GT_CONFIG_LIVE | GT_CONFIG_COPIES)) == GT_CONFIG_LIVE ?
	       GT_LOADED_BEFORE "; a copy may carry programs in its place, if nvcc built the kernel into a file: "
				"ask for copies (--copies, GPUTRACE_LIVE_COPIES, in Python copies=True)" : GT_LOADED_BEFORE;
}

void gt_launch_begin(struct gt_launch *launch, const void *function,
		     const unsigned int grid[3], const unsigned int block[3],
		     unsigned int shared_bytes, void **params, void **extra)
{
	bool active = atomic_load_explicit(&gt_active, memory_order_relaxed);

	memset(launch, 0, sizeof(*launch));
	launch->kernel = gt_function_find(function);
	if (gt_function_original(function))
		function = gt_function_original(function);
	launch->function = launch->given_function = function;
	launch->params = launch->given_params = params;
	launch->extra = launch->given_extra = extra;
	if (!active)
		return;		/* a probed kernel gets zeros: everything off */
	if (!launch->kernel && function)
		launch->kernel = gt_function_discover((void *)(uintptr_t)function, loaded_before());
	launch->context = gt_context_current();
	launch->record.tid = gt_thread_id();
	launch->record.range = gt_thread_range();
	launch->record.external = gt_thread_external();
	launch->record.kernel = launch->kernel ? launch->kernel->id : 0;
	launch->record.context = launch->context ? launch->context->number : UINT32_MAX;
	launch->record.shared_bytes = shared_bytes;
	for (int i = 0; i < 3; i++) {
		launch->record.grid[i] = grid[i];
		launch->record.block[i] = block[i];
	}
	launch->record.enter = gt_thread_now();
}

/* The program passes one buffer: pass a longer copy with the hidden parameter at its end. */
static void extend_buffer(struct gt_launch *launch, void *room)
{
	const void *buffer = NULL;
	size_t size = 0;

	for (void **key = launch->extra; *key != CU_LAUNCH_PARAM_END; key += 2) {
		if (*key == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = key[1];
		else if (*key == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)key[1];
		else
			return;	/* a key that we do not know: let the driver judge */
	}
	if (size > launch->kernel->hidden_offset)
		size = launch->kernel->hidden_offset;
	memset(room, 0, launch->kernel->hidden_offset);
	if (buffer)
		memcpy(room, buffer, size);
	memcpy((uint8_t *)room + launch->kernel->hidden_offset, &launch->hidden, sizeof(launch->hidden));
	launch->buffer_size = launch->kernel->hidden_offset + sizeof(launch->hidden);
	launch->new_extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	launch->new_extra[1] = room;
	launch->new_extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	launch->new_extra[3] = &launch->buffer_size;
	launch->new_extra[4] = CU_LAUNCH_PARAM_END;
	launch->extra = launch->new_extra;
}

/* Links whose programs the kernel carries and that are switched on. */
static uint64_t links_on(const struct gt_kernel *kernel)
{
	return __atomic_load_n(&gt_session.shm->switches, __ATOMIC_RELAXED) & kernel->told.links;
}

/*
 * What runs: the program's kernel, or its copy with programs in it, when there is
 * one, somebody wants it and it can take this launch's place.
 */
static void choose(struct gt_launch *launch)
{
	const struct gt_kernel *kernel = launch->kernel;
	void *copy;

	if (!kernel || !kernel->probed)
		return;
	if (!kernel->copy) {
		launch->extended = true;
		return;
	}
	if (!launch->record.enter || !launch->context || !gt_kernel_is_probed(kernel) ||
	    (!links_on(kernel) && !(launch->record.flags & GT_LAUNCH_CAPTURED)))
		return;
	copy = gt_function_copy(launch->function);
	if (!copy || !gt_launch_fits(launch, copy))
		return;
	launch->function = copy;
	launch->extended = true;
}

/* The launch's id, and what its probes are told. */
static void fill_hidden(struct gt_launch *launch)
{
	uint64_t on;

	launch->record.launch = gt_launch_next_id();
	if (!launch->extended || !gt_kernel_is_probed(launch->kernel) || !launch->context)
		return;
	on = __atomic_load_n(&gt_session.shm->switches, __ATOMIC_RELAXED);
	if (launch->record.flags & GT_LAUNCH_CAPTURED)
		launch->record.launch |= launch->node_slot;
	else if (on & gt_session.timeline)
		launch->record.launch |= gt_context_take_slot(launch->context, launch->record.launch);
	launch->record.flags |= GT_LAUNCH_PROBED;
	if (launch->record.flags & GT_LAUNCH_CAPTURED)
		atomic_store_explicit(&launch->context->in_graphs, true, memory_order_relaxed);
	launch->hidden.launch = launch->record.launch | on << GT_LAUNCH_ID_BITS;
	launch->hidden.dev = launch->context->dev;
	launch->hidden.host = launch->context->host;
}

void gt_launch_append(struct gt_launch *launch, void *room)
{
	void **list = room;
	uint32_t count = launch->kernel->param_count;

	if (launch->extra && !launch->params) {
		extend_buffer(launch, room);
		return;
	}
	if (!launch->params && count)
		return;		/* the program's mistake, the driver's to report */
	for (uint32_t i = 0; i < count; i++)
		list[i] = launch->params[i];
	list[count] = &launch->hidden;
	launch->params = list;
}

void gt_launch_extend(struct gt_launch *launch, void *room)
{
	choose(launch);
	if (launch->record.enter)
		fill_hidden(launch);
	if (launch->extended)
		gt_launch_append(launch, room);
}

/* It did not run with probes. */
static void take_back(struct gt_launch *launch)
{
	if (launch->context && !(launch->record.flags & GT_LAUNCH_CAPTURED))
		gt_context_return_slot(launch->context, launch->record.launch);
	launch->record.flags &= ~GT_LAUNCH_PROBED;
}

/* The program's own kernel, where the launched one is a copy or was changed in place; NULL: it cannot be had. */
static const void *own_kernel(const struct gt_launch *launch, CUresult result)
{
	char why[256];
	void *own;

	if (launch->function != launch->given_function)
		return launch->given_function;
	own = gt_function_own((void *)(uintptr_t)launch->function, why, sizeof(why));
	if (!own && !atomic_exchange(&launch->kernel->said, true))
		gt_note(4, "a launch of %.128s failed with programs in it (CUresult %d), and cannot be tried without: %s",
			launch->kernel->name, (int)result, why);
	return own;
}

bool gt_launch_again(struct gt_launch *launch, CUresult result)
{
	int saved = errno;
	const void *own;

	if (!result || !launch->extended)
		return false;
	own = own_kernel(launch, result);
	errno = saved;
	if (!own)
		return false;
	take_back(launch);
	launch->record.launch = GT_LAUNCH_OF(launch->record.launch);
	launch->function = own;
	launch->params = launch->given_params;
	launch->extra = launch->given_extra;
	launch->extended = false;
	launch->refused = result;
	return true;
}

void gt_launch_end(struct gt_launch *launch, CUresult result)
{
	if (!launch->record.enter)
		return;
	launch->record.leave = gt_thread_now();
	launch->record.result = (int32_t)result;
	if (result)
		take_back(launch);
	else if (launch->refused)
		gt_launch_misses(launch->kernel, "the driver would not launch the kernel with programs in it (CUresult %d)",
				 (int)launch->refused);
	gt_emit(GT_REC_LAUNCH, &launch->record, sizeof(launch->record));
}

void gt_launch_captured(struct gt_launch *launch)
{
	launch->record.flags |= GT_LAUNCH_CAPTURED;
}

void gt_launch_stream(struct gt_launch *launch, CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	bool captured;

	if (!launch->record.enter)
		return;
	if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	if (gt_stream_is_default(stream))
		return;
	captured = gt_cu.cuStreamIsCapturing(stream, &status) ||
		   status != CU_STREAM_CAPTURE_STATUS_NONE;
	if (captured)
		launch->record.flags |= GT_LAUNCH_CAPTURED;
	launch->record.stream = gt_stream_number(stream, captured);
}
