/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Older architectures keep some literals of a kernel in constant bank 2, which is
 * the kernel's own.  A stub brings its along in registers that nothing else in
 * it names, filled before its code begins.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/elf.h"
#include "lib/agent/graft/stub.h"

#define LITERAL_BANK 2u
#define REGISTERS_RESERVED 2u	/* counted, not named */
#define REGISTERS_MAX 255u
#define MOVE_STALL 8u

bool gt_reads_constant(gt_word word, unsigned *ret_bank, unsigned *ret_offset)
{
	unsigned proper = gt_op_proper(word), form = gt_op_form(word);
	bool scalar = proper < 0x080 || (proper >= 0x100 && proper < 0x114);

	if (!(scalar && (form == 3 || form == 5)) && proper != (GT_OP_LDC & 0x1ff) && proper != (GT_OP_ULDC & 0x1ff))
		return false;
	*ret_bank = gt_bits(word, 54, 5);
	*ret_offset = gt_bits(word, 40, 14) * 4;
	return true;
}

/* Bytes that the instruction takes from there; 0: not known, or not as an operand like any other. */
static unsigned width_of(gt_word word)
{
	bool third = gt_op_form(word) == 3;

	if (gt_bits(word, 91, 1) || (third && (gt_bits(word, 62, 2) || gt_bits(word, 75, 1))))
		return 0;
	switch (gt_op_proper(word)) {
	case 0x025:	/* IMAD.WIDE */
		return third ? 8 : 4;
	case 0x010:	/* IADD3 */
	case 0x024:	/* IMAD */
		return 4;
	case 0x002:	/* MOV */
	case 0x007:	/* SEL */
	case 0x00c:	/* ISETP */
	case 0x011:	/* LEA */
	case 0x012:	/* LOP3 */
	case 0x019:	/* SHF */
		return third ? 0 : 4;
	}
	return 0;
}

/* A register in place of the constant. */
static gt_word with_register(gt_word word, unsigned number)
{
	unsigned second = gt_bits(word, 64, 8);

	if (gt_op_form(word) == 5)
		return gt_with(gt_with(word, 9, 3, 1), 32, 30, number);
	word = gt_with(gt_with(word, 9, 3, 1), 32, 30, second);
	return gt_with(word, 64, 8, number);
}

static gt_word make_move(unsigned number, uint32_t value)
{
	gt_word any = gt_with(0, 12, 4, GT_PT);

	return gt_with(gt_make_mov_like(gt_with(any, 16, 8, number), value), 105, 4, MOVE_STALL);
}

struct literals {
	const uint8_t *bytes;
	uint64_t size;
	unsigned next;			/* register */
	struct {
		unsigned offset, width, number;
	} known[GT_PROLOGUE_MAX / 2];
	unsigned count;
};

/* The register that holds it; 0: there is no room. */
static unsigned register_of(struct gt_graft_stub *stub, struct literals *literals, unsigned offset, unsigned width)
{
	unsigned i, number;

	for (i = 0; i < literals->count; i++)
		if (literals->known[i].offset == offset && literals->known[i].width == width)
			return literals->known[i].number;
	number = (literals->next + width / 4 - 1) & ~(width / 4 - 1);
	if (literals->count == GT_PROLOGUE_MAX / 2 || number + width / 4 + REGISTERS_RESERVED > REGISTERS_MAX ||
	    literals->size < width || offset > literals->size - width)
		return 0;
	for (i = 0; i < width / 4; i++)
		stub->prologue[stub->prologue_count++] =
			make_move(number + i, gt_read32(literals->bytes + offset + 4 * i));
	literals->known[literals->count].offset = offset;
	literals->known[literals->count].width = width;
	literals->known[literals->count++].number = number;
	literals->next = number + width / 4;
	return number;
}

bool gt_stub_take_literals(struct gt_graft_stub *stub, const uint8_t *bytes, uint64_t size)
{
	struct literals literals = { .bytes = bytes, .size = size, .next = stub->registers - REGISTERS_RESERVED };
	unsigned bank, offset, width, number;

	for (unsigned i = 0; i < stub->count; i++) {
		if (!gt_reads_constant(stub->words[i], &bank, &offset) || bank != LITERAL_BANK)
			continue;
		width = width_of(stub->words[i]);
		number = width ? register_of(stub, &literals, offset, width) : 0;
		if (!number)
			return false;
		stub->words[i] = with_register(stub->words[i], number);
	}
	if (literals.count)
		stub->registers = literals.next + REGISTERS_RESERVED;
	return true;
}
