/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that are traced, not for those that trace: two functions of the
 * agent.  A program that calls them needs nothing of libgputrace to be linked or
 * installed; without a tracer there is no agent, and it does without.
 */
#ifndef GPUTRACE_AGENT_H
#define GPUTRACE_AGENT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * From now on what the calling thread launches and calls carries `id`, a number of
 * the program's own (gputrace_event_get_external_id()), until it is popped; 0: none.
 * Takes some nanoseconds and does not block.  Any thread.  0; -ENOMEM.  Since 0.1.
 */
typedef int gputrace_agent_push_id_fn(uint64_t id);
/*
 * Back to the id that was there before; *ret_id (may be NULL) is the one taken
 * away.  0; -ENOENT: the calling thread has pushed none.  Since 0.1.
 */
typedef int gputrace_agent_pop_id_fn(uint64_t *ret_id);

/*
 * A range around what the calling thread does, as NVTX's of the default domain
 * (gputrace_attach_nvtx()); the text is copied.  0; -ENOMEM.  Since 0.1.
 */
typedef int gputrace_agent_push_range_fn(const char *text);
/* The end of the range that was pushed last.  0; -ENOENT: there is none.  Since 0.1. */
typedef int gputrace_agent_pop_range_fn(void);

#define GPUTRACE_AGENT_PUSH_RANGE "gputrace_agent_push_range"
#define GPUTRACE_AGENT_POP_RANGE "gputrace_agent_pop_range"
#define GPUTRACE_AGENT_PUSH_ID "gputrace_agent_push_id"
#define GPUTRACE_AGENT_POP_ID "gputrace_agent_pop_id"

/*
 * Find a function of the agent by its name, one of these; NULL: the program is
 * not traced, so far.  The agent comes with cuInit or the first range of NVTX, and
 * stays.  Since 0.1.
 */
static inline void *gputrace_agent_find(const char *name)
{
	void *agent = dlopen("libgputrace-agent.so", RTLD_NOW | RTLD_NOLOAD);

	return agent ? dlsym(agent, name) : NULL;
}

#ifdef __cplusplus
}
#endif

#endif
