/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's one thread: answers the controller, takes clock samples, and lets go of the process in the end. */
#ifndef GT_AGENT_SERVICE_H
#define GT_AGENT_SERVICE_H

#include <stdbool.h>

/* Start it unless it runs. */
void gt_service_start(void);

/*
 * Between these two it does not start: what a session begins with must be complete
 * before its controller's end has this thread undo it.  start: in any case.
 */
void gt_service_hold(void);
void gt_service_release(bool start);

/* In a forked child, where there is no such thread. */
void gt_service_in_child(void);

/* Is there no controller, or none any more?  Waits for one that is just going. */
bool gt_service_make_room(void);

/*
 * Have it copy the arenas out, say goodbye and end; wait for that, but not for ever.
 * interrupted: a signal's handler ends the program while this thread is in a hook.
 */
void gt_service_stop(bool interrupted);

#endif
