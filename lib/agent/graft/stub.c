/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the driver made of a stub's text. */
#include "lib/agent/graft/stub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/stack.h"
#include "lib/agent/graft/why.h"

#define STUB_WORDS_MAX 65536u

const uint8_t gt_list_attribute[GT_LISTS] = {
	[GT_LIST_S2RCTAID] = GT_ATTR_S2RCTAID,
	[GT_LIST_LD_CACHEMOD] = GT_ATTR_LD_CACHEMOD,
	[GT_LIST_ATOM_SYS] = GT_ATTR_ATOM_SYS,
	[GT_LIST_COOP] = GT_ATTR_COOP_OFFSETS,
	[GT_LIST_WARP_WIDE] = GT_ATTR_WARP_WIDE,
};

void gt_graft_stub_free(struct gt_graft_stub *stub)
{
	if (!stub)
		return;
	for (unsigned i = 0; i < GT_LISTS; i++)
		free(stub->lists[i].values);
	free(stub->coop_masks.values);
	free(stub->words);
	free(stub->targets);
	free(stub);
}

/* ---- sections and records ---- */

static bool begins(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/*
 * Whatever the code would need besides itself cannot come along.  Code of other
 * sections it cannot name but by a relocation; linkers leave some that nobody calls.
 */
static int check_sections(const struct gt_elf *elf, unsigned text, char *why)
{
	for (unsigned i = 1; i < elf->count; i++) {
		const char *name = gt_elf_section_name(elf, i);

		if (!elf->sections[i].sh_size || i == text)
			continue;
		if (begins(name, ".nv.global") ||
		    (begins(name, ".nv.constant") && !begins(name, ".nv.constant0.")) ||
		    (begins(name, ".nv.shared.") && !begins(name, ".nv.shared.reserved")) ||
		    ((elf->sections[i].sh_type == SHT_REL || elf->sections[i].sh_type == SHT_RELA) &&
		     elf->sections[i].sh_info == text))
			return gt_graft_fail(why, "the probes' machine code needs section %.64s of its own", name);
	}
	return 0;
}

static int copy_list(struct gt_offsets *list, const struct gt_note_record *record)
{
	unsigned i, count = record->value / 4;

	if (list->values || record->value % 4)
		return -EINVAL;
	list->values = malloc((count + (size_t)1) * sizeof(*list->values));
	if (!list->values)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		list->values[i] = gt_read32(record->payload + 4 * i);
	list->count = count;
	return 0;
}

static int read_record(struct gt_graft_stub *stub, const struct gt_note_record *record)
{
	unsigned i;

	switch (record->attribute) {
	case GT_ATTR_API_VERSION:
	case GT_ATTR_KPARAM:
	case GT_ATTR_CBANK_PARAM_SIZE:
	case GT_ATTR_PARAM_CBANK:
	case GT_ATTR_MAXREG:
	case GT_ATTR_EXITS:
	case 0x1e:	/* CRS_STACK_SIZE */
	case 0x35:
	case 0x50:	/* SPARSE_MMA_MASK */
	case 0x5f:
		return 0;
	case 0x4a:	/* VRC_CTA_INIT_COUNT, since compute capability 10.0 */
		return record->value ? -EINVAL : 0;
	case 0x41:	/* every kernel of compute capability 11.0 has it */
		return record->format == GT_FORMAT_NONE ? 0 : -EINVAL;
	case GT_ATTR_CTAIDZ_USED:
		stub->ctaidz = true;
		return record->format == GT_FORMAT_NONE ? 0 : -EINVAL;
	case GT_ATTR_COOP_MASKS:
		return record->payload ? copy_list(&stub->coop_masks, record) : -EINVAL;
	case GT_ATTR_SW_WAR:
		if (!record->payload || record->value != 4)
			return -EINVAL;
		stub->sw_war = gt_read32(record->payload);
		return 0;
	}
	for (i = 0; i < GT_LISTS; i++)
		if (record->attribute == gt_list_attribute[i])
			return record->payload ? copy_list(&stub->lists[i], record) : -EINVAL;
	return -EINVAL;
}

static int read_kernel_records(struct gt_graft_stub *stub, const struct gt_elf *elf, unsigned section, char *why)
{
	struct gt_note_walk walk = gt_note_begin(elf, section);
	struct gt_note_record record;
	int r = 0;

	while (!r && gt_note_next(&walk, &record)) {
		r = read_record(stub, &record);
		if (r == -EINVAL)
			gt_graft_fail(why, "the probes' machine code has a property that is not known (0x%02x)",
				      record.attribute);
	}
	if (!r && walk.at != walk.end)
		return gt_graft_fail(why, "the probes' machine code is damaged");
	return r;
}

static void read_module_records(struct gt_graft_stub *stub, const struct gt_elf *elf, unsigned symbol)
{
	struct gt_note_walk walk = gt_note_begin(elf, elf->info);
	struct gt_note_record record;

	while (gt_note_next(&walk, &record)) {
		uint32_t value;

		if (!record.payload || record.value != 8 || gt_read32(record.payload) != symbol)
			continue;
		value = gt_read32(record.payload + 4);
		if (record.attribute == GT_ATTR_REGCOUNT)
			stub->registers = value;
		else if (record.attribute == GT_ATTR_FRAME_SIZE)
			stub->frame = value;
		else if (record.attribute == GT_ATTR_MIN_STACK)
			stub->min_stack = value;
		else if (record.attribute == GT_ATTR_MAX_STACK)
			stub->max_stack = value;
	}
}

/* ---- instructions ---- */

/* Compilers end code with a branch to itself and pad with NOPs. */
static bool is_filler(gt_word word, unsigned arch, int64_t at)
{
	return gt_op(word) == GT_OP_NOP ||
	       (gt_op(word) == GT_OP_BRA && gt_unguarded(word) && gt_target(word, arch, at) == at);
}

static int copy_words(struct gt_graft_stub *stub, const struct gt_elf *elf, unsigned text, char *why)
{
	const uint8_t *bytes = gt_elf_bytes(elf, text);
	uint64_t size = elf->sections[text].sh_size;
	unsigned i, count = (unsigned)(size / GT_WORD);

	if (size % GT_WORD || count > STUB_WORDS_MAX)
		return gt_graft_fail(why, "the probes' machine code is too long or damaged");
	stub->words = malloc((count + (size_t)1) * sizeof(*stub->words));
	if (!stub->words)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		stub->words[i] = gt_word_read(bytes + (size_t)i * GT_WORD);
		if (!is_filler(stub->words[i], stub->arch, (int64_t)i * GT_WORD))
			stub->count = i + 1;
	}
	return stub->count ? 0 : gt_graft_fail(why, "the probes' machine code is empty");
}

/* Constants: below the parameters they are the same in every kernel; of the parameters the hidden one is ours. */
static bool check_constants(const struct gt_graft_stub *stub, gt_word word)
{
	unsigned proper = gt_op_proper(word), form = gt_op_form(word), bank, offset;
	unsigned base = gt_elf_param_base(stub->arch);

	if (proper == (GT_OP_LDCU & 0x1ff))
		return gt_bits(word, 24, 8) == 0xff && !gt_bits(word, 54, 5) && gt_uniform_constant_at(word) < base;
	if ((!(gt_is_arithmetic(word) && (form == 3 || form == 5)) && proper != (GT_OP_LDC & 0x1ff) &&
	     proper != (GT_OP_ULDC & 0x1ff)) || gt_reads_kernel(word))
		return true;
	bank = gt_bits(word, 54, 5);
	offset = gt_bits(word, 40, 14) * 4;
	if (bank || gt_bits(word, 91, 1) || (gt_op(word) == GT_OP_LDC && gt_bits(word, 24, 8) != GT_RZ))
		return false;
	return offset < base || gt_reads_launch(word, stub->arch);
}

/* Instructions that lead out of what we can see, or that say more than we know. */
static const char *check_word(const struct gt_graft_stub *stub, unsigned index)
{
	gt_word word = stub->words[index];
	int64_t target;

	switch (gt_op_proper(word)) {
	case GT_OPP_CALL_ABS:
	case GT_OPP_BRX:
	case GT_OPP_JMX:
	case GT_OPP_JMP:
	case GT_OPP_BRXU:
	case GT_OPP_LEPC:
		return "the probes' machine code jumps in a way that cannot be moved";
	case GT_OPP_BRA:
	case GT_OPP_CALL:
	case GT_OP_BSSY & 0x1ff:
		if (!gt_has_target(word))
			return "the probes' machine code jumps in a way that cannot be moved";
		break;
	case GT_OPP_BAR:
	case GT_OPP_USETMAXREG:
		return "the probes' machine code waits for the whole thread block";
	}
	if (gt_is_odd_exit(word))
		return "the probes' machine code exits in an unknown way";
	if (gt_has_target(word)) {
		target = gt_target(word, stub->arch, (int64_t)index * GT_WORD);
		if (target < 0 || target >= (int64_t)stub->count * (int64_t)GT_WORD || target % (int64_t)GT_WORD)
			return "the probes' machine code jumps out of itself";
	}
	if (!check_constants(stub, word))
		return "the probes' machine code reads constants that only its own kernel has";
	return NULL;
}

static int check_words(struct gt_graft_stub *stub, char *why)
{
	const char *text;
	unsigned i;

	for (i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];

		text = check_word(stub, i);
		if (text)
			return gt_graft_fail(why, "%s", text);
		if (gt_names_barrier(word) && gt_bits(word, 16, 4) >= stub->convergence)
			stub->convergence = gt_bits(word, 16, 4) + 1;
		if ((gt_op(word) == GT_OP_BRA && !is_filler(word, stub->arch, (int64_t)i * GT_WORD)) ||
		    gt_op(word) == GT_OP_BRA_UNIFORM ||
		    (gt_is_exit(word) && (!gt_unguarded(word) || gt_bits(word, 87, 4) != GT_PT)) ||
		    gt_op(word) == GT_OP_RET)
			stub->branches = true;
	}
	return 0;
}

bool *gt_stub_find_targets(const struct gt_graft_stub *stub)
{
	bool *targets = calloc(stub->count + (size_t)1, sizeof(*targets));

	for (unsigned i = 0; targets && i < stub->count; i++)
		if (gt_has_target(stub->words[i]))
			targets[gt_target(stub->words[i], stub->arch, (int64_t)i * GT_WORD) / (int64_t)GT_WORD] = true;
	return targets;
}

/*
 * Compilers load the stack pointer whether it is used or not, and a load of a constant costs every warp some ns: on an H200
 * two of them made a vector addition of 4.5 us by 1 % longer.
 */
static void drop_stack_pointer(struct gt_graft_stub *stub)
{
	if (!gt_loads_stack_pointer(stub->words[0]))
		return;
	for (unsigned i = 1; i < stub->count; i++) {
		if (gt_may_read_stack_pointer(stub->words[i]))
			return;
	}
	stub->words[0] = gt_make_nop_like(stub->words[0]);
}

static void move_up(struct gt_offsets *list, uint32_t bytes)
{
	for (unsigned i = 0; i < list->count; i++)
		list->values[i] -= list->values[i] < bytes ? list->values[i] : bytes;
}

/* Instructions that it begins with and that do nothing, as reading what compilers add to the addresses of values. */
static void drop_idle(struct gt_graft_stub *stub)
{
	unsigned idle = 0;

	while (idle + 1 < stub->count && !stub->targets[idle] &&
	       (gt_op(stub->words[idle]) == GT_OP_NOP || gt_reads_index(stub->words[idle])))
		idle++;
	stub->count -= idle;
	memmove(stub->words, stub->words + idle, stub->count * sizeof(*stub->words));
	memmove(stub->targets, stub->targets + idle, stub->count * sizeof(*stub->targets));
	for (unsigned i = 0; i < GT_LISTS; i++)
		move_up(&stub->lists[i], idle * GT_WORD);
}

/* In its place comes a move, or nothing. */
static bool is_replaced(gt_word word)
{
	if (gt_op(word) == GT_OP_S2R)
		return gt_bits(word, 72, 8) == GT_SR_HIDDEN || gt_reads_index(word) || gt_reads_thread(word);
	return gt_loads_constant(word, 0, false) || gt_loads_constant(word, GT_VALUE_BANK, true);
}

/*
 * What takes its time may rely on the barrier of what does behind it, see gt_answers_late(): of those that go it gets the one
 * that is waited for first.  Whoever relies on another of them comes later.
 */
static void hand_down_barriers(struct gt_graft_stub *stub)
{
	/* At accesses the first is not what loads the stack pointer any more. */
	unsigned begin = stub->point < GT_POINT_LOAD ? 0 : 1, barrier = GT_BARRIER_NONE, first = stub->count;
	unsigned waits[GT_BARRIER_NONE + 1];	/* by barrier: the next that waits for it */

	for (unsigned k = 0; k <= GT_BARRIER_NONE; k++)
		waits[k] = stub->count;
	for (unsigned i = stub->count; i-- > begin;) {
		gt_word word = stub->words[i];
		unsigned own = gt_write_barrier(word);

		stub->reads_thread |= gt_reads_thread(word);
		if (gt_answers_late(word) && gt_bits(word, 16, 8) != GT_RZ) {
			stub->words[i] = gt_with(word, 110, 3, barrier);
		} else if (is_replaced(word) && waits[own] <= first) {
			first = waits[own];
			barrier = own;
		}
		for (unsigned k = 0; k < 6; k++)
			if (gt_bits(word, 116, 6) >> k & 1)
				waits[k] = i;
	}
}

/* ---- the whole ---- */

static int read_stub(struct gt_graft_stub *stub, const struct gt_elf *elf, const struct gt_elf_kernel *kernel,
		     char *why)
{
	const char *text;
	int r = check_sections(elf, kernel->text, why);

	if (r < 0)
		return r;
	if (!kernel->info || !elf->info || elf->symbols[kernel->symbol].st_value)
		return gt_graft_fail(why, "the probes' machine code says nothing of itself");
	r = read_kernel_records(stub, elf, kernel->info, why);
	if (r < 0)
		return r;
	read_module_records(stub, elf, kernel->symbol);
	if (stub->registers < 3 || stub->registers > 255)
		return gt_graft_fail(why, "the probes' machine code does not say how many registers it takes");
	r = copy_words(stub, elf, kernel->text, why);
	if (!r && (text = gt_stub_fill_values(stub)))
		return gt_graft_fail(why, "%s", text);
	if (!r)
		r = check_words(stub, why);
	if (!r && stub->point != GT_POINT_ENTRY && gt_stub_make_divergent(stub, &text) < 0)
		return gt_graft_fail(why, "%s", text);
	if (!r && stub->point >= GT_POINT_LOAD && (text = gt_stub_make_inner(stub)))
		return gt_graft_fail(why, "%s", text);
	if (r < 0)
		return r;
	stub->targets = gt_stub_find_targets(stub);
	if (!stub->targets)
		return -ENOMEM;
	if (stub->point < GT_POINT_LOAD) {
		drop_stack_pointer(stub);
		drop_idle(stub);
	}
	hand_down_barriers(stub);
	return 0;
}

static int open_stub(struct gt_graft_stub *stub, const struct gt_elf *elf, char *why)
{
	struct gt_elf_kernel *kernels;
	unsigned count;
	int r;

	stub->arch = elf->arch;
	if (!gt_elf_param_base(stub->arch))
		return gt_graft_fail(why, "machine code of compute capability %u.%u is not known",
				     stub->arch / 10, stub->arch % 10);
	r = gt_elf_kernels(elf, &kernels, &count);
	if (r < 0)
		return r;
	if (count == 1)
		r = read_stub(stub, elf, &kernels[0], why);
	else
		r = gt_graft_fail(why, "the probes' machine code has %u kernels", count);
	free(kernels);
	return r;
}

int gt_graft_stub_open(const void *cubin, size_t size, uint32_t point,
		       struct gt_graft_stub **ret_stub, char why[GT_GRAFT_WHY])
{
	struct gt_graft_stub *stub;
	struct gt_elf elf;
	const char *text;
	int r = gt_elf_open(cubin, size, &elf, &text);

	if (r < 0) {
		gt_graft_fail(why, "of the probes: %s", text);
		return r;
	}
	stub = calloc(1, sizeof(*stub));
	if (stub) {
		stub->point = point;
		r = open_stub(stub, &elf, why);
	} else {
		r = -ENOMEM;
	}
	gt_elf_close(&elf);
	if (r < 0) {
		if (r == -ENOMEM)
			gt_graft_fail(why, "out of memory");
		gt_graft_stub_free(stub);
		return r;
	}
	*ret_stub = stub;
	return 0;
}
