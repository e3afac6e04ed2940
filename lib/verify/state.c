/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gt_reg gt_reg_scalar(const struct gt_scalar *range)
{
	return (struct gt_reg){ .type = GT_REG_SCALAR, .map = -1, .range = *range };
}

struct gt_reg gt_reg_unknown(void)
{
	return (struct gt_reg){ .type = GT_REG_SCALAR, .map = -1, .range = gt_scalar_unknown() };
}

struct gt_reg gt_reg_pointer(enum gt_reg_type type)
{
	return (struct gt_reg){ .type = (uint8_t)type, .map = -1, .range = gt_scalar_const(0) };
}

struct gt_state *gt_state_new(void)
{
	return calloc(1, sizeof(struct gt_state));
}

static size_t frame_bytes(unsigned slots)
{
	return sizeof(struct gt_frame) + slots * sizeof(struct gt_slot);
}

struct gt_state *gt_state_copy(const struct gt_state *state)
{
	struct gt_state *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *state;
	copy->frame_count = 0;
	for (unsigned i = 0; i < state->frame_count; i++) {
		size_t bytes = frame_bytes(state->frames[i]->slot_count);

		copy->frames[i] = malloc(bytes);
		if (!copy->frames[i]) {
			gt_state_free(copy);
			return NULL;
		}
		memcpy(copy->frames[i], state->frames[i], bytes);
		copy->frame_count++;
	}
	return copy;
}

void gt_state_free(struct gt_state *state)
{
	if (!state)
		return;
	for (unsigned i = 0; i < state->frame_count; i++)
		free(state->frames[i]);
	free(state);
}

size_t gt_state_bytes(const struct gt_state *state)
{
	size_t bytes = sizeof(*state);

	for (unsigned i = 0; i < state->frame_count; i++)
		bytes += frame_bytes(state->frames[i]->slot_count);
	return bytes;
}

int gt_state_push(struct gt_state *state, unsigned start, unsigned return_to)
{
	struct gt_frame *frame = calloc(1, frame_bytes(0));

	if (!frame)
		return -ENOMEM;
	frame->start = start;
	frame->return_to = return_to;
	/* A checkpoint older than this frame may hold another frame in its place. */
	frame->written_regs = UINT16_MAX;
	frame->written_slots = UINT64_MAX;
	frame->regs[10] = gt_reg_pointer(GT_REG_STACK);
	frame->regs[10].frame = (uint8_t)state->frame_count;
	state->frames[state->frame_count++] = frame;
	return 0;
}

void gt_state_pop(struct gt_state *state)
{
	free(state->frames[--state->frame_count]);
}

int gt_frame_reserve(struct gt_frame **frame, unsigned count)
{
	unsigned old = (*frame)->slot_count;
	struct gt_frame *grown;

	if (count <= old)
		return 0;
	grown = realloc(*frame, frame_bytes(count));
	if (!grown)
		return -ENOMEM;
	memset(&grown->slots[old], 0, (count - old) * sizeof(struct gt_slot));
	grown->slot_count = count;
	*frame = grown;
	return 0;
}

bool gt_slot_is_spill(const struct gt_slot *slot)
{
	return slot->byte[0] == GT_BYTE_SPILL;
}

bool gt_slot_is_pointer(const struct gt_slot *slot)
{
	return gt_slot_is_spill(slot) && gt_reg_is_pointer(&slot->spill);
}
