/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs under a controller that lies, stays silent or dies: they must run as if
 * they were alone.
 */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/wire/proto.h"
#include "tests/suite.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#define AREA (1ull << 20)

static char folder[64], path[96];
static int door, line, pid, out;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the program ---- */

#define SECRET "0123456789abcdef0123456789abcdef"
static char address_of_door[256];

/* Its standard output goes to `out`; the agent in it knows our door. */
static void start_target(const char *what, const char *number)
{
	out = memfd_create("output", MFD_CLOEXEC);
	snprintf(address_of_door, sizeof(address_of_door), "%s:%s", SECRET, path);
	pid = fork();
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		setenv("LD_LIBRARY_PATH", getenv("GPUTRACE_SIM_DIR"), 1);
		if (door >= 0) {
			setenv(GT_ENV_INJECTION, getenv("GPUTRACE_AGENT"), 1);
			setenv(GT_ENV_SOCKET, address_of_door, 1);
		}
		execl(TARGET_PATH, TARGET_PATH, what, number, NULL);
		_exit(127);
	}
}

/* What it printed, once it has ended well. */
static void finish_target(char output[1024])
{
	double end = now() + PATIENCE_MS / 1000;
	int status = 0, r;
	ssize_t n;

	while (!(r = waitpid(pid, &status, WNOHANG)) && now() < end)
		usleep(5000);
	if (!r)
		kill(pid, SIGKILL);
	ck_assert_msg(r == pid, "the program does not end");
	ck_assert_int_eq(status, 0);
	n = pread(out, output, 1023, 0);
	output[n > 0 ? n : 0] = 0;
	close(out);
}

static void assert_as_if_alone(const char *what, const char *number)
{
	char with[1024], without[1024];

	finish_target(with);
	close(door);
	door = -1;
	start_target(what, number);
	finish_target(without);
	ck_assert_str_eq(with, without);
}

/* ---- the controller ---- */

static void setup(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(folder, "/tmp/test-liar-XXXXXX");
	ck_assert(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/door", folder);
	strcpy(address.sun_path, path);
	door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(door, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(door, 8), 0);
	line = -1;
}

static void teardown(void)
{
	if (line >= 0)
		close(line);
	if (door >= 0)
		close(door);
	unlink(path);
	rmdir(folder);
}

static void hear_hello(void)
{
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct gt_msg_hello hello;

	setsockopt(door, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	line = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	ck_assert_int_ge(line, 0);
	ck_assert_int_eq(recv(line, &hello, sizeof(hello), 0), sizeof(hello));
	ck_assert_uint_eq(hello.msg.type, GT_MSG_HELLO);
	ck_assert_mem_eq(hello.secret, SECRET, GT_SECRET_SIZE);
}

/* The smallest layout that the agent accepts: 16 areas behind ring and template. */
static struct gt_shm honest_layout(void)
{
	struct gt_shm shm = {
		.magic = GT_WIRE_MAGIC, .version = GT_WIRE_VERSION, .contexts = GT_CONTEXTS_MAX,
		.agent_ring = 4096, .agent_ring_size = 65536, .dev_template = 4096 + 65536,
		.dev_size = sizeof(struct gt_dev_arena), .slots = (sizeof(struct gt_dev_arena) + 255) & ~255ull,
		.areas = AREA, .area_size = AREA, .host_size = AREA / 2, .snapshot = AREA / 2,
		.total = AREA * (1 + GT_CONTEXTS_MAX),
	};

	return shm;
}

static int file_of(const void *bytes, size_t size, size_t total, int seals)
{
	int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, (off_t)total), 0);
	ck_assert_int_eq(pwrite(fd, bytes, size, 0), size);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* No probes, but every kernel is to be listed, so images are looked at. */
struct small_config {
	struct gt_config config;
	char text, strings;
};
#define SMALL_CONFIG (sizeof(struct gt_config) + 2)

static const struct small_config honest_config = {
	.config = { .magic = GT_WIRE_MAGIC, .version = GT_WIRE_VERSION, .flags = GT_CONFIG_LIST,
		    .text_size = 1, .string_size = 1, .timeline = UINT32_MAX },
};

static void give_config(const int *fds, unsigned count)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_CONFIG, 0 };
	union {
		char bytes[CMSG_SPACE(64 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec iov = { &message, sizeof(message) };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
				 .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&header);

	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(part), fds, count * sizeof(int));
	ck_assert_int_eq(sendmsg(line, &header, MSG_NOSIGNAL), sizeof(message));
}

/* Does the agent take its orders?  It either says so or hangs up. */
static bool is_ready(void)
{
	struct gt_msg message;

	return recv(line, &message, sizeof(message), 0) == sizeof(message) && message.type == GT_MSG_READY;
}

static bool accepts(const struct gt_shm *shm, int shm_seals, const void *config, size_t config_size,
		    int config_seals, int ret_fds[2])
{
	ret_fds[0] = file_of(shm, sizeof(*shm), AREA * (1 + GT_CONTEXTS_MAX), shm_seals);
	ret_fds[1] = file_of(config, config_size, config_size, config_seals);
	give_config(ret_fds, 2);
	return is_ready();
}

/* ---- tests ---- */

/* The agent waits ten seconds for an answer, and signals do not prolong them. */
START_TEST(no_answer)
{
	start_target("alarm", "2");
	hear_hello();
	assert_as_if_alone("vecadd", "2");
}
END_TEST

START_TEST(hung_up_at_hello)
{
	start_target("vecadd", "2");
	hear_hello();
	close(line);
	assert_as_if_alone("vecadd", "2");
}
END_TEST

START_TEST(honest_for_once)
{
	struct gt_shm shm = honest_layout();
	int fds[2];

	start_target("vecadd", "20");
	hear_hello();
	ck_assert(accepts(&shm, SEALS, &honest_config, SMALL_CONFIG, SEALS | F_SEAL_WRITE, fds));
	close(line);
	assert_as_if_alone("vecadd", "20");
}
END_TEST

/* Files that could shrink under the program are not taken. */
START_TEST(unsealed)
{
	struct gt_shm shm = honest_layout();
	int fds[2];

	start_target("vecadd", "20");
	hear_hello();
	if (_i == 0)
		ck_assert(!accepts(&shm, 0, &honest_config, SMALL_CONFIG, SEALS | F_SEAL_WRITE, fds));
	else
		ck_assert(!accepts(&shm, SEALS, &honest_config, SMALL_CONFIG, 0, fds));
	if (ftruncate(fds[_i], 0))
		ck_abort_msg("it is sealed");
	assert_as_if_alone("vecadd", "20");
}
END_TEST

/* What the agent has said so far in its ring, all records as one text. */
static void hear_notes(int memory, const struct gt_shm *shm, char *text, size_t size)
{
	struct gt_record record;
	struct gt_rec_note note;
	uint64_t at = 0;

	*text = 0;
	for (; pread(memory, &record, sizeof(record), (off_t)(shm->agent_ring + at)) == sizeof(record) && record.len;
	     at += record.len) {
		off_t payload = (off_t)(shm->agent_ring + at + sizeof(record));
		size_t length = strlen(text);

		if (record.type == GT_REC_NOTE && pread(memory, &note, sizeof(note), payload) == sizeof(note) &&
		    note.text_size < size - length)
			ck_assert_int_eq(pread(memory, text + length, note.text_size, payload + (off_t)sizeof(note)),
					 note.text_size);
	}
}

/* A map that is sealed, but has fewer bytes than were said: to touch the rest would be the program's end. */
START_TEST(short_map)
{
	struct {
		struct gt_config config;
		struct gt_config_shared shared;
		char text, strings;
	} config = { .config = honest_config.config,
		     .shared = { (sizeof(struct gt_host_arena) + 4095) & ~4095ull, 8192 } };
	struct gt_shm shm = honest_layout();
	char notes[4096];
	int fds[3];

	config.config.shared_count = 1;
	fds[0] = file_of(&shm, sizeof(shm), AREA * (1 + GT_CONTEXTS_MAX), SEALS);
	fds[1] = file_of(&config, offsetof(__typeof__(config), strings) + 1, offsetof(__typeof__(config), strings) + 1,
			 SEALS | F_SEAL_WRITE);
	fds[2] = file_of("", 1, _i ? 8192 : 4096, SEALS);
	start_target("vecadd", "20");
	hear_hello();
	give_config(fds, 3);
	ck_assert(is_ready());
	hear_notes(fds[0], &shm, notes, sizeof(notes));
	ck_assert_msg((strstr(notes, "cannot be mapped here") != NULL) == !_i, "%s", notes);
	assert_as_if_alone("vecadd", "20");
}
END_TEST

/* A ring at the very end of the memory, and a head that is no multiple of 8. */
START_TEST(crooked_head)
{
	struct gt_shm shm = honest_layout();
	int fds[2];

	shm.contexts = 0;
	shm.agent_ring = shm.total - shm.agent_ring_size;
	shm.agent_ctl.head = shm.agent_tail = shm.agent_ring_size - 20;
	start_target("vecadd", "20");
	hear_hello();
	ck_assert(accepts(&shm, SEALS, &honest_config, SMALL_CONFIG, SEALS | F_SEAL_WRITE, fds));
	assert_as_if_alone("vecadd", "20");
}
END_TEST

/* Ask for ever and never read the answers. */
START_TEST(flood)
{
	struct gt_msg message = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_FLUSH, 1 };
	struct gt_shm shm = honest_layout();
	double end;
	int fds[2];

	start_target("spin", "1000000000");
	hear_hello();
	ck_assert(accepts(&shm, SEALS, &honest_config, SMALL_CONFIG, SEALS | F_SEAL_WRITE, fds));
	for (end = now() + 0.7; now() < end;)
		send(line, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
	assert_as_if_alone("spin", "1000000000");
}
END_TEST

/* Random numbers in place of the sizes and offsets. */
START_TEST(nonsense)
{
	struct gt_shm shm = honest_layout();
	struct small_config config = honest_config;
	uint64_t *fields[] = { &shm.agent_ring, &shm.agent_ring_size, &shm.dev_template, &shm.dev_size,
			       &shm.slots, &shm.areas, &shm.area_size, &shm.host_size, &shm.snapshot };
	uint32_t *counts[] = { &config.config.probe_count, &config.config.string_size,
			       &config.config.shared_count, (uint32_t *)&config.config.text_size };
	static const uint64_t values[] = { 0, 1, 7, UINT32_MAX, UINT64_MAX, INT64_MAX, 1ull << 63, AREA - 1, 64 };
	int fds[2];

	if (_i < 81)
		*fields[_i / 9] = values[_i % 9];
	else
		*counts[(_i - 81) / 9] = (uint32_t)values[(_i - 81) % 9];
	start_target("buffer", NULL);
	hear_hello();
	accepts(&shm, SEALS, &config, SMALL_CONFIG, SEALS | F_SEAL_WRITE, fds);
	assert_as_if_alone("buffer", NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("liar");

	if (!getenv("GPUTRACE_SIM_DIR") || !getenv("GPUTRACE_AGENT")) {
		printf("GPUTRACE_SIM_DIR and GPUTRACE_AGENT are not set\n");
		return 77;
	}
	signal(SIGPIPE, SIG_IGN);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, no_answer);
	tcase_add_test(tcase, hung_up_at_hello);
	tcase_add_test(tcase, honest_for_once);
	tcase_add_loop_test(tcase, unsealed, 0, 2);
	tcase_add_loop_test(tcase, short_map, 0, 2);
	tcase_add_test(tcase, crooked_head);
	tcase_add_test(tcase, flood);
	tcase_add_loop_test(tcase, nonsense, 0, 81 + 36);
	return run_case("a lying controller", tcase);
}
