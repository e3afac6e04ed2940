/* SPDX-License-Identifier: Apache-2.0 */
/* The folder that holds a controller's socket for the agents. */
#ifndef GT_TARGET_SOCKET_FOLDER_H
#define GT_TARGET_SOCKET_FOLDER_H

#include <stddef.h>

/* The socket in it, which is put there when its owner listens: whoever finds it and is refused finds that owner ended. */
#define GT_SOCKET_NAME "agent"

/* Make one; those of controllers that ended without removing theirs are removed.  With gt_error() text; path is empty where there is none. */
int gt_socket_folder_make(char *path, size_t size);

#endif
