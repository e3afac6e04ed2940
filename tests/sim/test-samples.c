/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA programs of the ordinary kind, as nvcc 13 compiled them, against the same in C. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "tests/suite.h"

static void load_sample(const char *name)
{
	const char *top = getenv("srcdir") ? getenv("srcdir") : ".";
	char path[512], *text;
	size_t length;
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/sim/samples/%s.ptx", top, name);
	f = fopen(path, "r");
	ck_assert_msg(f != NULL, "%s is missing", path);
	text = malloc(1 << 20);
	length = fread(text, 1, 1 << 20, f);
	fclose(f);
	ck_assert_msg(!sim_module_load(&device.dev, text, length, &module, &err), "%s: %s", name, err.text);
	free(text);
}

static int launch(const char *name, unsigned blocks, unsigned threads, unsigned shared, const void *params,
		  int cooperative)
{
	struct sim_kernel *kernel = sim_module_find_kernel(module, name);
	struct sim_launch l = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 },
				.dynamic_shared = shared, .params = params, .cooperative = cooperative };

	ck_assert_msg(kernel != NULL, "no kernel %s", name);
	return sim_kernel_run(kernel, &l, &err);
}

static void run_sample(const char *name, unsigned blocks, unsigned threads, unsigned shared, const void *params)
{
	ck_assert_msg(!launch(name, blocks, threads, shared, params, 0), "%s", err.text);
}

static uint64_t seed = 1;

static uint32_t draw(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33);
}

START_TEST(test_vecadd)
{
	int n = 100000, i;
	float *a = test_alloc(&device, 4 * n), *b = test_alloc(&device, 4 * n), *c = test_alloc(&device, 4 * n);
	struct { float *a, *b, *c; int n; } p = { a, b, c, n };

	load_sample("vecadd");
	for (i = 0; i < n; i++) {
		a[i] = (float)i;
		b[i] = (float)draw() / 1000;
	}
	run_sample("vecadd", (n + 255) / 256, 256, 0, &p);
	for (i = 0; i < n; i++)
		ck_assert_float_eq(c[i], a[i] + b[i]);
}
END_TEST

START_TEST(test_reduce_shared)
{
	int n = 10007, *in = test_alloc(&device, 4 * n), *out = test_alloc(&device, 4 * 8), i, sum = 0, got = 0;
	struct { int *in, *out; int n; } p = { in, out, n };

	load_sample("reduce");
	for (i = 0; i < n; i++)
		sum += in[i] = (int)(draw() % 1000) - 500;
	run_sample("reduce_shared", 8, 128, 128 * 4, &p);
	for (i = 0; i < 8; i++)
		got += out[i];
	ck_assert_int_eq(got, sum);
}
END_TEST

START_TEST(test_reduce_warp)
{
	int n = 5000, i;
	double *in = test_alloc(&device, 8 * n), *out = test_alloc(&device, 8), sum = 0;
	struct { double *in, *out; int n; } p = { in, out, n };

	load_sample("reduce");
	for (i = 0; i < n; i++)
		sum += in[i] = draw() % 4096;	/* sums of whole numbers are exact in any order */
	run_sample("reduce_warp", 4, 96, 0, &p);
	ck_assert_double_eq(*out, sum);
}
END_TEST

START_TEST(test_reduce_max)
{
	int n = 3000, i;
	float *in = test_alloc(&device, 4 * n), *out = test_alloc(&device, 4), most = 0;
	struct { float *in, *out; int n; } p = { in, out, n };

	load_sample("reduce");
	for (i = 0; i < n; i++) {
		in[i] = (float)draw() / 77;
		most = in[i] > most ? in[i] : most;
	}
	run_sample("reduce_max", 12, 256, 0, &p);
	ck_assert_float_eq(*out, most);
}
END_TEST

START_TEST(test_scan_block)
{
	int *in = test_alloc(&device, 1024), *out = test_alloc(&device, 1024), i, sum = 0;
	struct { int *in, *out; } p = { in, out };

	load_sample("scan");
	for (i = 0; i < 256; i++)
		in[i] = (int)(draw() % 100);
	run_sample("scan_block", 1, 256, 0, &p);
	for (i = 0; i < 256; i++)
		ck_assert_int_eq(out[i], sum += in[i]);
}
END_TEST

/* 500 blocks, each waiting for the one before it. */
START_TEST(test_scan_chained)
{
	int blocks = 500, n = blocks * 256, i, sum = 0;
	int *in = test_alloc(&device, 4 * n), *out = test_alloc(&device, 4 * n);
	int *totals = test_alloc(&device, 4 * blocks), *ready = test_alloc(&device, 4 * blocks);
	unsigned *ticket = test_alloc(&device, 4);
	struct { int *in, *out, *totals, *ready; unsigned *ticket; } p = { in, out, totals, ready, ticket };

	load_sample("scan");
	for (i = 0; i < n; i++)
		in[i] = (int)(draw() % 10);
	run_sample("scan_chained", blocks, 256, 0, &p);
	for (i = 0; i < n; i++)
		ck_assert_int_eq(out[i], sum += in[i]);
}
END_TEST

START_TEST(test_histogram)
{
	int n = 50000, i;
	unsigned char *data = test_alloc(&device, n);
	unsigned *bins = test_alloc(&device, 1024), expected[256] = { 0 };
	struct { unsigned char *data; unsigned *bins; int n; } p = { data, bins, n };

	load_sample("histogram");
	for (i = 0; i < n; i++)
		expected[data[i] = (unsigned char)(draw() % 256 * (draw() % 2))]++;
	run_sample("histogram", 9, 256, 0, &p);
	for (i = 0; i < 256; i++)
		ck_assert_uint_eq(bins[i], expected[i]);
}
END_TEST

START_TEST(test_transpose)
{
	int width = 100, height = 70, x, y;
	float *in = test_alloc(&device, 4 * width * height), *out = test_alloc(&device, 4 * width * height);
	struct { float *in, *out; int width, height; } p = { in, out, width, height };
	struct sim_launch l = { .grid = { 4, 3, 1 }, .block = { 32, 8, 1 }, .params = &p };

	load_sample("transpose");
	for (x = 0; x < width * height; x++)
		in[x] = (float)x;
	ck_assert_msg(!sim_kernel_run(sim_module_find_kernel(module, "transpose"), &l, &err), "%s", err.text);
	for (y = 0; y < height; y++)
		for (x = 0; x < width; x++)
			ck_assert_float_eq(out[x * height + y], in[y * width + x]);
}
END_TEST

START_TEST(test_matmul)
{
	int n = 64, i, j, k;
	float *a = test_alloc(&device, 4 * n * n), *b = test_alloc(&device, 4 * n * n);
	float *c = test_alloc(&device, 4 * n * n);
	struct { float *a, *b, *c; int n; } p = { a, b, c, n };
	struct sim_launch l = { .grid = { 4, 4, 1 }, .block = { 16, 16, 1 }, .params = &p };

	load_sample("matmul");
	for (i = 0; i < n * n; i++) {
		a[i] = (float)draw() / 1e9f - 1;
		b[i] = (float)draw() / 1e9f - 1;
	}
	ck_assert_msg(!sim_kernel_run(sim_module_find_kernel(module, "matmul_float"), &l, &err), "%s", err.text);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			float sum = 0;

			for (k = 0; k < n; k++)
				sum = fmaf(a[i * n + k], b[k * n + j], sum);
			ck_assert_float_eq(c[i * n + j], sum);
		}
}
END_TEST

START_TEST(test_matmul_int)
{
	int n = 32, i, j, k;
	int *a = test_alloc(&device, 4 * n * n), *b = test_alloc(&device, 4 * n * n);
	int *c = test_alloc(&device, 4 * n * n);
	struct { int *a, *b, *c; int n; } p = { a, b, c, n };
	struct sim_launch l = { .grid = { 4, 4, 1 }, .block = { 8, 8, 1 }, .params = &p };

	load_sample("matmul");
	for (i = 0; i < n * n; i++) {
		a[i] = (int)(draw() % 2001) - 1000;
		b[i] = (int)(draw() % 2001) - 1000;
	}
	ck_assert_msg(!sim_kernel_run(sim_module_find_kernel(module, "matmul_int"), &l, &err), "%s", err.text);
	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			int sum = 0;

			for (k = 0; k < n; k++)
				sum += a[i * n + k] * b[k * n + j];
			ck_assert_int_eq(c[i * n + j], sum);
		}
}
END_TEST

static int by_key(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static int by_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

START_TEST(test_sort_block)
{
	unsigned *keys = test_alloc(&device, 4 * 1024), expected[1024], i;
	struct { unsigned *keys; } p = { keys };

	load_sample("sort");
	for (i = 0; i < 1024; i++)
		expected[i] = keys[i] = draw() * (i % 7 ? 1 : 0);
	qsort(expected, 512, 4, by_key);
	qsort(expected + 512, 512, 4, by_key);
	run_sample("sort_block", 2, 128, 0, &p);
	ck_assert_mem_eq(keys, expected, sizeof(expected));
}
END_TEST

START_TEST(test_sort_each)
{
	int threads = 96, *data = test_alloc(&device, 4 * 24 * threads), *expected = malloc(4 * 24 * threads), i;
	struct { int *data; } p = { data };

	load_sample("sort");
	for (i = 0; i < 24 * threads; i++)
		expected[i] = data[i] = (int)(draw() % 100) - 50;
	for (i = 0; i < threads; i++)
		qsort(expected + 24 * i, 24, 4, by_int);
	run_sample("sort_each", 2, 48, 0, &p);
	ck_assert_mem_eq(data, expected, 4 * 24 * threads);
	free(expected);
}
END_TEST

START_TEST(test_stencil)
{
	static const float weights[7] = { 0.05f, 0.1f, 0.2f, 0.3f, 0.2f, 0.1f, 0.05f };
	int n = 1000, i, k;
	float *in = test_alloc(&device, 4 * n), *out = test_alloc(&device, 4 * n);
	struct { float *in, *out; int n; } p = { in, out, n };

	load_sample("stencil");
	for (i = 0; i < n; i++)
		in[i] = (float)(draw() % 1000);
	run_sample("stencil", 4, 256, 0, &p);
	for (i = 0; i < n; i++) {
		float sum = 0;

		for (k = 0; k < 7; k++)
			sum = fmaf(weights[k], i + k - 3 >= 0 && i + k - 3 < n ? in[i + k - 3] : 0, sum);
		ck_assert_float_eq(out[i], sum);
	}
}
END_TEST

static uint16_t to_half(float v)	/* of small whole numbers and halves */
{
	int e = 0;
	float m = frexpf(fabsf(v), &e);

	if (v == 0)
		return 0;
	return (uint16_t)((v < 0 ? 0x8000 : 0) | (e + 14) << 10 | ((int)(m * 2048) & 1023));
}

START_TEST(test_half_axpy)
{
	int n = 100, i;
	uint16_t *x = test_alloc(&device, 4 * n), *y = test_alloc(&device, 4 * n);
	struct { void *x, *y; float a; int n; } p = { x, y, 1.5f, n };

	load_sample("half");
	for (i = 0; i < 2 * n; i++) {
		x[i] = to_half((float)i);
		y[i] = to_half((float)(i % 13));
	}
	run_sample("half_axpy", 1, 128, 0, &p);
	for (i = 0; i < 2 * n; i++)
		ck_assert_uint_eq(y[i], to_half(1.5f * (float)i + (float)(i % 13)));
}
END_TEST

/* Values by hand: 0.1 is 0x2e66 in half precision and 0x3dcd in bfloat16. */
START_TEST(test_half_convert)
{
	float *in = test_alloc(&device, 16), *back = test_alloc(&device, 16);
	uint16_t *h = test_alloc(&device, 8), *b = test_alloc(&device, 8);
	struct { float *in; void *h, *b; float *back; int n; } p = { in, h, b, back, 4 };

	load_sample("half");
	in[0] = 0.1f;
	in[1] = -2;
	in[2] = 65520;		/* rounds up beyond the largest half */
	in[3] = 5.9604645e-8f;	/* the smallest half */
	run_sample("half_convert", 1, 32, 0, &p);
	ck_assert_uint_eq(h[0], 0x2e66);
	ck_assert_uint_eq(b[0], 0x3dcd);
	ck_assert_uint_eq(h[1], 0xc000);
	ck_assert_uint_eq(b[1], 0xc000);
	ck_assert_uint_eq(h[2], 0x7c00);
	ck_assert_uint_eq(b[2], 0x4780);
	ck_assert_uint_eq(h[3], 0x0001);
	ck_assert_uint_eq(b[3], 0x3380);
	ck_assert_float_eq(back[1], -4);
}
END_TEST

START_TEST(test_half_sum)
{
	uint16_t *in = test_alloc(&device, 64), *out = test_alloc(&device, 2);
	struct { void *in, *out; } p = { in, out };
	int i;

	load_sample("half");
	for (i = 0; i < 32; i++)
		in[i] = to_half((float)i);
	run_sample("half_sum", 1, 32, 0, &p);
	ck_assert_uint_eq(*out, to_half(496));
}
END_TEST

START_TEST(test_warp)
{
	int *in = test_alloc(&device, 4 * 64), *out = test_alloc(&device, 4 * 640), i, k;
	struct { int *in, *out; } p = { in, out };

	load_sample("warp");
	for (i = 0; i < 64; i++)
		in[i] = (int)(draw() % 50);
	run_sample("warp_primitives", 1, 64, 0, &p);
	for (i = 0; i < 64; i++) {
		const int *v = in + (i & 32), *row = out + 10 * i;
		int lane = i & 31, ballot = 0, any = 0, match = 0, sum = 0, most = 0, odd = 0;

		for (k = 0; k < 32; k++) {
			ballot |= (int)((unsigned)(v[k] & 1) << k);
			any |= v[k] == 7;
			match |= (int)((unsigned)(v[k] % 5 == v[lane] % 5) << k);
			sum += v[k];
			most = v[k] > most ? v[k] : most;
			odd += v[k] & 1;
		}
		ck_assert_int_eq(row[0], v[(lane + 5) % 32]);
		ck_assert_int_eq(row[1], v[lane % 8 ? lane - 1 : lane]);
		ck_assert_int_eq(row[2], v[lane ^ 3]);
		ck_assert_int_eq(row[3], ballot);
		ck_assert_int_eq(row[4], any + 2);
		ck_assert_int_eq(row[5], match);
		ck_assert_int_eq(row[6], sum);
		ck_assert_int_eq(row[7], most);
		ck_assert_int_eq(row[8], v[lane] & 1 ? odd : odd - 32);
		ck_assert_int_eq(row[9], 32);
	}
}
END_TEST

START_TEST(test_grid_sync)
{
	int n = 2000, i, s;
	float *a = test_alloc(&device, 4 * n), *b = test_alloc(&device, 4 * n);
	float *x = malloc(4 * n), *y = malloc(4 * n), *t;
	struct { float *a, *b; int n, steps; } p = { a, b, n, 20 };

	load_sample("grid");
	for (i = 0; i < n; i++)
		x[i] = a[i] = (float)(draw() % 1000);
	ck_assert_msg(!launch("grid_steps", 20, 100, 0, &p, 1), "%s", err.text);
	for (s = 0; s < 20; s++) {
		for (i = 0; i < n; i++)
			y[i] = i && i < n - 1 ? fmaf(0.25f, x[i + 1], fmaf(0.25f, x[i - 1], 0.5f * x[i])) : x[i];
		t = x;
		x = y;
		y = t;
	}
	for (i = 0; i < n; i++)
		ck_assert_float_eq_tol(a[i], x[i], 1e-3f);
	free(x);
	free(y);
}
END_TEST

/* Outside a cooperative launch the grid's barrier does not exist, and the program traps. */
START_TEST(test_grid_sync_alone)
{
	float *a = test_alloc(&device, 400);
	struct { float *a, *b; int n, steps; } p = { a, a, 100, 1 };

	load_sample("grid");
	ck_assert_int_eq(launch("grid_steps", 2, 32, 0, &p, 0), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_TRAP);
}
END_TEST

START_TEST(test_tiles)
{
	int *in = test_alloc(&device, 4 * 64), *out = test_alloc(&device, 4 * 64), i, k;
	struct { int *in, *out; } p = { in, out };

	load_sample("grid");
	for (i = 0; i < 64; i++)
		in[i] = i * i + 3 * (i / 8);
	run_sample("tiles", 1, 64, 0, &p);
	for (i = 0; i < 64; i++) {
		int sum = 0, odd = 0, tile;

		for (tile = i / 32 * 32; tile < i / 32 * 32 + 32; tile += 8) {
			int of_tile = 0;

			for (k = 0; k < 8; k++)
				of_tile += in[tile + k];
			odd += of_tile & 1 ? 8 : 0;
			if (tile == i / 8 * 8)
				sum = of_tile;
		}
		ck_assert_int_eq(out[i], sum & 1 ? sum + (odd << 16) : sum);
	}
}
END_TEST

START_TEST(test_printf)
{
	char *name = test_alloc(&device, 16);
	struct { int n; char *name; } p = { 2, name };

	load_sample("printf");
	strcpy(name, "device");
	run_sample("print", 1, 4, 0, &p);
	ck_assert_str_eq(device.printed,
			 "device: thread 0 of 4,  0.00, 1234567890125, c, ff, left  |%\n"
			 "device: thread 1 of 4,  1.25, 1234567890125, c, ff, left  |%\n");
}
END_TEST

START_TEST(test_assert)
{
	struct { int n; } p = { 5 };

	load_sample("printf");
	ck_assert_int_eq(launch("fails", 1, 8, 0, &p, 0), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_TRAP);
	ck_assert_ptr_nonnull(strstr(err.text, "thread (5,0,0)"));
	ck_assert_ptr_nonnull(strstr(device.printed, "printf.cu:"));
	ck_assert_ptr_nonnull(strstr(device.printed, "thread: [5,0,0] Assertion `threadIdx.x < n` failed."));
}
END_TEST

START_TEST(test_heap)
{
	int *out = test_alloc(&device, 4 * 40), i, k;
	struct { int *out; } p = { out };
	size_t before;

	load_sample("printf");
	before = device.allocated;
	run_sample("heap", 1, 40, 0, &p);
	for (i = 0; i < 40; i++) {
		int sum = 0;

		for (k = 9; k >= 0; k--)
			sum = sum * 3 + k + i;
		ck_assert_int_eq(out[i], sum);
	}
	ck_assert_uint_eq(device.allocated, before);
}
END_TEST

static void near(double got, double expected, double tolerance, const char *what, double x)
{
	ck_assert_msg(got == expected || fabs(got - expected) <= tolerance * fabs(expected) + 1e-300 ||
		      (isnan(got) && isnan(expected)), "%s(%g) = %.17g, not %.17g", what, x, got, expected);
}

START_TEST(test_math_double)
{
	int n = 96, i;
	double *in = test_alloc(&device, 8 * n), *out = test_alloc(&device, 64 * n);
	struct { double *in, *out; } p = { in, out };

	load_sample("math");
	for (i = 0; i < n; i++)
		in[i] = i < 4 ? pow(10, i * 5 - 6) / 3 : 0.05 + i * 0.171;
	run_sample("math_double", 3, 32, 0, &p);
	for (i = 0; i < n; i++) {
		const double x = in[i], *row = out + 8 * i;

		near(row[0], sin(x), 1e-15, "sin", x);
		near(row[1], exp(x), 1e-15, "exp", x);
		near(row[2], log(x), 1e-15, "log", x);
		near(row[3], pow(x, 1.7), 1e-15, "pow", x);
		ck_assert_double_eq(row[4], x / 3.0);
		ck_assert_double_eq(row[5], sqrt(x));
		if (x < 20)
			near(row[6], tgamma(x), 1e-14, "tgamma", x);
		ck_assert_double_eq(row[7], fmod(x, 0.7));
	}
}
END_TEST

START_TEST(test_math_float)
{
	int n = 96, i;
	float *in = test_alloc(&device, 4 * n), *out = test_alloc(&device, 32 * n);
	struct { float *in, *out; } p = { in, out };

	load_sample("math");
	for (i = 0; i < n; i++)
		in[i] = i < 4 ? powf(10, (float)i * 3 - 4) / 3 : 0.05f + (float)i * 0.171f;
	run_sample("math_float", 3, 32, 0, &p);
	for (i = 0; i < n; i++) {
		const float x = in[i], *row = out + 8 * i;

		ck_assert_float_eq_tol(row[0], sinf(x), 3e-7f);
		near((double)row[1], exp((double)x), 3e-7, "expf", (double)x);
		near((double)row[2], log((double)x), 3e-7, "logf", (double)x);
		near((double)row[3], pow((double)x, (double)1.7f), 1e-6, "powf", (double)x);
		ck_assert_float_eq(row[4], x / 3.0f);
		ck_assert_float_eq(row[5], sqrtf(x));
		near((double)row[6], erf((double)x), 3e-7, "erff", (double)x);
		near((double)row[7], atan2((double)x, (double)0.7f), 4e-7, "atan2f", (double)x);
	}
}
END_TEST

START_TEST(test_math_int)
{
	int n = 64, i;
	long long *in = test_alloc(&device, 16 * n), *out = test_alloc(&device, 32 * n);
	struct { long long *in, *out; } p = { in, out };

	load_sample("math");
	for (i = 0; i < n; i++) {
		in[2 * i] = (long long)((uint64_t)draw() << 33 ^ (uint64_t)draw() << 5) >> i % 40;
		in[2 * i + 1] = ((long long)((uint64_t)draw() << 33) >> (i % 50)) | 1;
	}
	run_sample("math_int", 2, 32, 0, &p);
	for (i = 0; i < n; i++) {
		long long x = in[2 * i], y = in[2 * i + 1];

		ck_assert_int_eq(out[4 * i], x / y);
		ck_assert_int_eq(out[4 * i + 1], x % y);
		ck_assert_int_eq(out[4 * i + 2], (long long)(((__int128)x * y) >> 64));
		ck_assert_int_eq(out[4 * i + 3], __builtin_popcountll((uint64_t)x) +
				 100 * (y ? __builtin_clzll((uint64_t)y) : 64) + 10000 * __builtin_ffsll(x));
	}
}
END_TEST

START_TEST(test_objects)
{
	struct { struct { int v[12]; } given; int *which, *out; } p;
	int *which = test_alloc(&device, 4 * 64), *out = test_alloc(&device, 16 * 64), i;

	load_sample("objects");
	for (i = 0; i < 12; i++)
		p.given.v[i] = 100 + i;
	for (i = 0; i < 64; i++)
		which[i] = (int)(draw() % 12);
	p.which = which;
	p.out = out;
	run_sample("objects", 1, 64, 0, &p);
	for (i = 0; i < 64; i++) {
		int w = which[i];
		const int by_table[] = { 2 * (i + 10), -(i + 10), i + 10 };
		const int by_switch[] = { i + 1, i * 3, i ^ 85, i << 3, -i, i / 3, 1000 };

		ck_assert_int_eq(out[4 * i], w & 1 ? i * i : i * w);
		ck_assert_int_eq(out[4 * i + 1], by_table[w % 3]);
		ck_assert_int_eq(out[4 * i + 2], 100 + (i % 12 + w) % 12);
		ck_assert_int_eq(out[4 * i + 3], by_switch[w % 7]);
	}
}
END_TEST

/* Two clusters of four blocks; the second exchange adds 0 + 1 + ... + 31 to each first word. */
START_TEST(test_cluster)
{
	int *out = test_alloc(&device, 4 * 256), i, b;
	struct { int *out; } p = { out };

	load_sample("cluster");
	run_sample("neighbours", 8, 32, 0, &p);
	for (b = 0; b < 8; b++) {
		ck_assert_int_eq(out[32 * b], b * 100 + 496);
		for (i = 1; i < 32; i++)
			ck_assert_int_eq(out[32 * b + i], (b / 4 * 4 + (b + 1) % 4) * 100 + i);
	}
}
END_TEST

START_TEST(test_cluster_misfit)
{
	int *out = test_alloc(&device, 4 * 256);
	struct { int *out; } p = { out };

	load_sample("cluster");
	ck_assert_int_eq(launch("neighbours", 6, 32, 0, &p, 0), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_LAUNCH);
}
END_TEST

START_TEST(test_bulk_copy)
{
	int *in = test_alloc(&device, 4 * 768), *out = test_alloc(&device, 4 * 768), i;
	struct { int *in, *out; } p = { in, out };

	load_sample("cluster");
	for (i = 0; i < 768; i++)
		in[i] = (int)draw();
	run_sample("bulk_copy", 3, 256, 0, &p);
	for (i = 0; i < 768; i++)
		ck_assert_int_eq(out[i], in[i / 256 * 256 + 255 - ((i % 256) ^ 1)]);
}
END_TEST

START_TEST(test_tensor_half)
{
	uint16_t *a = test_alloc(&device, 512), *b = test_alloc(&device, 256);
	float *c = test_alloc(&device, 512);
	struct { void *a, *b; float *c; } p = { a, b, c };
	int i, j, k;

	load_sample("tensor");
	for (i = 0; i < 256; i++)
		a[i] = to_half((float)(i * 7 % 23 - 11));
	for (i = 0; i < 128; i++)
		b[i] = to_half((float)(i * 5 % 19 - 9));
	run_sample("tensor_half", 1, 32, 0, &p);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++) {
			int sum = 1;

			for (k = 0; k < 16; k++)
				sum += ((i * 16 + k) * 7 % 23 - 11) * ((k * 8 + j) * 5 % 19 - 9);
			ck_assert_float_eq(c[i * 8 + j], (float)sum);
		}
}
END_TEST

START_TEST(test_tensor_int)
{
	int8_t *a = test_alloc(&device, 512);
	uint8_t *b = test_alloc(&device, 256);
	int *c = test_alloc(&device, 512), i, j, k;
	struct { void *a, *b; int *c; } p = { a, b, c };

	load_sample("tensor");
	for (i = 0; i < 512; i++)
		a[i] = (int8_t)draw();
	for (i = 0; i < 256; i++)
		b[i] = (uint8_t)draw();
	run_sample("tensor_int", 1, 32, 0, &p);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 8; j++) {
			int sum = 0;

			for (k = 0; k < 32; k++)
				sum += a[i * 32 + k] * b[j * 32 + k];
			ck_assert_int_eq(c[i * 8 + j], sum);
		}
}
END_TEST

START_TEST(test_tensor_wmma)
{
	uint16_t *a = test_alloc(&device, 512), *b = test_alloc(&device, 512);
	float *c = test_alloc(&device, 1024);
	struct { void *a, *b; float *c; } p = { a, b, c };
	int i, j, k;

	load_sample("tensor");
	for (i = 0; i < 256; i++) {
		a[i] = to_half((float)(i * 7 % 23 - 11));
		b[i] = to_half((float)(i * 5 % 19 - 9));
	}
	run_sample("tensor_wmma", 1, 32, 0, &p);
	for (i = 0; i < 16; i++)
		for (j = 0; j < 16; j++) {
			int sum = 0;

			for (k = 0; k < 16; k++)
				sum += ((i * 16 + k) * 7 % 23 - 11) * ((j * 16 + k) * 5 % 19 - 9);
			ck_assert_float_eq(c[i * 16 + j], (float)((2 + sum) * 2 + sum));
		}
}
END_TEST

START_TEST(test_llvm)
{
	int n = 100, i, k;
	uint64_t *data = test_alloc(&device, 8 * n), *count = test_alloc(&device, 8), x;
	struct { uint64_t *data, *count; int n; } p = { data, count, n };

	load_sample("llvm");
	for (i = 0; i < n; i++)
		data[i] = (uint64_t)i << 40 | 12345;
	run_sample("llvm_mix", 4, 32, 0, &p);
	for (i = 0; i < n; i++) {
		x = (uint64_t)i << 40 | 12345;
		for (k = 0; k < 3; k++)
			x = (x ^ x >> 27) * 0x94d049bb133111ebull;
		ck_assert_uint_eq(data[i], x);
	}
	ck_assert_uint_eq(*count, 300);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		test_vecadd, test_reduce_shared, test_reduce_warp, test_reduce_max, test_scan_block,
		test_scan_chained, test_histogram, test_transpose, test_matmul, test_matmul_int,
		test_sort_block, test_sort_each, test_stencil, test_half_axpy, test_half_convert,
		test_half_sum, test_warp, test_grid_sync, test_grid_sync_alone, test_tiles, test_printf,
		test_assert, test_heap, test_math_double, test_math_float, test_math_int, test_objects,
		test_cluster, test_cluster_misfit, test_bulk_copy, test_tensor_half, test_tensor_int, test_tensor_wmma,
		test_llvm,
	};
	TCase *tcase = tcase_create("samples");
	unsigned i;

	tcase_add_checked_fixture(tcase, setup, teardown);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		tcase_add_test(tcase, tests[i]);
	return run_case("sim-samples", tcase);
}
