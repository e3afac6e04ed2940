/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way, on the software device: start a program, put programs into its
 * kernels, read the stream.  With GPUTRACE_TEST_DEVICE=gpu the same on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
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
#include "run.h"

static bool real_device;
static struct run run, plain;

static void teardown(void)
{
	run_free(&run);
	run_free(&plain);
}

static struct run_options timeline(void)
{
	return (struct run_options){ .timeline = true, .real_device = real_device };
}

static struct run_options counting(void)
{
	return (struct run_options){
		.timeline = true, .object = "examples/bpf/threads.bpf.o", .real_device = real_device,
	};
}

static void assert_same_output(void)
{
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, plain.status);
}

START_TEST(every_launch_becomes_a_kernel)
{
	struct run_options options = timeline();

	run_plain(&plain, real_device, "vecadd", "100", NULL);
	run_target(&run, &options, "vecadd", "100", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 100);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 100);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 1);
	ck_assert_uint_eq(run.lost, 0);
	ck_assert_uint_eq(run.disorder, 0);
	ck_assert_str_eq(run.notes, "");
}
END_TEST

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Kernels are tied to their launches, and nothing happens before its cause. */
START_TEST(kernels_are_tied_to_launches)
{
	struct run_options options = timeline();
	uint64_t begin = now_ns(), took;
	unsigned streams = 0;

	run_target(&run, &options, "vecadd", "64", NULL);
	took = now_ns() - begin;
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 64);
	for (unsigned i = 0; i < 64; i++) {
		const struct run_event *kernel = &run.kernels[i], *launch = NULL;

		for (unsigned j = 0; j < 64; j++) {
			if (run.launches[j].launch_id == kernel->launch_id)
				launch = &run.launches[j];
		}
		ck_assert_ptr_nonnull(launch);
		ck_assert_str_eq(kernel->name, "vecadd");
		ck_assert_uint_eq(kernel->stream, launch->stream);
		ck_assert_uint_eq(kernel->grid[0], launch->grid[0]);
		ck_assert_uint_eq(kernel->block[0], 256);
		ck_assert_uint_le(kernel->time, kernel->end);
		/* The error is what makes this hold, and it must be of use. */
		ck_assert_uint_ge(kernel->time + kernel->error, launch->time);
		ck_assert_uint_lt(kernel->error, real_device ? 10000 : took);
		streams |= kernel->stream == run.kernels[0].stream ? 1 : 2;
	}
	ck_assert_uint_eq(streams, 3);
}
END_TEST

/* Closed and reused descriptors; a child of which pthread_atfork() does not hear. */
START_TEST(programs_with_rough_ways)
{
	static const char *const modes[] = { "descriptors", "clone" };
	struct run_options options = timeline();

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
	struct gputrace_spawn_opts options = { .size = sizeof(options), .device = GPUTRACE_DEVICE_SIM };
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
	struct gputrace_spawn_opts options = { .size = sizeof(options), .device = GPUTRACE_DEVICE_SIM };
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

START_TEST(threads_are_counted_exactly)
{
	struct run_options options = counting();
	unsigned long threads;

	run_plain(&plain, real_device, "vecadd", "40", NULL);
	run_target(&run, &options, "vecadd", "40", NULL);
	assert_same_output();
	ck_assert_int_eq(sscanf(run.output, "launches 40 threads %lu", &threads), 1);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), threads);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), threads);
}
END_TEST

/* Four ways out of a kernel, 24 threads each. */
START_TEST(every_way_out_counts)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "exits", NULL);
	run_target(&run, &options, "exits", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 96);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 96);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1);
}
END_TEST

/* A kernel that spins for a known time. */
START_TEST(lengths_are_measured)
{
	static const uint64_t lengths[] = { 50000, 500000, 5000000 };
	struct run_options options = timeline();

	run_target(&run, &options, "spin", "50000", "500000", "5000000", NULL);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
	for (int i = 0; i < 3; i++) {
		uint64_t measured = run.kernels[i].end - run.kernels[i].time;

		ck_assert_uint_ge(measured + 100, lengths[i]);
		/* A GPU is precise; threads of the software device may have to wait for a core. */
		if (real_device)
			ck_assert_uint_le(measured, lengths[i] + lengths[i] / 100 + 1000);
	}
}
END_TEST

/* 500 + 512 threads of vecadd; 96 and 64 of a kernel without parameters. */
START_TEST(other_ways_to_pass_parameters)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "buffer", NULL);
	run_target(&run, &options, "buffer", NULL);
	assert_same_output();
	ck_assert_ptr_nonnull(strstr(run.output, " parameters 4 0\n"));
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 512 + 96 + 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* Handles that came by no entry that can be watched: 32 threads of a module's, 64 and 128 of a library's. */
START_TEST(handles_out_of_nowhere)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "private", NULL);
	run_target(&run, &options, "private", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 128);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 32 + 64 + 128);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* Each replay runs 1024 + 2048 + 32 captured threads and 32 + 64 in nodes. */
START_TEST(graphs_replay_with_their_probes)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "graph", "50", NULL);
	run_target(&run, &options, "graph", "50", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 50u * (1024 + 2048 + 32 + 32 + 64));
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 50u * (1024 + 2048 + 32 + 32 + 64));
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 5);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 250);
	ck_assert_uint_eq(run.lost, 0);
}
END_TEST

/* Its code is compiled once and its kernel is one kernel, however often it is loaded. */
START_TEST(modules_come_and_go)
{
	struct run_options options = counting();
	const struct gputrace_kernel *kernel = NULL;
	unsigned kernels = 0;

	run_plain(&plain, real_device, "reload", "200", NULL);
	run_target(&run, &options, "reload", "200", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 200 * 32);
	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		kernels++;
		if (!strcmp(gputrace_kernel_get_name(kernel), "bump"))
			ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 200);
		ck_assert_int_eq(gputrace_kernel_get_route(kernel), GPUTRACE_ROUTE_PTX);
		ck_assert_ptr_null(gputrace_kernel_get_reason(kernel));
	}
	ck_assert_uint_eq(kernels, 4);
}
END_TEST

/* An image that is left as it is has kernels that are not listed before they run; its note is their reason. */
START_TEST(images_left_as_they_are)
{
	static const char why[] = "an image without machine code for this GPU is left as it is";
	struct run_options options = counting();
	const struct gputrace_kernel *kernel = NULL;
	unsigned kernels = 0;

	setenv("GPUTRACE_ROUTE", "graft", 1);
	run_target(&run, &options, "reload", "20", NULL);
	unsetenv("GPUTRACE_ROUTE");
	ck_assert_ptr_nonnull(strstr(run.notes, why));
	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		kernels++;
		ck_assert_int_eq(gputrace_kernel_get_route(kernel), GPUTRACE_ROUTE_NONE);
		ck_assert_str_eq(gputrace_kernel_get_reason(kernel), why);
		ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 20);
		ck_assert_uint_eq(gputrace_kernel_get_module(kernel), 1);
	}
	ck_assert_uint_eq(kernels, 1);
}
END_TEST

START_TEST(unknown_routes_are_refused)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	struct gputrace_spawn_opts options = { .size = sizeof(options), .device = GPUTRACE_DEVICE_SIM };
	struct gputrace_target *target = NULL;

	setenv("GPUTRACE_ROUTE", "sass", 1);
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &target), -EINVAL);
	ck_assert_str_eq(gputrace_last_error(),
			 "GPUTRACE_ROUTE=sass in the environment: it may be ptx or graft, or not set");
	setenv("GPUTRACE_ROUTE", "", 1);
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &target), 0);
	gputrace_target_unref(target);
	unsetenv("GPUTRACE_ROUTE");
}
END_TEST

START_TEST(many_threads_launch)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "threads", "250", NULL);
	run_target(&run, &options, "threads", "250", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 4 * 250 * 32);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 1000);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1000);
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

/* What a context's maps held is kept when it is destroyed. */
START_TEST(contexts_have_their_own_maps)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "contexts", NULL);
	run_target(&run, &options, "contexts", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 2);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 64);
	ck_assert_uint_eq(run_map_value(&run, "entered", 1, 0), 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* The driver waits for the kernels of a context that ends, and what they count then is there, too. */
START_TEST(kernels_count_until_the_end)
{
	struct run_options options = counting();
	static const char *const ways[] = { "destroy", "reset", "release" };
	const char *how = ways[_i];
	int context = _i ? 0 : 1;

	run_plain(&plain, real_device, "ends", how, NULL);
	run_target(&run, &options, "ends", how, NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", context, 0), 32 + 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
}
END_TEST

/* Others hold the primary context: whoever lets go of it does not wait for its kernels, of which one would wait for ever. */
START_TEST(one_of_two_holders_lets_go)
{
	struct run_options options = counting();

	run_target(&run, &options, "ends", "shared", NULL);
	ck_assert_str_eq(run.output, "done\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* A primary context cannot be destroyed that way, and its kernels go on as before. */
START_TEST(an_end_that_is_refused)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "ends", "refused", NULL);
	run_target(&run, &options, "ends", "refused", NULL);
	assert_same_output();
	ck_assert_str_eq(run.output, "CUresult 201, counter 133, done\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 64);
}
END_TEST

/* 5, then 100 more at each launch: one variable, whoever else is at work. */
START_TEST(variables_of_the_program_stay_its_own)
{
	struct run_options options = counting();

	run_target(&run, &options, "global", NULL);
	ck_assert_str_eq(run.output, "counter 5\ncounter 105\ncounter 205\ncounter 305\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 300);
}
END_TEST

/* However the program ends, what had happened is read, and its end is its own. */
START_TEST(every_end_is_survived)
{
	static const char *const ways[] = { "return", "exit", "_exit", "kill" };
	struct run_options options = timeline();

	run_plain(&plain, real_device, "leave", ways[_i], NULL);
	run_target(&run, &options, "leave", ways[_i], NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
}
END_TEST

/* A signal's handler ends the program while the agent holds a lock: it ends all the same. */
START_TEST(ended_while_the_agent_works)
{
	struct run_options options = counting();
	char number[4];

	snprintf(number, sizeof(number), "%d", _i);
	run_target(&run, &options, "interrupted", number, NULL);
	ck_assert_int_eq(WEXITSTATUS(run.status), 7);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
}
END_TEST

static struct gputrace_link *five[6];	/* in attach order; the third is of the program that appends a 5 */

static void attach_five(struct run *now)
{
	static const char *const names[] = { "program3", "program1", "program5", "program2", "program4", "at_exit" };

	for (int i = 0; i < 6; i++) {
		struct gputrace_program *program = gputrace_object_find_program(now->object, names[i]);

		ck_assert_msg(!gputrace_attach_program(now->target, program, &five[i]), "%s", gputrace_last_error());
	}
}

/* Then the program, which waits for it, goes on. */
static void detach_one_of_five(struct run *now, const struct gputrace_event *event)
{
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_KERNEL || now->events[GPUTRACE_EVENT_KERNEL] != 1)
		return;
	ck_assert_int_eq(gputrace_link_detach(five[2]), 0);
	ck_assert_int_eq(kill(gputrace_target_get_pid(now->target), SIGUSR1), 0);
}

/* They run in attach order; the one that is detached stops, and the others go on. */
START_TEST(five_programs_at_one_point)
{
	struct run_options options = timeline();

	options.object = "tests/e2e/five.bpf.o";
	options.attach = attach_five;
	run.watch = detach_one_of_five;
	run_target(&run, &options, "spin", "100000", "signal", "100000", "100000", "100000", NULL);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 1), 1);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 2), 3);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 3), 0);
	for (int i = 0; i < 6; i++)
		gputrace_link_unref(five[i]);
}
END_TEST

/* After detaching, launches go on and the program's results are right. */
START_TEST(detached_in_the_middle)
{
	struct run_options options = counting();

	options.detach_at = "vecadd";
	run_plain(&plain, real_device, "vecadd", "3000", NULL);
	run_target(&run, &options, "vecadd", "3000", NULL);
	assert_same_output();
	ck_assert_uint_ge(run.events[GPUTRACE_EVENT_KERNEL], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3000);
}
END_TEST

/* A graph that was made while programs were attached is launched on and on after they are detached. */
START_TEST(graph_outlives_its_probes)
{
	struct run_options options = counting();
	const char *replays = real_device ? "20000" : "1000";

	options.detach_at = "vecadd";
	run_plain(&plain, real_device, "graph", replays, NULL);
	run_target(&run, &options, "graph", replays, NULL);
	assert_same_output();
	ck_assert_uint_ge(run.events[GPUTRACE_EVENT_KERNEL], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 5);
}
END_TEST

/* 4096 bytes hold a few of the 200 kernels' records: delivered and lost make up all. */
START_TEST(what_is_lost_is_counted)
{
	struct run_options options = timeline();

	options.agent_ring_bytes = 4096;
	run.watch = run_watch_late;
	run_plain(&plain, real_device, "threads", "1000", NULL);
	run_target(&run, &options, "threads", "1000", NULL);
	assert_same_output();
	ck_assert_uint_gt(run.lost, 0);
	/*
	 * Four function records and one context record share the ring with the launches.  So do
	 * readings of the clock, as many as there is time for: no events, so not among the lost.
	 */
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH] + run.events[GPUTRACE_EVENT_FUNCTION] +
			  run.events[GPUTRACE_EVENT_CONTEXT] + run.lost, 4000 + 4 + 1);
}
END_TEST

/*
 * A burst that every ring is too small for.  How many calls there are is known from a
 * run with room for them: the program makes the same each time.
 */
START_TEST(bursts_overrun_every_ring)
{
	static const uint32_t uprobes[] = { GPUTRACE_API_UPROBES, 0 };
	struct run_options options = timeline();
	unsigned calls;

	options.api = true;
	options.api_flags = uprobes;
	run_target(&run, &options, "threads", "1000", NULL);
	ck_assert_uint_eq(run.lost, 0);
	calls = run.events[GPUTRACE_EVENT_API];
	ck_assert_uint_gt(calls, 4000);
	run_free(&run);

	for (int which = 1; which <= 3; which++) {
		options.api_ring_bytes = which & 1 ? 4096 : 0;
		options.gpu_ring_bytes = which & 2 ? 4096 : 0;
		run.watch = run_watch_late;
		run_target(&run, &options, "threads", "1000", NULL);
		ck_assert_int_eq(run.lost_calls > 0, which & 1);
		ck_assert_int_eq(run.lost_kernels > 0, which >> 1);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_API] + run.lost_calls, calls);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL] + run.lost_kernels, 4000);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 4000);
		ck_assert_uint_eq(run.lost, run.lost_calls + run.lost_kernels);
		run_free(&run);
	}
}
END_TEST

/* The operating system's side: each launch is seen as a call, which contains it. */
START_TEST(calls_contain_their_launches)
{
	struct run_options options = timeline();
	unsigned launches = 0, synchronisations = 0;

	options.api = true;
	run_plain(&plain, real_device, "vecadd", "64", NULL);
	run_target(&run, &options, "vecadd", "64", NULL);
	assert_same_output();
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		const struct run_event *call = &run.calls[i];

		ck_assert_uint_le(call->time, call->end);
		if (!strcmp(call->name, "cuLaunchKernel")) {
			launches++;
			ck_assert_uint_ne(call->launch_id, 0);
		}
		synchronisations += !strcmp(call->name, "cuStreamSynchronize");
	}
	ck_assert_uint_eq(launches, 64);
	ck_assert_uint_eq(synchronisations, 4);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 64);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("end to end");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, every_launch_becomes_a_kernel);
	tcase_add_test(tcase, kernels_are_tied_to_launches);
	if (!real_device)
		tcase_add_loop_test(tcase, programs_with_rough_ways, 0, 2);
	if (!real_device)
		tcase_add_test(tcase, too_few_descriptors);
	if (!geteuid() && !real_device)
		tcase_add_test(tcase, privileges_dropped_before_cuda);
	tcase_add_test(tcase, strangers_are_sent_away);
	tcase_add_test(tcase, a_crowd_of_strangers);
	tcase_add_test(tcase, attached_and_detached);
	tcase_add_test(tcase, many_hellos_of_one);
	tcase_add_test(tcase, ended_processes_leave_no_memory);
	tcase_add_test(tcase, threads_are_counted_exactly);
	tcase_add_test(tcase, every_way_out_counts);
	tcase_add_test(tcase, lengths_are_measured);
	tcase_add_test(tcase, other_ways_to_pass_parameters);
	tcase_add_test(tcase, handles_out_of_nowhere);
	tcase_add_test(tcase, graphs_replay_with_their_probes);
	tcase_add_test(tcase, modules_come_and_go);
	tcase_add_test(tcase, images_left_as_they_are);
	tcase_add_test(tcase, unknown_routes_are_refused);
	tcase_add_test(tcase, many_threads_launch);
	tcase_add_test(tcase, children_are_followed);
	tcase_add_test(tcase, contexts_have_their_own_maps);
	tcase_add_loop_test(tcase, kernels_count_until_the_end, 0, 3);
	tcase_add_test(tcase, one_of_two_holders_lets_go);
	if (!real_device)
		tcase_add_test(tcase, an_end_that_is_refused);
	tcase_add_test(tcase, variables_of_the_program_stay_its_own);
	tcase_add_loop_test(tcase, every_end_is_survived, 0, 4);
	tcase_add_loop_test(tcase, ended_while_the_agent_works, 1, 12);
	tcase_add_test(tcase, five_programs_at_one_point);
	tcase_add_test(tcase, detached_in_the_middle);
	tcase_add_test(tcase, graph_outlives_its_probes);
	tcase_add_test(tcase, what_is_lost_is_counted);
	if (!geteuid()) {
		tcase_add_test(tcase, bursts_overrun_every_ring);
		tcase_add_test(tcase, calls_contain_their_launches);
	}
	failed = run_case("end to end", tcase);
	if (!failed && geteuid()) {
		fprintf(stderr, "all but three passed: uprobes and a change of user need root\n");
		return 77;
	}
	return failed;
}
