/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grafts onto every kernel that NVIDIA's libraries ship for sm_80 and sm_90, and
 * says how many took their probes and why the others did not: at entry, at both ends,
 * at exit such that read the kernel's parameters, and for sm_90 at memory accesses, with how many of these; and
 * what time and room it took.  Each result has passed the check of gt_graft().  Counts also those that could be run from a second module.  Skips where the
 * CUDA toolkit is not installed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/image/fatbin.h"
#include "lib/agent/image/image.h"

#define SKIP 77
#define REASONS_MAX 32

static const char *const libraries[] = {
	"libcublas.so", "libcublasLt.so", "libcusparse.so", "libcurand.so", "libnccl.so", "libcusolver.so",
};

/* ---- what comes out ---- */

struct tally {
	unsigned kernels, done;
	double seconds;
	struct {
		char why[GT_GRAFT_WHY + 1];
		unsigned count;
	} reasons[REASONS_MAX];
	unsigned reason_count;
	unsigned failed;		/* the machine code could not be read, or the check failed */
	unsigned accesses, left;
	double slowest;			/* seconds that one image took */
	uint64_t bytes, new_bytes;	/* of the images that took some probes */
};

/* Numbers differ from kernel to kernel, the reason is the same. */
static void without_numbers(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			*to++ = *text;
		else if (to[-1] != '#')
			*to++ = '#';
	}
	*to = 0;
}

static void count_reason(struct tally *tally, const char *text)
{
	char why[GT_GRAFT_WHY + 1] = " ";
	unsigned i;

	strncat(why, text, GT_GRAFT_WHY - 1);
	without_numbers(why);
	for (i = 0; i < tally->reason_count && strcmp(tally->reasons[i].why, why); i++)
		;
	if (i == REASONS_MAX)
		return;
	if (i == tally->reason_count)
		strcpy(tally->reasons[tally->reason_count++].why, why);
	tally->reasons[i].count++;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- one image ---- */

struct stubs {
	struct gt_graft_stub *entry, *exit, *access[GT_GRAFT_ACCESSES];
};

struct names {
	char **list;
	unsigned count, room;
};

static int add_name(void *data, const struct gt_cubin_kernel *kernel)
{
	struct names *names = data;

	if (names->count == names->room) {
		names->room = names->room ? 2 * names->room : 64;
		names->list = realloc(names->list, names->room * sizeof(*names->list));
	}
	names->list[names->count++] = strdup(kernel->name);
	return 0;
}

static void take_time(struct tally *tally, double seconds)
{
	tally->seconds += seconds;
	if (seconds > tally->slowest)
		tally->slowest = seconds;
}

static void graft_image(const void *cubin, size_t size, const struct names *names, const struct stubs *stubs,
			struct tally *tally)
{
	struct gt_graft_plan *plans = calloc(names->count, sizeof(*plans));
	struct gt_graft_result *results = calloc(names->count, sizeof(*results));
	char why[GT_GRAFT_WHY] = "";
	void *image = NULL;
	size_t image_size;
	double start;
	int r;

	for (unsigned i = 0; i < names->count; i++)
		plans[i] = (struct gt_graft_plan){
			.name = names->list[i], .kernel_id = i + 1, .entry = stubs->entry, .exit = stubs->exit,
			.access = { stubs->access[0], stubs->access[1], stubs->access[2] },
		};
	start = now();
	r = gt_graft(cubin, size, 0, plans, names->count, &image, &image_size, results, why);
	take_time(tally, now() - start);
	if (!r) {
		tally->bytes += size;
		tally->new_bytes += image_size;
	}
	if (r && r != -ENOENT) {
		printf("FAIL: %s\n", why);
		tally->failed++;
	}
	for (unsigned i = 0; i < names->count; i++) {
		tally->kernels++;
		tally->done += results[i].done;
		tally->accesses += results[i].done ? gt_graft_result_accesses(&results[i]) : 0;
		tally->left += gt_graft_result_left(&results[i]);
		if (!results[i].done)
			count_reason(tally, results[i].why);
	}
	free(image);
	free(plans);
	free(results);
}

static void look_for_variables(const void *cubin, size_t size, const struct names *names, struct tally *tally)
{
	struct gt_apart *aparts = calloc(names->count, sizeof(*aparts));
	double start;

	for (unsigned i = 0; i < names->count; i++)
		aparts[i].name = names->list[i];
	start = now();
	tally->failed += gt_cubin_apart(cubin, size, aparts, names->count) != 0;
	take_time(tally, now() - start);
	for (unsigned i = 0; i < names->count; i++) {
		tally->kernels++;
		tally->done += aparts[i].possible;
		/* "it uses", "it calls": not what. */
		aparts[i].why[strcspn(aparts[i].why, " ") + 5] = 0;
		if (!aparts[i].possible)
			count_reason(tally, aparts[i].why);
	}
	free(aparts);
}

/* ---- one library ---- */

enum { ENTRY, BOTH, PARAMS, ACCESSES, STUBS, APART = STUBS, TALLIES };
static const char *const what[TALLIES] = { "entry", "both", "params", "access", "apart" };

struct walk {
	unsigned arch;
	const struct stubs *stubs;	/* STUBS of them */
	struct tally *tallies;
};

static void visit_member(struct walk *walk, const struct gt_member *member)
{
	struct names names = { 0 };
	const char *why;
	void *cubin;
	size_t size;

	if (member->kind != GT_MEMBER_CUBIN || member->arch != walk->arch ||
	    gt_member_extract(member, &cubin, &size, &why))
		return;
	gt_cubin_kernels(cubin, size, add_name, &names, &why);
	for (unsigned i = 0; names.count && i < (walk->arch == 90 ? STUBS : ACCESSES); i++)
		graft_image(cubin, size, &names, &walk->stubs[i], &walk->tallies[i]);
	if (names.count)
		look_for_variables(cubin, size, &names, &walk->tallies[APART]);
	for (unsigned i = 0; i < names.count; i++)
		free(names.list[i]);
	free(names.list);
	free(cubin);
}

static void visit_fatbins(struct walk *walk, const uint8_t *data, uint64_t size)
{
	struct gt_image image;
	const char *why;
	uint64_t bytes;

	while (size >= GT_FATBIN_HEADER) {
		uint64_t skip = 8;

		memset(&image, 0, sizeof(image));
		if (!gt_fatbin_size(data, &bytes, &why) && bytes <= size && !gt_fatbin_read(data, bytes, &image, &why)) {
			for (unsigned i = 0; i < image.member_count; i++)
				visit_member(walk, &image.members[i]);
			skip = (bytes + 7) & ~(uint64_t)7;
		}
		gt_image_close(&image);
		skip = skip < size ? skip : size;
		data += skip;
		size -= skip;
	}
}

/* The section of a library where its fatbins lie back to back. */
static void visit_library(struct walk *walk, const uint8_t *data)
{
	const Elf64_Ehdr *header = (const void *)data;
	const Elf64_Shdr *sections = (const void *)(data + header->e_shoff);
	const char *names = (const char *)data + sections[header->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, ".nv_fatbin"))
			visit_fatbins(walk, data + sections[i].sh_offset, sections[i].sh_size);
}

static void *map_file(const char *folder, const char *name, size_t *ret_size)
{
	char path[4096];
	struct stat stat;
	void *data = MAP_FAILED;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY);
	if (fd >= 0 && !fstat(fd, &stat))
		data = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*ret_size = fd >= 0 && data != MAP_FAILED ? (size_t)stat.st_size : 0;
	if (fd >= 0)
		close(fd);
	return data == MAP_FAILED ? NULL : data;
}

static void report(const char *library, const char *arch, const char *measured, const struct tally *tally)
{
	if (!tally->kernels)
		return;
	printf("%-16s %-6s %-6s %6u kernels, %6u done (%.2f %%), %.0f us each, an image %.0f ms at most", library, arch, measured,
	       tally->kernels, tally->done, 100.0 * tally->done / tally->kernels, 1e6 * tally->seconds / tally->kernels,
	       1e3 * tally->slowest);
	if (tally->bytes)
		printf(", code %.2f times as large", (double)tally->new_bytes / (double)tally->bytes);
	putchar('\n');
	if (tally->accesses)
		printf("%34u accesses have programs, %u do not\n", tally->accesses, tally->left);
	for (unsigned i = 0; i < tally->reason_count; i++)
		printf("%34u%s\n", tally->reasons[i].count, tally->reasons[i].why);
}

static void add(struct tally *sum, const struct tally *part)
{
	sum->kernels += part->kernels;
	sum->done += part->done;
	sum->failed += part->failed;
	sum->accesses += part->accesses;
	sum->left += part->left;
	sum->seconds += part->seconds;
	sum->slowest = part->slowest > sum->slowest ? part->slowest : sum->slowest;
	sum->bytes += part->bytes;
	sum->new_bytes += part->new_bytes;
}

/* ---- where things are ---- */

static struct gt_graft_stub *open_stub(const char *name, unsigned arch, uint32_t point)
{
	char file[64], why[GT_GRAFT_WHY];
	struct gt_graft_stub *stub = NULL;
	size_t size;
	void *data;

	snprintf(file, sizeof(file), "%s.%u.cubin", name, arch);
	data = map_file(TEST_DATA, file, &size);
	if (!data || gt_graft_stub_open(data, size, point, &stub, why)) {
		printf("FAIL: the stub %s: %s\n", file, data ? why : "cannot be read");
		exit(1);
	}
	munmap(data, size);
	return stub;
}

/* The toolkit's folder of libraries: by CUDA_HOME or CUDA_PATH, else beside nvcc. */
static int find_toolkit(char folder[4096])
{
	const char *home = getenv("CUDA_HOME") ? getenv("CUDA_HOME") : getenv("CUDA_PATH"), *path = getenv("PATH");
	char *paths, *dir, *rest, *real;

	if (home) {
		snprintf(folder, 4096, "%s/lib64", home);
		return !access(folder, R_OK);
	}
	paths = strdup(path ? path : "");
	for (dir = strtok_r(paths, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest)) {
		snprintf(folder, 4096, "%s/nvcc", dir);
		real = access(folder, X_OK) ? NULL : realpath(folder, NULL);
		if (!real)
			continue;
		*strrchr(real, '/') = 0;
		snprintf(folder, 4096, "%s/../lib64", real);
		free(real);
		if (!access(folder, R_OK))
			break;
	}
	free(paths);
	return dir != NULL;
}

static const char *const access_stubs[GT_GRAFT_ACCESSES] = { "load", "store", "atomic" };

static unsigned visit_all(const char *folder, unsigned arch, struct tally sums[TALLIES])
{
	struct stubs stubs[STUBS] = { [ENTRY].entry = open_stub("entry-timeline", arch, GT_POINT_ENTRY) };
	unsigned found = 0;
	char name[16];

	snprintf(name, sizeof(name), "sm_%u", arch);
	stubs[BOTH].entry = stubs[ENTRY].entry;
	stubs[BOTH].exit = open_stub("exit-timeline", arch, GT_POINT_EXIT);
	stubs[PARAMS].exit = open_stub("exit-params", arch, GT_POINT_EXIT);
	for (unsigned i = 0; arch == 90 && i < GT_GRAFT_ACCESSES; i++)
		stubs[ACCESSES].access[i] = open_stub(access_stubs[i], arch, GT_POINT_LOAD + i);
	for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct tally tallies[TALLIES] = { 0 };
		struct walk walk = { .arch = arch, .stubs = stubs, .tallies = tallies };
		size_t size;
		void *data = map_file(folder, libraries[i], &size);

		if (!data)
			continue;
		found++;
		visit_library(&walk, data);
		munmap(data, size);
		for (unsigned j = 0; j < TALLIES; j++) {
			report(libraries[i], name, what[j], &tallies[j]);
			add(&sums[j], &tallies[j]);
		}
	}
	gt_graft_stub_free(stubs[BOTH].entry);
	gt_graft_stub_free(stubs[BOTH].exit);
	gt_graft_stub_free(stubs[PARAMS].exit);
	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		gt_graft_stub_free(stubs[ACCESSES].access[i]);
	return found;
}

int main(void)
{
	struct tally sums[TALLIES] = { 0 };
	unsigned found = 0;
	char folder[4096];

	if (find_toolkit(folder)) {
		found += visit_all(folder, 80, sums);
		found += visit_all(folder, 90, sums);
	}
	if (!found) {
		printf("SKIP: the CUDA toolkit's libraries were not found (CUDA_HOME, or nvcc on the path)\n");
		return SKIP;
	}
	for (unsigned i = 0; i < TALLIES; i++) {
		report("all", "", what[i], &sums[i]);
		if (sums[i].failed || !sums[i].kernels)
			return 1;
	}
	/* What the project promises. */
	return sums[ENTRY].done < sums[ENTRY].kernels || sums[BOTH].done < 0.99 * sums[BOTH].kernels ||
	       sums[PARAMS].done < 0.99 * sums[PARAMS].kernels;
}
