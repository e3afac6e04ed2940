/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences that wait to be said in the stream, in order. */
#ifndef GT_UTIL_NOTES_H
#define GT_UTIL_NOTES_H

#include <stdint.h>

#define GT_NOTES_MAX 64u	/* that wait at a time; what is beyond is counted */

struct gt_notes {
	char *list[GT_NOTES_MAX];	/* malloc'd; a ring */
	unsigned first, count;
	uint64_t dropped;
};

/* One that finds no room or memory is counted. */
void gt_notes_add(struct gt_notes *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first one, which is the caller's to free, or how many were dropped after it; NULL: there is none. */
char *gt_notes_take(struct gt_notes *notes);
void gt_notes_free(struct gt_notes *notes);

#endif
