/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the statements of a probe's PTX in a stub. */
#ifndef GT_GRAFT_STATEMENT_H
#define GT_GRAFT_STATEMENT_H

#include <stdbool.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/instrument/text.h"

/*
 * Where threads leave: those that leave together stay together as long as they do not part: there
 * is no barrier to meet at again that would not disturb those that have not
 * left.  So what they do as a group they do as those that happen to be there.
 * Where that is not enough each thread is a group of its own, in which it finds
 * itself alone.
 */
#define GT_EXIT_NONE GT_EXIT_FORMS	/* at entry all of a warp are there */

/* Where a statement is: in the kernel's body %__gt_m is another number for each thread. */
enum gt_stub_part {
	GT_PART_FUNCTION,
	GT_PART_BODY,
	GT_PART_BODY_PACKED,	/* GT_PTX_VIRTUAL holds lane and multiprocessor: see stub.h */
};
#define GT_PTX_VIRTUAL "%__gt_virtual"

/* Writes the statement at `text` in the form that it has in a stub; its end, or NULL when it stays as it is. */
const char *gt_stub_statement(struct ptx_text *out, const char *text, const char *limit, enum gt_exit_form form,
			      enum gt_stub_part part);

#endif
