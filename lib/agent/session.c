/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's side of the socket: who is our controller, and what does it want. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"

#define ANSWER_TIMEOUT_MS 10000

struct gt_session gt_session = { .socket = -1 };
atomic_bool gt_active;
static atomic_int opening = -1;	/* a socket that may become the session's */

/* What the environment says: the path of the controller's socket; NULL: there is no controller. */
static const char *find_controller(char secret[GT_SECRET_SIZE])
{
	const char *value = secure_getenv(GT_ENV_SOCKET);

	if (!value || strlen(value) <= GT_SECRET_SIZE || value[GT_SECRET_SIZE] != ':')
		return NULL;
	memcpy(secret, value, GT_SECRET_SIZE);
	return value + GT_SECRET_SIZE + 1;
}

int gt_session_keep_off_streams(int fd)
{
	int other;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return other;
}

int gt_session_connect(void)
{
	char secret[GT_SECRET_SIZE];
	const char *path = find_controller(secret);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = ANSWER_TIMEOUT_MS / 1000 };
	int fd;

	if (!path || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	fd = gt_session_keep_off_streams(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return -1;
	atomic_store(&opening, fd);
	/* A controller with too many callers at its door would make us wait there. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		atomic_store(&opening, -1);
		close(fd);
		return -1;
	}
	return fd;
}

static void read_command(char *command, size_t size)
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, command, size - 1);

	if (fd >= 0)
		close(fd);
	command[n > 0 ? n : 0] = 0;
	command[strcspn(command, "\n")] = 0;
}

static bool say_hello(int fd)
{
	struct gt_msg_hello hello = {
		.msg = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_HELLO, 0 },
	};

	read_command(hello.command, sizeof(hello.command));
	find_controller(hello.secret);
	return send(fd, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
}

/* What came with the answer: shared memory, the config, shared maps. */
struct descriptors {
	int fds[2 + GT_SHARED_MAX];
	unsigned count;
};

static void close_descriptors(const struct descriptors *got)
{
	for (unsigned i = 0; i < got->count; i++)
		close(got->fds[i]);
}

static void take_descriptors(struct msghdr *header, struct descriptors *got)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(header);

	if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
	    part->cmsg_len < CMSG_LEN(0) || part->cmsg_len > CMSG_LEN(sizeof(got->fds)))
		return;
	got->count = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(got->fds, CMSG_DATA(part), got->count * sizeof(int));
}

/* Readable before the time is over?  The program's signals, which may come again and again, do not prolong it. */
static bool wait_for_answer(int fd)
{
	uint64_t deadline = gt_now() + ANSWER_TIMEOUT_MS * 1000000ull;
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int r = -1;

	for (uint64_t now = gt_now(); r < 0 && now < deadline; now = gt_now()) {
		r = poll(&wait, 1, (int)((deadline - now + 999999) / 1000000));
		if (r < 0 && errno != EINTR)
			return false;
	}
	return r == 1;
}

static bool receive_config(int fd, struct descriptors *got)
{
	struct gt_msg message;
	union {
		char bytes[CMSG_SPACE(sizeof(got->fds))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.bytes, .msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	if (!wait_for_answer(fd))
		return false;
	n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n < 0)
		return false;
	take_descriptors(&header, got);
	return n == (ssize_t)sizeof(message) && message.magic == GT_WIRE_MAGIC &&
	       message.version == GT_WIRE_VERSION && message.type == GT_MSG_CONFIG &&
	       !(header.msg_flags & MSG_CTRUNC) && got->count >= 2;
}

/* Memory whose file shrinks under us would end the program when it is touched. */
static bool is_sealed(int fd, int seals)
{
	int have = fcntl(fd, F_GET_SEALS);

	return have >= 0 && (have & seals) == seals;
}

/*
 * A map of the operating system's has a size that nobody can change, and more of it
 * is not given out; files may be short, or become so.
 */
static bool has_for_ever(int fd, uint64_t bytes)
{
	struct stat stat;

	return !fstat(fd, &stat) && (!(stat.st_mode & S_IFMT) ||
				     (is_sealed(fd, F_SEAL_SHRINK) && (uint64_t)stat.st_size >= bytes));
}

static bool fits(uint64_t offset, uint64_t size, uint64_t total)
{
	return offset <= total && size <= total - offset;
}

static bool adopt_thread_rings(struct gt_session *s, const struct gt_shm *shm, uint64_t total)
{
	uint64_t blocks = GT_THREAD_RINGS * sizeof(struct gt_thread_ring);
	uint64_t at = shm->thread_rings, size = shm->thread_ring_size;

	if (!size)
		return true;
	if (size < 4096 || size & (size - 1) || size > 1ull << 40 || at & 4095 ||
	    !fits(at, blocks + GT_THREAD_RINGS * size, total))
		return false;
	s->thread_rings = (void *)(s->base + at);
	s->thread_data = s->base + at + blocks;
	s->thread_ring_size = size;
	return true;
}

/* Copy the layout out of shared memory and check it, so that later use needs no care. */
static bool adopt_layout(struct gt_session *s, const struct gt_shm *shm, uint64_t total)
{
	if (shm->magic != GT_WIRE_MAGIC || shm->version != GT_WIRE_VERSION || shm->total != total)
		return false;
	s->total = total;
	s->contexts = shm->contexts;
	s->agent_ring = shm->agent_ring;
	s->agent_ring_size = shm->agent_ring_size;
	s->dev_template = shm->dev_template;
	s->dev_size = shm->dev_size;
	s->slots = shm->slots;
	s->areas = shm->areas;
	s->area_size = shm->area_size;
	s->host_size = shm->host_size;
	s->snapshot = shm->snapshot;
	return adopt_thread_rings(s, shm, total) && s->contexts <= GT_CONTEXTS_MAX &&
	       s->agent_ring_size >= 4096 && !(s->agent_ring_size & (s->agent_ring_size - 1)) &&
	       fits(s->agent_ring, s->agent_ring_size, total) && !(s->agent_ring & 7) &&
	       s->dev_size >= sizeof(struct gt_dev_arena) && fits(s->dev_template, s->dev_size, total) &&
	       s->slots >= s->dev_size && s->slots < 1ull << 40 && !(s->slots & 255) &&
	       s->area_size <= total / (s->contexts ? s->contexts : 1) &&
	       fits(s->areas, s->area_size * s->contexts, total) && !((s->areas | s->area_size) & 4095) &&
	       s->host_size >= sizeof(struct gt_host_arena) && !(s->host_size & 4095) &&
	       fits(0, s->host_size, s->area_size) && fits(s->snapshot, s->dev_size, s->area_size);
}

static bool map_shared(struct gt_session *s, int fd)
{
	struct stat stat;
	void *base;

	if (!is_sealed(fd, F_SEAL_SHRINK) || fstat(fd, &stat) ||
	    stat.st_size < (off_t)sizeof(struct gt_shm))
		return false;
	base = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return false;
	s->base = base;
	s->shm = base;
	if (adopt_layout(s, base, (uint64_t)stat.st_size))
		return true;
	munmap(base, (size_t)stat.st_size);
	s->base = NULL;
	return false;
}

static const char *string_at(const char *strings, uint32_t size, uint32_t offset)
{
	return offset < size ? strings + offset : NULL;
}

static bool read_probe(struct gt_probe *probe, const struct gt_config_probe *record,
		       const char *strings, uint32_t size)
{
	*probe = (struct gt_probe){
		.point = record->point,
		.granularity = record->granularity,
		.link = record->link,
		.flags = record->flags,
		.number = record->number,
		.function = string_at(strings, size, record->function),
		.kernel = string_at(strings, size, record->kernel),
		.opcode = string_at(strings, size, record->opcode),
	};
	return probe->function && probe->kernel && probe->link < GT_LINKS_MAX && probe->number < GT_PROBES_MAX &&
	       probe->point <= GT_POINT_BLOCK && probe->granularity <= GT_PER_GROUP;
}

/* Pages of their own, in ascending order, all behind the arena's header. */
static bool read_shared(struct gt_session *s, const struct gt_config_shared *records)
{
	uint64_t end = sizeof(struct gt_host_arena);

	for (unsigned i = 0; i < s->shared_count; i++) {
		s->shared[i] = records[i];
		if (s->shared[i].offset < end || !s->shared[i].bytes ||
		    (s->shared[i].offset | s->shared[i].bytes) & 4095 ||
		    !fits(s->shared[i].offset, s->shared[i].bytes, s->host_size))
			return false;
		end = s->shared[i].offset + s->shared[i].bytes;
	}
	return true;
}

/* What of the host arena is written to; 0: its elements are not a copy's. */
static uint64_t bytes_taken(const struct gt_config_spread *map)
{
	if (!map->stride)
		return map->bytes;
	return map->stride & 7 || map->bytes % map->stride ? 0 : map->bytes * map->count;
}

/* Are all words of the maps' copies in the snapshot, and all that is made of them in the host arena? */
static bool check_spread(const struct gt_session *s)
{
	for (unsigned i = 0; i < s->spread_count; i++) {
		const struct gt_config_spread *map = &s->spread[i];

		if ((map->word != 4 && map->word != 8) || (map->copies | map->sum | map->copy_bytes | map->bytes) & 7 ||
		    !map->count || map->bytes > map->copy_bytes || map->copy_bytes > s->dev_size / map->count ||
		    !fits(map->copies, map->copy_bytes * map->count, s->dev_size) || !bytes_taken(map) ||
		    map->sum < sizeof(struct gt_host_arena) || !fits(map->sum, bytes_taken(map), s->host_size))
			return false;
	}
	return true;
}

/* The mapping stays as long as the session: probes and text point into it. */
static bool read_config(struct gt_session *s, int fd)
{
	const struct gt_config *config;
	const struct gt_config_probe *records;
	const struct gt_config_shared *shared;
	const char *strings;
	struct stat stat;
	uint64_t need;

	if (!is_sealed(fd, F_SEAL_SHRINK | F_SEAL_WRITE) || fstat(fd, &stat) ||
	    stat.st_size < (off_t)sizeof(*config))
		return false;
	config = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (config == MAP_FAILED)
		return false;
	s->config = config;
	s->config_size = (uint64_t)stat.st_size;
	if (config->magic != GT_WIRE_MAGIC || config->version != GT_WIRE_VERSION ||
	    config->probe_count > GT_PROBES_MAX || config->shared_count > GT_SHARED_MAX || config->text_size > 1u << 30)
		return false;
	need = sizeof(*config) + config->probe_count * sizeof(*records) +
	       config->shared_count * sizeof(*shared) + config->spread_count * sizeof(*s->spread) +
	       config->text_size + config->string_size;
	if (need != (uint64_t)stat.st_size || !config->text_size || !config->string_size)
		return false;
	records = (const void *)(config + 1);
	shared = (const void *)(records + config->probe_count);
	s->spread = (const void *)(shared + config->shared_count);
	s->spread_count = config->spread_count;
	s->text = (const char *)(s->spread + config->spread_count);
	strings = s->text + config->text_size;
	if (s->text[config->text_size - 1] || strings[config->string_size - 1])
		return false;
	s->config_hash = gt_hash_bytes(config, s->config_size);
	s->flags = config->flags;
	s->stack_frames = config->stack_frames < GT_CALL_FRAMES ? config->stack_frames : GT_CALL_FRAMES;
	s->stack_bytes = config->stack_bytes < GT_STACK_COPY_MAX ? config->stack_bytes : GT_STACK_COPY_MAX;
	s->timeline = config->timeline < GT_LINKS_MAX ? 1ull << config->timeline : 0;
	s->probe_count = config->probe_count;
	s->shared_count = config->shared_count;
	if (!read_shared(s, shared) || !check_spread(s))
		return false;
	for (unsigned i = 0; i < s->probe_count; i++) {
		if (!read_probe(&s->probes[i], &records[i], strings, config->string_size))
			return false;
	}
	return true;
}

/* Put the shared maps' pages into every context area. */
static bool map_maps(const struct gt_session *s, const int *fds)
{
	for (unsigned i = 0; i < s->shared_count; i++) {
		if (!has_for_ever(fds[i], s->shared[i].bytes)) {
			errno = EINVAL;
			return false;
		}
		for (unsigned c = 0; c < s->contexts; c++) {
			uint8_t *to = s->base + s->areas + c * s->area_size + s->shared[i].offset;

			if (mmap(to, s->shared[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				 fds[i], 0) == MAP_FAILED)
				return false;
		}
	}
	return true;
}

static bool adopt(struct gt_session *s, const struct descriptors *got)
{
	if (!map_shared(s, got->fds[0]) || !read_config(s, got->fds[1]) ||
	    s->shared_count != got->count - 2)
		return false;
	if (!map_maps(s, got->fds + 2)) {
		s->shared_refused = errno;
		s->probe_count = 0;
	}
	return true;
}

static void remember_socket(int fd)
{
	struct stat stat = { 0 };

	fstat(fd, &stat);
	gt_session.socket_device = stat.st_dev;
	gt_session.socket_inode = stat.st_ino;
}

void gt_session_close(bool keep)
{
	struct gt_session *s = &gt_session;

	if (gt_session_is_open())
		close(s->socket);
	if (s->config)
		munmap((void *)(uintptr_t)s->config, s->config_size);
	if (s->base && !keep)
		munmap(s->base, s->total);
	*s = (struct gt_session){ .socket = -1 };
}

bool gt_session_open(int fd)
{
	struct descriptors got = { .count = 0 };
	bool ok;

	atomic_store(&opening, fd);
	ok = say_hello(fd) && receive_config(fd, &got) && adopt(&gt_session, &got);
	close_descriptors(&got);
	if (ok) {
		gt_session.socket = fd;
		gt_session.pid = getpid();
		remember_socket(fd);
	} else {
		gt_session_close(false);
	}
	atomic_store(&opening, -1);
	return ok;
}

/*
 * A program may close all descriptors that it did not open, and then the number is
 * that of another file, which is none of our business.
 */
bool gt_session_is_open(void)
{
	struct stat stat;

	return gt_session.socket >= 0 && !fstat(gt_session.socket, &stat) && stat.st_dev == gt_session.socket_device &&
	       stat.st_ino == gt_session.socket_inode;
}

void gt_session_hang_up(void)
{
	int fd = atomic_exchange(&opening, -1);

	if (fd >= 0)
		close(fd);
	if (gt_session_is_open())
		close(gt_session.socket);
	gt_session.socket = -1;
}

bool gt_session_send(enum gt_message_type type, uint64_t value)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, type, value };

	/* Who does not read must not make us wait. */
	return gt_session_is_open() &&
	       send(gt_session.socket, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)sizeof(message);
}
