/* SPDX-License-Identifier: Apache-2.0 */
/* Linear systems and eigenvalues by cuSOLVER: Cholesky, LU, symmetric eigenvectors. */
#include "common.h"

#include <cmath>
#include <cusolverDn.h>

#define N 160

#define SOLVE(call) require((call) == CUSOLVER_STATUS_SUCCESS, #call)

static cusolverDnHandle_t solver;
static int *info, *pivots;

/* Symmetric, with a heavy diagonal: its eigenvalues are above 0. Column by column. */
static std::vector<double> make_matrix(void)
{
	std::vector<double> matrix(N * N);

	for (int column = 0; column < N; column++)
		for (int row = 0; row < N; row++)
			matrix[column * N + row] = row == column ? N + row : 1.0 / (1 + row + column);
	return matrix;
}

static std::vector<double> multiply(const std::vector<double> &matrix, const double *vector)
{
	std::vector<double> product(N);

	for (int column = 0; column < N; column++)
		for (int row = 0; row < N; row++)
			product[row] += matrix[column * N + row] * vector[column];
	return product;
}

static double *upload(const std::vector<double> &host)
{
	double *device;

	CHECK(cudaMalloc(&device, host.size() * sizeof(double)));
	CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));
	return device;
}

static std::vector<double> download(const double *device, size_t count)
{
	std::vector<double> host(count);

	CHECK(cudaMemcpy(host.data(), device, count * sizeof(double), cudaMemcpyDeviceToHost));
	return host;
}

static double *scratch(int count)
{
	double *memory;

	CHECK(cudaMalloc(&memory, (size_t)count * sizeof(double)));
	return memory;
}

static void verify_info(const char *what)
{
	int failed;

	CHECK(cudaMemcpy(&failed, info, sizeof(failed), cudaMemcpyDeviceToHost));
	require(!failed, what);
}

static uint64_t sum_of(const std::vector<double> &numbers)
{
	return checksum((const uint32_t *)numbers.data(), 2 * numbers.size());
}

/* The right side is the matrix times `right`. */
static uint64_t verify(const double *solution, const std::vector<double> &right, const char *what)
{
	std::vector<double> found = download(solution, N);

	verify_info(what);
	for (int i = 0; i < N; i++)
		require(fabs(found[i] - right[i]) < 1e-9, what);
	return sum_of(found);
}

static uint64_t cholesky(const std::vector<double> &matrix, const std::vector<double> &right)
{
	double *a = upload(matrix), *b = upload(multiply(matrix, right.data()));
	int room;

	SOLVE(cusolverDnDpotrf_bufferSize(solver, CUBLAS_FILL_MODE_LOWER, N, a, N, &room));
	SOLVE(cusolverDnDpotrf(solver, CUBLAS_FILL_MODE_LOWER, N, a, N, scratch(room), room, info));
	verify_info("Cholesky");
	SOLVE(cusolverDnDpotrs(solver, CUBLAS_FILL_MODE_LOWER, N, 1, a, N, b, N, info));
	return verify(b, right, "Cholesky, solution");
}

static uint64_t lu(const std::vector<double> &matrix, const std::vector<double> &right)
{
	double *a = upload(matrix), *b = upload(multiply(matrix, right.data()));
	int room;

	SOLVE(cusolverDnDgetrf_bufferSize(solver, N, N, a, N, &room));
	SOLVE(cusolverDnDgetrf(solver, N, N, a, N, scratch(room), pivots, info));
	verify_info("LU");
	SOLVE(cusolverDnDgetrs(solver, CUBLAS_OP_N, N, 1, a, N, pivots, b, N, info));
	return verify(b, right, "LU, solution");
}

static uint64_t eigen(const std::vector<double> &matrix)
{
	double *a = upload(matrix), *w = scratch(N);
	std::vector<double> values, vectors;
	int room;

	SOLVE(cusolverDnDsyevd_bufferSize(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, w, &room));
	SOLVE(cusolverDnDsyevd(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, N, a, N, w, scratch(room), room, info));
	verify_info("eigenvalues");
	values = download(w, N);
	vectors = download(a, N * N);
	for (int i = 0; i < N; i++) {
		std::vector<double> product = multiply(matrix, &vectors[i * N]);

		for (int row = 0; row < N; row++)
			require(fabs(product[row] - values[i] * vectors[i * N + row]) < 1e-9, "eigenvectors");
	}
	return sum_of(values) ^ sum_of(vectors);
}

int main(void)
{
	std::vector<double> matrix = make_matrix(), right(N);
	uint64_t sum;

	for (int i = 0; i < N; i++)
		right[i] = i % 13 - 6;
	SOLVE(cusolverDnCreate(&solver));
	CHECK(cudaMalloc(&info, sizeof(*info)));
	CHECK(cudaMalloc(&pivots, N * sizeof(*pivots)));
	sum = cholesky(matrix, right);
	sum ^= lu(matrix, right) * 3;
	sum ^= eigen(matrix) * 5;
	SOLVE(cusolverDnDestroy(solver));
	report_checksum(sum);
	return 0;
}
