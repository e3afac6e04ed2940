/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers ask the reader and the symbolizer for, with answers that are easy to foretell. */
#include <gputrace/gputrace.h>

#include "lib/reader/event.h"
#include "lib/symbol/frame.h"

const char *gputrace_event_get_arg_name(const struct gputrace_event *event, unsigned index)
{
	static const char *const names[] = { "f", "hStream" };

	return event->type == GPUTRACE_EVENT_API && index < event->arg_count && index < 2 ? names[index] : NULL;
}

struct gputrace_symbolizer *gputrace_symbolizer_ref(struct gputrace_symbolizer *symbolizer)
{
	return symbolizer;
}

struct gputrace_symbolizer *gputrace_symbolizer_unref(struct gputrace_symbolizer *symbolizer)
{
	(void)symbolizer;
	return NULL;
}

/* 0x1000: main(); 0x2000: inner() inlined into middle() in outer(); 0x3000: a file without symbols; else nothing. */
int gputrace_symbolizer_resolve(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time, uint64_t address,
				const struct gputrace_frame **ret_frame)
{
	static char names[][32] = { "main", "inner", "middle", "outer(int; char)" };
	static struct gputrace_frame outer = { .name = names[3], .module = "p" }, middle = { .name = names[2], .module = "p", .caller = &outer };
	static struct gputrace_frame frames[4];

	(void)symbolizer, (void)pid, (void)time;
	frames[0] = (struct gputrace_frame){ .name = names[0], .module = "p" };
	frames[1] = (struct gputrace_frame){ .name = names[1], .module = "p", .caller = &middle };
	frames[2] = (struct gputrace_frame){ .module = "/opt/lib/libfoo.so", .offset = 0x123, .reason = "no symbol" };
	frames[3] = (struct gputrace_frame){ .address = address, .reason = "no code" };
	*ret_frame = &frames[address == 0x1000 ? 0 : address == 0x2000 ? 1 : address == 0x3000 ? 2 : 3];
	return 0;
}
