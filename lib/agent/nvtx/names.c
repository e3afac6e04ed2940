/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/agent/lock.h"
#include "lib/agent/nvtx/nvtx.h"
#include "lib/agent/table.h"

static GT_LOCK(lock);
static struct gt_nvtx_domain *all;	/* never freed: ranges of it may be open */
static struct gt_table *domains, *strings;

static struct gt_nvtx_domain *find_or_add(const char *name)
{
	size_t length = strnlen(name, GT_NVTX_DOMAIN);
	struct gt_nvtx_domain *domain;

	for (domain = all; domain; domain = domain->next) {
		if (!strncmp(domain->name, name, length) && !domain->name[length])
			return domain;
	}
	domain = malloc(sizeof(*domain) + length + 1);
	if (!domain)
		return NULL;
	memcpy(domain->name, name, length);
	domain->name[length] = 0;
	domain->next = all;
	all = domain;
	return domain;
}

struct gt_nvtx_domain *gt_nvtx_domain(const char *name)
{
	struct gt_nvtx_domain *domain;

	gt_lock(&lock);
	domain = find_or_add(name ? name : "");
	gt_unlock(&lock);
	return domain;
}

void gt_nvtx_domain_is(const void *handle, struct gt_nvtx_domain *domain)
{
	gt_lock(&lock);
	if (handle)
		gt_table_set(&domains, handle, domain);
	gt_unlock(&lock);
}

const struct gt_nvtx_domain *gt_nvtx_find_domain(const void *handle)
{
	return gt_table_get(&domains, handle);
}

const void *gt_nvtx_register(const void *handle, const char *text)
{
	char *copy = strndup(text ? text : "", GT_NVTX_TEXT);

	if (!copy)
		return NULL;
	if (!handle)
		handle = copy;
	gt_lock(&lock);
	gt_table_set(&strings, handle, copy);
	gt_unlock(&lock);
	return handle;
}

const char *gt_nvtx_find_string(const void *handle)
{
	return gt_table_get(&strings, handle);
}

const char *gt_nvtx_narrow(const wchar_t *wide, char *buffer, size_t size)
{
	size_t n = 0;

	for (; wide && *wide && n + 4 < size; wide++) {
		uint32_t c = (uint32_t)*wide;

		if (c > 0x10ffff)
			c = 0xfffd;
		if (c < 0x80) {
			buffer[n++] = (char)c;
			continue;
		}
		if (c >= 0x10000) {
			buffer[n++] = (char)(0xf0 | c >> 18);
			buffer[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		} else if (c >= 0x800) {
			buffer[n++] = (char)(0xe0 | c >> 12);
		}
		buffer[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6);
		buffer[n++] = (char)(0x80 | (c & 0x3f));
	}
	buffer[n] = 0;
	return buffer;
}
