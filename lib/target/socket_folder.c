/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/socket_folder.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/util/error.h"

static bool is_ours(const char *path, mode_t type)
{
	struct stat st;

	return !lstat(path, &st) && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid();
}

static bool refuses(const char *socket_path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = false;

	if (fd < 0)
		return false;
	if (strlen(socket_path) < sizeof(address.sun_path)) {
		strcpy(address.sun_path, socket_path);
		refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
	}
	close(fd);
	return refused;
}

/* What a controller leaves behind that is killed. */
static void remove_deserted(const char *base)
{
	char path[128];
	glob_t found;

	snprintf(path, sizeof(path), "%s/gputrace-??????", base);
	if (glob(path, GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		snprintf(path, sizeof(path), "%s/" GT_SOCKET_NAME, found.gl_pathv[i]);
		if (is_ours(found.gl_pathv[i], S_IFDIR) && is_ours(path, S_IFSOCK) && refuses(path)) {
			unlink(path);
			rmdir(found.gl_pathv[i]);
		}
	}
	globfree(&found);
}

/* A program that root traces may become another user before it uses CUDA: then everybody may knock, and the secret decides. */
int gt_socket_folder_make(char *path, size_t size)
{
	const char *base = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : NULL;

	if (!base || strlen(base) > 30 || access(base, W_OK))
		base = "/tmp";
	remove_deserted(base);
	snprintf(path, size, "%s/gputrace-XXXXXX", base);
	if (!mkdtemp(path)) {
		path[0] = 0;
		return gt_error(-errno, "no folder for a socket can be made in %s: %s", base, strerror(errno));
	}
	if (!geteuid() && chmod(path, 0711))
		return gt_error(-errno, "%s: %s", path, strerror(errno));
	return 0;
}
