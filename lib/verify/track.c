/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What checkpoints have to remember: which registers and slots were read after
 * them (liveness), and which numbers mattered (precision).  A value that nobody
 * read, or a number that decided nothing, need not agree for a checkpoint to
 * cover another path.
 */
#include "lib/verify/verifier.h"

#define ORIGIN_BITS 128u

struct gt_origin gt_origin_union(struct gt_origin a, struct gt_origin b)
{
	return (struct gt_origin){ { a.word[0] | b.word[0], a.word[1] | b.word[1] } };
}

static struct gt_origin minus(struct gt_origin a, struct gt_origin b)
{
	return (struct gt_origin){ { a.word[0] & ~b.word[0], a.word[1] & ~b.word[1] } };
}

static bool is_none(struct gt_origin a)
{
	return !a.word[0] && !a.word[1];
}

static bool overlap(struct gt_origin a, struct gt_origin b)
{
	return (a.word[0] & b.word[0]) || (a.word[1] & b.word[1]);
}

/* place: 0 to 10 registers, 11 and up stack slots.  Frames share bits, which only costs accuracy. */
static struct gt_origin own_bit(unsigned frame, unsigned place)
{
	unsigned bit = (frame * (GT_REGS + GT_SLOTS) + place) % ORIGIN_BITS;
	struct gt_origin origin = { { 0, 0 } };

	origin.word[bit / 64] = UINT64_C(1) << bit % 64;
	return origin;
}

struct gt_origin gt_origin_reg(unsigned frame, unsigned reg)
{
	return own_bit(frame, reg);
}

struct gt_origin gt_origin_slot(unsigned frame, unsigned slot)
{
	return own_bit(frame, GT_REGS + slot);
}

void gt_origin_reset(struct gt_state *state)
{
	for (unsigned f = 0; f < state->frame_count; f++) {
		struct gt_frame *frame = state->frames[f];

		frame->written_regs = 0;
		frame->written_slots = 0;
		for (unsigned i = 0; i < GT_REGS; i++)
			frame->regs[i].origin = own_bit(f, i);
		for (unsigned i = 0; i < frame->slot_count; i++) {
			frame->slots[i].origin = own_bit(f, GT_REGS + i);
			frame->slots[i].spill.origin = own_bit(f, GT_REGS + i);
		}
	}
}

void gt_read_reg(struct gt_path *path, unsigned frame, unsigned reg)
{
	uint16_t bit = (uint16_t)(1u << reg);
	const struct gt_state *state = path->state;

	for (struct gt_node *node = path->parent; node; node = node->parent) {
		if ((state->frames[frame]->written_regs & bit) || (node->read_regs[frame] & bit))
			return;
		node->read_regs[frame] |= bit;
		state = node->state;
		if (frame >= state->frame_count)
			return;
	}
}

void gt_read_slot(struct gt_path *path, unsigned frame, unsigned slot)
{
	uint64_t bit = UINT64_C(1) << slot;
	const struct gt_state *state = path->state;

	for (struct gt_node *node = path->parent; node; node = node->parent) {
		if ((state->frames[frame]->written_slots & bit) || (node->read_slots[frame] & bit))
			return;
		node->read_slots[frame] |= bit;
		state = node->state;
		if (frame >= state->frame_count)
			return;
	}
}

struct gt_origin gt_origin_sources(const struct gt_state *state, struct gt_origin of)
{
	struct gt_origin from = { { 0, 0 } };

	for (unsigned f = 0; f < state->frame_count; f++) {
		const struct gt_frame *frame = state->frames[f];

		for (unsigned i = 0; i < GT_REGS; i++)
			if (overlap(of, own_bit(f, i)))
				from = gt_origin_union(from, frame->regs[i].origin);
		for (unsigned i = 0; i < frame->slot_count; i++)
			if (overlap(of, own_bit(f, GT_REGS + i))) {
				from = gt_origin_union(from, frame->slots[i].origin);
				if (gt_slot_is_spill(&frame->slots[i]))
					from = gt_origin_union(from, frame->slots[i].spill.origin);
			}
	}
	return from;
}

void gt_need_precise(struct gt_path *path, const struct gt_origin *origin)
{
	struct gt_origin wanted = *origin;

	for (struct gt_node *node = path->parent; node; node = node->parent) {
		wanted = minus(wanted, node->precise);
		if (is_none(wanted))
			return;
		node->precise = gt_origin_union(node->precise, wanted);
		wanted = gt_origin_sources(node->state, wanted);
	}
}

void gt_need_all_precise(struct gt_path *path)
{
	const struct gt_state *state = path->state;
	const struct gt_origin all = { { UINT64_MAX, UINT64_MAX } };

	for (unsigned f = 0; f < state->frame_count; f++) {
		for (unsigned i = 0; i < GT_REGS; i++)
			gt_read_reg(path, f, i);
		for (unsigned i = 0; i < state->frames[f]->slot_count; i++)
			gt_read_slot(path, f, i);
	}
	gt_need_precise(path, &all);
}
