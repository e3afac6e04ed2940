/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/trampoline.h"

#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>

#define TRIES 4		/* the memory of one may have been given back */

static bool is_trampoline(const struct gt_perf_entry *entry)
{
	return !strncmp(entry->name, "py::", 4) && entry->size <= GT_TRAMPOLINE_MAX;
}

void gt_trampoline_learn(struct gt_trampoline *trampoline, const struct gt_perf_map *map, int pid)
{
	unsigned tries = 0;

	for (unsigned i = map->count; i-- && tries < TRIES && !trampoline->size;) {
		const struct gt_perf_entry *entry = &map->list[i];
		struct iovec local = { .iov_base = trampoline->code, .iov_len = entry->size };
		struct iovec remote = { .iov_base = (void *)(uintptr_t)entry->start, .iov_len = entry->size };

		if (!is_trampoline(entry))
			continue;
		tries++;
		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)entry->size)
			trampoline->size = entry->size;
	}
}

size_t gt_trampoline_read(const struct gt_trampoline *trampoline, const struct gt_perf_entry *entry, uint64_t address,
			  uint8_t *code, size_t size)
{
	uint64_t offset = entry ? address - entry->start : 0;

	if (!entry || !is_trampoline(entry) || entry->size != trampoline->size || offset >= trampoline->size)
		return 0;
	if (size > trampoline->size - offset)
		size = trampoline->size - offset;
	memcpy(code, trampoline->code + offset, size);
	return size;
}
