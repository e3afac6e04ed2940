/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/target/target.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/util/error.h"

static int take_bit(struct gputrace_target *target, uint32_t *ret_bit)
{
	for (uint32_t bit = 0; bit < GT_LINKS_MAX; bit++) {
		if (target->link_bits & 1u << bit)
			continue;
		target->link_bits |= 1u << bit;
		*ret_bit = bit;
		return 0;
	}
	return gt_error(-ENOSPC, "%d GPU links are attached to this target already: put several programs into one object",
			GT_LINKS_MAX);
}

int gt_link_check_agent(const struct gputrace_target *target)
{
	if (target->kind == GT_TARGET_WATCHED)
		return gt_error(-EOPNOTSUPP, "processes that are only watched have no agent, which this needs: start the program with gputrace_target_spawn()");
	return 0;
}

int gt_link_new(struct gputrace_target *target, bool on_gpu, struct gputrace_link **ret_link)
{
	struct gputrace_link *link, **tail;
	uint32_t bit = 0;
	int r = on_gpu ? gt_link_check_agent(target) : 0;

	if (!r && on_gpu && target->resumed)
		return gt_error(-EBUSY, "the target runs already: attach GPU programs before gputrace_target_resume()");
	if (!r && on_gpu)
		r = take_bit(target, &bit);
	if (r)
		return r;
	link = calloc(1, sizeof(*link));
	if (!link)
		return gt_error(-ENOMEM, "out of memory");
	link->references = 1;
	link->target = target;
	link->on_gpu = on_gpu;
	link->bit = bit;
	for (tail = &target->links; *tail; tail = &(*tail)->next)
		;
	*tail = link;
	*ret_link = link;
	return 0;
}

static unsigned count_probes(const struct gputrace_target *target)
{
	unsigned count = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next)
		count += link->detached ? 0 : link->attached_count;
	return count;
}

/* The least that no other has; there are fewer than GT_PROBES_MAX. */
static uint32_t free_number(const struct gputrace_target *target)
{
	uint64_t taken = 0;
	uint32_t number = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next) {
		for (unsigned i = 0; !link->detached && i < link->attached_count; i++)
			taken |= 1ull << link->attached[i].probe.number;
	}
	while (taken >> number & 1)
		number++;
	return number;
}

int gt_link_add_probe(struct gputrace_link *link, const struct gt_probe *probe, const struct gputrace_program *program)
{
	struct gt_attached *more;
	struct gt_probe *copy;
	uint32_t number;

	if (count_probes(link->target) >= GT_PROBES_MAX)
		return gt_error(-ENOSPC, "a target has room for %d GPU programs (the timeline counts as two)",
				GT_PROBES_MAX);
	number = free_number(link->target);
	more = realloc(link->attached, (link->attached_count + 1) * sizeof(*more));
	if (!more)
		return gt_error(-ENOMEM, "out of memory");
	link->attached = more;
	more[link->attached_count].program = program;
	copy = &more[link->attached_count].probe;
	*copy = *probe;
	copy->number = number;
	copy->function = strdup(probe->function);
	copy->kernel = strdup(probe->kernel);
	copy->opcode = probe->opcode ? strdup(probe->opcode) : NULL;
	link->attached_count++;
	if (!copy->function || !copy->kernel || (probe->opcode && !copy->opcode))
		return gt_error(-ENOMEM, "out of memory");
	return 0;
}

int gt_link_add_text(struct gputrace_link *link, const char *text)
{
	size_t have = link->text ? strlen(link->text) : 0, size = strlen(text);
	char *more = realloc(link->text, have + size + 1);

	if (!more)
		return gt_error(-ENOMEM, "out of memory");
	memcpy(more + have, text, size + 1);
	link->text = more;
	return 0;
}

static void free_link(struct gputrace_link *link)
{
	for (unsigned i = 0; i < link->attached_count; i++) {
		const struct gt_probe *probe = &link->attached[i].probe;

		free((char *)(uintptr_t)probe->function);
		free((char *)(uintptr_t)probe->kernel);
		free((char *)(uintptr_t)probe->opcode);
	}
	free(link->attached);
	free(link->text);
	if (link->api)
		gt_api_trace_close(link->api);
	gt_notes_free(&link->notes);
	gputrace_object_unref(link->object);
	free(link);
}

/* No code of it has gone anywhere yet, so others may have its bit and its programs' numbers. */
static void give_back_numbers(struct gputrace_link *link)
{
	link->target->link_bits &= ~(1u << link->bit);
	for (unsigned i = 0; i < link->attached_count; i++)
		link->attached[i].probe.number = GT_PROBES_MAX;
}

int gputrace_link_detach(struct gputrace_link *link)
{
	if (link->detached)
		return 0;
	link->detached = true;
	if (link->on_gpu && link->target)
		gt_target_switch(link->target, link->bit, false);
	if (link->on_gpu && link->target && !link->target->resumed)
		give_back_numbers(link);
	/* Calls that were seen already can still be read. */
	if (link->api)
		gt_api_trace_detach(link->api);
	if (link->recording && link->target)
		gt_target_update_recording(link->target);
	if (link->programs)
		gt_kernel_programs_detach(link->programs);
	link->programs = NULL;
	return 0;
}

struct gputrace_link *gputrace_link_ref(struct gputrace_link *link)
{
	if (link)
		atomic_fetch_add(&link->references, 1);
	return link;
}

/* The target keeps a detached link, since running kernels may still use its maps. */
struct gputrace_link *gputrace_link_unref(struct gputrace_link *link)
{
	if (!link || atomic_fetch_sub(&link->references, 1) != 1)
		return NULL;
	gputrace_link_detach(link);
	if (!link->target)
		free_link(link);
	return NULL;
}

int gt_link_give_up(struct gputrace_link *link, int r)
{
	if (link->on_gpu)
		link->target->link_bits &= ~(1u << link->bit);
	free(link->text);
	link->text = NULL;
	gputrace_link_unref(link);
	return r;
}

void gt_link_orphan(struct gputrace_link *link)
{
	gputrace_link_detach(link);
	link->target = NULL;
	link->next = NULL;
	if (!atomic_load(&link->references))
		free_link(link);
}
