/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that came by a way that nobody watches, as the vendor's libraries have them. */
#ifndef GT_AGENT_LEARN_H
#define GT_AGENT_LEARN_H

/* Ask the driver which module or library a function, or a kernel of a library, is of, and get to know it if that is known. */
void gt_function_learn(void *function);

#endif
