/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target without a fuzzer, as a test: every seed as it is, then
 * mutations of it, the same ones each time.  What kills the target is kept in
 * a file, and the target is run on that file by giving its name.
 *
 *	test-TARGET			seeds and mutations
 *	test-TARGET FILE...		these inputs alone
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/mutate.h"

#define SECONDS 4.0		/* for all mutations, shared out evenly among the seeds */
#define MUTATIONS 400		/* of each seed, should there be time */
#define HANG 60			/* seconds for one input that count as no answer */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the child is; it may not live to tell. */
static volatile unsigned *progress;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void read_input(const char *path, struct bytes *input)
{
	FILE *file = fopen(path, "rb");

	if (!file || fseek(file, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	input->size = (size_t)ftell(file);
	rewind(file);
	input->data = malloc(input->size + 1);
	if (!input->data || fread(input->data, 1, input->size, file) != input->size) {
		perror(path);
		exit(1);
	}
	fclose(file);
}

/* A copy of exactly that size, so that a sanitizer sees what reads beyond it. */
static void run_exactly(const struct bytes *input)
{
	uint8_t *copy = malloc(input->size ? input->size : 1);

	if (!copy)
		exit(1);
	memcpy(copy, input->data, input->size);
	alarm(HANG);
	LLVMFuzzerTestOneInput(copy, input->size);
	alarm(0);
	free(copy);
}

static void run_seed(const struct corpus *corpus, unsigned seed, double seconds)
{
	double end = now() + seconds;

	for (*progress = 0; *progress <= MUTATIONS && (*progress <= 1 || now() < end); ++*progress) {
		struct bytes input = mutate(corpus, seed, *progress);

		run_exactly(&input);
		free(input.data);
	}
	exit(0);
}

static void keep_input(const struct corpus *corpus, unsigned seed, unsigned mutation)
{
	struct bytes input = mutate(corpus, seed, mutation);
	char name[300];
	FILE *file;

	snprintf(name, sizeof(name), "fuzz/failed-" FUZZ_TARGET "-%s-%u", corpus->names[seed], mutation);
	file = fopen(name, "wb");
	if (file && fwrite(input.data, 1, input.size, file) == input.size && !fclose(file))
		printf("kept as %s\n", name);
	else
		printf("could not be kept as %s\n", name);
	free(input.data);
}

/* In a process of its own; 0 or 1 failure, and how many inputs. */
static int try_seed(const struct corpus *corpus, unsigned seed, double seconds, unsigned *inputs)
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (!pid)
		run_seed(corpus, seed, seconds);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return 1;
	}
	*inputs += *progress;
	if (!status)
		return 0;
	printf("FAILED: seed %s, mutation %u: %s %d\n", corpus->names[seed], *progress,
	       WIFSIGNALED(status) ? "signal" : "status",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	keep_input(corpus, seed, *progress);
	return 1;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void read_corpus(struct corpus *corpus)
{
	struct dirent **entries;
	int i, count = scandir(FUZZ_SEEDS, &entries, visible, alphasort);
	char path[4096];

	if (count <= 0) {
		fprintf(stderr, "no seeds in %s\n", FUZZ_SEEDS);
		exit(1);
	}
	corpus->count = (unsigned)count;
	corpus->names = calloc((size_t)count, sizeof(*corpus->names));
	corpus->seeds = calloc((size_t)count, sizeof(*corpus->seeds));
	if (!corpus->names || !corpus->seeds)
		exit(1);
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", FUZZ_SEEDS, entries[i]->d_name);
		read_input(path, &corpus->seeds[i]);
		corpus->names[i] = strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static void free_corpus(struct corpus *corpus)
{
	for (unsigned i = 0; i < corpus->count; i++) {
		free(corpus->seeds[i].data);
		free(corpus->names[i]);
	}
	free(corpus->seeds);
	free(corpus->names);
}

int main(int argc, char **argv)
{
	struct corpus corpus;
	unsigned inputs = 0, failed = 0;

	if (argc > 1) {
		for (int i = 1; i < argc; i++) {
			struct bytes input;

			read_input(argv[i], &input);
			run_exactly(&input);
			free(input.data);
		}
		return 0;
	}
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (progress == MAP_FAILED)
		return 1;
	read_corpus(&corpus);
	for (unsigned i = 0; i < corpus.count; i++)
		failed += (unsigned)try_seed(&corpus, i, SECONDS / corpus.count, &inputs);
	printf("%u seeds, %u inputs, %u failed\n", corpus.count, inputs, failed);
	free_corpus(&corpus);
	return failed != 0;
}
