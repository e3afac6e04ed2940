/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the driver's cards is meant. */
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock/rm.h"
#include "lib/util/error.h"

static int compare_cards(const void *p, const void *q)
{
	const struct gt_rm_card *a = p, *b = q;

	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->bus != b->bus)
		return a->bus < b->bus ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* "GPU-01234567-89ab-..." to 16 bytes */
static bool parse_uuid(const char *text, uint8_t *ret_uuid)
{
	unsigned byte;
	size_t n = 0;

	if (strncmp(text, "GPU-", 4) != 0)
		return false;
	for (text += 4; n < 16; ) {
		if (*text == '-') {
			text++;
			continue;
		}
		if (strspn(text, "0123456789abcdefABCDEF") < 2 || sscanf(text, "%2x", &byte) != 1)
			return false;
		ret_uuid[n++] = (uint8_t)byte;
		text += 2;
	}
	return true;
}

/* The driver tells a card's UUID in a text file. */
static bool has_uuid(const struct gt_rm_sys *sys, const struct gt_rm_card *card, const uint8_t *uuid)
{
	char path[256], line[256];
	uint8_t found[16];
	bool same = false;
	char *text;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%04x:%02x:%02x.%x/information", sys->proc, card->domain, card->bus,
		 card->slot, card->function);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!same && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "GPU UUID:", 9) != 0)
			continue;
		text = line + 9 + strspn(line + 9, " \t");
		same = parse_uuid(text, found) && memcmp(found, uuid, sizeof(found)) == 0;
	}
	fclose(file);
	return same;
}

static bool is_meant(const struct gt_rm_sys *sys, const struct gt_rm_card *card, size_t index,
		     const struct gt_rm_select *select)
{
	switch (select->by) {
	case GPUTRACE_CLOCK_BY_PCI:
		return card->domain == select->domain && card->bus == select->bus &&
		       card->slot == select->device;
	case GPUTRACE_CLOCK_BY_UUID:
		return has_uuid(sys, card, select->uuid);
	default:
		return index == select->ordinal;
	}
}

static int say_missing(const struct gt_rm_select *select, size_t count)
{
	switch (select->by) {
	case GPUTRACE_CLOCK_BY_PCI:
		return gt_error(-ENODEV, "none of the driver's %zu GPUs is at PCI address %04x:%02x:%02x", count,
				select->domain, select->bus, select->device);
	case GPUTRACE_CLOCK_BY_UUID:
		return gt_error(-ENODEV, "none of the driver's %zu GPUs has this UUID (it is read in /proc/driver/nvidia)",
				count);
	default:
		return gt_error(-ENODEV, "there is no GPU %u: the driver has %zu", select->ordinal, count);
	}
}

int gt_rm_find(const struct gt_rm_sys *sys, const struct gt_rm_card *cards, size_t n,
	       const struct gt_rm_select *select, struct gt_rm_card *ret_card)
{
	struct gt_rm_card valid[GT_RM_CARDS];
	size_t count = 0;

	for (size_t i = 0; i < n && count < GT_RM_CARDS; i++)
		if (cards[i].valid)
			valid[count++] = cards[i];
	qsort(valid, count, sizeof(*valid), compare_cards);
	for (size_t i = 0; i < count; i++) {
		if (!is_meant(sys, &valid[i], i, select))
			continue;
		*ret_card = valid[i];
		return 0;
	}
	return say_missing(select, count);
}
