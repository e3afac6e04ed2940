/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program LIBRARY: loads it, says where places in it are, and obeys a line at a time:
 *	map NAME	give a made place a name in /tmp/perf-PID.map
 *	exec		begin anew
 *	headless	the main thread ends, another one goes on
 *	load LIBRARY	load another one and say where its places are
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *made;

static void become_headless(void);

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *place, *hidden;
	int *inner, *outer;
	Dl_info info;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	place = ((void *(*)(void))dlsym(library, "library_place"))();
	hidden = ((void *(*)(void))dlsym(library, "library_hidden"))();
	inner = dlsym(library, "library_inner_line");
	outer = dlsym(library, "library_outer_line");
	if (!dladdr(dlsym(library, "library_place"), &info))
		exit(3);
	printf("%p %p %p %p %d %d\n", place, hidden, made, info.dli_fbase, *inner, *outer);
	fflush(stdout);
}

static void name_made(const char *name)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "a");
	if (!f)
		exit(4);
	fprintf(f, "%llx 80 %s\n", (unsigned long long)(uintptr_t)made, name);
	fclose(f);
	puts("ok");
	fflush(stdout);
}

static char **arguments;

static void *obey(void *nothing)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "map ", 4))
			name_made(line + 4);
		else if (!strncmp(line, "load ", 5))
			load(line + 5);
		else if (!strcmp(line, "exec"))
			execv("/proc/self/exe", arguments);
		else if (!strcmp(line, "headless"))
			become_headless();
	}
	/* Nothing at exit, no look for leaks either: the library may have been cut off, and must not be touched. */
	_exit(0);
	return nothing;
}

/* Another thread goes on; the main one ends. */
static void become_headless(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, obey, NULL))
		pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	arguments = argv;
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc != 2 || made == MAP_FAILED)
		return 1;
	made = (char *)made + 0x100;
	load(argv[1]);
	obey(NULL);
}
