/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

#include "lib/compile/runtime/errno.h"
#include "lib/compile/runtime/machine.h"
#include "lib/compile/runtime/runtime.h"
#include "lib/wire/map.h"
#include "lib/wire/wire.h"

#define EXPORT __attribute__((always_inline))	/* found by its name */
#define UNROLL _Pragma("clang loop unroll(full)")

/* Copies of a known length up to this are written out. */
#define UNROLLED_BYTES 256

/* The context as 32-bit words, see struct gputrace_gpu_ctx. */
enum {
	WORD_THREAD = 8,
	WORD_BLOCK = 11,
	WORD_BLOCK_DIM = 14,
	WORD_GRID_DIM = 17,
};

#ifdef __NVPTX__
/*
 * A word of the program's context.  There is none in memory on the GPU: each word
 * is a parameter of the probe or a register of the machine.
 */
EXPORT u32 gt_rt_context_word(u64 launch, u32 kernel, u64 addr, u32 size, u32 space, u32 word)
{
	switch (word) {
	case 0:
		return (u32)GT_LAUNCH_OF(launch);
	case 1:
		return (u32)(GT_LAUNCH_OF(launch) >> 32);
	case 2:
		return kernel;
	case 3:
		return space;
	case 4:
		return (u32)addr;
	case 5:
		return (u32)(addr >> 32);
	case 6:
		return size;
	case 8:
		return __nvvm_read_ptx_sreg_tid_x();
	case 9:
		return __nvvm_read_ptx_sreg_tid_y();
	case 10:
		return __nvvm_read_ptx_sreg_tid_z();
	case 11:
		return __nvvm_read_ptx_sreg_ctaid_x();
	case 12:
		return __nvvm_read_ptx_sreg_ctaid_y();
	case 13:
		return __nvvm_read_ptx_sreg_ctaid_z();
	case 14:
		return __nvvm_read_ptx_sreg_ntid_x();
	case 15:
		return __nvvm_read_ptx_sreg_ntid_y();
	case 16:
		return __nvvm_read_ptx_sreg_ntid_z();
	case 17:
		return __nvvm_read_ptx_sreg_nctaid_x();
	case 18:
		return __nvvm_read_ptx_sreg_nctaid_y();
	case 19:
		return __nvvm_read_ptx_sreg_nctaid_z();
	default:
		return 0;
	}
}

static INLINE u32 word_of(u64 addr, u32 word)
{
	(void)addr;
	return gt_rt_context_word(0, 0, 0, 0, 0, word);
}
#else
/* On the host, addr is the context's address; 0: the program has none. */
static INLINE u32 word_of(u64 addr, u32 word)
{
	return addr ? ((const u32 *)(uintptr_t)addr)[word] : word >= WORD_BLOCK_DIM;
}

EXPORT u32 gt_rt_context_word(u64 launch, u32 kernel, u64 addr, u32 size, u32 space, u32 word)
{
	(void)launch, (void)kernel, (void)size, (void)space;
	return word_of(addr, word);
}
#endif

static INLINE u64 thread_in_block(u64 addr)
{
	return ((u64)word_of(addr, WORD_THREAD + 2) * word_of(addr, WORD_BLOCK_DIM + 1) +
		word_of(addr, WORD_THREAD + 1)) * word_of(addr, WORD_BLOCK_DIM) +
	       word_of(addr, WORD_THREAD);
}

static INLINE u64 threads_of_block(u64 addr)
{
	return (u64)word_of(addr, WORD_BLOCK_DIM) * word_of(addr, WORD_BLOCK_DIM + 1) *
	       word_of(addr, WORD_BLOCK_DIM + 2);
}

static INLINE u64 block_in_grid(u64 addr)
{
	return ((u64)word_of(addr, WORD_BLOCK + 2) * word_of(addr, WORD_GRID_DIM + 1) +
		word_of(addr, WORD_BLOCK + 1)) * word_of(addr, WORD_GRID_DIM) +
	       word_of(addr, WORD_BLOCK);
}

#ifndef __NVPTX__
static INLINE u32 sm_id(void)
{
	return 0;
}

static INLINE u32 lane_of(u64 addr)
{
	return thread_in_block(addr) & 31;
}

static INLINE u32 warp_of(u64 addr)
{
	return (u32)(thread_in_block(addr) / 32);
}
#else
static INLINE u32 lane_of(u64 addr)
{
	(void)addr;
	return lane_id();
}

static INLINE u32 warp_of(u64 addr)
{
	(void)addr;
	return warp_id();
}
#endif

static INLINE u64 mix(u64 value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdull;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ull;
	return value ^ (value >> 33);
}

EXPORT u64 gt_rt_special(u64 addr, u32 which)
{
	switch (which) {
	case GT_SPECIAL_TIME:
		return global_timer();
	case GT_SPECIAL_CLOCK:
		return cycle_counter();
	case GT_SPECIAL_SM:
		return sm_id();
	case GT_SPECIAL_WARP:
		return warp_of(addr);
	case GT_SPECIAL_LANE:
		return lane_of(addr);
	case GT_SPECIAL_RANDOM:
		return (u32)mix(cycle_counter() + (thread_in_block(addr) << 40) + (block_in_grid(addr) << 20) +
				((u64)sm_id() << 52));
#ifdef __NVPTX__
	case GT_SPECIAL_MASK:
		return active_mask();
	case GT_SPECIAL_GRID:
		return grid_id();
#else
	case GT_SPECIAL_MASK:
		return 1u << lane_of(addr);
	case GT_SPECIAL_GRID:
		return 1;
#endif
	default:
		return 0;
	}
}

/* Which slot of an array kept per something is this thread's; `slots` is a power of two. */
EXPORT u32 gt_rt_slot(u64 addr, u32 slot, u32 slots)
{
	u64 number = 0;

	if (slot == GT_SLOT_THREAD)
		number = block_in_grid(addr) * threads_of_block(addr) + thread_in_block(addr);
	else if (slot == GT_SLOT_WARP)
		number = block_in_grid(addr) * ((threads_of_block(addr) + 31) / 32) +
			 thread_in_block(addr) / 32;
	else if (slot == GT_SLOT_BLOCK)
		number = block_in_grid(addr);
	else if (slot == GT_SLOT_SM)
		number = sm_id();
	return (u32)number & (slots - 1);
}

EXPORT u64 gt_rt_warp_sum(u64 value)
{
#ifdef __NVPTX__
	u32 mask = active_mask(), left = mask;
	u64 sum = 0;

	for (; left; left &= left - 1)
		sum += shuffle64(mask, value, (u32)__builtin_ctz(left));
	return sum;
#else
	return value;
#endif
}

#ifdef __NVPTX__
/* The lowest of these threads acts for all: their number, and 0 for the others. */
static INLINE u32 lowest_for_all(u32 mask)
{
	return lane_id() == (u32)__builtin_ctz(mask) ? (u32)__builtin_popcount(mask) : 0;
}

/*
 * For how many threads this one shall add `value` to memory at `addr`, when all
 * that are active together add there.  The memory takes one thread's addition to
 * an address after another's, so where the threads of a warp agree on address and
 * value (most count something) the lowest adds for all: their number, and 0 for
 * the others.  Where they do not agree, 1 for each.  near: all addresses are in one
 * map, so that half of them tells them apart; constant: value is the same for all.
 */
EXPORT u32 gt_rt_adders(u64 addr, u64 value, _Bool near, _Bool constant)
{
	u32 mask = active_mask(), leader = (u32)__builtin_ctz(mask);
	u64 differ = shuffle(mask, (u32)addr, leader) ^ (u32)addr;

	if (!near)
		differ |= shuffle64(mask, addr, leader) ^ addr;
	if (!constant)
		differ |= shuffle64(mask, value, leader) ^ value;
	if (!all_agree(mask, !differ))
		return 1;
	return lowest_for_all(mask);
}

/* The same where all threads are known to add the same to the same place. */
EXPORT u32 gt_rt_all_add(void)
{
	return lowest_for_all(active_mask());
}
#endif

EXPORT void gt_rt_fence(void)
{
	fence_sys();
}

/* ---- rings, see wire.h ---- */

struct ring {
	GLOBAL struct gt_ring_ctl *ctl;
	GLOBAL u64 *tail;
	GLOBAL u8 *data;
	u64 size;
};

/* Turn what the consumer has read since somebody last looked into credits. */
static INLINE void refill(const struct ring *ring)
{
	u64 now = load_acquire_sys(ring->tail);		/* pairs with the consumer's release */
	u64 seen = load_relaxed_gpu(&ring->ctl->tail_seen);

	if (now - seen > ring->size)
		return;		/* behind, or nonsense */
	seen = max_gpu(&ring->ctl->tail_seen, now);
	if (now > seen)
		add_gpu((GLOBAL u64 *)&ring->ctl->credits, now - seen);
}

/*
 * Credits and positions are taken without asking for order, which would make the
 * thread wait for all that the kernel has written and forget what it has cached.
 * They say only which bytes are this thread's, and its stores cannot begin before
 * it knows.
 */
static INLINE int take_credits(const struct ring *ring, u64 bytes)
{
	GLOBAL u64 *credits = (GLOBAL u64 *)&ring->ctl->credits;

	if ((s64)(add_relaxed_gpu(credits, -bytes) - bytes) >= 0)
		return 1;
	add_relaxed_gpu(credits, bytes);
	return 0;
}

/* Room of which others are known to have left enough. */
static INLINE int take_known_room(const struct ring *ring, u64 bytes, u64 *ret_position)
{
	if (!take_credits(ring, bytes))
		return 0;
	*ret_position = add_relaxed_gpu(&ring->ctl->head, bytes);
	return 1;
}

static INLINE int take_room(const struct ring *ring, u64 bytes, u64 *ret_position)
{
	/* More than there ever is: others who ask meanwhile shall find theirs. */
	if (bytes > ring->size)
		return 0;
	if (take_known_room(ring, bytes, ret_position))
		return 1;
	refill(ring);
	return take_known_room(ring, bytes, ret_position);
}

/* Where a payload goes. */
struct place {
	u64 record, payload;	/* positions */
	u32 length;		/* of the record */
	u32 more;		/* payloads of others in it */
	u32 mask;		/* who writes it together; 0: this thread alone */
	u32 leads;		/* writes its header */
};

static INLINE void place_alone(struct place *place, u64 position, u32 payload)
{
	place->record = position;
	place->payload = position + sizeof(struct gt_record);
	place->length = (u32)sizeof(struct gt_record) + payload;
	place->more = 0;
	place->mask = 0;
	place->leads = 1;
}

static INLINE int take_place(const struct ring *ring, u32 payload, struct place *ret_place)
{
	u64 position;

	if (!take_room(ring, sizeof(struct gt_record) + payload, &position))
		return 0;
	place_alone(ret_place, position, payload);
	return 1;
}

#ifdef __NVPTX__
/* Room that the lowest of these lanes asks for, for all: the same answer for each. */
static INLINE int take_room_for_all(const struct ring *ring, u32 mask, u32 bytes, u64 *ret_position)
{
	u32 leader = (u32)__builtin_ctz(mask), ok = 0;
	u64 position = 0;

	if (lane_id() == leader)
		ok = (u32)take_room(ring, bytes, &position);
	if (!shuffle(mask, ok, leader))
		return 0;
	*ret_position = shuffle64(mask, position, leader);
	return 1;
}

/* Where there was none for all: the consumer, over a slow bus, has just been asked. */
static INLINE int take_known_place(const struct ring *ring, u32 payload, struct place *ret_place)
{
	u64 position;

	if (!take_known_room(ring, sizeof(struct gt_record) + payload, &position))
		return 0;
	place_alone(ret_place, position, payload);
	return 1;
}

/*
 * The lanes that are active together, each with a payload of the same size, write one
 * record; each its own if there is no room for all.
 */
static INLINE int take_place_together(const struct ring *ring, u32 payload, struct place *ret_place)
{
	u32 mask = active_mask(), below = mask & lanes_below(lane_id()), count = (u32)__builtin_popcount(mask);

	ret_place->length = (u32)sizeof(struct gt_record) + count * payload;
	if (!take_room_for_all(ring, mask, ret_place->length, &ret_place->record))
		return take_known_place(ring, payload, ret_place);
	ret_place->payload = ret_place->record + sizeof(struct gt_record) + payload * (u32)__builtin_popcount(below);
	ret_place->more = count - 1;
	ret_place->mask = mask;
	ret_place->leads = !below;
	return 1;
}

/* Bytes of the lanes below this one, and of all, when each active lane wants its `bytes`. */
static INLINE void share_out(u32 mask, u32 lane, u32 bytes, u32 *ret_before, u32 *ret_all)
{
	u32 before = 0, all = 0, left, other, size;

	for (left = mask; left; left &= left - 1) {
		other = (u32)__builtin_ctz(left);
		size = shuffle(mask, bytes, other);
		all += size;
		if (other < lane)
			before += size;
	}
	*ret_before = before;
	*ret_all = all;
}

/* The lanes that are active together, with payloads of any sizes, take room as one, and each for itself if there is none for all. */
static INLINE int take_place_beside(const struct ring *ring, u32 payload, struct place *ret_place)
{
	u32 mask = active_mask(), before, all;
	u64 position;

	share_out(mask, lane_id(), (u32)sizeof(struct gt_record) + payload, &before, &all);
	if (!take_room_for_all(ring, mask, all, &position))
		return take_known_place(ring, payload, ret_place);
	place_alone(ret_place, position + before, payload);
	return 1;
}

static INLINE int find_place(const struct ring *ring, u32 payload, u32 company, struct place *ret_place)
{
	if (company == GT_COMPANY_ALIKE && payload && 32 * payload <= GT_RECORD_MAX_PAYLOAD)
		return take_place_together(ring, payload, ret_place);
	if (company == GT_COMPANY_NONE)
		return take_place(ring, payload, ret_place);
	return take_place_beside(ring, payload, ret_place);
}
#else
static INLINE int find_place(const struct ring *ring, u32 payload, u32 company, struct place *ret_place)
{
	(void)company;
	return take_place(ring, payload, ret_place);
}
#endif

static INLINE void put_word(const struct ring *ring, u64 position, u64 word)
{
	*(GLOBAL u64 *)(ring->data + (position & (ring->size - 1))) = word;
}

static INLINE u64 payload_word(const u8 *payload, u32 size, u32 at)
{
	u64 word = 0;
	u32 i;

	if (at + 8 <= size) {
		__builtin_memcpy(&word, payload + at, 8);
		return word;
	}
	for (i = at; i < size; i++)
		word |= (u64)payload[i] << 8 * (i - at);
	return word;
}

/*
 * Stores that follow each other at once and upwards go over the bus together, which those
 * with reckoning between them or in another order do not.  Compilers keep the order of
 * those that others may see at any time; lanes that write together need no order.
 */
static INLINE void put_next(GLOBAL u8 *to, u64 word, u32 company)
{
	if (company == GT_COMPANY_NONE)
		store_relaxed_sys((GLOBAL u64 *)to, word);
	else
		*(GLOBAL u64 *)to = word;
}

/*
 * Of a size that is known, and small: one store after another, so that what is stored need
 * not be in memory before.  second: the record's second word.
 */
static INLINE void put_small(const struct ring *ring, const struct place *place, u64 second, const u8 *payload, u32 size,
			     u32 company)
{
	u64 offset = place->record & (ring->size - 1);
	GLOBAL u8 *record = ring->data + offset, *to = record + (place->payload - place->record);
	u32 at;

	if (offset + place->length <= ring->size) {
		if (place->leads)
			put_next(record + 8, second, company);
		UNROLL
		for (at = 0; at < size; at += 8)
			put_next(to + at, payload_word(payload, size, at), company);
		return;
	}
	if (place->leads)
		put_word(ring, place->record + 8, second);
	UNROLL
	for (at = 0; at < size; at += 8)
		put_word(ring, place->payload + at, payload_word(payload, size, at));
}

/* All of a record but its first word; of those that are written together, this thread's part. */
static INLINE void put(const struct ring *ring, const struct place *place, u64 second, const u8 *payload, u32 size, u32 company)
{
	u32 at;

	if (company != GT_COMPANY_ANY && size <= UNROLLED_BYTES) {
		put_small(ring, place, second, payload, size, company);
		return;
	}
	if (place->leads)
		put_word(ring, place->record + 8, second);
	for (at = 0; at < size; at += 8)
		put_word(ring, place->payload + at, payload_word(payload, size, at));
}

/* company: enum gt_company; size is a constant unless it is ANY.  0; -EAGAIN: no room, counted as lost; -E2BIG. */
EXPORT s64 gt_rt_ring_output(u64 ctl, u64 tail, u64 data, u64 ring_size, u32 type, u32 source,
			     const u8 *payload, u32 size, u32 company)
{
	struct ring ring = {
		.ctl = (GLOBAL struct gt_ring_ctl *)ctl,
		.tail = (GLOBAL u64 *)tail,
		.data = (GLOBAL u8 *)data,
		.size = ring_size,
	};
	struct place place;
	u64 first;

	if (size > GT_RECORD_MAX_PAYLOAD)
		return -E2BIG;
	if (!find_place(&ring, (size + 7) & ~7u, company, &place)) {
		count_gpu(&ring.ctl->lost, 1);
		return -EAGAIN;
	}
	put(&ring, &place, type | place.more << 8 | (u64)(source & 0xffff) << 16 | (u64)size << 32, payload, size, company);
	if (place.mask)
		sync_lanes(place.mask);		/* what they wrote is the leader's to release */
	if (!place.leads)
		return 0;
	first = (u32)((u32)(place.record >> 3) + 1) | (u64)place.length << 32;
	/* Pairs with the consumer's acquire load of the first word. */
	store_release_sys((GLOBAL u64 *)(ring.data + (place.record & (ring.size - 1))), first);
	return 0;
}

/* Print: the text is put together by whoever reads the ring. */
__attribute__((noinline)) s64 gt_rt_printk(u64 ctl, u64 tail, u64 data, u64 ring_size, u64 launch, const u8 *fmt, u32 fmt_size,
		 const u64 *args, u32 arg_count)
{
	struct {
		struct gt_rec_printk record;
		u8 fmt[GT_PRINTK_MAX];
	} buffer;
	u32 i;

	if (fmt_size > GT_PRINTK_MAX || arg_count > GT_PRINTK_ARGS)
		return -E2BIG;
	buffer.record.time = global_timer();
	buffer.record.launch = GT_LAUNCH_OF(launch);
	for (i = 0; i < GT_PRINTK_ARGS; i++)
		buffer.record.args[i] = i < arg_count ? args[i] : 0;
	buffer.record.fmt_size = fmt_size;
	buffer.record.reserved = 0;
	for (i = 0; i < fmt_size; i++)
		buffer.fmt[i] = fmt[i];
	return gt_rt_ring_output(ctl, tail, data, ring_size, GT_REC_PRINTK, 0, (const u8 *)&buffer,
				 (u32)sizeof(buffer.record) + fmt_size, GT_COMPANY_ANY);
}

/* The GPU's are in table-gpu.c. */
#ifndef __NVPTX__
#include "lib/compile/runtime/table.h"
#endif
