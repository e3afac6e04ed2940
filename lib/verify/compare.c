/* SPDX-License-Identifier: Apache-2.0 */
/* States against each other: does one cover another, are they the same, what covers both. */
#include "lib/verify/verifier.h"

/* Which id of the one state stands for which of the other. */
struct id_map {
	unsigned count;
	struct { uint32_t a, b; } pair[64];
};

static bool ids_match(struct id_map *map, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a == b;
	for (unsigned i = 0; i < map->count; i++)
		if (map->pair[i].a == a || map->pair[i].b == b)
			return map->pair[i].a == a && map->pair[i].b == b;
	if (map->count == sizeof(map->pair) / sizeof(map->pair[0]))
		return false;	/* not covered is always a safe answer */
	map->pair[map->count].a = a;
	map->pair[map->count++].b = b;
	return true;
}

static bool has_origin(struct gt_origin set, struct gt_origin bit)
{
	return (set.word[0] & bit.word[0]) || (set.word[1] & bit.word[1]);
}

static bool same_frames(const struct gt_state *a, const struct gt_state *b)
{
	if (a->frame_count != b->frame_count)
		return false;
	for (unsigned f = 0; f < a->frame_count; f++)
		if (a->frames[f]->start != b->frames[f]->start ||
		    a->frames[f]->return_to != b->frames[f]->return_to ||
		    a->frames[f]->callback != b->frames[f]->callback)
			return false;
	return true;
}

static bool same_refs(struct id_map *map, const struct gt_state *a, const struct gt_state *b)
{
	if (a->ref_count != b->ref_count)
		return false;
	for (unsigned i = 0; i < a->ref_count; i++)
		if (!ids_match(map, a->refs[i].id, b->refs[i].id))
			return false;
	return true;
}

/* A slot as a register: one saved there, or 8 bytes of zero. */
static bool slot_as_reg(const struct gt_slot *slot, struct gt_reg *ret_reg)
{
	const struct gt_scalar zero = gt_scalar_const(0);

	if (gt_slot_is_spill(slot)) {
		*ret_reg = slot->spill;
		return true;
	}
	for (unsigned i = 0; i < 8; i++)
		if (slot->byte[i] != GT_BYTE_ZERO)
			return false;
	*ret_reg = gt_reg_scalar(&zero);
	ret_reg->origin = slot->origin;
	return true;
}

/* ---- covered ---- */

static bool pointer_covered(struct id_map *map, const struct gt_reg *old, const struct gt_reg *now)
{
	return old->type == now->type && old->map == now->map && old->frame == now->frame &&
	       old->size == now->size && (old->maybe_null || !now->maybe_null) &&
	       gt_scalar_within(&now->range, &old->range) &&
	       (!old->id || ids_match(map, old->id, now->id)) && ids_match(map, old->ref, now->ref);
}

static bool reg_covered(struct id_map *map, const struct gt_reg *old, const struct gt_reg *now,
			bool precise)
{
	if (old->type == GT_REG_NONE)
		return true;
	if (old->type != GT_REG_SCALAR)
		return pointer_covered(map, old, now);
	if (now->type != GT_REG_SCALAR)
		return false;
	if (!precise)
		return true;
	/* Registers that were linked must be linked; others may be. */
	return gt_scalar_within(&now->range, &old->range) &&
	       (!old->id || ids_match(map, old->id, now->id));
}

static bool is_number(const struct gt_slot *slot, unsigned byte)
{
	switch (slot->byte[byte]) {
	case GT_BYTE_MISC:
	case GT_BYTE_ZERO:
		return true;
	case GT_BYTE_SPILL:
		return slot->spill.type == GT_REG_SCALAR;
	default:
		return false;
	}
}

static bool slot_covered(struct id_map *map, const struct gt_slot *old, const struct gt_slot *now,
			 bool precise)
{
	struct gt_reg was, is;

	if (gt_slot_is_spill(old) && slot_as_reg(now, &is))
		return reg_covered(map, &old->spill, &is, precise);
	if (slot_as_reg(old, &was) && gt_slot_is_spill(now))
		return reg_covered(map, &was, &now->spill, precise);
	if (gt_slot_is_pointer(old) || (gt_slot_is_spill(old) && precise))
		return false;
	for (unsigned i = 0; i < 8; i++) {
		if (old->byte[i] == GT_BYTE_NONE)
			continue;
		if (old->byte[i] == GT_BYTE_ZERO && precise ? now->byte[i] != GT_BYTE_ZERO :
							      !is_number(now, i))
			return false;
	}
	return true;
}

static const struct gt_slot no_slot;

static const struct gt_slot *slot_at(const struct gt_frame *frame, unsigned index)
{
	return index < frame->slot_count ? &frame->slots[index] : &no_slot;
}

bool gt_state_covered(const struct gt_node *node, const struct gt_state *state)
{
	const struct gt_state *old = node->state;
	struct id_map map = { .count = 0 };

	if (!same_frames(old, state) || !same_refs(&map, old, state))
		return false;
	for (unsigned f = 0; f < old->frame_count; f++) {
		const struct gt_frame *a = old->frames[f], *b = state->frames[f];

		for (unsigned i = 0; i < GT_REGS - 1; i++)
			if ((node->read_regs[f] >> i & 1) &&
			    !reg_covered(&map, &a->regs[i], &b->regs[i],
					 has_origin(node->precise, gt_origin_reg(f, i))))
				return false;
		for (unsigned i = 0; i < a->slot_count; i++)
			if ((node->read_slots[f] >> i & 1) &&
			    !slot_covered(&map, &a->slots[i], slot_at(b, i),
					  has_origin(node->precise, gt_origin_slot(f, i))))
				return false;
	}
	return true;
}

/* ---- the same ---- */

static bool reg_same(struct id_map *map, const struct gt_reg *a, const struct gt_reg *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == GT_REG_NONE)
		return true;
	return a->map == b->map && a->frame == b->frame && a->size == b->size &&
	       a->maybe_null == b->maybe_null && gt_scalar_equal(&a->range, &b->range) &&
	       ids_match(map, a->id, b->id) && ids_match(map, a->ref, b->ref);
}

static bool slot_same(struct id_map *map, const struct gt_slot *a, const struct gt_slot *b)
{
	for (unsigned i = 0; i < 8; i++)
		if (a->byte[i] != b->byte[i])
			return false;
	return !gt_slot_is_spill(a) || reg_same(map, &a->spill, &b->spill);
}

bool gt_state_same(const struct gt_state *a, const struct gt_state *b)
{
	struct id_map map = { .count = 0 };

	if (!same_frames(a, b) || !same_refs(&map, a, b))
		return false;
	for (unsigned f = 0; f < a->frame_count; f++) {
		const struct gt_frame *x = a->frames[f], *y = b->frames[f];
		unsigned slots = x->slot_count > y->slot_count ? x->slot_count : y->slot_count;

		for (unsigned i = 0; i < GT_REGS - 1; i++)
			if (!reg_same(&map, &x->regs[i], &y->regs[i]))
				return false;
		for (unsigned i = 0; i < slots; i++)
			if (!slot_same(&map, slot_at(x, i), slot_at(y, i)))
				return false;
	}
	return true;
}

/* ---- join ---- */

static bool same_kind(const struct gt_reg *a, const struct gt_reg *b)
{
	return a->type == b->type && a->map == b->map && a->frame == b->frame && a->size == b->size &&
	       a->ref == b->ref && a->maybe_null == b->maybe_null && (!a->maybe_null || a->id == b->id);
}

static bool join_reg(struct gt_reg *into, const struct gt_reg *other, bool widen)
{
	struct gt_scalar range;
	bool changed;

	if (into->type == GT_REG_NONE)
		return false;
	if (!same_kind(into, other)) {
		*into = (struct gt_reg){ .type = GT_REG_NONE };
		return true;
	}
	range = widen ? gt_scalar_widen(&into->range, &other->range) :
			gt_scalar_union(&into->range, &other->range);
	changed = !gt_scalar_equal(&range, &into->range);
	into->range = range;
	into->origin = gt_origin_union(into->origin, other->origin);
	if (into->id && into->id != other->id) {
		into->id = 0;
		changed = true;
	}
	return changed;
}

static bool join_slot(struct gt_slot *into, const struct gt_slot *other, bool widen)
{
	bool changed = false;
	struct gt_reg a, b;

	if (slot_as_reg(into, &a) && slot_as_reg(other, &b) &&
	    (gt_slot_is_spill(into) || gt_slot_is_spill(other))) {
		changed = join_reg(&a, &b, widen);
		into->spill = a;
		for (unsigned i = 0; i < 8; i++)
			into->byte[i] = a.type == GT_REG_NONE ? GT_BYTE_NONE : GT_BYTE_SPILL;
		return changed;
	}
	into->origin = gt_origin_union(into->origin, other->origin);
	for (unsigned i = 0; i < 8; i++) {
		uint8_t byte = into->byte[i];

		if (byte == other->byte[i] && byte != GT_BYTE_SPILL)
			continue;
		byte = is_number(into, i) && is_number(other, i) ? GT_BYTE_MISC : GT_BYTE_NONE;
		changed |= byte != into->byte[i];
		into->byte[i] = byte;
	}
	return changed;
}

int gt_state_join(struct gt_state *into, const struct gt_state *other, bool widen)
{
	bool changed = false;

	for (unsigned f = 0; f < into->frame_count; f++) {
		struct gt_frame *a = into->frames[f];
		const struct gt_frame *b = other->frames[f];

		/* What was overwritten on one side only may still be read. */
		a->written_regs &= b->written_regs;
		a->written_slots &= b->written_slots;
		for (unsigned i = 0; i < GT_REGS - 1; i++)
			changed |= join_reg(&a->regs[i], &b->regs[i], widen);
		for (unsigned i = 0; i < a->slot_count; i++)
			changed |= join_slot(&a->slots[i], slot_at(b, i), widen);
	}
	return changed;
}
