/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of registers and stack at one point of one path. */
#ifndef GT_VERIFY_STATE_H
#define GT_VERIFY_STATE_H

#include <stddef.h>

#include "lib/verify/scalar.h"

#define GT_REGS 11		/* r0 to r10 */
#define GT_FRAMES 8		/* greatest depth of calls, the program itself included */
#define GT_STACK_BYTES 512	/* of all frames together */
#define GT_SLOTS (GT_STACK_BYTES / 8)
#define GT_REFS 16		/* ring records held at once */

enum gt_reg_type {
	GT_REG_NONE,		/* never written: must not be read */
	GT_REG_SCALAR,
	GT_REG_CONTEXT,
	GT_REG_STACK,		/* range: offset from the top of frame `frame` */
	GT_REG_MAP,		/* the map itself */
	GT_REG_VALUE,		/* a map's value, `id` tells lookups apart */
	GT_REG_RECORD,		/* a reserved ring record of `size` bytes, reference `ref` */
	GT_REG_FUNC,		/* a function's address; range: its first instruction */
};

/*
 * Which registers and stack slots of the last checkpoint a value was computed
 * from: one bit each, several may share a bit.
 */
struct gt_origin {
	uint64_t word[2];
};

struct gt_reg {
	uint8_t type;		/* enum gt_reg_type */
	uint8_t maybe_null;
	uint8_t frame;
	int16_t map;
	uint32_t id;		/* registers with one id hold the same number or came from one lookup; 0: none */
	uint32_t ref;
	uint32_t size;
	struct gt_origin origin;
	struct gt_scalar range;	/* of a scalar its value, of a pointer its offset */
};

enum gt_byte {
	GT_BYTE_NONE,		/* never written */
	GT_BYTE_MISC,		/* some number */
	GT_BYTE_ZERO,
	GT_BYTE_SPILL,		/* part of the register saved in this slot; all 8 or none */
};

struct gt_slot {
	uint8_t byte[8];
	struct gt_reg spill;
	struct gt_origin origin;	/* of the zero bytes */
};

struct gt_frame {
	struct gt_reg regs[GT_REGS];
	unsigned start;		/* the function's first instruction */
	unsigned return_to;	/* in the caller */
	uint8_t callback;	/* called by bpf_loop */
	/* Overwritten since the last checkpoint: what is read now is not what it held. */
	uint16_t written_regs;
	uint64_t written_slots;
	unsigned slot_count;	/* slots allocated; slot 0 holds bytes -8 to -1 */
	struct gt_slot slots[];
};

struct gt_ref {
	uint32_t id;
	uint32_t insn;		/* where it was acquired */
};

struct gt_state {
	unsigned insn;
	unsigned frame_count;
	unsigned ref_count;
	struct gt_ref refs[GT_REFS];
	struct gt_frame *frames[GT_FRAMES];
};

static inline struct gt_frame *gt_state_frame(const struct gt_state *state)
{
	return state->frames[state->frame_count - 1];
}

static inline bool gt_reg_is_pointer(const struct gt_reg *reg)
{
	return reg->type > GT_REG_SCALAR;
}

struct gt_reg gt_reg_scalar(const struct gt_scalar *range);
struct gt_reg gt_reg_unknown(void);
struct gt_reg gt_reg_pointer(enum gt_reg_type type);

/* NULL: no memory. */
struct gt_state *gt_state_new(void);
struct gt_state *gt_state_copy(const struct gt_state *state);
void gt_state_free(struct gt_state *state);
size_t gt_state_bytes(const struct gt_state *state);

/* Add a frame with every register unwritten but r10.  -ENOMEM. */
int gt_state_push(struct gt_state *state, unsigned start, unsigned return_to);
void gt_state_pop(struct gt_state *state);
/* Make room for `count` slots in a frame.  -ENOMEM. */
int gt_frame_reserve(struct gt_frame **frame, unsigned count);

bool gt_slot_is_spill(const struct gt_slot *slot);
/* A saved register that a byte-wise view must not see. */
bool gt_slot_is_pointer(const struct gt_slot *slot);

#endif
