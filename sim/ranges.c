/* SPDX-License-Identifier: Apache-2.0 */
/* The table of memory ranges, sorted by address, and allocation. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/memory.h"

#define TOTAL		(8ull << 30)	/* what a device claims to have */
#define ALIGN		512
#define MAP_ABOVE	(256 * 1024)	/* larger pieces are mapped, so untouched pages cost nothing */

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct sim_range **ranges;
static size_t count, space;
static uint64_t last_id;
static uint64_t in_use[SIM_MAX_DEVICES];

/* Index of the first range that ends after addr. */
static size_t search(uint64_t addr)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ranges[mid]->base + ranges[mid]->size <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct sim_range *find(uint64_t addr)
{
	size_t i = search(addr);

	return i < count && ranges[i]->base <= addr ? ranges[i] : NULL;
}

bool sim_memory_find(uint64_t addr, struct sim_range *ret_range)
{
	struct sim_range *range;

	pthread_rwlock_rdlock(&lock);
	range = find(addr);
	if (range)
		*ret_range = *range;
	pthread_rwlock_unlock(&lock);
	return range != NULL;
}

bool sim_memory_holds(uint64_t addr, uint64_t size)
{
	struct sim_range range;

	return sim_memory_find(addr, &range) && size <= range.size - (addr - range.base);
}

int sim_memory_check(void *data, uint64_t addr, uint64_t size, uint64_t *ret_base,
		     uint64_t *ret_size)
{
	const struct sim_gpu *gpu = data;
	struct sim_range range;

	if (!sim_memory_find(addr, &range) || size > range.size - (addr - range.base))
		return -1;
	if ((range.kind == SIM_MEMORY_DEVICE || range.kind == SIM_MEMORY_MODULE) &&
	    range.gpu != gpu && !gpu->peers[range.gpu->ordinal])
		return -1;
	*ret_base = range.base;
	*ret_size = range.size;
	return 0;
}

/* Put a copy of *range into the table; refuses an overlap. */
static CUresult insert(const struct sim_range *range)
{
	struct sim_range *copy = malloc(sizeof(*copy));
	CUresult r = CUDA_SUCCESS;
	size_t i;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*copy = *range;
	pthread_rwlock_wrlock(&lock);
	if (count == space) {
		size_t more = space ? space * 2 : 64;
		struct sim_range **bigger = realloc(ranges, more * sizeof(*ranges));

		if (!bigger) {
			r = CUDA_ERROR_OUT_OF_MEMORY;
			goto out;
		}
		ranges = bigger;
		space = more;
	}
	i = search(range->base);
	if (i < count && ranges[i]->base < range->base + range->size) {
		r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
		goto out;
	}
	memmove(&ranges[i + 1], &ranges[i], (count - i) * sizeof(*ranges));
	ranges[i] = copy;
	count++;
	copy->id = ++last_id;
	if (range->kind != SIM_MEMORY_HOST && range->kind != SIM_MEMORY_REGISTERED)
		in_use[range->gpu->ordinal] += range->size;
	copy = NULL;
out:
	pthread_rwlock_unlock(&lock);
	free(copy);
	return r;
}

static void release(const struct sim_range *range)
{
	if (range->kind == SIM_MEMORY_REGISTERED)
		return;
	if (range->mapped)
		munmap((void *)range->base, range->mapped);
	else
		free((void *)range->base);
}

/* With the lock held for writing. */
static void drop(size_t i)
{
	struct sim_range *range = ranges[i];

	count--;
	memmove(&ranges[i], &ranges[i + 1], (count - i) * sizeof(*ranges));
	if (range->kind != SIM_MEMORY_HOST && range->kind != SIM_MEMORY_REGISTERED)
		in_use[range->gpu->ordinal] -= range->size;
	release(range);
	free(range);
}

bool sim_memory_free(uint64_t addr, unsigned kinds)
{
	bool found;
	size_t i;

	pthread_rwlock_wrlock(&lock);
	i = search(addr);
	found = i < count && ranges[i]->base == addr && (kinds & 1u << ranges[i]->kind);
	if (found)
		drop(i);
	pthread_rwlock_unlock(&lock);
	return found;
}

void sim_memory_free_all(struct CUctx_st *ctx)
{
	pthread_rwlock_wrlock(&lock);
	for (size_t i = count; i-- > 0;)
		if (ranges[i]->ctx == ctx)
			drop(i);
	pthread_rwlock_unlock(&lock);
}

CUresult sim_memory_new(struct sim_gpu *gpu, struct CUctx_st *ctx, enum sim_memory_kind kind,
			size_t size, unsigned flags, uint64_t *ret_addr)
{
	struct sim_range range = { .size = size, .kind = kind, .flags = flags, .gpu = gpu, .ctx = ctx };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CUresult r;
	void *memory;

	if (!size)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > TOTAL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (kind != SIM_MEMORY_HOST) {
		size_t left, total;

		sim_memory_info(gpu, &left, &total);
		if (size > left)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (size >= MAP_ABOVE || kind == SIM_MEMORY_HOST || kind == SIM_MEMORY_MANAGED) {
		range.mapped = (size + page - 1) / page * page;
		memory = mmap(NULL, range.mapped, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		if (posix_memalign(&memory, ALIGN, size))
			return CUDA_ERROR_OUT_OF_MEMORY;
		memset(memory, 0, size);
	}
	range.base = (uintptr_t)memory;
	r = insert(&range);
	if (r != CUDA_SUCCESS)
		release(&range);
	else
		*ret_addr = range.base;
	return r;
}

/* mincore() fails for pages that are not mapped. */
static bool is_mapped(uintptr_t first, uintptr_t end, uintptr_t page)
{
	unsigned char resident[256];

	while (first < end) {
		size_t size = end - first < sizeof(resident) * page ? end - first
								    : sizeof(resident) * page;

		if (mincore((void *)first, size, resident) != 0)
			return false;
		first += size;
	}
	return true;
}

CUresult sim_memory_register(struct CUctx_st *ctx, void *addr, size_t size, unsigned flags)
{
	struct sim_range range = {
		.base = (uintptr_t)addr, .size = size, .kind = SIM_MEMORY_REGISTERED,
		.flags = flags, .gpu = ctx->gpu, .ctx = ctx,
	};
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = (uintptr_t)addr / page * page;

	if (!addr || !size || range.base + size < range.base)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_mapped(first, range.base + size, page))
		return CUDA_ERROR_INVALID_VALUE;
	return insert(&range);
}

size_t sim_memory_total(void)
{
	return TOTAL;
}

void sim_memory_info(const struct sim_gpu *gpu, size_t *ret_free, size_t *ret_total)
{
	pthread_rwlock_rdlock(&lock);
	*ret_free = in_use[gpu->ordinal] < TOTAL ? TOTAL - in_use[gpu->ordinal] : 0;
	pthread_rwlock_unlock(&lock);
	*ret_total = TOTAL;
}

void *sim_memory_alloc_variable(void *data, size_t size)
{
	uint64_t addr;

	if (sim_memory_new(data, NULL, SIM_MEMORY_MODULE, size ? size : 1, 0, &addr))
		return NULL;
	return (void *)addr;
}

void sim_memory_free_variable(void *data, void *addr)
{
	(void)data;
	sim_memory_free((uintptr_t)addr, 1u << SIM_MEMORY_MODULE);
}
