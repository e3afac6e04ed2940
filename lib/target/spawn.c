/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/spawn.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/target/socket_folder.h"
#include "lib/target/target.h"
#include "lib/uprobe/find_library.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"

extern char **environ;

#define DEFAULT_RING (4ull << 20)

/* ---- what is wanted ---- */

int gt_spawn_check_ring(const char *what, uint64_t *bytes)
{
	if (!*bytes)
		*bytes = DEFAULT_RING;
	if (*bytes < 4096 || *bytes > 1ull << 30 || (*bytes & (*bytes - 1)))
		return gt_error(-EINVAL, "%s is %llu bytes: give a power of two from 4096 to 2^30", what,
				(unsigned long long)*bytes);
	return 0;
}

const char *gt_spawn_default_agent(void)
{
	const char *path = secure_getenv("GPUTRACE_AGENT");

	return path && *path ? path : GT_AGENT_PATH;
}

const char *gt_spawn_sim_directory(void)
{
	const char *path = secure_getenv("GPUTRACE_SIM_DIR");

	return path && *path ? path : GT_SIM_DIR;
}

/* Whatever else it is, the driver in the program would leave it out, and nobody would hear of it. */
int gt_spawn_check_agent(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = errno;
	Elf64_Ehdr header = { 0 };
	ssize_t n;

	if (fd < 0)
		return gt_error(-error, "%s: the agent that goes into the program cannot be read (%s); install libgputrace or set GPUTRACE_AGENT",
				path, strerror(error));
	n = read(fd, &header, sizeof(header));
	close(fd);
	if (n != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_type != ET_DYN)
		return gt_error(-ENOEXEC, "%s: the agent that goes into the program is not a shared library", path);
	return 0;
}

int gt_spawn_check(char *const argv[], struct gputrace_spawn_opts *opts)
{
	int r;

	if (!argv || !argv[0] || !argv[0][0])
		return gt_error(-EINVAL, "no program was named");
	if (opts->flags || opts->device > GPUTRACE_DEVICE_SIM)
		return gt_error(-EINVAL, "unknown device or flags in the spawn options");
	if (!opts->agent)
		opts->agent = gt_spawn_default_agent();
	r = gt_spawn_check_agent(opts->agent);
	if (!r)
		r = gt_spawn_check_ring("agent_ring_bytes", &opts->agent_ring_bytes);
	if (!r)
		r = gt_spawn_check_ring("gpu_ring_bytes", &opts->gpu_ring_bytes);
	return r;
}

/* Is there such a program, the way execvp would look for it? */
static int find_program(const char *name)
{
	const char *path = getenv("PATH"), *next;
	struct stat status;
	int seen = ENOENT;

	if (strchr(name, '/')) {
		if (stat(name, &status) || access(name, X_OK))
			return gt_error(-errno, "%s: %s", name, strerror(errno));
		if (!S_ISREG(status.st_mode))
			return gt_error(-EACCES, "%s: not a program but a folder or the like", name);
		return 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path = *next ? next + 1 : next) {
		char candidate[4096];

		next = strchrnul(path, ':');
		snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)(next - path), path, name);
		if (!stat(candidate, &status) && S_ISREG(status.st_mode)) {
			if (!access(candidate, X_OK))
				return 0;
			seen = EACCES;
		}
	}
	return gt_error(-seen, "%s: %s", name,
			seen == ENOENT ? "no such program in PATH" : strerror(seen));
}

/* ---- environment of the program ---- */

static bool is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=';
}

static const char *value_of(char *const *envp, const char *name)
{
	for (; *envp; envp++) {
		if (is_variable(*envp, name))
			return *envp + strlen(name) + 1;
	}
	return NULL;
}

static char *assignment(const char *name, const char *value, const char *rest)
{
	char *text;

	if (asprintf(&text, "%s=%s%s%s", name, value, rest && *rest ? ":" : "", rest ? rest : "") < 0)
		return NULL;
	return text;
}

/* The variables that a traced program is given; the last one only with the software device. */
static const char *const our_names[] = {
	GT_ENV_INJECTION, GT_ENV_SOCKET, GT_ENV_CHAIN, GT_ENV_NVTX, GT_ENV_NVTX_CHAIN, "LD_LIBRARY_PATH",
};
#define OUR_NAMES (sizeof(our_names) / sizeof(our_names[0]))

static size_t count_ours(const struct gputrace_target *target)
{
	return target->software_device ? OUR_NAMES : OUR_NAMES - 1;
}

/* What somebody set a variable to before us, unless that is our agent. */
static const char *earlier(char *const *envp, const char *name, const char *agent)
{
	const char *value = value_of(envp, name);

	return value && strcmp(value, agent) ? value : "";
}

static bool make_ours(const struct gputrace_target *target, const struct gputrace_spawn_opts *opts,
		      char *const *from, char *ours[OUR_NAMES])
{
	char door[sizeof(target->secret) + sizeof(target->socket_path)];
	const char *const values[OUR_NAMES] = {
		opts->agent, door, earlier(from, GT_ENV_INJECTION, opts->agent),
		opts->agent, earlier(from, GT_ENV_NVTX, opts->agent), gt_spawn_sim_directory(),
	};

	snprintf(door, sizeof(door), "%s:%s", target->secret, target->socket_path);
	for (size_t i = 0; i < count_ours(target); i++) {
		ours[i] = assignment(our_names[i], values[i],
				     i == OUR_NAMES - 1 ? value_of(from, our_names[i]) : NULL);
		if (!ours[i])
			return false;
	}
	return true;
}

static bool is_ours(const struct gputrace_target *target, const char *entry)
{
	for (size_t i = 0; i < count_ours(target); i++) {
		if (is_variable(entry, our_names[i]))
			return true;
	}
	return false;
}

/* The caller's environment with ours in front; only the added strings are malloc'd. */
static char **make_environment(const struct gputrace_target *target,
			       const struct gputrace_spawn_opts *opts, char *ours[OUR_NAMES])
{
	char *const *from = opts->envp ? opts->envp : environ;
	size_t count = 0, kept = count_ours(target);
	char **envp;

	if (!make_ours(target, opts, from, ours))
		return NULL;
	while (from[count])
		count++;
	envp = calloc(count + OUR_NAMES + 1, sizeof(*envp));
	if (!envp)
		return NULL;
	memcpy(envp, ours, kept * sizeof(*envp));
	for (size_t i = 0; i < count; i++) {
		if (!is_ours(target, from[i]))
			envp[kept++] = from[i];
	}
	return envp;
}

/* ---- socket ---- */

static int make_secret(char secret[GT_SECRET_SIZE + 1])
{
	unsigned char bytes[GT_SECRET_SIZE / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return gt_error(-EAGAIN, "the operating system has no random numbers to give");
	for (unsigned i = 0; i < sizeof(bytes); i++)
		snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int listen_for_agents(struct gputrace_target *target)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct epoll_event event = { .events = EPOLLIN };	/* data.ptr NULL: the listener */
	char early[sizeof(target->socket_path)];	/* its place until it listens */
	int r = make_secret(target->secret);

	if (!r)
		r = gt_socket_folder_make(target->directory, sizeof(target->directory));
	if (r)
		return r;
	snprintf(target->socket_path, sizeof(target->socket_path), "%s/" GT_SOCKET_NAME, target->directory);
	snprintf(early, sizeof(early), "%s/early", target->directory);
	strcpy(address.sun_path, early);
	target->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	target->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (target->listen_fd < 0 || target->epoll_fd < 0 ||
	    bind(target->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    (!geteuid() && chmod(early, 0666)) ||
	    listen(target->listen_fd, 128) ||
	    rename(early, target->socket_path) ||
	    epoll_ctl(target->epoll_fd, EPOLL_CTL_ADD, target->listen_fd, &event)) {
		r = gt_error(-errno, "no socket for the agents: %s", strerror(errno));
		unlink(early);
	}
	return r;
}

/* ---- the child ---- */

/*
 * Runs in the child: only what is allowed between fork and exec.  When we end, the
 * descriptor that it waits at does; a death signal would come from the thread that
 * forked, which may end earlier.
 */
static void child(int go_fd, int exec_fd, char *const argv[], char **envp)
{
	char byte;
	int error;

	if (read(go_fd, &byte, 1) != 1)
		_exit(125);
	execvpe(argv[0], argv, envp);
	error = errno;
	if (write(exec_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

static int start_child(struct gputrace_target *target, char *const argv[], char **envp)
{
	int go[2], exec_pipe[2];

	/* A socket, because writing to a pipe whose reader was killed would raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go))
		return -errno;
	if (pipe2(exec_pipe, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	target->pid = fork();
	if (target->pid == 0) {
		close(go[1]);
		close(exec_pipe[0]);
		child(go[0], exec_pipe[1], argv, envp);
	}
	close(go[0]);
	close(exec_pipe[1]);
	if (target->pid < 0) {
		close(go[1]);
		close(exec_pipe[0]);
		return gt_error(-errno, "no child process: %s", strerror(errno));
	}
	target->go_fd = go[1];
	target->exec_fd = exec_pipe[0];
	return 0;
}

void gt_spawn_watch(struct gputrace_target *target)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = target };

	target->pid_fd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pid_fd >= 0)
		epoll_ctl(target->epoll_fd, EPOLL_CTL_ADD, target->pid_fd, &event);
}

/* Which libcuda it will load: the one uprobes go to. */
static void find_libcuda(struct gputrace_target *target, char *const *envp)
{
	if (target->software_device) {
		if (asprintf(&target->libcuda, "%s/libcuda.so.1", gt_spawn_sim_directory()) < 0)
			target->libcuda = NULL;
	} else if (gt_find_library_in(GT_LIBCUDA, value_of(envp, "LD_LIBRARY_PATH"), &target->libcuda)) {
		target->libcuda = NULL;
	}
}

int gt_spawn(struct gputrace_target *target, char *const argv[], const struct gputrace_spawn_opts *opts)
{
	char *ours[OUR_NAMES] = { NULL };
	char **envp = NULL;
	int r;

	if (target->software_device) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/libcuda.so.1", gt_spawn_sim_directory());
		if (access(path, R_OK))
			return gt_error(-ENOENT, "%s: the software device is not there (%s); install it or set GPUTRACE_SIM_DIR",
					path, strerror(errno));
	}
	target->translated = gt_is_translator(argv[0]);
	r = find_program(argv[0]);
	if (!r)
		r = listen_for_agents(target);
	if (!r) {
		envp = make_environment(target, opts, ours);
		r = envp ? start_child(target, argv, envp) : gt_error(-ENOMEM, "out of memory");
	}
	if (!r) {
		gt_spawn_watch(target);
		find_libcuda(target, envp);
	}
	for (size_t i = 0; i < OUR_NAMES; i++)
		free(ours[i]);
	free(envp);
	return r;
}

int gt_spawn_go(struct gputrace_target *target)
{
	int error = 0;

	if (gputrace_target_has_exited(target, NULL))
		return gt_error(-ESRCH, "the program was ended before it ran");
	if (send(target->go_fd, "", 1, MSG_NOSIGNAL) != 1)
		return gt_error(-errno, "the waiting program cannot be told to run: %s", strerror(errno));
	close(target->go_fd);
	target->go_fd = -1;
	target->resumed = true;
	/* End of file: the exec closed it, all is well. */
	if (read(target->exec_fd, &error, sizeof(error)) == (ssize_t)sizeof(error))
		return gt_error(-error, "the program cannot be run: %s", strerror(error));
	close(target->exec_fd);
	target->exec_fd = -1;
	return 0;
}

void gt_spawn_abandon(struct gputrace_target *target)
{
	if (target->kind == GT_TARGET_SPAWNED && target->pid > 0 && !target->resumed && !target->exited) {
		kill(target->pid, SIGKILL);
		waitpid(target->pid, &target->status, 0);
		target->exited = true;
	}
}

void gt_spawn_close(struct gputrace_target *target)
{
	int *fds[] = { &target->go_fd, &target->exec_fd, &target->pid_fd, &target->listen_fd,
		       &target->epoll_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	if (target->socket_path[0])
		unlink(target->socket_path);
	if (target->directory[0])
		rmdir(target->directory);
}
