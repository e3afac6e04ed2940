/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_call.h"

#include <errno.h>
#include <linux/types.h>
#include <stddef.h>
#include <string.h>

#include "lib/uprobe/api_files.h"
#include "lib/uprobe/api_record.h"
#include "lib/wire/stack.h"

_Static_assert(GT_API_CALL_ARGS == GT_API_ARGS_MAX, "both count the same arguments");

static void fill_call(const struct gt_sites *sites, const struct gt_api_record *record, struct gt_api_call *call)
{
	call->enter = record->enter;
	call->leave = record->leave;
	call->pid = record->pid;
	call->tid = record->tid;
	call->function = record->function;
	call->value = record->result;
	call->result = (int32_t)record->result;
	call->depth = record->depth;
	call->flags = record->flags;
	memcpy(call->comm, record->comm, sizeof(call->comm));
	call->comm[sizeof(call->comm) - 1] = '\0';
	call->arg_count = record->arg_count;
	memcpy(call->args, record->args, record->arg_count * sizeof(*call->args));
	if (sites->names) {
		call->name = sites->names[call->function];
		return;
	}
	call->name = gt_api_name(call->function);
	for (unsigned i = 0; i < call->arg_count; i++)
		call->args[i] = gt_api_widen(call->function, i, call->args[i]);
}

/* Those that the function is one of; NULL: none. */
static const struct gt_sites *find_sites(const struct gt_api_files *files, const struct gt_api_record *record)
{
	const struct gt_sites *sites;

	if (record->library >= files->count)
		return NULL;
	sites = &files->list[record->library]->sites;
	if (sites->names ? record->function >= sites->count : !gt_api_name(record->function))
		return NULL;
	return sites;
}

/* What follows the arguments; the ring keeps records at multiples of eight bytes. */
static void fill_stack(const struct gt_api_trace_opts *opts, const uint8_t *bytes, size_t size,
		       struct gt_api_call *call)
{
	const struct gt_stack_registers *registers = (const void *)bytes;
	size_t before;

	if (!opts->stack_bytes) {
		call->stack = (const void *)bytes;
		call->stack_count = (uint32_t)(size / sizeof(*call->stack));
		return;
	}
	/* A call that never returned has none. */
	if (size < sizeof(*registers))
		return;
	before = registers->sp % GT_API_PAGE;
	size -= sizeof(*registers);
	call->registers = registers;
	call->stack_frames = opts->stack_frames;
	if (size <= before)
		return;
	size -= before;
	call->copy = bytes + sizeof(*registers) + before;
	call->copy_bytes = size < opts->stack_bytes ? (uint32_t)size : opts->stack_bytes;
}

int gt_api_call_read(const struct gt_api_files *files, const void *bytes, size_t size, struct gt_api_call *ret_call)
{
	const size_t head = offsetof(struct gt_api_record, args);
	struct gt_api_record record = { 0 };
	struct gt_api_call call = { 0 };
	const struct gt_sites *sites;
	size_t args;

	if (size < head)
		return -EBADMSG;
	memcpy(&record, bytes, size < sizeof(record) ? size : sizeof(record));
	args = head + record.arg_count * sizeof(record.args[0]);
	sites = find_sites(files, &record);
	if (record.arg_count > GT_API_ARGS_MAX || size < args || !sites)
		return -EBADMSG;
	fill_call(sites, &record, &call);
	fill_stack(files->opts, (const uint8_t *)bytes + args, size - args, &call);
	*ret_call = call;
	return 0;
}
