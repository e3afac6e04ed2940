/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/ld_cache.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define THIS_MACHINE 0x0303	/* C library 6, 64-bit x86 */
#elif defined(__aarch64__)
#define THIS_MACHINE 0x0a03	/* C library 6, 64-bit Arm */
#else
#error "how does ldconfig mark this machine's libraries?"
#endif

#define MAGIC "glibc-ld.so.cache1.1"

/* The format that glibc has written since 2.2, and alone since 2.32; before, an older one came first. */
struct header {
	char magic[20];
	uint32_t count, strings_size;
	uint8_t flags, pad[3];
	uint32_t extensions, reserved[3];
};

struct entry {
	int32_t flags;
	uint32_t key, value;	/* strings, at offsets from the header */
	uint32_t os_version;
	uint64_t hwcap;
};

/* NULL when the string does not end inside the cache. */
static const char *string_at(const char *cache, size_t size, uint32_t offset)
{
	return offset < size && memchr(cache + offset, '\0', size - offset) ? cache + offset : NULL;
}

const char *gt_ld_cache_find(const char *cache, size_t size, const char *name,
			     int (*accept)(const char *path))
{
	const char *start = memmem(cache, size, MAGIC, sizeof(MAGIC) - 1);
	struct header header;
	struct entry entry;

	if (!start)
		return NULL;
	size -= start - cache;
	if (size < sizeof(header))
		return NULL;
	memcpy(&header, start, sizeof(header));
	if (header.count > (size - sizeof(header)) / sizeof(entry))
		return NULL;
	for (uint32_t i = 0; i < header.count; i++) {
		const char *key, *value;

		memcpy(&entry, start + sizeof(header) + i * sizeof(entry), sizeof(entry));
		key = string_at(start, size, entry.key);
		value = string_at(start, size, entry.value);
		if (key && value && entry.flags == THIS_MACHINE && !strcmp(key, name) && accept(value))
			return value;
	}
	return NULL;
}
