/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers keep what the threads of a warp have in common in uniform registers.  A
 * warp has these only once, so code at exit may not write to any that other threads,
 * still in the kernel, might need, nor leave a value in one for a thread that comes
 * later.  Each instruction that names some becomes the one that does the same with the
 * thread's own registers: one above those of the stub for each uniform one.
 *
 * Before compute capability 9.0, and since 10.0, accesses to memory take their descriptor from uniform
 * registers, and these stay: its value is the same whenever and by whomever it is loaded.
 */
#include "lib/agent/graft/registers.h"
#include "lib/agent/graft/stub.h"

/* A result of arithmetic is there after so many cycles, whatever the next instruction is. */
#define STALL_SURE 8u

/* The thread's register in place of each uniform one; 0: none. */
struct own {
	uint8_t at[GT_UR_COUNT];
};

/* ---- one instruction ---- */

static gt_word with_register(const struct own *own, gt_word word, unsigned at)
{
	unsigned number = gt_bits(word, at, 6);

	return gt_with(word, at, 8, number == GT_URZ ? GT_RZ : own->at[number]);
}

static gt_word with_sure_result(gt_word word)
{
	word = gt_with_read_barrier(gt_with(word, 110, 3, GT_BARRIER_NONE), GT_BARRIER_NONE);
	if (gt_bits(word, 105, 4) >= STALL_SURE)
		return word;
	return gt_with(word, 105, 5, STALL_SURE | 1u << 4);
}

/* None of them reads a uniform predicate: nothing that we know of writes one. */
static bool reads_predicate(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x090:	/* UIADD3 */
		return gt_bits(word, 77, 3) != GT_PT || gt_bits(word, 87, 3) != GT_PT;
	case 0x086:	/* VOTEU */
	case 0x091:	/* ULEA */
	case 0x092:	/* ULOP3 */
	case 0x0a4:	/* UIMAD */
	case 0x0a5:	/* UIMAD.WIDE */
		return gt_bits(word, 87, 3) != GT_PT;
	}
	return false;
}

/* Uniform opcodes are the others' and one bit; 0: not known. */
static gt_word from_data_path(const struct own *own, gt_word word)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = gt_uniform_places(word, places);

	if (gt_op_proper(word) > 0x0a5 || reads_predicate(word))
		return 0;
	for (int k = 0; k < count; k++)
		word = with_register(own, word, places[k].at);
	if (gt_op_form(word) == 6)
		word = gt_with(word, 9, 3, 1);
	word = gt_with(gt_with(word, 7, 1, 0), 91, 1, 0);
	if (gt_op_proper(word) == (GT_OP_MOV_IMM & 0x1ff))
		word = gt_with(word, 72, 4, 0xf);	/* all bytes */
	return with_sure_result(word);
}

/* What is loaded is not there at once: the next instruction waits for it. */
static gt_word from_load(const struct own *own, gt_word word)
{
	if (gt_op(word) == GT_OP_LDCU)
		word = gt_with(gt_with(gt_with(word, 37, 1, 0), 38, 16, gt_uniform_constant_at(word)), 91, 1, 0);
	word = gt_with(with_register(own, word, 16), 0, 12, GT_OP_LDC);
	word = with_sure_result(gt_with(word, 24, 8, GT_RZ));
	return gt_with(word, 110, 3, GT_LATE_BARRIER);
}

/* It may write a predicate as well. */
static gt_word from_register(const struct own *own, gt_word word)
{
	gt_word move = gt_make_mov_like(with_register(own, word, 16), gt_bits(word, 24, 8));

	return gt_bits(word, 81, 3) == GT_PT ? gt_with(move, 9, 3, 1) : 0;
}

/*
 * In form 7 the uniform register is the third operand and lies where the second
 * is else, with the signs of both.
 */
static gt_word exchange_operands(gt_word word, bool signs)
{
	gt_word exchanged = gt_with(gt_with(word, 32, 8, gt_bits(word, 64, 8)), 64, 8, gt_bits(word, 32, 8));

	if (signs)
		exchanged = gt_with(gt_with(exchanged, 63, 1, gt_bits(word, 75, 1)), 75, 1, gt_bits(word, 63, 1));
	return exchanged;
}

/* VIADD, which has no form with two registers, as IADD3 with a third that is 0; 0: not known. */
static gt_word from_viadd(const struct own *own, gt_word word)
{
	if (gt_bits(word, 64, 27))
		return 0;
	word = gt_with(with_register(own, word, 32), 91, 1, 0);
	return gt_with(gt_with(gt_with(word, 0, 12, GT_OP_IADD3), 64, 8, GT_RZ), 77, 14, 0x3fff);
}

/* One of the thread's own instructions that reads a uniform register; 0: not known. */
static gt_word from_operand(const struct own *own, gt_word word)
{
	unsigned proper = gt_op_proper(word), form = gt_op_form(word);
	bool signs = false;

	if (gt_op(word) == 0xc36)
		return from_viadd(own, word);
	switch (proper) {
	case 0x010:	/* IADD3 */
	case 0x024:	/* IMAD */
	case 0x025:	/* IMAD.WIDE */
	case 0x027:	/* IMAD.HI */
		signs = true;
		break;
	case 0x002:	/* MOV */
	case 0x007:	/* SEL */
	case 0x00c:	/* ISETP */
	case 0x011:	/* LEA */
	case 0x012:	/* LOP3 */
	case 0x016:	/* PRMT */
	case 0x017:	/* IMNMX */
	case 0x019:	/* SHF */
	case 0x048:	/* VIMNMX */
		break;
	default:
		return 0;
	}
	if (form != 6 && form != 7)
		return 0;
	word = gt_with(with_register(own, word, 32), 91, 1, 0);
	word = gt_with(word, 9, 3, 1);
	return form == 7 ? exchange_operands(word, signs) : word;
}

static bool is_load(gt_word word)
{
	return gt_op(word) == GT_OP_ULDC || gt_op(word) == GT_OP_LDCU;
}

static bool is_r2ur(gt_word word)
{
	return gt_op(word) == 0x2ca || gt_op(word) == 0x3c2;	/* in two spellings */
}

/* 0: not known. */
static gt_word with_own(const struct own *own, gt_word word)
{
	unsigned proper = gt_op_proper(word);
	bool uniform = gt_op(word) == 0x9c3 || is_r2ur(word) || is_load(word) || (proper >= 0x080 && proper < 0x100);

	if (!uniform)
		return from_operand(own, word);
	if (!gt_unguarded(word))
		return 0;
	if (gt_op(word) == 0x9c3)	/* S2UR */
		return gt_with(with_register(own, word, 16), 0, 12, GT_OP_S2R);
	if (is_r2ur(word))
		return from_register(own, word);
	return is_load(word) ? from_load(own, word) : from_data_path(own, word);
}

/* ---- descriptors ---- */

/* Where the driver has put the descriptor of all memory. */
static bool loads_descriptor(gt_word word, unsigned arch)
{
	if (!gt_unguarded(word) || gt_bits(word, 73, 3) != 5 || gt_bits(word, 54, 5))
		return false;
	if (gt_op(word) == GT_OP_LDCU)
		return gt_bits(word, 24, 8) == 0xff && gt_uniform_constant_at(word) == 0x358;
	return gt_op(word) == GT_OP_ULDC && !gt_bits(word, 91, 1) && gt_constant_at(word) == (arch >= 90 ? 0x208 : 0x118);
}

struct use {
	bool described[GT_UR_COUNT];	/* read as part of a descriptor */
	bool read[GT_UR_COUNT];		/* as anything else */
	bool loaded[GT_UR_COUNT];	/* with a descriptor */
	bool moved[GT_UR_COUNT];	/* from a thread's register, where a descriptor may have been kept */
	bool written[GT_UR_COUNT];	/* with anything but a descriptor that was loaded */
};

static void note_place(const struct gt_graft_stub *stub, gt_word word, const struct gt_uniform *place, struct use *use)
{
	bool *list = use->read;

	if (place->written)
		list = loads_descriptor(word, stub->arch) ? use->loaded : use->written;
	else if (gt_takes_descriptor(word, stub->arch))
		list = use->described;
	for (unsigned j = 0; j < place->width; j++) {
		unsigned number = gt_bits(word, place->at, 6) + j;

		list[number] = true;
		use->moved[number] |= is_r2ur(word);
	}
}

/* False: an instruction that is not known, or a pair that is none. */
static bool find_use(const struct gt_graft_stub *stub, struct use *use)
{
	struct gt_uniform places[GT_UNIFORM_MAX];

	for (unsigned i = 0; i < stub->count; i++) {
		int count = gt_uniform_places(stub->words[i], places);

		if (count < 0)
			return false;
		for (int k = 0; k < count; k++) {
			unsigned number = gt_bits(stub->words[i], places[k].at, 6);

			if (stub->arch >= GT_UR_WIDE_SINCE && gt_bits(stub->words[i], places[k].at, 8) != 0xff &&
			    gt_bits(stub->words[i], places[k].at, 8) >= GT_URZ)
				return false;
			if (number == GT_URZ)
				continue;
			if (places[k].width == 2 && number % 2)
				return false;
			note_place(stub, stub->words[i], &places[k], use);
		}
	}
	return true;
}

/* Descriptors come from nowhere but their loads, and nothing else wants what only these have written. */
static bool is_understood(const struct use *use)
{
	for (unsigned u = 0; u < GT_URZ; u++)
		if ((use->described[u] && (!use->loaded[u] || use->moved[u])) || (use->read[u] && !use->written[u]))
			return false;
	return true;
}

/* ---- the whole ---- */

/* By pairs, of which the first is even in both kinds of registers.  False: there are not so many. */
static bool choose_own(struct gt_graft_stub *stub, const struct use *use, struct own *own)
{
	unsigned next = stub->registers + stub->registers % 2;

	for (unsigned u = 0; u < GT_URZ; u += 2) {
		if (!use->written[u] && !use->written[u + 1])
			continue;
		if (next + 2 + GT_REGISTERS_UNNAMED > GT_REGISTERS_MAX)
			return false;
		own->at[u] = (uint8_t)next++;
		own->at[u + 1] = (uint8_t)next++;
		stub->registers = next + GT_REGISTERS_UNNAMED;
	}
	return true;
}

/* 0: not known. */
static gt_word make_private(const struct gt_graft_stub *stub, const struct use *use, const struct own *own, gt_word word)
{
	struct gt_uniform places[GT_UNIFORM_MAX];

	if (!gt_uniform_places(word, places) || gt_takes_descriptor(word, stub->arch))
		return word;
	if (loads_descriptor(word, stub->arch))
		return use->described[gt_bits(word, 16, 6)] ? word : gt_make_nop_like(word);
	return with_own(own, word);
}

const char *gt_stub_make_private(struct gt_graft_stub *stub)
{
	static const char unknown[] = "the probes' machine code uses registers of whole warps in an unknown way";
	bool loaded = false;
	struct use use = { 0 };
	struct own own = { 0 };

	if (!find_use(stub, &use) || !is_understood(&use))
		return unknown;
	if (!choose_own(stub, &use, &own))
		return "the probes' machine code takes too many registers";
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = make_private(stub, &use, &own, stub->words[i]);

		if (!word)
			return unknown;
		/* Operands kept for the next instruction: it may read another register in that place now. */
		word = gt_with(word, 122, 4, 0);
		if (loaded)
			word = gt_with(word, 116, 6, gt_bits(word, 116, 6) | 1u << GT_LATE_BARRIER);
		loaded = is_load(stub->words[i]) && gt_op(word) == GT_OP_LDC;
		stub->words[i] = word;
		stub->descriptor |= gt_takes_descriptor(word, stub->arch);
	}
	return NULL;
}
