/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the driver's functions, recorded in the program itself: the way where
 * the operating system's kernel does not permit uprobes; and where copies are seen.
 */
#ifndef GT_AGENT_CALL_CALL_H
#define GT_AGENT_CALL_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/agent/copy/copy.h"

/* A function that is watched.  thunk.c's assembly knows the places of the first two. */
struct gt_call_site {
	void *target;		/* what the call goes on to */
	uint64_t stack_words;	/* of the caller's that the function takes as arguments */
	uint32_t function;	/* index in the table of the driver's functions */
	uint32_t arg_count;
	uint32_t level;		/* enum gt_call_level: from which on it is recorded */
	struct gt_copy_function copy;
	void *address;
};

enum gt_call_level { GT_CALLS_NONE, GT_CALLS_DOING, GT_CALLS_ASKING };

/* Which calls the session wants, and whether copies. */
extern _Atomic uint32_t gt_call_level;
extern atomic_bool gt_calls_copy;

/*
 * A session begins: see to it that every function it wants has the watch in front,
 * after all other hooks.  busy: as in gt_patch().
 */
void gt_calls_begin(bool busy);

/*
 * What a watched function's callers run: keeps every argument, in registers and on
 * the stack, calls site->target with them, and returns what that returns.  The site
 * comes in register r11.  No function of the table takes a floating-point argument.
 */
void gt_call_thunk(void);

#endif
