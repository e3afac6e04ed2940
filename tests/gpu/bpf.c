/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compiler makes of BPF programs, on a real GPU: results, maps and rings
 * under contention, and how long probes take.
 *
 * usage: bpf [-p PART,...] [-c LIST] [-r PROGRAMS] [-s SEED] [-t THREADS] [-e] [-k SOURCE.cu|X]
 *
 * PART: vectors, suite, random, hash, ring, speed; without -p all but suite, which needs
 * -c: its cases, as tests/conformance/print-suite prints them.  -r: how many random
 * programs (1000), -s: the first one's seed (1), -t: threads on hash maps and
 * rings, a multiple of 4096, at most 2^20 (that many, and 8192 on the software
 * device).  -e: records of every size from 1 to 4000 bytes, those other than the 58 sizes
 * that are tried without it from an eighth of the threads.
 * -k: kernels for the times, compiled with nvcc ($NVCC), or X.ptx and X.cubin that
 * nvcc made of them (tests/gpu/programs/bpf-hand.cu of the folder at hand).
 *
 * A line for each part that begins with PASS, FAIL or SKIP, then a summary.  Exit
 * status: 0 all passed, 1 not, 77 no GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/bpf-device.h"
#include "tests/gpu/bpf.h"

#define SKIP 77
#define THREADS (1u << 20)
#define THREADS_SOFTWARE 8192u
#define THREADS_STEP 4096u

/* Is `part` in a list with commas? */
static bool wanted(const char *list, const char *part)
{
	size_t length = strlen(part);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, part, length) && (!list[length] || list[length] == ','))
			return true;
	}
	return false;
}

static int usage(void)
{
	fputs("usage: bpf [-p PART,...] [-c LIST] [-r PROGRAMS] [-s SEED] [-t THREADS] [-e] [-k SOURCE.cu|X]\n", stderr);
	return 2;
}

static int parse(int argc, char **argv, struct options *options, const char **parts)
{
	int option;

	while ((option = getopt(argc, argv, "p:c:r:s:t:ek:")) != -1) {
		switch (option) {
		case 'p':
			*parts = optarg;
			break;
		case 'c':
			options->suite = optarg;
			break;
		case 'r':
			options->programs = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 's':
			options->seed = strtoul(optarg, NULL, 0);
			break;
		case 't':
			options->threads = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'e':
			options->every = true;
			break;
		case 'k':
			options->hand = optarg;
			break;
		default:
			return -1;
		}
	}
	return optind < argc || options->threads % THREADS_STEP || options->threads > THREADS ? -1 : 0;
}

static unsigned run_parts(const char *parts, const struct options *options, unsigned *ret_failed)
{
	unsigned run = 0, failed = 0;

	if (wanted(parts, "vectors"))
		run++, failed += !test_vectors();
	if (wanted(parts, "suite"))
		run++, failed += !test_suite(options);
	if (wanted(parts, "random"))
		run++, failed += !test_random(options);
	if (wanted(parts, "hash"))
		run++, failed += !test_hash(options);
	if (wanted(parts, "ring"))
		run++, failed += !test_ring(options);
	if (wanted(parts, "speed") && prepare_speed(options))
		run++, failed += !test_speed();
	*ret_failed = failed;
	return run;
}

int main(int argc, char **argv)
{
	struct options options = { .programs = 1000, .seed = 1, .hand = "tests/gpu/programs/bpf-hand.cu" };
	const char *parts = "vectors,random,hash,ring,speed";
	unsigned run, failed;

	if (parse(argc, argv, &options, &parts) || (wanted(parts, "suite") && !options.suite))
		return usage();
	if (!device_open()) {
		printf("SKIP: there is no GPU\n");
		return SKIP;
	}
	if (!options.threads)
		options.threads = device.software ? THREADS_SOFTWARE : THREADS;
	printf("# %s, sm_%u, %u multiprocessors\n", device.name, device.arch, device.sms);
	run = run_parts(parts, &options, &failed);
	printf("bpf: %u of %u parts passed\n", run - failed, run);
	return failed || !run;
}
