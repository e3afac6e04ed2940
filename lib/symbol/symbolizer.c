/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/symbolizer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/symbol/process.h"
#include "lib/util/error.h"

#define CHECK_NS 10000000u	/* a number does not go round to another process faster */
#define TICK_NS 10000000u	/* to which the kernel tells when a process began */
#define PROCESSES_MAX 256u

struct gputrace_symbolizer {
	atomic_uint references;
	struct gt_symbol_process *processes;	/* those that began last are first */
	unsigned process_count;
	struct gt_module *modules;
};

int gputrace_symbolizer_new(struct gputrace_ctx *ctx, struct gputrace_symbolizer **ret_symbolizer)
{
	struct gputrace_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	(void)ctx;	/* nothing to log and no default that applies */
	if (!symbolizer)
		return gt_error(-ENOMEM, "out of memory");
	symbolizer->references = 1;
	*ret_symbolizer = symbolizer;
	return 0;
}

struct gputrace_symbolizer *gputrace_symbolizer_ref(struct gputrace_symbolizer *symbolizer)
{
	if (symbolizer)
		atomic_fetch_add(&symbolizer->references, 1);
	return symbolizer;
}

struct gputrace_symbolizer *gputrace_symbolizer_unref(struct gputrace_symbolizer *symbolizer)
{
	if (!symbolizer || atomic_fetch_sub(&symbolizer->references, 1) != 1)
		return NULL;
	while (symbolizer->processes) {
		struct gt_symbol_process *process = symbolizer->processes;

		symbolizer->processes = process->next;
		gt_symbol_process_free(process);
	}
	while (symbolizer->modules) {
		struct gt_module *module = symbolizer->modules;

		symbolizer->modules = module->next;
		gt_module_free(module);
	}
	free(symbolizer);
	return NULL;
}

/* ---- which process ---- */

/* The latest that has this number. */
static struct gt_symbol_process *latest(const struct gputrace_symbolizer *symbolizer, int pid)
{
	struct gt_symbol_process *process = symbolizer->processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

static void forget_oldest(struct gputrace_symbolizer *symbolizer)
{
	struct gt_symbol_process **at = &symbolizer->processes, **oldest = at, *process;

	for (; *at; at = &(*at)->next) {
		if ((*at)->checked < (*oldest)->checked)
			oldest = at;
	}
	process = *oldest;
	*oldest = process->next;
	gt_symbol_process_free(process);
	symbolizer->process_count--;
}

static struct gt_symbol_process *add(struct gputrace_symbolizer *symbolizer, int pid,
				     const struct gt_identity *identity, bool gone, uint64_t since)
{
	struct gt_symbol_process *process, **at = &symbolizer->processes;

	if (symbolizer->process_count == PROCESSES_MAX)
		forget_oldest(symbolizer);
	process = gt_symbol_process_new(pid, identity, gone);
	if (!process)
		return NULL;
	process->since = since;
	process->checked = gt_symbol_now();
	while (*at && (*at)->since > since)
		at = &(*at)->next;
	process->next = *at;
	*at = process;
	symbolizer->process_count++;
	return process;
}

/* Has the number another owner, or its owner another program, than when we last looked?  -ENOMEM. */
static int check(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time)
{
	struct gt_symbol_process *known = latest(symbolizer, pid);
	uint64_t now = gt_symbol_now(), since;
	struct gt_identity identity = { 0 };

	if (known && now - known->checked < CHECK_NS)
		return 0;
	if (known)
		known->checked = now;
	if (gt_identity_read(pid, &identity)) {
		if (known)
			known->gone = true;
		return 0;
	}
	if (known && gt_identity_same(&identity, &known->identity))
		return 0;
	since = gt_identity_start(&identity);
	/* By exec: at the latest when what we were asked for happened. */
	if (known && known->identity.start_ticks == identity.start_ticks)
		since = time;
	if (known)
		known->gone = true;
	return add(symbolizer, pid, &identity, false, since) ? 0 : -ENOMEM;
}

/* The one that had the number at the time.  NULL: no memory. */
static struct gt_symbol_process *process_at(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time)
{
	static const struct gt_identity unknown;

	if (check(symbolizer, pid, time))
		return NULL;
	for (struct gt_symbol_process *process = symbolizer->processes; process; process = process->next) {
		if (process->pid == pid && process->since <= time + TICK_NS)
			return process;
	}
	return add(symbolizer, pid, &unknown, true, 0);
}

void gt_symbolizer_meet(struct gputrace_symbolizer *symbolizer, int pid)
{
	process_at(symbolizer, pid, gt_symbol_now());
}

/* ---- places ---- */

struct gt_place *gt_symbolizer_place(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
				     uint64_t address, struct gt_symbol_process **ret_process)
{
	struct gt_symbol_process *process = process_at(symbolizer, pid, time), *other;
	struct gt_place *place;

	if (!process)
		return NULL;
	*ret_process = process;
	place = gt_symbol_process_place(process, address, &symbolizer->modules);
	if (!place || place->module || place->frame || process->gone)
		return place;
	/* Does it run another program by now? */
	process->checked = 0;
	other = process_at(symbolizer, pid, time);
	if (!other)
		return NULL;
	if (other == process && !process->gone)
		return place;
	*ret_process = other;
	return gt_symbol_process_place(other, address, &symbolizer->modules);
}

void gt_symbolizer_note(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
			const uint64_t *stack, unsigned count)
{
	struct gt_symbol_process *process;

	/* A return address is behind the call that it belongs to, perhaps in the next function. */
	for (unsigned i = 0; i < count; i++) {
		if (stack[i] > 1)
			gt_symbolizer_place(symbolizer, pid, time, stack[i] - 1, &process);
	}
}

int gputrace_symbolizer_resolve(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
				uint64_t address, const struct gputrace_frame **ret_frame)
{
	struct gt_symbol_process *process;
	struct gt_place *place;

	if (pid <= 0 || !address)
		return gt_error(-EINVAL, "process %d, address %#llx: there is no such place", pid,
				(unsigned long long)address);
	place = gt_symbolizer_place(symbolizer, pid, time ? time : gt_symbol_now(), address, &process);
	if (!place || (!place->frame && gt_symbol_process_resolve(process, place)))
		return gt_error(-ENOMEM, "out of memory");
	*ret_frame = place->frame;
	return 0;
}
