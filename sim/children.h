/* SPDX-License-Identifier: Apache-2.0 */
/* This process, those that it has started, and those that they have. */
#ifndef SIM_CHILDREN_H
#define SIM_CHILDREN_H

/* Their numbers, at most `room` of them; how many. */
unsigned sim_children(int *pids, unsigned room);

#endif
