/* SPDX-License-Identifier: Apache-2.0 */
/* A sparse matrix by cuSPARSE: written out, times a vector, times a matrix. */
#include "common.h"

#include <cusparse.h>

#define ROWS 1500
#define COLUMNS 900
#define IN_ROW 7
#define WIDTH 24

#define SPARSE(call) require((call) == CUSPARSE_STATUS_SUCCESS, #call)

/* Small integers: every sum is exact. */
static float value(unsigned seed, unsigned i)
{
	return (float)((int)((i * 2654435761u + seed * 97u) >> 28) - 8);
}

template <typename T> static T *upload(const std::vector<T> &host)
{
	T *device;

	CHECK(cudaMalloc(&device, host.size() * sizeof(T)));
	CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
	return device;
}

static std::vector<float> values(unsigned seed, size_t count)
{
	std::vector<float> host(count);

	for (size_t i = 0; i < count; i++)
		host[i] = value(seed, (unsigned)i);
	return host;
}

struct sparse {
	std::vector<int> offsets, columns;
	std::vector<float> values;
};

static struct sparse make_matrix(void)
{
	struct sparse matrix;

	for (int row = 0; row < ROWS; row++) {
		matrix.offsets.push_back((int)matrix.columns.size());
		/* Rising, and in every fifth row none. */
		for (int i = 0; i < IN_ROW && row % 5; i++)
			matrix.columns.push_back(i * (COLUMNS / IN_ROW) + (row * 31 + i) % (COLUMNS / IN_ROW));
	}
	matrix.offsets.push_back((int)matrix.columns.size());
	matrix.values = values(1, matrix.columns.size());
	return matrix;
}

/* Column by column, as all dense matrices here. */
static std::vector<float> multiply(const struct sparse &matrix, const std::vector<float> &dense, int width)
{
	std::vector<float> product((size_t)ROWS * width);

	for (int column = 0; column < width; column++)
		for (int row = 0; row < ROWS; row++)
			for (int at = matrix.offsets[row]; at < matrix.offsets[row + 1]; at++)
				product[(size_t)column * ROWS + row] +=
					matrix.values[at] * dense[(size_t)column * COLUMNS + matrix.columns[at]];
	return product;
}

static uint64_t verify(const float *device, const std::vector<float> &right, const char *what)
{
	std::vector<float> host(right.size());

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
	require(host == right, what);
	return checksum((const uint32_t *)host.data(), host.size());
}

static void *scratch(size_t bytes)
{
	void *memory;

	CHECK(cudaMalloc(&memory, bytes + 1));
	return memory;
}

int main(void)
{
	struct sparse host = make_matrix();
	std::vector<float> vector = values(2, COLUMNS), dense = values(3, (size_t)COLUMNS * WIDTH), whole((size_t)ROWS * COLUMNS);
	float *vector_memory = upload(vector), *dense_memory = upload(dense), *out = upload(whole);
	const float one = 1, zero = 0;
	cusparseDnMatDescr_t in_matrix, out_matrix, all;
	cusparseDnVecDescr_t in_vector, out_vector;
	cusparseSpMatDescr_t matrix;
	cusparseHandle_t sparse;
	uint64_t sum;
	size_t bytes;

	for (int row = 0; row < ROWS; row++)
		for (int at = host.offsets[row]; at < host.offsets[row + 1]; at++)
			whole[(size_t)host.columns[at] * ROWS + row] = host.values[at];
	SPARSE(cusparseCreate(&sparse));
	SPARSE(cusparseCreateCsr(&matrix, ROWS, COLUMNS, (int64_t)host.columns.size(), upload(host.offsets), upload(host.columns),
				 upload(host.values), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
				 CUDA_R_32F));
	SPARSE(cusparseCreateDnVec(&in_vector, COLUMNS, vector_memory, CUDA_R_32F));
	SPARSE(cusparseCreateDnVec(&out_vector, ROWS, out, CUDA_R_32F));
	SPARSE(cusparseCreateDnMat(&in_matrix, COLUMNS, WIDTH, COLUMNS, dense_memory, CUDA_R_32F, CUSPARSE_ORDER_COL));
	SPARSE(cusparseCreateDnMat(&out_matrix, ROWS, WIDTH, ROWS, out, CUDA_R_32F, CUSPARSE_ORDER_COL));
	SPARSE(cusparseCreateDnMat(&all, ROWS, COLUMNS, ROWS, out, CUDA_R_32F, CUSPARSE_ORDER_COL));

	SPARSE(cusparseSpMV_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in_vector, &zero, out_vector,
				       CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
	SPARSE(cusparseSpMV(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in_vector, &zero, out_vector, CUDA_R_32F,
			    CUSPARSE_SPMV_ALG_DEFAULT, scratch(bytes)));
	sum = verify(out, multiply(host, vector, 1), "times a vector");
	SPARSE(cusparseSpMM_bufferSize(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix,
				       in_matrix, &zero, out_matrix, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
	SPARSE(cusparseSpMM(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, in_matrix,
			    &zero, out_matrix, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, scratch(bytes)));
	sum ^= verify(out, multiply(host, dense, WIDTH), "times a matrix") * 3;
	SPARSE(cusparseSparseToDense_bufferSize(sparse, matrix, all, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes));
	SPARSE(cusparseSparseToDense(sparse, matrix, all, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, scratch(bytes)));
	sum ^= verify(out, whole, "written out") * 5;
	SPARSE(cusparseDestroy(sparse));
	report_checksum(sum);
	return 0;
}
