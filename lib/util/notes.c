/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gt_notes_add(struct gt_notes *notes, const char *format, ...)
{
	char **place = &notes->list[(notes->first + notes->count) % GT_NOTES_MAX];
	va_list arguments;
	int r = -1;

	va_start(arguments, format);
	/* None comes after those that were dropped until that has been said. */
	if (notes->count < GT_NOTES_MAX && !notes->dropped)
		r = vasprintf(place, format, arguments);
	va_end(arguments);
	if (r < 0)
		notes->dropped++;
	else
		notes->count++;
}

char *gt_notes_take(struct gt_notes *notes)
{
	char *note = NULL;

	if (notes->count) {
		note = notes->list[notes->first];
		notes->first = (notes->first + 1) % GT_NOTES_MAX;
		notes->count--;
	} else if (notes->dropped &&
		   asprintf(&note, "%" PRIu64 " more such notes found no room", notes->dropped) > 0) {
		notes->dropped = 0;
	}
	return note;
}

void gt_notes_free(struct gt_notes *notes)
{
	while (notes->count)
		free(gt_notes_take(notes));
}
