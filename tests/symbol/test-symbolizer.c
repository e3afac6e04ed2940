/* SPDX-License-Identifier: Apache-2.0 */
/* Names of places in tests/symbol/program and its library, which say themselves where these places are. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <grp.h>
#include <gputrace/gputrace.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/symbol/module.h"
#include "lib/symbol/process.h"
#include "lib/symbol/symbolizer.h"
#include "lib/util/proc_stat.h"
#include "tests/suite.h"

struct program {
	pid_t pid;
	FILE *to, *from;
	unsigned long long place, hidden, made, base;
	int inner_line, outer_line;
};

static struct gputrace_symbolizer *symbolizer;

static void setup(void)
{
	ck_assert_int_eq(gputrace_symbolizer_new(NULL, &symbolizer), 0);
}

static void teardown(void)
{
	gputrace_symbolizer_unref(symbolizer);
}

/* ---- the program ---- */

static void listen_to(struct program *program)
{
	char line[256];

	ck_assert_ptr_nonnull(fgets(line, sizeof(line), program->from));
	ck_assert_int_eq(sscanf(line, "%llx %llx %llx %llx %d %d", &program->place, &program->hidden,
				&program->made, &program->base, &program->inner_line, &program->outer_line), 6);
}

/* With a pid of one's choice, if not 0. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
				   .set_tid = pid ? (uintptr_t)&pid : 0, .set_tid_size = pid != 0 };

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void start(struct program *program, pid_t pid, const char *library, const char *hide)
{
	int to[2], from[2], fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
	char *const argv[] = { (char *)(uintptr_t)PROGRAM, (char *)(uintptr_t)library, NULL };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
	program->pid = fork_as(pid);
	ck_assert_msg(program->pid >= 0, "%s", strerror(errno));
	if (program->pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		/* A /tmp of its own, where the library is and nothing that others have. */
		if (hide && (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
			     mount(hide, "/tmp", NULL, MS_BIND, NULL)))
			_exit(77);
		fexecve(fd, argv, environ);
		_exit(99);
	}
	close(fd);
	close(to[0]);
	close(from[1]);
	program->to = fdopen(to[1], "w");
	program->from = fdopen(from[0], "r");
	listen_to(program);
}

static void tell(struct program *program, const char *what)
{
	fputs(what, program->to);
	fputc('\n', program->to);
	fflush(program->to);
}

static void name_made(struct program *program, const char *name)
{
	char line[64];

	snprintf(line, sizeof(line), "map %s", name);
	tell(program, line);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), program->from));
	ck_assert_str_eq(line, "ok\n");
}

static void end(struct program *program)
{
	fclose(program->to);
	fclose(program->from);
	ck_assert_int_eq(waitpid(program->pid, NULL, 0), program->pid);
}

/* A copy of the library in a new folder below /tmp. */
static void copy_library(char *folder, char *path, const char *strip)
{
	char command[512];

	strcpy(folder, "/tmp/gt-symbol-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	sprintf(path, "%s/copy.so", folder);
	snprintf(command, sizeof(command), "%s -o %s %s", strip, path, LIBRARY);
	ck_assert_int_eq(system(command), 0);
}

static void remove_folder(const char *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static void pause_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* ---- what is found ---- */

static const struct gputrace_frame *at(int pid, uint64_t time, uint64_t address)
{
	const struct gputrace_frame *frame;

	ck_assert_int_eq(gputrace_symbolizer_resolve(symbolizer, pid, time, address, &frame), 0);
	ck_assert_uint_eq(gputrace_frame_get_address(frame), address);
	/* Never a silent nothing. */
	ck_assert(gputrace_frame_get_name(frame) || gputrace_frame_get_reason(frame));
	return frame;
}

static void named(const struct gputrace_frame *frame, const char *name)
{
	ck_assert_ptr_nonnull(frame);
	ck_assert_msg(gputrace_frame_get_name(frame) != NULL, "%s", gputrace_frame_get_reason(frame));
	ck_assert_str_eq(gputrace_frame_get_name(frame), name);
}

static void nameless(const struct gputrace_frame *frame, const char *reason)
{
	ck_assert_ptr_null(gputrace_frame_get_name(frame));
	ck_assert_msg(strstr(gputrace_frame_get_reason(frame), reason) != NULL, "%s",
		      gputrace_frame_get_reason(frame));
}

static void in_library_source(const struct gputrace_frame *frame, int line)
{
	ck_assert_ptr_nonnull(gputrace_frame_get_file(frame));
	ck_assert_str_eq(strrchr(gputrace_frame_get_file(frame), '/'), "/library.c");
	if (line)
		ck_assert_uint_eq(gputrace_frame_get_line(frame), (unsigned)line);
}

START_TEST(test_inlined)
{
	const struct gputrace_frame *frame;
	const uint8_t build_id[] = { 0x00, 0x11, 0x22, 0x33, 0xaa, 0xbb, 0xcc, 0xdd };
	struct program program;
	size_t size;

	start(&program, 0, LIBRARY, NULL);
	frame = at(program.pid, 0, program.place);
	named(frame, "inlined_inner");
	in_library_source(frame, program.inner_line);
	ck_assert_str_eq(gputrace_frame_get_module(frame), LIBRARY);
	ck_assert_uint_eq(gputrace_frame_get_offset(frame), program.place - program.base);
	ck_assert_ptr_nonnull(gputrace_frame_get_build_id(frame, &size));
	ck_assert_uint_eq(size, sizeof(build_id));
	ck_assert_mem_eq(gputrace_frame_get_build_id(frame, &size), build_id, size);
	frame = gputrace_frame_get_caller(frame);
	named(frame, "inlined_outer");
	in_library_source(frame, program.outer_line);
	frame = gputrace_frame_get_caller(frame);
	named(frame, "library_place");
	in_library_source(frame, 0);
	ck_assert_ptr_null(gputrace_frame_get_caller(frame));
	/* Asked again it is the same. */
	named(at(program.pid, 0, program.place), "inlined_inner");
	frame = at(program.pid, 0, program.hidden);
	named(frame, "hidden_function");
	ck_assert_ptr_null(gputrace_frame_get_caller(frame));
	end(&program);
}
END_TEST

/* Code without lines lies behind the last line of what is before it, and that ends there. */
START_TEST(test_no_line)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const struct gputrace_frame *frame;
	uint64_t first, lineless, place;

	ck_assert_msg(library != NULL, "%s", dlerror());
	first = (uintptr_t)dlsym(library, "library_first");
	lineless = (uintptr_t)dlsym(library, "library_lineless");
	place = (uintptr_t)dlsym(library, "library_place");
	ck_assert(first < lineless && lineless < place);
	in_library_source(at(getpid(), 0, first), 0);
	in_library_source(at(getpid(), 0, place), 0);
	frame = at(getpid(), 0, lineless + 32);
	named(frame, "library_lineless");
	ck_assert_ptr_null(gputrace_frame_get_file(frame));
	ck_assert_uint_eq(gputrace_frame_get_line(frame), 0);
	dlclose(library);
}
END_TEST

START_TEST(test_loaded_later)
{
	char folder[64], path[96], line[128];
	struct program program;

	copy_library(folder, path, "strip --strip-debug");
	start(&program, 0, LIBRARY, NULL);
	named(at(program.pid, 0, program.hidden), "hidden_function");
	pause_ms(50);
	snprintf(line, sizeof(line), "load %s", path);
	tell(&program, line);
	listen_to(&program);
	named(at(program.pid, 0, program.place), "library_place");
	ck_assert_str_eq(gputrace_frame_get_module(at(program.pid, 0, program.place)), path);
	end(&program);
	remove_folder(folder);
}
END_TEST

/* What /proc/PID has of the main thread is gone: the others tell, also of what was loaded afterwards and deleted. */
START_TEST(test_main_thread_has_ended)
{
	char folder[64], path[96], map[64], line[128];
	struct gt_proc_stat stat;
	struct program program;

	start(&program, 0, LIBRARY, NULL);
	tell(&program, "headless");
	do
		ck_assert_int_eq(gt_proc_stat_read(program.pid, &stat), 0);
	while (stat.code);
	named(at(program.pid, 0, program.place), "inlined_inner");
	copy_library(folder, path, "strip --strip-debug");
	snprintf(line, sizeof(line), "load %s", path);
	tell(&program, line);
	listen_to(&program);
	remove_folder(folder);
	pause_ms(50);
	named(at(program.pid, 0, program.hidden), "hidden_function");
	name_made(&program, "made_by_thread");
	named(at(program.pid, 0, program.made), "made_by_thread");
	end(&program);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)program.pid);
	unlink(map);
}
END_TEST

START_TEST(test_stripped)
{
	char folder[64], path[96];
	struct program program;
	const struct gputrace_frame *frame;

	copy_library(folder, path, "strip");
	start(&program, 0, path, NULL);
	/* What is exported has its name still, and no other place gets it. */
	named(at(program.pid, 0, program.place), "library_place");
	frame = at(program.pid, 0, program.hidden);
	nameless(frame, "the file has no symbol for it");
	ck_assert_str_eq(gputrace_frame_get_module(frame), path);
	ck_assert_uint_eq(gputrace_frame_get_offset(frame), program.hidden - program.base);
	end(&program);
	remove_folder(folder);
}
END_TEST

/* DWARF in a file of its own; where a pipe has its place, nobody waits at it. */
START_TEST(test_debug_file_apart)
{
	char folder[64], path[96], command[512];
	struct program program;

	copy_library(folder, path, "strip --strip-debug");
	snprintf(command, sizeof(command), "cd %s && objcopy --only-keep-debug %s copy.debug && "
		 "objcopy --add-gnu-debuglink=copy.debug copy.so%s", folder, LIBRARY,
		 _i ? " && rm copy.debug && mkfifo copy.debug" : "");
	ck_assert_int_eq(system(command), 0);
	start(&program, 0, path, NULL);
	named(at(program.pid, 0, program.place), _i ? "library_place" : "inlined_inner");
	end(&program);
	remove_folder(folder);
}
END_TEST

/* To open a device may do something, so what is no file is not opened to see that it is none. */
START_TEST(test_no_file_is_not_opened)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd;
	char folder[64], path[96], pipe[96], command[512], events[1024];
	struct program program;

	copy_library(folder, path, "strip --strip-debug");
	snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	snprintf(command, sizeof(command), "cd %s && objcopy --only-keep-debug %s copy.debug && "
		 "objcopy --add-gnu-debuglink=copy.debug copy.so && rm copy.debug && mkfifo pipe && ln -s pipe copy.debug",
		 folder, LIBRARY);
	ck_assert_int_eq(system(command), 0);
	start(&program, 0, path, NULL);
	ck_assert_int_ge(inotify_add_watch(watch, pipe, IN_OPEN), 0);
	named(at(program.pid, 0, program.place), "library_place");
	ck_assert_int_eq((int)read(watch, events, sizeof(events)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	/* This is seen. */
	fd = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_gt((int)read(watch, events, sizeof(events)), 0);
	close(fd);
	close(watch);
	end(&program);
	remove_folder(folder);
}
END_TEST

/* Its first compressed section says that so much is in it. */
static void claim(const char *path, uint64_t bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	ck_assert_int_ge(fd, 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	do {
		section = elf_nextscn(elf, section);
		ck_assert_ptr_nonnull(section);
		ck_assert_ptr_nonnull(gelf_getshdr(section, &header));
	} while (!(header.sh_flags & SHF_COMPRESSED));
	ck_assert_int_eq((int)pwrite(fd, &bytes, sizeof(bytes), (off_t)(header.sh_offset + offsetof(Elf64_Chdr, ch_size))),
			 (int)sizeof(bytes));
	elf_end(elf);
	close(fd);
}

/* The file would take more memory than there is: it is not read at all. */
START_TEST(test_too_much)
{
	static const char *const reasons[] = {
		"its file is larger than 4 GiB", "its file has more than 65279 sections", "more than 4 GiB in its sections",
		"more than 4 GiB in its sections", NULL,
	};
	static const uint16_t more_than_fit_there;
	char folder[64], path[96], command[256];
	struct program program;
	int fd;

	copy_library(folder, path, "strip -N no_such_symbol");
	snprintf(command, sizeof(command), "objcopy --compress-debug-sections=zlib %s", path);
	ck_assert_int_eq(system(command), 0);
	start(&program, 0, path, NULL);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (_i == 0)
		ck_assert_int_eq(ftruncate(fd, (4l << 30) + 1), 0);
	else if (_i == 1)
		ck_assert_int_eq((int)pwrite(fd, &more_than_fit_there, 2, offsetof(Elf64_Ehdr, e_shnum)), 2);
	else if (_i < 4)
		claim(path, _i == 2 ? (4ull << 30) + 1 : UINT64_MAX);
	close(fd);
	if (reasons[_i])
		nameless(at(program.pid, 0, program.place), reasons[_i]);
	else
		named(at(program.pid, 0, program.place), "inlined_inner");
	end(&program);
	remove_folder(folder);
}
END_TEST

/* The same of a separate debugging file: then it is as if there were none. */
START_TEST(test_too_much_in_debug_file)
{
	char folder[64], path[96], debug[96], command[512];
	struct program program;

	copy_library(folder, path, "strip --strip-debug");
	snprintf(debug, sizeof(debug), "%s/copy.debug", folder);
	snprintf(command, sizeof(command), "cd %s && objcopy --only-keep-debug --compress-debug-sections=zlib %s copy.debug && "
		 "objcopy --add-gnu-debuglink=copy.debug copy.so", folder, LIBRARY);
	ck_assert_int_eq(system(command), 0);
	if (_i)
		claim(debug, (4ull << 30) + 1);
	start(&program, 0, path, NULL);
	named(at(program.pid, 0, program.place), _i ? "library_place" : "inlined_inner");
	end(&program);
	remove_folder(folder);
}
END_TEST

/* Mapped and deleted: the kernel still has the file. */
START_TEST(test_deleted)
{
	char folder[64], path[96];
	struct program program;

	copy_library(folder, path, "strip --strip-debug");
	start(&program, 0, path, NULL);
	remove_folder(folder);
	named(at(program.pid, 0, program.hidden), "hidden_function");
	ck_assert_str_eq(gputrace_frame_get_module(at(program.pid, 0, program.hidden)), path);
	end(&program);
}
END_TEST

/* Cut off while it is known, as by a copy over it: what is lost has no name, that is all. */
START_TEST(test_cut_off)
{
	char folder[64], path[96], debug[96], command[512];
	struct program program;

	copy_library(folder, path, _i < 2 ? "strip -N no_such_symbol" : "strip --strip-debug");
	snprintf(debug, sizeof(debug), "%s/copy.debug", folder);
	snprintf(command, sizeof(command), "cd %s && objcopy --only-keep-debug %s copy.debug && "
		 "objcopy --add-gnu-debuglink=copy.debug copy.so", folder, LIBRARY);
	ck_assert_int_eq(system(command), 0);
	start(&program, 0, path, NULL);
	if (_i)
		named(at(program.pid, 0, program.place), "inlined_inner");
	ck_assert_int_eq(truncate(_i < 2 ? path : debug, 0), 0);
	at(program.pid, 0, program.hidden);
	end(&program);
	remove_folder(folder);
}
END_TEST

/* See hostile.S: there is an end to what is believed. */
START_TEST(test_hostile_file)
{
	void *library = dlopen(HOSTILE, RTLD_NOW);
	const struct gputrace_frame *frame;
	unsigned frames = 0;
	char *deep;

	ck_assert_msg(library != NULL, "%s", dlerror());
	deep = dlsym(library, "deep");
	for (frame = at(getpid(), 0, (uintptr_t)deep); frame; frame = gputrace_frame_get_caller(frame), frames++)
		ck_assert_str_eq(gputrace_frame_get_name(frame), gputrace_frame_get_caller(frame) ? "f" : "deep");
	ck_assert_uint_gt(frames, 1);
	ck_assert_uint_lt(frames, 1000);
	frame = at(getpid(), 0, (uintptr_t)deep + 1);
	while (gputrace_frame_get_caller(frame))
		frame = gputrace_frame_get_caller(frame);
	ck_assert_int_eq(strncmp(gputrace_frame_get_name(frame), "namename", 8), 0);
	ck_assert_uint_le(strlen(gputrace_frame_get_name(frame)), 65536);
	dlclose(library);
}
END_TEST

/* What was noted while it ran can be named when process and file are gone; the rest says why not. */
START_TEST(test_ended)
{
	char folder[64], path[96];
	struct program program;
	uint64_t stack[2], time = gt_symbol_now();

	copy_library(folder, path, "strip --strip-debug");
	start(&program, 0, path, NULL);
	time = gt_symbol_now();
	/* Return addresses: they are behind what they name. */
	stack[0] = program.hidden + 1;
	stack[1] = 0;
	gt_symbolizer_note(symbolizer, program.pid, time, stack, 2);
	remove_folder(folder);
	end(&program);
	pause_ms(20);
	named(at(program.pid, time, program.hidden), "hidden_function");
	/* In the same file, which is open. */
	named(at(program.pid, time, program.place), "library_place");
	/* In the program, whose file nobody had asked for but is still there. */
	nameless(at(program.pid, time, program.made), "code made at run time");
}
END_TEST

/* A file that cannot be opened any more is one module, however many of its places are asked about. */
START_TEST(test_missing_once)
{
	struct gt_module *modules = NULL, *first;
	struct gt_symbol_process *process;
	struct gt_identity identity;
	char path[] = "/tmp/missing-XXXXXX";
	int fd = mkstemp(path);
	char *code;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(code, MAP_FAILED);
	close(fd);
	unlink(path);
	ck_assert_int_eq(gt_identity_read(getpid(), &identity), 0);
	process = gt_symbol_process_new(getpid(), &identity, false);
	/* As if it had ended: the kernel does not give the file any more. */
	process->gone = true;
	first = gt_symbol_process_place(process, (uintptr_t)code, &modules)->module;
	ck_assert_ptr_nonnull(first->reason);
	ck_assert_ptr_eq(gt_symbol_process_place(process, (uintptr_t)code + 1, &modules)->module, first);
	ck_assert_ptr_null(first->next);
	gt_symbol_process_free(process);
	gt_module_free(first);
	munmap(code, 4096);
}
END_TEST

/* It has ended, but its parent has not asked for it yet: that is no new program in it. */
START_TEST(test_zombie)
{
	struct program program;
	siginfo_t info;

	start(&program, 0, LIBRARY, NULL);
	named(at(program.pid, 0, program.place), "inlined_inner");
	fclose(program.to);
	program.to = fopen("/dev/null", "w");
	ck_assert_int_eq(waitid(P_PID, (id_t)program.pid, &info, WEXITED | WNOWAIT), 0);
	pause_ms(20);
	named(at(program.pid, 0, program.hidden), "hidden_function");
	end(&program);
}
END_TEST

START_TEST(test_never_seen)
{
	struct program program;

	start(&program, 0, LIBRARY, NULL);
	end(&program);
	nameless(at(program.pid, 0, program.place), "had ended before");
	ck_assert_ptr_null(gputrace_frame_get_module(at(program.pid, 0, program.place)));
}
END_TEST

/* The file is there no more when it is first needed. */
START_TEST(test_ended_and_replaced)
{
	char folder[64], path[96], command[512];
	struct program program;
	uint64_t time, stack = 3;

	for (int gone = 0; gone < 2; gone++) {
		copy_library(folder, path, "strip --strip-debug");
		start(&program, 0, path, NULL);
		time = gt_symbol_now();
		gt_symbolizer_note(symbolizer, program.pid, time, &stack, 1);
		end(&program);
		snprintf(command, sizeof(command), gone ? "rm %s" : "cp %s %s.new && mv %s.new %s", path, path,
			 path, path);
		ck_assert_int_eq(system(command), 0);
		pause_ms(20);
		nameless(at(program.pid, time, program.place), gone ? "deleted" : "replaced");
		ck_assert_str_eq(gputrace_frame_get_module(at(program.pid, time, program.place)), path);
		remove_folder(folder);
	}
}
END_TEST

START_TEST(test_no_place)
{
	const struct gputrace_frame *frame = NULL;

	nameless(at(getpid(), 0, 16), "no code there");
	ck_assert_int_eq(gputrace_symbolizer_resolve(symbolizer, getpid(), 0, 0, &frame), -EINVAL);
	ck_assert_int_eq(gputrace_symbolizer_resolve(symbolizer, 0, 0, 1, &frame), -EINVAL);
	ck_assert_ptr_null(frame);
	ck_assert_ptr_null(gputrace_symbolizer_unref(NULL));
}
END_TEST

/* ---- code made at run time ---- */

START_TEST(test_perf_map)
{
	const struct gputrace_frame *frame;
	struct program program;
	char path[64];

	start(&program, 0, LIBRARY, NULL);
	nameless(at(program.pid, 0, program.made + 1), "no /tmp/perf-PID.map names it");
	name_made(&program, "py::work:/srv/work.py");
	frame = at(program.pid, 0, program.made + 0x7f);
	named(frame, "py::work:/srv/work.py");
	ck_assert_uint_eq(gputrace_frame_get_offset(frame), 0x7f);
	ck_assert_str_eq(gputrace_frame_get_module(frame), "[memory]");
	nameless(at(program.pid, 0, program.made + 0x80), "no /tmp/perf-PID.map names it");
	/* The program's word, from when it lived. */
	end(&program);
	pause_ms(20);
	named(at(program.pid, 0, program.made + 0x10), "py::work:/srv/work.py");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)program.pid);
	unlink(path);
}
END_TEST

/* Another user may not name the program's code. */
START_TEST(test_foreign_perf_map)
{
	struct program program;
	char path[64];

	start(&program, 0, LIBRARY, NULL);
	name_made(&program, "lie");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)program.pid);
	ck_assert_int_eq(chown(path, 65534, 65534), 0);
	nameless(at(program.pid, 0, program.made), "no /tmp/perf-PID.map names it");
	end(&program);
	unlink(path);
}
END_TEST

/* Nor may it have files read that only we may read, by a link in the place of its own. */
START_TEST(test_linked_perf_map)
{
	char path[64], secret[64];
	struct program program;

	start(&program, 0, LIBRARY, NULL);
	name_made(&program, "secret");
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)program.pid);
	snprintf(secret, sizeof(secret), "/tmp/gt-secret-%d", (int)program.pid);
	ck_assert_int_eq(rename(path, secret), 0);
	ck_assert_int_eq(symlink(secret, path), 0);
	nameless(at(program.pid, 0, program.made), "no /tmp/perf-PID.map names it");
	end(&program);
	unlink(path);
	unlink(secret);
}
END_TEST

/* ---- which process ---- */

/* A number that was given to another process: each time has its own. */
START_TEST(test_pid_reuse)
{
	struct program first, second;
	uint64_t time;

	start(&first, 0, LIBRARY, NULL);
	time = gt_symbol_now();
	named(at(first.pid, time, first.hidden), "hidden_function");
	end(&first);
	pause_ms(40);
	start(&second, first.pid, LIBRARY, NULL);
	ck_assert_int_eq(second.pid, first.pid);
	ck_assert_uint_ne(second.hidden, first.hidden);
	named(at(second.pid, 0, second.hidden), "hidden_function");
	named(at(first.pid, time, first.hidden), "hidden_function");
	named(at(first.pid, time, first.place), "inlined_inner");
	nameless(at(second.pid, 0, first.hidden), "no code there");
	nameless(at(first.pid, time, second.hidden), "no code there");
	end(&second);
}
END_TEST

/* Events of one that nobody knows, whose number has another process by now. */
START_TEST(test_pid_reuse_unseen)
{
	struct program first, second;
	uint64_t time;

	start(&first, 0, LIBRARY, NULL);
	time = gt_symbol_now();
	end(&first);
	pause_ms(40);
	start(&second, first.pid, LIBRARY, NULL);
	nameless(at(first.pid, time, second.hidden), "had ended before");
	named(at(second.pid, 0, second.hidden), "hidden_function");
	end(&second);
}
END_TEST

START_TEST(test_exec)
{
	struct program program;
	uint64_t old;

	start(&program, 0, LIBRARY, NULL);
	old = program.hidden;
	named(at(program.pid, 0, old), "hidden_function");
	tell(&program, "exec");
	listen_to(&program);
	ck_assert_uint_ne(program.hidden, old);
	named(at(program.pid, 0, program.hidden), "hidden_function");
	nameless(at(program.pid, 0, old), "no code there");
	end(&program);
}
END_TEST

/* ---- other rights, other roots ---- */

/* In a container: the library and the perf map are where only the program sees them. */
START_TEST(test_mount_namespace)
{
	char folder[64], path[96];
	struct program program;
	uint64_t stack[2], time;

	copy_library(folder, path, "strip --strip-debug");
	start(&program, 0, "/tmp/copy.so", folder);
	ck_assert_int_ne(access("/tmp/copy.so", R_OK), 0);
	name_made(&program, "inside");
	time = gt_symbol_now();
	stack[0] = program.made + 1;
	stack[1] = program.hidden + 1;
	gt_symbolizer_note(symbolizer, program.pid, time, stack, 2);
	end(&program);
	/* Nothing of it is kept busy. */
	remove_folder(folder);
	pause_ms(20);
	named(at(program.pid, time, program.made), "inside");
	named(at(program.pid, time, program.hidden), "hidden_function");
	ck_assert_str_eq(gputrace_frame_get_module(at(program.pid, time, program.hidden)), "/tmp/copy.so");
	nameless(at(program.pid, time, program.made + 0x80), "no /tmp/perf-PID.map names it");
}
END_TEST

static void become_ordinary(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
	ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
	ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

START_TEST(test_ordinary_user)
{
	struct program program;

	start(&program, 0, LIBRARY, NULL);
	become_ordinary();
	nameless(at(program.pid, 0, program.hidden), "not allowed to see");
	/* Its own process, by the names of the files. */
	named(at(getpid(), 0, (uintptr_t)gputrace_symbolizer_new), "gputrace_symbolizer_new");
	end(&program);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("symbolizer");
	TCase *t = tcase_create("files"), *p = tcase_create("processes");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_inlined);
	tcase_add_test(t, test_no_line);
	tcase_add_test(t, test_loaded_later);
	tcase_add_test(t, test_main_thread_has_ended);
	tcase_add_test(t, test_stripped);
	tcase_add_loop_test(t, test_debug_file_apart, 0, 2);
	tcase_add_test(t, test_no_file_is_not_opened);
	tcase_add_loop_test(t, test_too_much, 0, 5);
	tcase_add_loop_test(t, test_too_much_in_debug_file, 0, 2);
	tcase_add_test(t, test_deleted);
	tcase_add_loop_test(t, test_cut_off, 0, 3);
	tcase_add_test(t, test_hostile_file);
	tcase_add_test(t, test_ended);
	tcase_add_test(t, test_missing_once);
	tcase_add_test(t, test_zombie);
	tcase_add_test(t, test_never_seen);
	tcase_add_test(t, test_ended_and_replaced);
	tcase_add_test(t, test_no_place);
	tcase_add_test(t, test_perf_map);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(p, setup, teardown);
	tcase_add_test(p, test_foreign_perf_map);
	tcase_add_test(p, test_linked_perf_map);
	tcase_add_test(p, test_pid_reuse);
	tcase_add_test(p, test_pid_reuse_unseen);
	tcase_add_test(p, test_exec);
	tcase_add_test(p, test_mount_namespace);
	tcase_add_test(p, test_ordinary_user);
	suite_add_tcase(s, p);
	return s;
}

int main(void)
{
	if (getuid()) {
		printf("skipped: needs root, to choose process numbers and make namespaces\n");
		return 77;
	}
	return run_suite(suite());
}
