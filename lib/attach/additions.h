/* SPDX-License-Identifier: Apache-2.0 */
/* Additions to what a map holds that a program makes by a load and a store: `value->count++`. */
#ifndef GT_ATTACH_ADDITIONS_H
#define GT_ATTACH_ADDITIONS_H

#include <stdbool.h>

#include "lib/verify/verify.h"

struct gt_addition {
	unsigned load, store;		/* the instructions */
	struct bpf_insn plain[2];	/* what they are as written, */
	struct bpf_insn joined[2];	/* and when they add at once */
	int map;
};

struct gt_additions {
	struct gt_addition *list;
	unsigned count;
};

/*
 * Find them in a program that was verified, with what was found out about it.  Nothing but
 * additions lies between load and store, which are of 4 or 8 bytes, and nobody looks at the
 * sum afterwards.  What is found is freed with the list.  -ENOMEM.
 */
int gt_additions_find(const struct gt_prog *prog, const struct gt_verify_result *proof, struct gt_additions *ret_additions);

/* Make each addition to one of the maps with `chosen[map]` a single instruction, or what it was; whether there was one. */
bool gt_additions_put(struct gt_prog *prog, const struct gt_additions *additions, const bool *chosen, bool joined);

#endif
