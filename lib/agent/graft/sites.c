/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a kernel's memory accesses, and whether programs can run there: their code keeps the kernel's
 * registers below its stack, in memory that must be nobody else's, and brings threads together again with
 * a convergence barrier that nobody else uses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"
#include "lib/agent/graft/stack.h"

struct walk {
	const struct gt_elf *elf;
	const struct gt_elf_kernel *kernel;
	const uint8_t *text;
	uint64_t size;
	uint8_t *marks;		/* by instruction: enum mark */
	uint64_t lowered;	/* bytes, over all places that do it */
	struct gt_sites *sites;
};

enum mark {
	NAMED = 1,	/* the linker or the records know it by its place */
	LINKED = 2,	/* the linker fills it in */
	SUPPLIED = 4,	/* a call of a function that the driver supplies */
};

static gt_word word_at(const struct walk *walk, uint64_t at)
{
	return gt_word_read(walk->text + at);
}

/* ---- who knows instructions by their place ---- */

static void mark(struct walk *walk, uint64_t at, unsigned marks)
{
	if (at < walk->size)
		walk->marks[at / GT_WORD] |= (uint8_t)marks;
}

/* Records of something else than places. */
static bool is_plain(uint8_t attribute)
{
	switch (attribute) {
	case GT_ATTR_MAX_THREADS:
	case GT_ATTR_REQNTID:
	case GT_ATTR_PARAM_CBANK:
	case GT_ATTR_KPARAM:
	case GT_ATTR_KPARAM_V2:
	case GT_ATTR_COOP_MASKS:
	case GT_ATTR_SW_WAR:
	case GT_ATTR_API_VERSION:
		return true;
	}
	return false;
}

/* Code that is ready to be loaded lacks nothing but what the driver has. */
static bool is_supplied(const struct gt_elf *elf, uint64_t symbol)
{
	return symbol && symbol < elf->symbol_count && elf->symbols[symbol].st_shndx == SHN_UNDEF;
}

static void mark_relocated(struct walk *walk, unsigned section)
{
	const Elf64_Shdr *relocations = &walk->elf->sections[section];
	size_t step = relocations->sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rel relocation;	/* Elf64_Rela begins alike */

	for (uint64_t i = 0; i < relocations->sh_size / step; i++) {
		memcpy(&relocation, gt_elf_bytes(walk->elf, section) + i * step, sizeof(relocation));
		mark(walk, relocation.r_offset, NAMED | LINKED);
		if (is_supplied(walk->elf, ELF64_R_SYM(relocation.r_info)))
			mark(walk, relocation.r_offset, SUPPLIED);
	}
}

/* Whatever could be the place of an instruction in a record of which we do not know that it is something else. */
static void mark_recorded(struct walk *walk)
{
	struct gt_note_walk records = gt_note_begin(walk->elf, walk->kernel->info);
	struct gt_note_record record;

	while (gt_note_next(&records, &record))
		for (unsigned i = 0; record.payload && !is_plain(record.attribute) && i + 4u <= record.value; i += 4)
			if (!(gt_read32(record.payload + i) % GT_WORD))
				mark(walk, gt_read32(record.payload + i),
				     NAMED | (record.attribute == GT_ATTR_SYSCALLS ? SUPPLIED : 0));
}

/* ---- calls of functions outside the kernel's code ---- */

static bool calls_outside(const struct walk *walk, uint64_t at)
{
	gt_word word = word_at(walk, at);
	unsigned proper = gt_op_proper(word);

	return proper == GT_OPP_CALL_ABS || proper == GT_OPP_JMP || proper == GT_OPP_JMX ||
	       (proper == GT_OPP_CALL && (!gt_has_target(word) || walk->marks[at / GT_WORD] & LINKED));
}

/*
 * Functions keep the stack pointer, and the convergence barriers from 6 on, for their callers, and no code of ours
 * runs around a call: whatever they do, it comes to no harm.  It sees nothing of it either.
 */
static void look_at_calls(struct walk *walk)
{
	for (uint64_t at = 0; at < walk->size; at += GT_WORD) {
		if (!calls_outside(walk, at))
			continue;
		if (walk->marks[at / GT_WORD] & SUPPLIED)
			walk->sites->calls_driver = true;
		else
			walk->sites->refusal = "it calls functions outside its own code, of which accesses would not be seen";
	}
}

/* ---- what the code does with its stack and its barriers ---- */

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
	walk->sites->matrix |= proper == 0x037 || proper == 0x03c || proper == 0x03d;	/* IMMA, HMMA, BMMA */
	if (proper >= GT_OPP_MATRIX_ASYNC)
		return "its matrix instructions write registers while other code runs";
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
		if (access.kind == GT_ACCESS_KNOWN && ((walk->marks[at / GT_WORD] & NAMED) || collective))
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
	int r;

	*ret_sites = (struct gt_sites){ 0 };
	walk.marks = calloc(walk.size / GT_WORD + 1, sizeof(*walk.marks));
	if (!walk.marks)
		return -ENOMEM;
	mark_recorded(&walk);
	if (kernel->rel)
		mark_relocated(&walk, kernel->rel);
	if (kernel->rela)
		mark_relocated(&walk, kernel->rela);
	look_at_calls(&walk);
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
