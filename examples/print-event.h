/* SPDX-License-Identifier: Apache-2.0 */
/* One line of text for each event of the stream. */
#ifndef PRINT_EVENT_H
#define PRINT_EVENT_H

#include <gputrace/gputrace.h>

struct print {
	uint64_t origin;	/* time of the first event, from which the others count */
	struct gputrace_symbolizer *symbolizer;	/* names what is in stacks; may be NULL */
};

/* On stdout; the first one after a line of headings, and each with a line for each frame of its stack. */
void print_event(struct print *print, const struct gputrace_event *event);

#endif
