/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that the agent is in, and their connection to the one that traces them.  With
 * GPUTRACE_TEST_DEVICE=gpu the same on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/wire/proto.h"
#include "both.h"

/* A pipe that is only the driver's; closed and reused descriptors, of its standard streams, too; a child of which pthread_atfork() does not hear; one made while a lock is held. */
START_TEST(programs_with_rough_ways)
{
	static const char *const modes[] = { "pipe", "descriptors", "streams", "clone", "asked" };
	struct run_options options = counting();

	run_plain(&plain, real_device, modes[_i], NULL);
	run_target(&run, &options, modes[_i], NULL);
	assert_same_output();
}
END_TEST

/* A service may become an ordinary user before it uses CUDA. */
START_TEST(privileges_dropped_before_cuda)
{
	struct run_options options = timeline();

	run_plain(&plain, real_device, "drop", NULL);
	run_target(&run, &options, "drop", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
}
END_TEST

START_TEST(strangers_are_sent_away)
{
	struct run_options options = timeline();

	run_plain(&plain, real_device, "knock", NULL);
	run_target(&run, &options, "knock", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
}
END_TEST

static int connect_to(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	return fd;
}

static bool is_sent_away(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

/* A target whose program has told where its door is, and the secret, and ended. */
static struct gputrace_target *find_door(struct sockaddr_un *address, char secret[GT_SECRET_SIZE])
{
	char command[64], door[256] = "", *argv[] = { "/bin/sh", "-c", command, NULL };
	int file = memfd_create("door", 0), status;
	struct gputrace_target *target;

	snprintf(command, sizeof(command), "printf %%s \"$GPUTRACE_SOCKET\" >&%d", file);
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, NULL, &target), 0);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while (!gputrace_target_has_exited(target, &status))
		usleep(1000);
	ck_assert_int_gt(pread(file, door, sizeof(door) - 1, 0), GT_SECRET_SIZE);
	close(file);
	memcpy(secret, door, GT_SECRET_SIZE);
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "%.100s", door + GT_SECRET_SIZE + 1);
	return target;
}

/* The first of too many must go, also when it has something to say at that very moment. */
START_TEST(a_crowd_of_strangers)
{
	char secret[GT_SECRET_SIZE];
	struct sockaddr_un address;
	struct gputrace_target *target = find_door(&address, secret);
	int strangers[257];

	for (unsigned i = 0; i < 256; i++) {
		strangers[i] = connect_to(&address);
		gputrace_target_dispatch(target);
	}
	ck_assert(!is_sent_away(strangers[0]));
	strangers[256] = connect_to(&address);
	ck_assert_int_eq(send(strangers[0], "?", 1, 0), 1);
	gputrace_target_dispatch(target);
	ck_assert(is_sent_away(strangers[0]));
	for (unsigned i = 1; i < 257; i++)
		ck_assert(!is_sent_away(strangers[i]));
	gputrace_target_unref(target);
}
END_TEST

static unsigned count_shared_memories(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned count = 0;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:gputrace") != NULL;
	fclose(maps);
	return count;
}

/* Who knows the secret may say hello as often as he likes: there is memory for one of them only. */
START_TEST(many_hellos_of_one)
{
	struct gt_msg_hello hello = { .msg = { GT_WIRE_MAGIC, GT_WIRE_VERSION, GT_MSG_HELLO, 0 }, .command = "liar" };
	struct sockaddr_un address;
	struct gputrace_target *target = find_door(&address, hello.secret);
	struct gputrace_reader *reader;
	int lines[40];

	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	for (unsigned i = 0; i < 40; i++) {
		struct gt_msg answer;

		lines[i] = connect_to(&address);
		ck_assert_int_eq(send(lines[i], &hello, sizeof(hello), 0), sizeof(hello));
		while (recv(lines[i], &answer, sizeof(answer), 0) != sizeof(answer))
			gputrace_target_dispatch(target);
		ck_assert_uint_eq(answer.type, GT_MSG_CONFIG);
	}
	while (count_shared_memories() > 1) {
		ck_assert_int_ge(gputrace_reader_wait(reader, 10), 0);
		while (gputrace_reader_next(reader))
			;
	}
	ck_assert_uint_eq(gputrace_target_count_agents(target), 40);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
}
END_TEST

/* A target may be any number of processes, one after the other. */
START_TEST(ended_processes_leave_no_memory)
{
	char command[] = "for i in 1 2 3; do " TARGET_PATH " exits; done >/dev/null; read line; exit 0";
	char *argv[] = { "/bin/sh", "-c", command, NULL };
	struct gputrace_spawn_opts options = {
		.size = sizeof(options), .device = real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
	};
	const struct gputrace_event *event;
	struct gputrace_reader *reader;
	struct gputrace_link *link;
	int input[2], saved = dup(0), r;
	unsigned ended = 0;

	ck_assert_int_eq(pipe(input), 0);
	dup2(input[0], 0);
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &run.target), 0);
	dup2(saved, 0);
	ck_assert_int_eq(gputrace_object_open_file(NULL, "examples/bpf/threads.bpf.o", &run.object), 0);
	ck_assert_int_eq(gputrace_attach_object(run.target, run.object, &link), 0);
	ck_assert_int_eq(gputrace_reader_new(run.target, NULL, &reader), 0);
	ck_assert_int_eq(gputrace_target_resume(run.target), 0);
	while ((r = gputrace_reader_wait(reader, 10)) >= 0) {
		while ((event = gputrace_reader_next(reader)))
			ended += gputrace_event_get_type(event) == GPUTRACE_EVENT_EXIT;
		if (ended == 3 && !count_shared_memories())
			ck_assert_int_eq(write(input[1], "\n", 1) < 0, 0);
	}
	ck_assert_int_eq(r, -ENODATA);
	ck_assert_uint_eq(ended, 3);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(run_map_value(&run, "entered", i, 0), 96);
	gputrace_reader_unref(reader);
	gputrace_link_unref(link);
	close(input[0]);
	close(input[1]);
	close(saved);
}
END_TEST

/* What is detached before the program runs takes no room. */
START_TEST(attached_and_detached)
{
	char *const argv[] = { (char *)(uintptr_t)TARGET_PATH, NULL };
	struct gputrace_spawn_opts options = {
		.size = sizeof(options), .device = real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
	};
	struct gputrace_target *target;
	struct gputrace_link *link;

	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &target), 0);
	for (int i = 0; i < 40; i++) {
		ck_assert_int_eq(gputrace_attach_timeline(target, &link), 0);
		ck_assert_int_eq(gputrace_link_detach(link), 0);
		ck_assert_int_eq(gputrace_link_detach(link), 0);
		gputrace_link_unref(link);
	}
	gputrace_target_unref(target);
}
END_TEST

/* Room for the library and CUDA, not for what the agent is sent. */
START_TEST(too_few_descriptors)
{
	struct run_options options = timeline();

	run_plain(&plain, real_device, "poor", NULL);
	run_target(&run, &options, "poor", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 0);
	ck_assert_ptr_nonnull(strstr(run.notes, "ran without probes"));
}
END_TEST

/* poll() is refused then. */
START_TEST(no_descriptors_any_more)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "confined", NULL);
	run_target(&run, &options, "confined", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
	ck_assert_uint_gt(run_map_value(&run, "entered", 0, 0), 0);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), run_map_value(&run, "left", 0, 0));
}
END_TEST

/* Of a thread nothing can be kept: each of its calls is lost, and counted. */
START_TEST(no_keys_for_threads)
{
	static const uint32_t by_agent[] = { GPUTRACE_API_AGENT, 0 };
	struct run_options options = timeline();
	unsigned calls;

	options.api = true;
	options.api_flags = by_agent;
	run_target(&run, &options, "vecadd", "4", NULL);
	calls = run.events[GPUTRACE_EVENT_API];
	ck_assert_uint_gt(calls, 4);
	run_free(&run);
	run_plain(&plain, real_device, "greedy", NULL);
	run_target(&run, &options, "greedy", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_API], 0);
	ck_assert_uint_eq(run.lost, calls);
	ck_assert_ptr_nonnull(strstr(run.notes, "all the keys"));
}
END_TEST

START_TEST(children_are_followed)
{
	struct run_options options = counting();
	int parent = 0, other = 0;

	run_plain(&plain, real_device, "fork", NULL);
	run_target(&run, &options, "fork", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	for (int i = 0; i < 2; i++) {
		if (run.kernels[i].pid == gputrace_target_get_pid(run.target))
			parent += (int)run.kernels[i].block[0];
		else
			other += (int)run.kernels[i].block[0];
	}
	ck_assert_int_eq(parent, 32);
	ck_assert_int_eq(other, 64);
	/* One instance of each map in each process. */
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0) + run_map_value(&run, "entered", 1, 0), 96);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("processes");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	if (!real_device) {
		tcase_add_loop_test(tcase, programs_with_rough_ways, 0, 5);
		tcase_add_test(tcase, too_few_descriptors);
		tcase_add_test(tcase, no_descriptors_any_more);
		tcase_add_test(tcase, no_keys_for_threads);
		if (!geteuid())
			tcase_add_test(tcase, privileges_dropped_before_cuda);
	}
	tcase_add_test(tcase, strangers_are_sent_away);
	tcase_add_test(tcase, a_crowd_of_strangers);
	tcase_add_test(tcase, attached_and_detached);
	tcase_add_test(tcase, many_hellos_of_one);
	tcase_add_test(tcase, ended_processes_leave_no_memory);
	tcase_add_test(tcase, children_are_followed);
	failed = run_case("processes", tcase);
	if (!failed && !real_device && geteuid()) {
		fprintf(stderr, "all but one passed: a change of user needs root\n");
		return 77;
	}
	return failed;
}
