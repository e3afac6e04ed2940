/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define CORNERS 12
#define SHOWN 3

static const uint64_t corners_int[CORNERS] = {
	0, 1, ~0ull, 0x8000000000000000, 0x7fffffffffffffff, 0x80000000, 0x7fffffff, 0xffff, 0x8000,
	0x7fff, 0xffffffff00000000, 0x8000800080008000,
};
static const uint64_t corners_f32[CORNERS] = {
	0, 0x80000000, 0x3f800000, 0xbf800000, 1, 0x007fffff, 0x80800000, 0x7f7fffff, 0x7f800000,
	0xff800000, 0x7fc00000, 0x3fc00000,
};
static const uint64_t corners_f64[CORNERS] = {
	0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 1, 0x000fffffffffffff,
	0x8010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
	0x7ff8000000000000, 0x41dfffffffe00000,
};
static const uint64_t corners_f16[CORNERS] = {
	0, 0x8000, 0x3c00, 0xbc00, 1, 0x03ff, 0x8400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x3e00,
};
static const uint64_t corners_bf16[CORNERS] = {
	0, 0x8000, 0x3f80, 0xbf80, 1, 0x007f, 0x8080, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x3fc0,
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 32 | *state << 32) ^ *state >> 17;
}

static uint64_t seed_of(const char *name)
{
	uint64_t seed = 14695981039346656037u;

	while (*name)
		seed = (seed ^ (unsigned char)*name++) * 1099511628211u;
	return seed;
}

/* Any bits in one half of the values, exponents close to one another in the other half. */
static uint64_t random_f32(uint64_t r)
{
	return r & 1 ? (uint32_t)(r >> 32) :
	       (uint32_t)((r >> 32 & 0x807fffff) | (120 + (r >> 8) % 16) << 23);
}

static uint64_t random_f64(uint64_t *state)
{
	uint64_t r = next_random(state), bits = next_random(state);

	return r & 1 ? bits : (bits & 0x800fffffffffffff) | (1010 + (r >> 8) % 40) << 52;
}

static uint64_t random_small(uint64_t r, unsigned mantissa, unsigned bias)
{
	uint64_t v = r >> 32 & 0xffff, keep = 0x8000 | ((1u << mantissa) - 1);

	return r & 1 ? v : (v & keep) | (bias - 4 + (r >> 8) % 8) << mantissa;
}

/* Numbers of everyday size: from 1/32 to 4, either sign only where asked. */
static uint64_t near_f32(uint64_t r)
{
	return (uint32_t)((r >> 32 & 0x007fffff) | (122 + (r >> 8) % 7) << 23);
}

static uint64_t word(const char *kind, unsigned i, unsigned k, uint64_t *state)
{
	unsigned corner = k == 0 ? i % CORNERS : k == 1 ? i / CORNERS % CORNERS :
			  (i * (k + 3) + k) % CORNERS;
	int is_corner = i < CORNERS * CORNERS;
	uint64_t r = next_random(state);

	if (!strcmp(kind, "int"))
		return is_corner ? corners_int[corner] : i % 3 ? r : r >> (r & 63);
	if (!strcmp(kind, "f32"))
		return is_corner ? corners_f32[corner] : random_f32(r);
	if (!strcmp(kind, "f64"))
		return is_corner ? corners_f64[corner] : random_f64(state);
	if (!strcmp(kind, "f16"))
		return is_corner ? corners_f16[corner] | corners_f16[(corner + i) % CORNERS] << 16 :
		       random_small(r, 10, 15) | random_small(next_random(state), 10, 15) << 16;
	if (!strcmp(kind, "bf16"))
		return is_corner ? corners_bf16[corner] | corners_bf16[(corner + i) % CORNERS] << 16 :
		       random_small(r, 7, 127) | random_small(next_random(state), 7, 127) << 16;
	if (!strcmp(kind, "near"))
		return near_f32(r) | (r >> 63) << 31;
	if (!strcmp(kind, "near16"))
		return (r >> 32 & 0x83ff) | (12 + (r >> 8) % 5) << 10;
	return UINT64_MAX;
}

size_t case_input_bytes(const struct test_case *test)
{
	return (size_t)test->threads * 4 * sizeof(uint64_t);
}

size_t case_output_bytes(const struct test_case *test)
{
	return (size_t)test->threads * test->outputs * sizeof(uint64_t);
}

int case_fill(const struct test_case *test, uint64_t *in)
{
	static const char *const kinds[] = { "int", "f32", "f64", "f16", "bf16", "near", "near16" };
	uint64_t state = seed_of(test->name);
	unsigned i, k;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i], test->input))
			break;
	if (i == sizeof(kinds) / sizeof(*kinds)) {
		fprintf(stderr, "%s: unknown input kind '%s'\n", test->name, test->input);
		return -1;
	}
	for (i = 0; i < test->threads; i++)
		for (k = 0; k < 4; k++)
			in[4 * i + k] = word(test->input, i, k, &state);
	return 0;
}

static int parse_column(struct test_case *test, const char *line)
{
	static const char *const names[] = { "bits", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64" };
	unsigned index, i;
	char type[16];
	const char *at;

	if (sscanf(line, "//! column %u %15s", &index, type) != 2 || index >= test->outputs)
		return -1;
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], type))
			break;
	if (i == sizeof(names) / sizeof(*names))
		return -1;
	test->columns[index].type = i;
	at = strstr(line, "rel=");
	if (at)
		test->columns[index].rel = atof(at + 4);
	at = strstr(line, "abs=");
	if (at)
		test->columns[index].abs = atof(at + 4);
	return 0;
}

static int parse_line(struct case_file *file, const char *line)
{
	struct test_case test = { 0 }, *bigger;

	if (!strncmp(line, "//! column ", 11))
		return file->count ? parse_column(&file->cases[file->count - 1], line) : -1;
	if (sscanf(line, "//! kernel %63s outputs=%u threads=%u block=%u input=%15s", test.name,
		   &test.outputs, &test.threads, &test.block, test.input) != 5 ||
	    !test.outputs || test.outputs > MAX_COLUMNS || !test.threads || !test.block)
		return -1;
	bigger = realloc(file->cases, (file->count + 1) * sizeof(test));
	if (!bigger)
		return -1;
	file->cases = bigger;
	file->cases[file->count++] = test;
	return 0;
}

static int parse_header(struct case_file *file)
{
	char line[256];
	const char *at = file->text, *end;
	size_t length;

	for (; (at = strstr(at, "//! ")); at = end) {
		end = strchrnul(at, '\n');
		length = (size_t)(end - at) < sizeof(line) - 1 ? (size_t)(end - at) : sizeof(line) - 1;
		memcpy(line, at, length);
		line[length] = 0;
		if (parse_line(file, line)) {
			fprintf(stderr, "cannot make sense of: %s\n", line);
			return -1;
		}
	}
	return 0;
}

int case_file_read(const char *path, struct case_file *ret_file)
{
	struct case_file file = { 0 };
	FILE *f = fopen(path, "r");
	long length;

	if (!f) {
		perror(path);
		return -1;
	}
	fseek(f, 0, SEEK_END);
	length = ftell(f);
	rewind(f);
	file.text = calloc(1, (size_t)length + 1);
	file.length = file.text ? fread(file.text, 1, (size_t)length, f) : 0;
	fclose(f);
	if (file.length != (size_t)length || parse_header(&file)) {
		case_file_free(&file);
		return -1;
	}
	*ret_file = file;
	return 0;
}

void case_file_free(struct case_file *file)
{
	free(file->text);
	free(file->cases);
}

int case_write(FILE *to, const struct test_case *test, const uint64_t *out)
{
	unsigned j, i;

	fprintf(to, "kernel %s\n", test->name);
	for (j = 0; j < test->outputs; j++) {
		fprintf(to, "column %u", j);
		for (i = 0; i < test->threads; i++)
			fprintf(to, "%c%" PRIx64, i % 20 ? ' ' : '\n', out[(size_t)i * test->outputs + j]);
		fputc('\n', to);
	}
	return ferror(to) ? -1 : 0;
}

static int find_case(FILE *from, const char *name)
{
	char line[128], wanted[80];

	snprintf(wanted, sizeof(wanted), "kernel %s\n", name);
	rewind(from);
	while (fgets(line, sizeof(line), from))
		if (!strcmp(line, wanted))
			return 0;
	return 1;
}

int case_read(FILE *from, const struct test_case *test, uint64_t *out)
{
	unsigned j, i, column;

	if (find_case(from, test->name))
		return 1;
	for (j = 0; j < test->outputs; j++) {
		if (fscanf(from, " column %u", &column) != 1 || column != j)
			return -1;
		for (i = 0; i < test->threads; i++)
			if (fscanf(from, " %" SCNx64, &out[(size_t)i * test->outputs + j]) != 1)
				return -1;
	}
	return 0;
}

static double small_value(unsigned bits, unsigned mantissa, unsigned exponent)
{
	unsigned max = (1u << exponent) - 1, e = bits >> mantissa & max;
	double m = bits & ((1u << mantissa) - 1), v;

	if (e == max)
		v = m != 0 ? NAN : INFINITY;
	else
		v = ldexp(e ? m + (1u << mantissa) : m, (int)(e ? e : 1) - (int)(max / 2) - (int)mantissa);
	return bits & 0x8000 ? -v : v;
}

static double value_of(uint64_t bits, enum column_type type)
{
	float narrow;
	double wide;
	uint32_t low = (uint32_t)bits;

	switch (type) {
	case COL_F16: case COL_F16X2: return small_value(bits & 0xffff, 10, 5);
	case COL_BF16: case COL_BF16X2: return small_value(bits & 0xffff, 7, 8);
	case COL_F32:
		memcpy(&narrow, &low, sizeof(narrow));
		return (double)narrow;
	default:
		memcpy(&wide, &bits, sizeof(wide));
		return wide;
	}
}

static int close_enough(uint64_t got, uint64_t expected, const struct column *column)
{
	double x, y;

	if (got == expected)
		return 1;
	if (column->type == COL_BITS)
		return 0;
	if ((column->type == COL_F16X2 || column->type == COL_BF16X2) && (got >> 16 || expected >> 16)) {
		return close_enough(got & 0xffff, expected & 0xffff, column) &&
		       close_enough(got >> 16 & 0xffff, expected >> 16 & 0xffff, column);
	}
	x = value_of(got, column->type);
	y = value_of(expected, column->type);
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y);	/* whatever is in the NaN */
	if (isinf(x) || isinf(y))
		return x == y;
	return fabs(x - y) <= column->abs + column->rel * fabs(y) &&
	       (column->abs > 0 || column->rel > 0);
}

unsigned case_compare(const struct test_case *test, const uint64_t *in, const uint64_t *got,
		      const uint64_t *expected)
{
	unsigned i, j, bad = 0, shown;

	for (j = 0; j < test->outputs; j++)
		for (i = shown = 0; i < test->threads; i++) {
			size_t at = (size_t)i * test->outputs + j;

			if (close_enough(got[at], expected[at], &test->columns[j]))
				continue;
			bad++;
			if (shown++ < SHOWN)
				printf("%s column %u thread %u: %" PRIx64 ", expected %" PRIx64
				       ", of %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
				       test->name, j, i, got[at], expected[at], in[4 * i],
				       in[4 * i + 1], in[4 * i + 2], in[4 * i + 3]);
		}
	return bad;
}
