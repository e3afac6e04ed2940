/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs: the session's programs at one point of a kernel, compiled once for each device architecture. */
#ifndef GT_AGENT_BUILD_STUBS_H
#define GT_AGENT_BUILD_STUBS_H

#include <stdint.h>

#include "lib/agent/graft/graft.h"
#include "lib/wire/wire.h"

struct gt_cached_stub {
	struct gt_cached_stub *next;
	unsigned arch;
	uint32_t point;
	uint64_t probes;		/* bit mask of their indices, which are in attach order */
	struct gt_graft_stub *stub;	/* NULL: cannot be made */
	enum gt_reason reason;
	char why[256];
};

/*
 * The stub for these probes (a bit mask of their indices), made when it is first asked
 * for.  It lives until one is asked for in another session.  NULL: out of memory.
 * Under the module lock.
 */
const struct gt_cached_stub *gt_stub_get(unsigned arch, uint32_t point, uint64_t probes);

#endif
