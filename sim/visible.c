/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA_VISIBLE_DEVICES: which of the machine's devices a program sees, and in what
 * order.  A list of numbers or of UUIDs, which may be cut short where only one
 * device fits; what comes behind an entry that names no device, or names one again,
 * does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/driver.h"

void sim_device_uuid(unsigned number, CUuuid *ret_uuid)
{
	/* A fixed pattern with version and variant of a name-based UUID; the last byte numbers it. */
	memcpy(ret_uuid->bytes, "gputra\x50" "e\x80" "softwa", 15);
	ret_uuid->bytes[15] = (char)number;
}

static void uuid_text(unsigned number, char text[48])
{
	char *to = text + sprintf(text, "GPU-");
	CUuuid uuid;

	sim_device_uuid(number, &uuid);
	for (unsigned i = 0; i < sizeof(uuid.bytes); i++)
		to += sprintf(to, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (uint8_t)uuid.bytes[i]);
}

/* The device that an entry names; `count` if none, or several. */
static unsigned find(const char *entry, size_t length, unsigned count)
{
	unsigned found = count;
	char *end, text[48];

	if (strncasecmp(entry, "GPU-", length < 4 ? length : 4)) {
		unsigned long number = strtoul(entry, &end, 10);

		return end == entry + length && number < count ? (unsigned)number : count;
	}
	for (unsigned i = 0; length > 4 && i < count; i++) {
		uuid_text(i, text);
		if (strncasecmp(entry, text, length))
			continue;
		if (found < count)
			return count;
		found = i;
	}
	return found;
}

unsigned sim_visible_devices(unsigned count, unsigned numbers[SIM_MAX_DEVICES])
{
	const char *entry = getenv("CUDA_VISIBLE_DEVICES");
	bool seen[SIM_MAX_DEVICES] = { false };
	unsigned visible = 0;

	for (; !entry && visible < count; visible++)
		numbers[visible] = visible;
	while (entry && *entry) {
		size_t length = strcspn(entry, ",");
		unsigned number = find(entry, length, count);

		if (number == count || seen[number])
			break;
		seen[number] = true;
		numbers[visible++] = number;
		entry += length + (entry[length] == ',');
	}
	return visible;
}
