/* SPDX-License-Identifier: Apache-2.0 */
/* Launch slots, in which kernels leave their times. */
#include "lib/agent/context/parts.h"

#define KEPT (1ull << 63)	/* beside the owner's number; ids of launches have 48 bits */

static bool is_free(const struct gt_context *context, uint32_t slot, uint64_t owner)
{
	/* Pairs with the GPU's fence before it says that the launch has ended. */
	return !owner || (!(owner & KEPT) &&
			  __atomic_load_n(&gt_context_area(context)->slot_done[slot], __ATOMIC_ACQUIRE) == owner);
}

/* The next free one becomes `owner`'s, with the slot's number in its low bits unless it is kept. */
static uint32_t take_slot(struct gt_context *context, uint64_t owner)
{
	for (unsigned i = 0; i < GT_LAUNCH_SLOTS; i++) {
		uint32_t slot = atomic_fetch_add_explicit(&context->next_slot, 1, memory_order_relaxed) %
				GT_LAUNCH_SLOTS;
		uint64_t before = atomic_load_explicit(&context->slot_owner[slot], memory_order_relaxed);

		if (slot && is_free(context, slot, before) &&
		    atomic_compare_exchange_strong(&context->slot_owner[slot], &before,
						   owner & KEPT ? owner : owner | slot))
			return slot;
	}
	return 0;
}

uint32_t gt_context_take_slot(struct gt_context *context, uint64_t id)
{
	return take_slot(context, id);
}

uint32_t gt_context_keep_slot(struct gt_context *context, uint64_t owner)
{
	return take_slot(context, owner | KEPT);
}

void gt_context_return_slot(struct gt_context *context, uint64_t id)
{
	atomic_compare_exchange_strong(&context->slot_owner[id & (GT_LAUNCH_SLOTS - 1)], &id, 0);
}

/* Not any more if the context is another by now. */
void gt_context_give_back_slot(struct gt_context *context, uint32_t slot, uint64_t owner)
{
	owner |= KEPT;
	atomic_compare_exchange_strong(&context->slot_owner[slot], &owner, 0);
}
