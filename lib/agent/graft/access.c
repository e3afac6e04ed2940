/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/access.h"

#include "lib/agent/instrument/instrument.h"

/* How many bytes, by the field that says it; 0: no such. */
static const uint8_t plain_bytes[16] = { 1, 1, 2, 2, 4, 8, 16 };
static const uint8_t atomic_bytes[16] = { 4, 4, 8, 8, 16 };
static const uint8_t reduction_bytes[16] = { 4, 4, 8, 8 };
/* Pairs of halves and more of them; above, floats. */
static const uint8_t float_bytes[16] = { 4, 8, 16, 4, 8, 16, 0, 0, 0, 4, 8, 16, 4, 8, 16, 8 };

/*
 * The instructions that we know, by opcode proper.  With a uniform register, which must be a descriptor's,
 * they have form 4; without, the form given here.
 */
static const struct form {
	uint16_t proper;
	uint8_t point, space;
	uint8_t plain;		/* form without a uniform register */
	uint8_t described;	/* bit: the uniform register is a descriptor's, and adds nothing; 0: it never has one */
	uint8_t wide;		/* bit: with one, the address is a pair nevertheless */
	uint8_t size_bits;
	bool far;		/* without one, its offset has 32 bits */
	bool asks;		/* it may have a second condition */
	const uint8_t *bytes;
} forms[] = {
	{ 0x180, GT_POINT_LOAD, GT_SPACE_GENERIC, 4, 76, 90, 3, true, true, plain_bytes },	/* LD */
	{ 0x181, GT_POINT_LOAD, GT_SPACE_GLOBAL, 1, 76, 90, 3, false, true, plain_bytes },	/* LDG */
	{ 0x185, GT_POINT_STORE, GT_SPACE_GENERIC, 1, 76, 90, 3, true, false, plain_bytes },	/* ST */
	{ 0x186, GT_POINT_STORE, GT_SPACE_GLOBAL, 1, 76, 90, 3, false, false, plain_bytes },	/* STG */
	{ 0x18a, GT_POINT_ATOMIC, GT_SPACE_GENERIC, 1, 71, 70, 3, false, false, atomic_bytes },	/* ATOM */
	{ 0x18b, GT_POINT_ATOMIC, GT_SPACE_GENERIC, 1, 0, 0, 3, false, false, atomic_bytes },	/* its compare-and-swap */
	{ 0x18e, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 4, 71, 90, 3, false, false, reduction_bytes },	/* REDG */
	{ 0x1a2, GT_POINT_ATOMIC, GT_SPACE_GENERIC, 1, 71, 70, 4, false, false, float_bytes },	/* ATOM on floats */
	{ 0x1a3, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 1, 71, 70, 4, false, false, float_bytes },	/* ATOMG on floats */
	{ 0x1a6, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 4, 71, 90, 4, false, false, float_bytes },	/* REDG on floats */
	{ 0x1a8, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 1, 71, 70, 3, false, false, atomic_bytes },	/* ATOMG */
	{ 0x1a9, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 1, 0, 0, 3, false, false, atomic_bytes },	/* its compare-and-swap */
};

static const struct form *form_of(gt_word word)
{
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].proper == gt_op_proper(word))
			return &forms[i];
	return NULL;
}

/* Is its address a pair of registers, whatever else it names? */
static bool is_simple(const struct form *form, gt_word word)
{
	bool uniform = gt_bits(word, 91, 1);
	unsigned address = gt_bits(word, 24, 8);

	if (gt_op_form(word) != (uniform ? 4 : form->plain) || !gt_bits(word, 72, 1) || address == GT_RZ || address % 2 ||
	    address < 2)
		return false;
	if (uniform && (!form->described || !gt_bits(word, form->described, 1) || !gt_bits(word, form->wide, 1)))
		return false;
	return !form->asks || !gt_bits(word, 64, 4);
}

static struct gt_insn_access known(const struct form *form, gt_word word)
{
	struct gt_insn_access access = { .kind = GT_ACCESS_OTHER, .point = form->point, .space = form->space };
	uint32_t near = (gt_bits(word, 40, 24) ^ 0x800000) - 0x800000;

	access.bytes = form->bytes[gt_bits(word, 73, form->size_bits)];
	access.address = gt_bits(word, 24, 8);
	access.offset = (int32_t)(form->far && !gt_bits(word, 91, 1) ? gt_bits(word, 32, 32) : near);
	if (access.bytes && is_simple(form, word))
		access.kind = GT_ACCESS_KNOWN;
	return access;
}

static struct gt_insn_access unknown(enum gt_access_kind kind, uint32_t point)
{
	return (struct gt_insn_access){ .kind = kind, .point = point };
}

struct gt_insn_access gt_insn_access(gt_word word)
{
	const struct form *form = form_of(word);

	if (form)
		return known(form, word);
	switch (gt_op_proper(word)) {
	case 0x183:	/* LDL */
		return unknown(GT_ACCESS_LOCAL, GT_POINT_LOAD);
	case 0x184:	/* LDS */
		return unknown(GT_ACCESS_SHARED, GT_POINT_LOAD);
	case 0x187:	/* STL */
		return unknown(GT_ACCESS_LOCAL, GT_POINT_STORE);
	case 0x188:	/* STS */
	case 0x1bd:	/* STAS */
		return unknown(GT_ACCESS_SHARED, GT_POINT_STORE);
	case 0x18c:	/* ATOMS */
	case 0x18d:	/* its compare-and-swap */
		return unknown(GT_ACCESS_SHARED, GT_POINT_ATOMIC);
	case 0x1a4:	/* multimem */
	case 0x1a5:
	case 0x1ae:	/* LDGSTS */
	case 0x1b4:	/* UTMALDG */
		return unknown(GT_ACCESS_OTHER, GT_POINT_LOAD);
	case 0x1ba:	/* UBLKCP, either way */
		return unknown(GT_ACCESS_OTHER, gt_bits(word, 74, 1) ? GT_POINT_STORE : GT_POINT_LOAD);
	case 0x1b5:	/* UTMASTG */
		return unknown(GT_ACCESS_OTHER, GT_POINT_STORE);
	case 0x1b6:	/* UTMAREDG */
	case 0x1bb:	/* UBLKRED */
		return unknown(GT_ACCESS_OTHER, GT_POINT_ATOMIC);
	}
	return unknown(GT_ACCESS_NONE, 0);
}
