/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose code is translated before it runs, as valgrind does: it reads a
 * uprobe's breakpoint as an instruction of the program's, which ends the program.
 */
#ifndef GT_UPROBE_TRANSLATED_H
#define GT_UPROBE_TRANSLATED_H

#include <stdbool.h>
#include <sys/types.h>

/* Does this command run others so? */
bool gt_is_translator(const char *command);

/* A process that runs so and has the file mapped; 0: there is none that we can see. */
int gt_translated_user(dev_t device, ino_t inode);

#endif
