// SPDX-License-Identifier: Apache-2.0
// The mathematics library as nvcc compiles it in; eight results a thread.
extern "C" __global__ void math_double(const double *in, double *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	double x = in[i], *row = out + 8 * i;

	row[0] = sin(x);
	row[1] = exp(x);
	row[2] = log(x);
	row[3] = pow(x, 1.7);
	row[4] = x / 3.0;
	row[5] = sqrt(x);
	row[6] = tgamma(x);
	row[7] = fmod(x, 0.7);
}

extern "C" __global__ void math_float(const float *in, float *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float x = in[i], *row = out + 8 * i;

	row[0] = sinf(x);
	row[1] = expf(x);
	row[2] = logf(x);
	row[3] = powf(x, 1.7f);
	row[4] = x / 3.0f;
	row[5] = sqrtf(x);
	row[6] = erff(x);
	row[7] = atan2f(x, 0.7f);
}

extern "C" __global__ void math_int(const long long *in, long long *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	long long x = in[2 * i], y = in[2 * i + 1];

	out[4 * i] = x / y;
	out[4 * i + 1] = x % y;
	out[4 * i + 2] = __mul64hi(x, y);
	out[4 * i + 3] = __popcll(x) + 100 * __clzll(y) + 10000 * __ffsll(x);
}
