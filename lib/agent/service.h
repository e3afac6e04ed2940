/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's one thread: answers the controller, takes clock samples. */
#ifndef GT_AGENT_SERVICE_H
#define GT_AGENT_SERVICE_H

/* Start it unless it runs. */
void gt_service_start(void);

/* End it and wait until it is gone; then copy the arenas out and say goodbye. */
void gt_service_stop(void);

#endif
