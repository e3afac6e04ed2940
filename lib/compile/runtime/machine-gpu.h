/* SPDX-License-Identifier: Apache-2.0 */
/* The machine under the runtime: the GPU, PTX for sm_75 and newer. */
#ifndef GT_COMPILE_MACHINE_GPU_H
#define GT_COMPILE_MACHINE_GPU_H

#define GLOBAL __attribute__((address_space(1)))
#define GT_HASH_MEM GLOBAL

/* One function for each scope: device memory is the GPU's alone, host memory the whole system's. */
#define DEFINE_SCOPE(scope)                                                                         \
	static INLINE u64 load_acquire_##scope(GLOBAL u64 *p)                                       \
	{                                                                                           \
		u64 v;                                                                              \
		asm volatile("ld.acquire." #scope ".global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); \
		return v;                                                                           \
	}                                                                                           \
	static INLINE u64 load_relaxed_##scope(GLOBAL u64 *p)                                       \
	{                                                                                           \
		u64 v;                                                                              \
		asm volatile("ld.relaxed." #scope ".global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); \
		return v;                                                                           \
	}                                                                                           \
	static INLINE void store_relaxed_##scope(GLOBAL u64 *p, u64 v)                              \
	{                                                                                           \
		asm volatile("st.relaxed." #scope ".global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); \
	}                                                                                           \
	static INLINE u64 cas_##scope(GLOBAL u64 *p, u64 expected, u64 v)                           \
	{                                                                                           \
		u64 old;                                                                            \
		asm volatile("atom.acq_rel." #scope ".global.cas.b64 %0, [%1], %2, %3;"             \
			     : "=l"(old) : "l"(p), "l"(expected), "l"(v) : "memory");               \
		return old;                                                                         \
	}                                                                                           \
	static INLINE u64 add_##scope(GLOBAL u64 *p, u64 v)                                         \
	{                                                                                           \
		u64 old;                                                                            \
		asm volatile("atom.acq_rel." #scope ".global.add.u64 %0, [%1], %2;"                 \
			     : "=l"(old) : "l"(p), "l"(v) : "memory");                              \
		return old;                                                                         \
	}                                                                                           \
	static INLINE u64 or_##scope(GLOBAL u64 *p, u64 v)                                          \
	{                                                                                           \
		u64 old;                                                                            \
		asm volatile("atom.acq_rel." #scope ".global.or.b64 %0, [%1], %2;"                  \
			     : "=l"(old) : "l"(p), "l"(v) : "memory");                              \
		return old;                                                                         \
	}                                                                                           \
	static INLINE void fence_##scope(void)                                                      \
	{                                                                                           \
		asm volatile("fence.acq_rel." #scope ";" ::: "memory");                             \
	}

DEFINE_SCOPE(gpu)
DEFINE_SCOPE(sys)

static INLINE u64 max_gpu(GLOBAL u64 *p, u64 v)
{
	u64 old;

	asm volatile("atom.acq_rel.gpu.global.max.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

static INLINE u64 add_relaxed_gpu(GLOBAL u64 *p, u64 v)
{
	u64 old;

	asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(v) : "memory");
	return old;
}

static INLINE void store_release_sys(GLOBAL u64 *p, u64 v)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* Adds where nobody wants the old value. */
static INLINE void count_gpu(GLOBAL u64 *p, u64 v)
{
	asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

#define SREG32(name, reg)                                            \
	static INLINE u32 name(void)                                 \
	{                                                            \
		u32 v;                                               \
		asm volatile("mov.u32 %0, %%" reg ";" : "=r"(v));    \
		return v;                                            \
	}
#define SREG64(name, reg)                                            \
	static INLINE u64 name(void)                                 \
	{                                                            \
		u64 v;                                               \
		asm volatile("mov.u64 %0, %%" reg ";" : "=l"(v));    \
		return v;                                            \
	}

SREG32(sm_id, "smid")
SREG32(warp_id, "warpid")
SREG64(grid_id, "gridid")
SREG64(global_timer, "globaltimer")
SREG64(cycle_counter, "clock64")

static INLINE u32 lane_id(void)
{
	return __nvvm_read_ptx_sreg_laneid();
}

static INLINE u32 active_mask(void)
{
	u32 v;

	asm volatile("activemask.b32 %0;" : "=r"(v)::"memory");
	return v;
}

static INLINE u32 lanes_below(u32 lane)
{
	return (1u << lane) - 1;
}

static INLINE u32 shuffle(u32 mask, u32 value, u32 lane)
{
	return (u32)__nvvm_shfl_sync_idx_i32(mask, (int)value, (int)lane, 31);
}

static INLINE u64 shuffle64(u32 mask, u64 value, u32 lane)
{
	return shuffle(mask, (u32)value, lane) | (u64)shuffle(mask, (u32)(value >> 32), lane) << 32;
}

static INLINE int all_agree(u32 mask, int agree)
{
	return __nvvm_vote_all_sync(mask, agree);
}

static INLINE int any_of(u32 mask, int condition)
{
	return __nvvm_vote_any_sync(mask, condition);
}

/* Each sees what the others wrote before. */
static INLINE void sync_lanes(u32 mask)
{
	__nvvm_bar_warp_sync((int)mask);
}

/* Up to 33 us, the longer the more tries there have been. */
static INLINE void pause_try(u32 tries)
{
	u32 ns = 32u << (tries < 10 ? tries : 10);

	asm volatile("nanosleep.u32 %0;" ::"r"(ns) : "memory");
}

#endif
