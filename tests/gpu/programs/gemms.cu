/* SPDX-License-Identifier: Apache-2.0 */
/* 200 matrix products of random shapes and types, by cuBLAS and by cuBLASLt in turns. */
#include "common.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define PRODUCTS 200
#define SIZE_MOST 320
#define BATCH_MOST 3
#define WORKSPACE ((size_t)32 << 20)

#define BLAS(call) require((call) == CUBLAS_STATUS_SUCCESS, #call)

struct kind {
	cudaDataType_t in, out;
	cublasComputeType_t compute;
};

static const struct kind kinds[] = {
	{ CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	{ CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32 },
	{ CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F },
	{ CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	{ CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	{ CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Column by column: A is m x k, B k x n, C m x n; a transposed one lies row by row. */
struct product {
	const struct kind *kind;
	cublasOperation_t op_a, op_b;
	int m, n, k, batch;
	void *a, *b, *c;
};

static uint32_t state = 1;

static unsigned below(unsigned limit)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % limit;
}

static int leading_a(const struct product *p)
{
	return p->op_a == CUBLAS_OP_N ? p->m : p->k;
}

static int leading_b(const struct product *p)
{
	return p->op_b == CUBLAS_OP_N ? p->k : p->n;
}

static size_t bytes_of(cudaDataType_t type)
{
	return type == CUDA_R_64F ? 8 : type == CUDA_R_8I ? 1 : type == CUDA_R_32F || type == CUDA_R_32I ? 4 : 2;
}

/* Small integers: every sum is exact in every type, in whatever order it is made. */
static int8_t small(void)
{
	return (int8_t)((int)below(7) - 3);
}

static void put(void *at, cudaDataType_t type, size_t i, int8_t value)
{
	switch (type) {
	case CUDA_R_64F: ((double *)at)[i] = value; break;
	case CUDA_R_32F: ((float *)at)[i] = value; break;
	case CUDA_R_16F: ((__half *)at)[i] = __float2half(value); break;
	case CUDA_R_16BF: ((__nv_bfloat16 *)at)[i] = __float2bfloat16(value); break;
	default: ((int8_t *)at)[i] = value;
	}
}

static void *upload(const std::vector<int8_t> &values, cudaDataType_t type)
{
	std::vector<char> host(values.size() * bytes_of(type));
	void *device;

	for (size_t i = 0; i < values.size(); i++)
		put(host.data(), type, i, values[i]);
	CHECK(cudaMalloc(&device, host.size()));
	CHECK(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
	return device;
}

static std::vector<int8_t> numbers(size_t count)
{
	std::vector<int8_t> values(count);

	for (int8_t &value : values)
		value = small();
	return values;
}

static int64_t element(const std::vector<char> &host, cudaDataType_t type, size_t i)
{
	if (type == CUDA_R_64F)
		return (int64_t)((const double *)host.data())[i];
	return type == CUDA_R_32F ? (int64_t)((const float *)host.data())[i] : ((const int32_t *)host.data())[i];
}

static uint64_t verify(const struct product *p, const std::vector<int8_t> &a, const std::vector<int8_t> &b)
{
	std::vector<char> host((size_t)p->m * p->n * p->batch * bytes_of(p->kind->out));
	/* Steps from one row to the next, and from one column to the next. */
	const int a_row = p->op_a == CUBLAS_OP_N ? 1 : p->k, a_column = p->op_a == CUBLAS_OP_N ? p->m : 1;
	const int b_row = p->op_b == CUBLAS_OP_N ? 1 : p->n, b_column = p->op_b == CUBLAS_OP_N ? p->k : 1;

	CHECK(cudaMemcpy(host.data(), p->c, host.size(), cudaMemcpyDeviceToHost));
	for (int batch = 0; batch < p->batch; batch++) {
		const int8_t *from_a = a.data() + (size_t)batch * p->m * p->k, *from_b = b.data() + (size_t)batch * p->k * p->n;

		for (int column = 0; column < p->n; column++) {
			for (int row = 0; row < p->m; row++) {
				size_t at = ((size_t)batch * p->n + column) * p->m + row;
				int64_t sum = 0;

				for (int k = 0; k < p->k; k++)
					sum += from_a[row * a_row + k * a_column] * from_b[k * b_row + column * b_column];
				require(element(host, p->kind->out, at) == sum, "an element of a product");
			}
		}
	}
	return checksum((const uint32_t *)host.data(), host.size() / sizeof(uint32_t));
}

union scalar {
	float f;
	double d;
	int32_t i;
};

static union scalar scalar_of(const struct kind *kind, int value)
{
	union scalar scalar;

	if (kind->out == CUDA_R_64F)
		scalar.d = value;
	else if (kind->out == CUDA_R_32I)
		scalar.i = value;
	else
		scalar.f = (float)value;
	return scalar;
}

static void by_blas(cublasHandle_t blas, const struct product *p)
{
	union scalar one = scalar_of(p->kind, 1), zero = scalar_of(p->kind, 0);

	BLAS(cublasGemmStridedBatchedEx(blas, p->op_a, p->op_b, p->m, p->n, p->k, &one,
					p->a, p->kind->in, leading_a(p), (long long)p->m * p->k,
					p->b, p->kind->in, leading_b(p), (long long)p->k * p->n, &zero,
					p->c, p->kind->out, p->m, (long long)p->m * p->n,
					p->batch, p->kind->compute, CUBLAS_GEMM_DEFAULT));
}

static cublasLtMatrixLayout_t layout(cudaDataType_t type, int rows, int columns, int batch)
{
	cublasLtMatrixLayout_t made;
	int64_t stride = (int64_t)rows * columns;

	BLAS(cublasLtMatrixLayoutCreate(&made, type, rows, columns, rows));
	BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
	BLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
	return made;
}

/* False: it has no way for this shape and type. */
static bool by_lt(cublasLtHandle_t lt, void *workspace, const struct product *p)
{
	bool plain_a = p->op_a == CUBLAS_OP_N, plain_b = p->op_b == CUBLAS_OP_N;
	union scalar one = scalar_of(p->kind, 1), zero = scalar_of(p->kind, 0);
	cublasLtMatrixLayout_t a = layout(p->kind->in, plain_a ? p->m : p->k, plain_a ? p->k : p->m, p->batch);
	cublasLtMatrixLayout_t b = layout(p->kind->in, plain_b ? p->k : p->n, plain_b ? p->n : p->k, p->batch);
	cublasLtMatrixLayout_t c = layout(p->kind->out, p->m, p->n, p->batch);
	size_t room = WORKSPACE;
	cublasLtMatmulHeuristicResult_t way;
	cublasLtMatmulPreference_t wish;
	cublasLtMatmulDesc_t what;
	int found = 0;

	BLAS(cublasLtMatmulDescCreate(&what, p->kind->compute, p->kind->out));
	BLAS(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSA, &p->op_a, sizeof(p->op_a)));
	BLAS(cublasLtMatmulDescSetAttribute(what, CUBLASLT_MATMUL_DESC_TRANSB, &p->op_b, sizeof(p->op_b)));
	BLAS(cublasLtMatmulPreferenceCreate(&wish));
	BLAS(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &room, sizeof(room)));
	if (cublasLtMatmulAlgoGetHeuristic(lt, what, a, b, c, c, wish, 1, &way, &found) == CUBLAS_STATUS_SUCCESS && found)
		BLAS(cublasLtMatmul(lt, what, &one, p->a, a, p->b, b, &zero, p->c, c, p->c, c, &way.algo, workspace, room, 0));
	BLAS(cublasLtMatmulPreferenceDestroy(wish));
	BLAS(cublasLtMatmulDescDestroy(what));
	BLAS(cublasLtMatrixLayoutDestroy(a));
	BLAS(cublasLtMatrixLayoutDestroy(b));
	BLAS(cublasLtMatrixLayoutDestroy(c));
	return found;
}

/* Half of the sizes are of the kind for which there are fast kernels; eight bits need it. */
static int some_size(const struct kind *kind)
{
	int size = 1 + (int)below(SIZE_MOST);

	return kind->in == CUDA_R_8I || below(2) ? (size + 15) / 16 * 16 : size;
}

static struct product some_product(unsigned number)
{
	struct product p = {};

	p.kind = &kinds[number / 2 % KINDS];
	p.m = some_size(p.kind);
	p.n = some_size(p.kind);
	p.k = some_size(p.kind);
	p.batch = 1 + (int)below(BATCH_MOST);
	p.op_a = p.kind->in == CUDA_R_8I || below(2) ? CUBLAS_OP_T : CUBLAS_OP_N;
	p.op_b = p.kind->in != CUDA_R_8I && below(2) ? CUBLAS_OP_T : CUBLAS_OP_N;
	return p;
}

int main(void)
{
	unsigned lt_products = 0;
	uint64_t sum = 0;
	cublasHandle_t blas;
	cublasLtHandle_t lt;
	void *workspace;

	BLAS(cublasCreate(&blas));
	BLAS(cublasLtCreate(&lt));
	CHECK(cudaMalloc(&workspace, WORKSPACE));
	for (unsigned number = 0; number < PRODUCTS; number++) {
		struct product p = some_product(number);
		std::vector<int8_t> a = numbers((size_t)p.batch * p.m * p.k), b = numbers((size_t)p.batch * p.k * p.n);
		bool done = false;

		p.a = upload(a, p.kind->in);
		p.b = upload(b, p.kind->in);
		CHECK(cudaMalloc(&p.c, (size_t)p.batch * p.m * p.n * bytes_of(p.kind->out)));
		if (number % 2)
			done = by_lt(lt, workspace, &p);
		lt_products += done;
		if (!done)
			by_blas(blas, &p);
		sum = sum * 31 ^ verify(&p, a, b);
		CHECK(cudaFree(p.a));
		CHECK(cudaFree(p.b));
		CHECK(cudaFree(p.c));
	}
	BLAS(cublasDestroy(blas));
	BLAS(cublasLtDestroy(lt));
	printf("products %d\nby cublasLt %u\n", PRODUCTS, lt_products);
	report_checksum(sum);
	return 0;
}
