/* SPDX-License-Identifier: Apache-2.0 */
/* The machine under the runtime: this host; a thread is a warp of one lane. */
#ifndef GT_COMPILE_MACHINE_HOST_H
#define GT_COMPILE_MACHINE_HOST_H

#define GLOBAL
#define GT_HASH_MEM

#define DEFINE_SCOPE(scope)                                                       \
	static INLINE u64 load_acquire_##scope(u64 *p)                            \
	{                                                                         \
		return __atomic_load_n(p, __ATOMIC_ACQUIRE);                      \
	}                                                                         \
	static INLINE u64 load_relaxed_##scope(u64 *p)                            \
	{                                                                         \
		return __atomic_load_n(p, __ATOMIC_RELAXED);                      \
	}                                                                         \
	static INLINE void store_relaxed_##scope(u64 *p, u64 v)                   \
	{                                                                         \
		__atomic_store_n(p, v, __ATOMIC_RELAXED);                         \
	}                                                                         \
	static INLINE u64 cas_##scope(u64 *p, u64 expected, u64 v)                \
	{                                                                         \
		__atomic_compare_exchange_n(p, &expected, v, 0, __ATOMIC_ACQ_REL, \
					    __ATOMIC_ACQUIRE);                    \
		return expected;                                                  \
	}                                                                         \
	static INLINE u64 add_##scope(u64 *p, u64 v)                              \
	{                                                                         \
		return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);                \
	}                                                                         \
	static INLINE u64 or_##scope(u64 *p, u64 v)                               \
	{                                                                         \
		return __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL);                 \
	}                                                                         \
	static INLINE void fence_##scope(void)                                    \
	{                                                                         \
		__atomic_thread_fence(__ATOMIC_ACQ_REL);                          \
	}

DEFINE_SCOPE(gpu)
DEFINE_SCOPE(sys)

static INLINE u64 max_gpu(u64 *p, u64 v)
{
	u64 old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (old < v && !__atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return old;
}

static INLINE u64 add_relaxed_gpu(u64 *p, u64 v)
{
	return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

static INLINE void store_release_sys(u64 *p, u64 v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static INLINE void count_gpu(u64 *p, u64 v)
{
	__atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

static INLINE u32 active_mask(void)
{
	return 1;
}

static INLINE void sync_lanes(u32 mask)
{
	(void)mask;
}

static INLINE int any_of(u32 mask, int condition)
{
	(void)mask;
	return condition;
}

/* The library gives the addresses of these. */
extern u64 __gt_host_time(void);
extern void __gt_host_yield(void);

static INLINE void pause_try(u32 tries)
{
	(void)tries;
	__gt_host_yield();
}

static INLINE u64 global_timer(void)
{
	return __gt_host_time();
}

static INLINE u64 cycle_counter(void)
{
	return __builtin_readcyclecounter();
}

#endif
