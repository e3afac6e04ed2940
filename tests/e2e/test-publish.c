/* SPDX-License-Identifier: Apache-2.0 */
/* One process reads a program's stream and publishes it, others read along. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/gputrace.h>

#include "lib/reader/message.h"
#include "lib/target/kernel.h"
#include "tests/suite.h"

static char folder[64], path[96];
static struct gputrace_target *target;
static struct gputrace_reader *reader;
static struct gputrace_link *links[4];

static void setup(void)
{
	strcpy(folder, "/tmp/gt-publish-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/stream", folder);
}

static void teardown(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- the process that publishes ---- */

static void publish(uint64_t buffer_bytes, uint32_t linger_ms)
{
	struct gputrace_publish_opts opts = { .size = sizeof(opts), .buffer_bytes = buffer_bytes,
					      .linger_ms = linger_ms };
	int r = gputrace_reader_publish(reader, path, &opts);

	ck_assert_msg(r == 0, "%s", gputrace_last_error());
}

/* It waits to be resumed. */
static void prepare(const char *what, const char *number)
{
	struct gputrace_spawn_opts spawn = { .size = sizeof(spawn), .device = GPUTRACE_DEVICE_SIM };
	struct gputrace_api_opts api = { .size = sizeof(api), .flags = GPUTRACE_API_AGENT, .stack_frames = 8 };
	char *argv[] = { (char *)(uintptr_t)TARGET_PATH, (char *)(uintptr_t)what, (char *)(uintptr_t)number, NULL };

	ck_assert_msg(!gputrace_target_spawn(NULL, argv, &spawn, &target), "%s", gputrace_last_error());
	ck_assert_int_eq(gputrace_attach_timeline(target, &links[0]), 0);
	ck_assert_int_eq(gputrace_attach_api(target, &api, &links[1]), 0);
	ck_assert_int_eq(gputrace_attach_nvtx(target, &links[2]), 0);
	ck_assert_int_eq(gputrace_attach_copies(target, &links[3]), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_msg(!gputrace_reader_add_metrics(reader, NULL), "%s", gputrace_last_error());
}

static void finish(void)
{
	gputrace_reader_unref(reader);
	for (int i = 0; i < 4; i++)
		gputrace_link_unref(links[i]);
	gputrace_target_unref(target);
}

/* ---- what a reader got ---- */

static void write_event(FILE *file, const struct gputrace_event *e)
{
	const struct gputrace_gpu *gpu = gputrace_event_get_gpu(e);
	const uint32_t *grid = gputrace_event_get_grid(e), *block = gputrace_event_get_block(e);
	unsigned arg_count, stack_count;
	const uint64_t *args = gputrace_event_get_args(e, &arg_count), *stack = gputrace_event_get_stack(e, &stack_count);
	const char *texts[] = { gputrace_event_get_name(e), gputrace_event_get_text(e), gputrace_event_get_domain(e),
				gputrace_event_get_command(e), gputrace_event_get_unit(e) };
	uint64_t numbers[] = {
		gputrace_event_get_time(e), gputrace_event_get_end(e), gputrace_event_get_time_error(e),
		gputrace_event_get_gpu_start(e), gputrace_event_get_gpu_end(e), gputrace_event_get_launch_id(e),
		gputrace_event_get_range_id(e), gputrace_event_get_external_id(e), gputrace_event_get_stream(e),
		gputrace_event_get_return_value(e), gputrace_event_get_count(e), gputrace_event_get_kernel_id(e),
		gputrace_event_get_context(e), gputrace_event_get_shared_bytes(e), gputrace_event_get_copy_bytes(e),
		(uint64_t)gputrace_event_get_copy_kind(e),
	};
	const unsigned char *data;
	size_t size;

	fprintf(file, "%d %d/%d %d %d %d:", gputrace_event_get_type(e), gputrace_event_get_pid(e), gputrace_event_get_tid(e),
		gputrace_event_get_device(e), gputrace_event_get_result(e), gputrace_event_get_stack_end(e));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		fprintf(file, " %llx", (unsigned long long)numbers[i]);
	for (int i = 0; i < 3; i++)
		fprintf(file, " %u,%u", grid[i], block[i]);
	for (unsigned i = 0; i < arg_count; i++)
		fprintf(file, " %s=%llx", gputrace_event_get_arg_name(e, i), (unsigned long long)args[i]);
	for (unsigned i = 0; i < stack_count; i++)
		fprintf(file, " @%llx", (unsigned long long)stack[i]);
	for (int i = 0; i < 5; i++)
		fprintf(file, " %s", texts[i] ? texts[i] : "(none)");
	if (gpu)
		fprintf(file, " gpu %u %s %s %u %u %02x", gputrace_gpu_get_index(gpu), gputrace_gpu_get_name(gpu),
			gputrace_gpu_get_pci_address(gpu), gputrace_gpu_get_arch(gpu), gputrace_gpu_get_sm_count(gpu),
			gputrace_gpu_get_uuid(gpu)[15]);
	fprintf(file, " %a", gputrace_event_get_metric_value(e));
	data = gputrace_event_get_data(e, &size);
	for (size_t i = 0; i < size; i++)
		fprintf(file, "%s%02x", i ? "" : " ", data[i]);
	fputc('\n', file);
}

/* What is known at the end of the kernels. */
static void write_kernels(struct gputrace_reader *from, FILE *file)
{
	const struct gputrace_kernel *kernel = NULL;

	while ((kernel = gputrace_reader_next_kernel(from, kernel))) {
		const char *reason = gputrace_kernel_get_reason(kernel);

		fprintf(file, "kernel %s %s %d %u %u %d %s %u %u %u %llu %llu\n", gputrace_kernel_get_name(kernel),
			gputrace_kernel_get_display_name(kernel), gputrace_kernel_get_pid(kernel),
			gputrace_kernel_get_id(kernel), gputrace_kernel_get_module(kernel),
			gputrace_kernel_get_route(kernel), reason ? reason : "(none)", gputrace_kernel_get_arch(kernel),
			gputrace_kernel_get_registers(kernel), gputrace_kernel_get_shared_bytes(kernel),
			(unsigned long long)gputrace_kernel_get_launches(kernel),
			(unsigned long long)gputrace_kernel_get_plain_launches(kernel));
	}
}

/* To the end; returns why that is. */
static int write_all(struct gputrace_reader *from, FILE *file)
{
	const struct gputrace_event *event;
	int r;

	while ((r = gputrace_reader_wait(from, -1)) == 1) {
		while ((event = gputrace_reader_next(from)))
			write_event(file, event);
	}
	write_kernels(from, file);
	return r;
}

/* A process that reads along: its file is `name` in the folder; exits with 0 if the stream ended as it should. */
static pid_t follow(const char *name)
{
	int ready[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct gputrace_reader *follower;
		char file_name[128];
		FILE *file;
		int r;

		if (gputrace_reader_connect(path, &follower))
			_exit(2);
		if (write(ready[1], "c", 1) != 1)
			_exit(3);
		snprintf(file_name, sizeof(file_name), "%s/%s", folder, name);
		file = fopen(file_name, "w");
		r = write_all(follower, file);
		fclose(file);
		gputrace_reader_unref(follower);
		_exit(r == -ENODATA ? 0 : 1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void await(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* ---- */

/* Two follow from before the beginning: what they get is what we get, to the last bit. */
START_TEST(the_same_events)
{
	char own[128], command[512];
	struct stat status;
	pid_t followers[2];
	FILE *file;

	prepare("graph", "3");
	publish(0, 300000);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_int_eq(status.st_mode & 0777, 0600);
	followers[0] = follow("first");
	followers[1] = follow("second");
	snprintf(own, sizeof(own), "%s/own", folder);
	file = fopen(own, "w");
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	ck_assert_int_eq(write_all(reader, file), -ENODATA);
	fclose(file);
	finish();
	await(followers[0]);
	await(followers[1]);
	/* Kernels of graphs, calls with arguments and stacks, metrics, and the GPU are in it. */
	snprintf(command, sizeof(command), "cd %s && cmp own first && cmp own second && grep -q ' gpu 0 ' own && "
		 "grep -q 'cuGraphLaunch' own && grep -q ' @' own && grep -q '^6 ' own && grep -q 'power.draw .* W .*gpu 0 .* 0x1' own && grep -q '^kernel ' own && rm own first second", folder);
	ck_assert_int_eq(system(command), 0);
	/* With the reader the path is gone. */
	ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

static struct gputrace_reader *slow;
static uint64_t slow_events, slow_lost;
static int slow_end;

static void *read_late(void *nothing)
{
	const struct gputrace_event *event;

	while ((slow_end = gputrace_reader_wait(slow, -1)) == 1) {
		while ((event = gputrace_reader_next(slow))) {
			if (gputrace_event_get_type(event) == GPUTRACE_EVENT_LOST)
				slow_lost += gputrace_event_get_count(event);
			else
				slow_events++;
		}
	}
	return nothing;
}

/* It reads nothing until all is over, and then hears how much it missed; nobody waited for it. */
START_TEST(a_slow_one)
{
	const struct gputrace_event *event;
	uint64_t events = 0;
	pthread_t thread;
	int r;

	prepare("threads", "1000");
	publish(65536, 300000);
	ck_assert_int_eq(gputrace_reader_connect(path, &slow), 0);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while ((r = gputrace_reader_wait(reader, -1)) == 1) {
		while ((event = gputrace_reader_next(reader)))
			events++;
	}
	ck_assert_int_eq(r, -ENODATA);
	ck_assert_uint_eq(gputrace_reader_get_lost(reader), 0);
	ck_assert_uint_gt(events, 3 * 4000);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_late, NULL), 0);
	finish();
	pthread_join(thread, NULL);
	ck_assert_int_eq(slow_end, -ENODATA);
	ck_assert_uint_gt(slow_lost, 0);
	ck_assert_uint_gt(slow_events, 0);
	ck_assert_uint_eq(slow_events + slow_lost, events);
	ck_assert_uint_eq(gputrace_reader_get_lost(slow), slow_lost);
	gputrace_reader_unref(slow);
}
END_TEST

static void *write_late(void *file)
{
	slow_end = write_all(slow, file);
	return NULL;
}

/* Who comes late is told of the kernels that were known before, and in the end how often all were launched. */
START_TEST(kernels_known_before)
{
	FILE *files[2] = { tmpfile(), tmpfile() };
	char *texts[2] = { NULL }, *lists[2];
	size_t sizes[2] = { 0 };
	pthread_t thread;

	prepare("threads", "100");
	publish(0, 300000);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while (!gputrace_reader_next_kernel(reader, NULL)) {
		ck_assert_int_eq(gputrace_reader_wait(reader, -1), 1);
		while (gputrace_reader_next(reader))
			;
	}
	ck_assert_int_eq(gputrace_reader_connect(path, &slow), 0);
	ck_assert_ptr_null(gputrace_reader_next_kernel(slow, NULL));
	ck_assert_int_eq(pthread_create(&thread, NULL, write_late, files[1]), 0);
	ck_assert_int_eq(write_all(reader, files[0]), -ENODATA);
	finish();
	pthread_join(thread, NULL);
	ck_assert_int_eq(slow_end, -ENODATA);
	gputrace_reader_unref(slow);
	for (int i = 0; i < 2; i++) {
		rewind(files[i]);
		ck_assert_int_gt(getdelim(&texts[i], &sizes[i], 0, files[i]), 0);
		lists[i] = strstr(texts[i], "\nkernel ");
		fclose(files[i]);
	}
	ck_assert_ptr_nonnull(lists[0]);
	ck_assert_ptr_nonnull(lists[1]);
	ck_assert_str_eq(lists[0], lists[1]);
	free(texts[0]);
	free(texts[1]);
}
END_TEST

static int knock(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -1 : fd;
}

/* Those who talk, hang up, are too many or another's get nothing, and disturb nobody. */
START_TEST(unwanted_ones)
{
	pid_t follower, stranger;
	int fds[100], status;
	char own[128];
	FILE *file;

	prepare("vecadd", "5");
	publish(0, 300000);
	follower = follow("first");
	ck_assert_int_eq(gputrace_reader_wait(reader, 0), 0);
	/* Whoever changes the rights of the path does not change who may follow. */
	ck_assert_int_eq(chmod(path, 0666) | chmod(folder, 0755), 0);
	stranger = geteuid() ? 0 : fork();
	if (!stranger && !geteuid()) {
		struct gputrace_reader *none;

		if (setuid(65534) || gputrace_reader_connect(path, &none))
			_exit(2);
		_exit(gputrace_reader_wait(none, -1) == -ECONNRESET ? 0 : 1);
	}
	for (int i = 0; i < 100; i++) {
		fds[i] = knock();
		ck_assert_int_ge(fds[i], 0);
		ck_assert_int_eq(gputrace_reader_wait(reader, 0), 0);
		if (i % 3 == 0)
			ck_assert_int_eq(send(fds[i], "hello", 5, MSG_NOSIGNAL), 5);
		if (i % 3 == 1)
			close(fds[i]);
	}
	for (int i = 0; stranger && !waitpid(stranger, &status, WNOHANG); i++)
		gputrace_reader_wait(reader, 1);
	ck_assert_int_eq(stranger ? status : 0, 0);
	snprintf(own, sizeof(own), "%s/own", folder);
	file = fopen(own, "w");
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	ck_assert_int_eq(write_all(reader, file), -ENODATA);
	fclose(file);
	for (int i = 0; i < 100; i++) {
		if (i % 3 != 1)
			close(fds[i]);
	}
	finish();
	await(follower);
	snprintf(own, sizeof(own), "cd %s && cmp own first && rm own first", folder);
	ck_assert_int_eq(system(own), 0);
}
END_TEST

/* Its followers are told; the path that it leaves behind is in nobody's way. */
START_TEST(a_controller_that_is_killed)
{
	struct gputrace_reader *follower;
	int ready[2], r;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prepare("vecadd", "1");
		publish(0, 0);
		if (write(ready[1], "p", 1) != 1)
			_exit(1);
		for (;;)
			gputrace_reader_wait(reader, 100);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(gputrace_reader_connect(path, &follower), 0);
	ck_assert_int_eq(gputrace_reader_wait(follower, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	while ((r = gputrace_reader_wait(follower, -1)) == 1)
		gputrace_reader_next(follower);
	ck_assert_int_eq(r, -ECONNRESET);
	gputrace_reader_unref(follower);
	ck_assert_int_eq(gputrace_reader_connect(path, &follower), -ECONNREFUSED);
	prepare("vecadd", "1");
	publish(0, 0);
	finish();
}
END_TEST

static void refuse(int error, const char *where, uint64_t bytes)
{
	struct gputrace_publish_opts opts = { .size = sizeof(opts), .buffer_bytes = bytes };

	ck_assert_int_eq(gputrace_reader_publish(reader, where, &opts), error);
}

START_TEST(what_is_refused)
{
	char file[128], long_path[200];
	struct gputrace_reader *follower, *other = NULL;
	struct gputrace_target *one = NULL;

	prepare("vecadd", "1");
	memset(long_path, 'a', sizeof(long_path));
	long_path[199] = 0;
	refuse(-EINVAL, NULL, 0);
	refuse(-EINVAL, "", 0);
	refuse(-EINVAL, long_path, 0);
	refuse(-EINVAL, path, 1000);
	refuse(-ENOENT, "/nowhere/stream", 0);
	/* A file that is none of ours stays. */
	snprintf(file, sizeof(file), "%s/file", folder);
	fclose(fopen(file, "w"));
	refuse(-EADDRINUSE, file, 0);
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(gputrace_reader_connect(path, &follower), -ENOENT);
	ck_assert_int_eq(gputrace_reader_connect(long_path, &follower), -EINVAL);
	publish(0, 0);
	refuse(-EBUSY, file, 0);
	one = target;
	other = reader;
	ck_assert_int_eq(gputrace_reader_connect(path, &follower), 0);
	reader = follower;
	refuse(-EBUSY, file, 0);
	reader = NULL;
	/* While somebody listens, the path is taken. */
	ck_assert_int_eq(gputrace_target_watch(NULL, getpid(), &target), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	refuse(-EADDRINUSE, path, 0);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	gputrace_reader_unref(follower);
	target = one;
	reader = other;
	finish();
}
END_TEST

/* ---- a server that lies ---- */

/* A stream as it is sent. */
_Alignas(uint64_t) static char stream[1 << 20];
static size_t stream_size;

static void record_stream(void)
{
	ssize_t n;
	int fd;

	prepare("vecadd", "3");
	publish(0, 0);
	fd = knock();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while (gputrace_reader_wait(reader, -1) == 1) {
		while (gputrace_reader_next(reader))
			;
	}
	while ((n = recv(fd, stream + stream_size, sizeof(stream) - stream_size, MSG_DONTWAIT)) > 0)
		stream_size += (size_t)n;
	finish();
	while ((n = recv(fd, stream + stream_size, sizeof(stream) - stream_size, 0)) > 0)
		stream_size += (size_t)n;
	close(fd);
	ck_assert_uint_gt(stream_size, 1000);
	ck_assert_uint_lt(stream_size, sizeof(stream));
}

/* What comes of these bytes, sent by somebody at the path. */
static int read_bytes(int listener, const char *bytes, size_t size)
{
	struct gputrace_reader *follower;
	FILE *file = fopen("/dev/null", "w");
	int fd, r;

	ck_assert_int_eq(gputrace_reader_connect(path, &follower), 0);
	fd = accept(listener, NULL, NULL);
	if (!fork()) {
		while (size) {
			ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

			if (n <= 0)
				break;
			bytes += n;
			size -= (size_t)n;
		}
		_exit(0);
	}
	close(fd);
	r = write_all(follower, file);
	gputrace_reader_unref(follower);
	fclose(file);
	wait(NULL);
	return r;
}

static int listen_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	return listener;
}

START_TEST(a_server_that_lies)
{
	uint32_t random = 1;
	int listener, r;
	char *changed;

	record_stream();
	listener = listen_there();
	ck_assert_int_eq(read_bytes(listener, stream, stream_size), -ENODATA);
	ck_assert_int_eq(read_bytes(listener, stream, stream_size - 8), -ECONNRESET);
	ck_assert_int_eq(read_bytes(listener, stream, 0), -ECONNRESET);
	/* Without the greeting; another version's; too large; not whole words. */
	ck_assert_int_eq(read_bytes(listener, stream + 48, stream_size - 48), -EPROTO);
	changed = malloc(stream_size);
	for (int i = 0; i < 400; i++) {
		memcpy(changed, stream, stream_size);
		for (int j = 0; j < 4; j++) {
			random = random * 1664525 + 1013904223;
			changed[(random >> 8) % stream_size] = (char)random;
		}
		r = read_bytes(listener, changed, stream_size);
		ck_assert_msg(r == -ENODATA || r == -EPROTO || r == -ECONNRESET, "%d", r);
	}
	memcpy(changed, stream, stream_size);
	changed[16] ^= 1;
	ck_assert_int_eq(read_bytes(listener, changed, stream_size), -EPROTO);
	memcpy(changed, stream, stream_size);
	memcpy(changed + 48, (uint32_t[]){ 0xfffffff8u }, 4);
	ck_assert_int_eq(read_bytes(listener, changed, stream_size), -EPROTO);
	memcpy(changed + 48, (uint32_t[]){ 12 }, 4);
	ck_assert_int_eq(read_bytes(listener, changed, stream_size), -EPROTO);
	free(changed);
	close(listener);
}
END_TEST

/* The first message of a kernel in the stream. */
static struct gt_message_kernel *find_kernel(void)
{
	struct gt_message_head *head = (void *)stream;

	while (head->kind != GT_MESSAGE_KERNEL) {
		ck_assert_uint_lt((size_t)((char *)head - stream), stream_size);
		head = (void *)((char *)head + head->size);
	}
	return (void *)head;
}

static void expect_nonsense(int listener)
{
	ck_assert_int_eq(read_bytes(listener, stream, stream_size), -EPROTO);
}

START_TEST(kernels_that_make_no_sense)
{
	struct gt_message_kernel *kernel, good;
	struct gt_message_head end;
	char *name;
	int listener;

	record_stream();
	listener = listen_there();
	kernel = find_kernel();
	good = *kernel;
	name = (char *)(kernel + 1);
	ck_assert_str_eq(name, "vecadd");
	kernel->number = GT_KERNELS_MAX;
	expect_nonsense(listener);
	*kernel = good;
	kernel->route = 3;
	expect_nonsense(listener);
	*kernel = good;
	kernel->name_size = 0;
	kernel->reason_size += good.name_size;
	expect_nonsense(listener);
	*kernel = good;
	kernel->name_size = UINT32_MAX;
	kernel->reason_size = good.name_size + 1;
	expect_nonsense(listener);
	*kernel = good;
	name[3] = 0;
	expect_nonsense(listener);
	name[3] = 'a';
	name[6] = '!';
	expect_nonsense(listener);
	name[6] = 0;
	/* Once more, in place of the end, it is news of the same kernel; of that number there is no other. */
	memcpy(&end, stream + stream_size - sizeof(struct gt_message_end), sizeof(end));
	ck_assert_uint_eq(end.kind, GT_MESSAGE_END);
	stream_size -= sizeof(struct gt_message_end);
	memcpy(stream + stream_size, kernel, good.head.size);
	stream_size += good.head.size;
	ck_assert_int_eq(read_bytes(listener, stream, stream_size), -ECONNRESET);
	kernel->id++;
	expect_nonsense(listener);
	close(listener);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("publish");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, the_same_events);
	tcase_add_test(tcase, a_slow_one);
	tcase_add_test(tcase, kernels_known_before);
	tcase_add_test(tcase, unwanted_ones);
	tcase_add_test(tcase, a_controller_that_is_killed);
	tcase_add_test(tcase, what_is_refused);
	tcase_add_test(tcase, a_server_that_lies);
	tcase_add_test(tcase, kernels_that_make_no_sense);
	return run_case("publish", tcase);
}
