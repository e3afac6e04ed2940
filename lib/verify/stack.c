/* SPDX-License-Identifier: Apache-2.0 */
/* The stack: what each byte holds, registers saved and restored. */
#include <string.h>

#include "lib/verify/verifier.h"

/* A pointer's constant offset from its frame's top; false when it varies. */
static bool constant_offset(const struct gt_reg *pointer, int32_t offset, int64_t *ret_low)
{
	if (!gt_scalar_is_const(&pointer->range))
		return false;
	*ret_low = (int64_t)pointer->range.bits.value + offset;
	return true;
}

static unsigned slot_of(int64_t low)
{
	return (unsigned)((-low - 1) / 8);
}

static unsigned byte_of(int64_t low)
{
	return (unsigned)(low + 8 * ((int64_t)slot_of(low) + 1));
}

static int reserve_slots(struct gt_verifier *v, struct gt_path *path, unsigned frame, unsigned count)
{
	struct gt_state *state = path->state;
	struct gt_fact *fact = &v->facts[state->frames[frame]->start];
	unsigned total = 0;
	int r;

	if (count <= state->frames[frame]->slot_count)
		return 0;
	for (unsigned f = 0; f < state->frame_count; f++)
		total += f == frame ? count : state->frames[f]->slot_count;
	if (total > GT_SLOTS)
		return gt_refuse(v, state->insn, "move large data to a map",
				 "the stack of these %u nested functions needs %u bytes, more than %u",
				 state->frame_count, total * 8, GT_STACK_BYTES);
	r = gt_frame_reserve(&state->frames[frame], count);
	if (r < 0)
		return r;
	if (fact->stack_frame_bytes < (int32_t)(count * 8))
		fact->stack_frame_bytes = (int32_t)(count * 8);
	return 0;
}

static void touch(struct gt_path *path, unsigned frame, struct gt_touch *touched, int64_t low, int64_t high)
{
	struct gt_touch *t = &touched[path->state->insn];

	if (frame != path->state->frame_count - 1) {
		t->elsewhere = 1;
		return;
	}
	if (t->low == t->high) {
		t->low = (int16_t)low;
		t->high = (int16_t)high;
		return;
	}
	if (low < t->low)
		t->low = (int16_t)low;
	if (high > t->high)
		t->high = (int16_t)high;
}

/* Where an access may lie: *ret_low <= byte < *ret_high, within the frame. */
static int find_extent(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		       int32_t offset, uint64_t bytes, int64_t *ret_low, int64_t *ret_high)
{
	int64_t low, high;

	if (__builtin_add_overflow(pointer->range.smin, (int64_t)offset, &low) ||
	    __builtin_add_overflow(pointer->range.smax, (int64_t)offset, &high) ||
	    low < -GT_STACK_BYTES || high > 0 || bytes > (uint64_t)-low || high + (int64_t)bytes > 0) {
		if (gt_scalar_is_const(&pointer->range))
			return gt_refuse(v, path->state->insn, "the stack reaches from r10-512 to r10-1",
					 "%llu bytes at stack offset %lld are outside the stack",
					 (unsigned long long)bytes, (long long)low);
		return gt_refuse(v, path->state->insn, "bound the index before it is added",
				 "%llu bytes at a stack offset between %lld and %lld may be outside the stack",
				 (unsigned long long)bytes, (long long)pointer->range.smin,
				 (long long)pointer->range.smax);
	}
	*ret_low = low;
	*ret_high = high + (int64_t)bytes;
	return 0;
}

static int check_readable(struct gt_verifier *v, struct gt_path *path, unsigned f, int64_t low, int64_t high)
{
	const struct gt_frame *frame = path->state->frames[f];

	for (int64_t at = low; at < high; at++) {
		unsigned index = slot_of(at);

		if (index >= frame->slot_count || frame->slots[index].byte[byte_of(at)] == GT_BYTE_NONE)
			return gt_refuse(v, path->state->insn, "initialise it, padding included, on every path",
					 "stack byte r10%+lld is read before it was written", (long long)at);
		if (gt_slot_is_pointer(&frame->slots[index]))
			return gt_refuse(v, path->state->insn, "read it back as one 8 byte register",
					 "stack bytes at r10%+lld hold a pointer, which must not be read as numbers",
					 (long long)(-8 * ((int64_t)index + 1)));
		gt_read_slot(path, f, index);
	}
	return 0;
}

/* A saved register is no more one: its bytes are numbers, or nothing if they were an address. */
static void break_spill(struct gt_slot *slot)
{
	uint8_t rest = gt_slot_is_pointer(slot) ? GT_BYTE_NONE : GT_BYTE_MISC;

	if (!gt_slot_is_spill(slot))
		return;
	slot->origin = slot->spill.origin;
	memset(slot->byte, rest, sizeof(slot->byte));
}

static void write_bytes(struct gt_frame *frame, int64_t low, int64_t high, uint8_t kind,
			const struct gt_origin *origin)
{
	for (int64_t at = low; at < high; at++) {
		struct gt_slot *slot = &frame->slots[slot_of(at)];
		bool whole = byte_of(at) == 0 && high - at >= 8;

		if (whole) {
			frame->written_slots |= UINT64_C(1) << slot_of(at);
			memset(slot->byte, kind, 8);
			slot->origin = *origin;
			at += 7;
			continue;
		}
		break_spill(slot);
		slot->byte[byte_of(at)] = kind;
		slot->origin = gt_origin_union(slot->origin, *origin);
	}
}

static const struct gt_origin no_origin;

/* A write whose place is not known: each byte keeps its value or gets another. */
static int write_somewhere(struct gt_verifier *v, struct gt_path *path, unsigned f, int64_t low, int64_t high)
{
	struct gt_frame *frame = path->state->frames[f];

	for (int64_t at = low; at < high; at++) {
		struct gt_slot *slot = &frame->slots[slot_of(at)];

		if (gt_slot_is_pointer(slot))
			return gt_refuse(v, path->state->insn, "keep arrays and saved pointers apart",
					 "a write at a variable stack offset may hit the pointer saved at r10%+lld",
					 (long long)(-8 * ((int64_t)slot_of(at) + 1)));
		break_spill(slot);
		if (slot->byte[byte_of(at)] == GT_BYTE_ZERO)
			slot->byte[byte_of(at)] = GT_BYTE_MISC;
	}
	return 0;
}

int gt_stack_load(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		  int32_t offset, unsigned bytes, struct gt_reg *ret_value)
{
	struct gt_frame *frame = path->state->frames[pointer->frame];
	bool zero = true, fixed;
	int64_t low, high, at;
	struct gt_slot *slot;
	int r;

	r = find_extent(v, path, pointer, offset, bytes, &low, &high);
	if (r < 0)
		return r;
	touch(path, pointer->frame, v->reads, low, high);
	fixed = constant_offset(pointer, offset, &at);
	if (fixed && slot_of(low) < frame->slot_count) {
		slot = &frame->slots[slot_of(low)];
		if (bytes == 8 && byte_of(low) == 0 && gt_slot_is_spill(slot)) {
			gt_read_slot(path, pointer->frame, slot_of(low));
			*ret_value = slot->spill;
			return 0;
		}
	}
	r = check_readable(v, path, pointer->frame, low, high);
	if (r < 0)
		return r;
	*ret_value = gt_reg_unknown();
	if (!fixed) {
		if (bytes < 8)
			ret_value->range = gt_scalar_zero_extend(&ret_value->range, bytes);
		return 0;
	}
	slot = &frame->slots[slot_of(low)];
	for (unsigned i = 0; i < bytes; i++)
		zero &= slot->byte[byte_of(low) + i] == GT_BYTE_ZERO;
	if (zero)
		ret_value->range = gt_scalar_const(0);
	else if (gt_slot_is_spill(slot) && byte_of(low) == 0)
		ret_value->range = gt_scalar_zero_extend(&slot->spill.range, bytes);
	else if (bytes < 8)
		ret_value->range = gt_scalar_zero_extend(&ret_value->range, bytes);
	ret_value->origin = gt_slot_is_spill(slot) ? slot->spill.origin : slot->origin;
	return 0;
}

static int check_pointer_store(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
			       int64_t low, int64_t high, unsigned bytes, const struct gt_reg *value)
{
	if (bytes != 8 || high - low != 8 || byte_of(low) != 0)
		return gt_refuse(v, path->state->insn, "save it as one aligned 8 byte register",
				 "%s is saved to the stack in part or at a variable offset",
				 gt_reg_kind(value));
	if (value->type == GT_REG_STACK && value->frame > pointer->frame)
		return gt_refuse(v, path->state->insn, "give the callee memory of its caller instead",
				 "a pointer to this function's stack would outlive it in its caller's stack");
	return 0;
}

int gt_stack_store(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		   int32_t offset, unsigned bytes, const struct gt_reg *value)
{
	bool is_zero = value->type == GT_REG_SCALAR && gt_scalar_is_const(&value->range) &&
		       value->range.bits.value == 0;
	struct gt_frame *frame;
	struct gt_slot *slot;
	int64_t low, high;
	int r;

	r = find_extent(v, path, pointer, offset, bytes, &low, &high);
	if (r < 0)
		return r;
	if (gt_reg_is_pointer(value)) {
		r = check_pointer_store(v, path, pointer, low, high, bytes, value);
		if (r < 0)
			return r;
	}
	r = reserve_slots(v, path, pointer->frame, slot_of(low) + 1);
	if (r < 0)
		return r;
	touch(path, pointer->frame, v->writes, low, high);
	if (high - low != bytes)
		return write_somewhere(v, path, pointer->frame, low, high);
	frame = path->state->frames[pointer->frame];
	slot = &frame->slots[slot_of(low)];
	if (bytes == 8 && !is_zero) {
		frame->written_slots |= UINT64_C(1) << slot_of(low);
		memset(slot->byte, GT_BYTE_SPILL, sizeof(slot->byte));
		slot->spill = *value;
		return 0;
	}
	write_bytes(frame, low, high, is_zero ? GT_BYTE_ZERO : GT_BYTE_MISC, &value->origin);
	return 0;
}

int gt_stack_bytes(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		   int32_t offset, uint64_t bytes, enum gt_access access)
{
	int64_t low, high;
	int r;

	r = find_extent(v, path, pointer, offset, bytes, &low, &high);
	if (r < 0)
		return r;
	if (access == GT_READ || access == GT_ATOMIC) {
		touch(path, pointer->frame, v->reads, low, high);
		r = check_readable(v, path, pointer->frame, low, high);
		if (r < 0)
			return r;
	}
	if (access == GT_READ)
		return 0;
	r = reserve_slots(v, path, pointer->frame, slot_of(low) + 1);
	if (r < 0)
		return r;
	touch(path, pointer->frame, v->writes, low, high);
	if (access == GT_MAY_FILL || high - low != (int64_t)bytes)
		return write_somewhere(v, path, pointer->frame, low, high);
	write_bytes(path->state->frames[pointer->frame], low, high, GT_BYTE_MISC, &no_origin);
	return 0;
}
