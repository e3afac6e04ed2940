/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a place in code; the accessors of <gputrace/symbol.h> read it. */
#ifndef GT_SYMBOL_FRAME_H
#define GT_SYMBOL_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include <gputrace/gputrace.h>

struct gputrace_frame {
	struct gputrace_frame *caller;	/* what this one was inlined into; owned */
	uint64_t address;
	char *name;
	const char *module;		/* the mapping's or the module's */
	uint64_t offset;
	char *file;
	uint32_t line;
	const char *reason;		/* static text */
	const uint8_t *build_id;	/* the module's */
	size_t build_id_size;
};

/* NULL: no memory. */
struct gputrace_frame *gt_frame_new(uint64_t address);
void gt_frame_free(struct gputrace_frame *frame);
/* What its texts and those of its callers take. */
size_t gt_frame_text_bytes(const struct gputrace_frame *frame);

#endif
