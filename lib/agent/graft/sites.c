/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a kernel's memory accesses, and whether programs can run there: their code keeps the kernel's
 * registers below its stack, in memory that must be nobody else's, and brings threads together again with
 * a convergence barrier that nobody else uses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/calls.h"
#include "lib/agent/graft/stack.h"

struct walk {
	const struct gt_elf *elf;
	const struct gt_elf_kernel *kernel;
	const uint8_t *text;
	uint64_t size;
	uint8_t *marks;		/* by instruction */
	uint64_t lowered;	/* bytes, over all places that do it */
	struct gt_sites *sites;
};

static gt_word word_at(const struct walk *walk, uint64_t at)
{
	return gt_word_read(walk->text + at);
}

/* ---- calls of functions outside the kernel's code ---- */

/*
 * Functions keep the stack pointer, and the convergence barriers from 6 on, for their callers, and no code of ours
 * runs around a call: whatever they do, it comes to no harm.  It sees nothing of it either.
 */
static int look_at_calls(struct walk *walk, uint32_t points)
{
	bool functions = false;

	for (uint64_t at = 0; at < walk->size; at += GT_WORD) {
		enum gt_call call = gt_call_of(word_at(walk, at), walk->marks[at / GT_WORD]);

		walk->sites->calls_driver |= call == GT_CALL_DRIVER;
		functions |= call == GT_CALL_FUNCTION;
		if (call == GT_CALL_UNKNOWN)
			walk->sites->refusal = GT_CALLS_UNKNOWN;
	}
	return functions && !walk->sites->refusal ? gt_look_at_callees(walk->elf, walk->kernel, points, walk->sites) : 0;
}

/* ---- what the code does with its stack and its barriers ---- */

void gt_note_matrix(gt_word word, struct gt_sites *sites)
{
	unsigned proper = gt_op_proper(word);

	sites->matrix |= proper == 0x037 || proper == 0x03c || proper == 0x03d;	/* IMMA, HMMA, BMMA */
	sites->matrix_async |= proper >= GT_OPP_MATRIX_ASYNC;
}

static const char *look_at(struct walk *walk, gt_word word)
{
	unsigned proper = gt_op_proper(word);

	if (gt_upsets_stack(word))
		return "it uses its stack in an unknown way";
	if (gt_moves_stack_pointer(word) && gt_stack_moved(word) < 0)
		walk->lowered += (uint64_t)-(int64_t)gt_stack_moved(word);
	if (gt_names_barrier(word) && gt_bits(word, 16, 4) == GT_OUTER_BARRIER)
		return "it uses the convergence barrier that programs need";
	if (proper >= GT_OPP_BMOV && proper <= GT_OPP_BMOV + 2)
		return "it keeps convergence barriers in registers";
	gt_note_matrix(word, walk->sites);
	if ((proper >= 0x160 && proper < 0x180) || (proper >= 0x194 && proper < 0x1a0))
		return "it uses textures or surfaces, with instructions that are not known";
	if (proper == 0x18f && gt_bits(word, 24, 8) != GT_RZ)	/* CCTL */
		return "it fetches memory ahead with an instruction that is not known";
	return NULL;
}

static const char *check(struct walk *walk, uint32_t stack)
{
	const char *why = NULL;

	if (walk->elf->arch != GT_GRAFT_ACCESSES_ARCH)
		return "accesses of this compute capability are not known";
	if (!gt_loads_stack_pointer(word_at(walk, 0)))
		return "it does not begin with its stack pointer";
	for (uint64_t at = GT_WORD; at < walk->size && !why; at += GT_WORD)
		why = look_at(walk, word_at(walk, at));
	if (!why && walk->sites->matrix_async)
		why = "its matrix instructions write registers while other code runs";
	if (!why && walk->lowered > stack)
		why = "how deep its stack goes cannot be told";
	return why;
}

/* ---- the accesses ---- */

static int add(struct gt_sites *sites, uint32_t at, const struct gt_insn_access *access)
{
	if (sites->count == sites->room) {
		unsigned room = sites->room ? 2 * sites->room : 64;
		struct gt_site *list = realloc(sites->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		sites->list = list;
		sites->room = room;
	}
	sites->list[sites->count++] = (struct gt_site){ at, *access };
	return 0;
}

/* Between the two only those threads are there that an instruction names. */
static bool is_collective(gt_word word, bool collective)
{
	return gt_is_collective(word) || (collective && gt_op(word) != GT_OP_ENDCOLLECTIVE);
}

static int collect(struct walk *walk, uint32_t points)
{
	bool collective = false;
	int r = 0;

	for (uint64_t at = GT_WORD; !r && at < walk->size; at += GT_WORD) {
		gt_word word = word_at(walk, at);
		struct gt_insn_access access = gt_insn_access(word);

		collective = is_collective(word, collective);
		if (access.kind == GT_ACCESS_NONE || !(points >> access.point & 1))
			continue;
		if (access.kind == GT_ACCESS_KNOWN && ((walk->marks[at / GT_WORD] & GT_MARK_NAMED) || collective))
			access.kind = GT_ACCESS_OTHER;
		if (access.kind == GT_ACCESS_KNOWN)
			r = add(walk->sites, (uint32_t)at, &access);
		else
			walk->sites->left[access.kind]++;
	}
	return r;
}

int gt_find_sites(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, uint32_t points, uint32_t stack,
		  struct gt_sites *ret_sites)
{
	struct walk walk = {
		.elf = elf, .kernel = kernel, .text = gt_elf_bytes(elf, kernel->text),
		.size = elf->sections[kernel->text].sh_size, .sites = ret_sites,
	};
	const struct gt_elf_companions of = { .info = kernel->info, .rel = kernel->rel, .rela = kernel->rela };
	int r;

	*ret_sites = (struct gt_sites){ 0 };
	walk.marks = gt_mark_code(elf, kernel->text, &of);
	if (!walk.marks)
		return -ENOMEM;
	r = look_at_calls(&walk, points);
	if (!r)
		r = collect(&walk, points);
	if (!r && ret_sites->count && !ret_sites->refusal)
		ret_sites->refusal = check(&walk, stack);
	free(walk.marks);
	if (r < 0)
		gt_sites_free(ret_sites);
	return r;
}

void gt_sites_free(struct gt_sites *sites)
{
	free(sites->list);
	*sites = (struct gt_sites){ 0 };
}
