/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conformance kernels: what their files say of them, their inputs, and the
 * text form of their results.
 *
 * A kernel's signature is (const u64 *in, u64 *out, u32 n).  Thread i reads the
 * four words at in[4 * i] and writes its results to out[outputs * i].  The file
 * announces each kernel with a line
 *     //! kernel NAME outputs=K threads=N block=B input=KIND
 * and columns that are no plain bits with
 *     //! column J TYPE [rel=X] [abs=Y]
 */
#ifndef TESTS_SIM_CASES_H
#define TESTS_SIM_CASES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_COLUMNS 64

enum column_type { COL_BITS, COL_F16, COL_BF16, COL_F16X2, COL_BF16X2, COL_F32, COL_F64 };

struct column {
	enum column_type type;
	double rel, abs;
};

struct test_case {
	char name[64];
	unsigned outputs, threads, block;
	char input[16];
	struct column columns[MAX_COLUMNS];
};

struct case_file {
	char *text;		/* the PTX, with a NUL */
	size_t length;
	struct test_case *cases;
	unsigned count;
};

/* 0, or -1 with a message on stderr. */
int case_file_read(const char *path, struct case_file *ret_file);
void case_file_free(struct case_file *file);

size_t case_input_bytes(const struct test_case *test);
size_t case_output_bytes(const struct test_case *test);
int case_fill(const struct test_case *test, uint64_t *in);

int case_write(FILE *to, const struct test_case *test, const uint64_t *out);

/*
 * Reads what case_write() wrote, wherever in the stream.  Returns 0, 1 when the
 * stream does not have the kernel, -1 when what it has is malformed.
 */
int case_read(FILE *from, const struct test_case *test, uint64_t *out);

/* Number of values that differ by more than the column allows; tells of the first few. */
unsigned case_compare(const struct test_case *test, const uint64_t *in, const uint64_t *got,
		      const uint64_t *expected);

#endif
