/* Loads, stores and atomics in their forms. */
__constant__ float weights[8];
__device__ unsigned counter;
__device__ int table[64];

__device__ __noinline__ float fetch(const float *p, int i)
{
	return p[i] + __ldg(p + i + 1);
}

extern "C" __global__ void __launch_bounds__(128, 2)
memory(const float4 *in, float4 *out, const double2 *d, volatile int *v, char *c, int n)
{
	__shared__ float tile[128];
	extern __shared__ float2 dynamic[];
	int i = threadIdx.x, stack[16];
	float4 x = in[i];

	tile[i] = x.x * weights[i & 7];
	dynamic[i] = make_float2(x.y, x.z);
	for (int k = 0; k < 16; k++)
		stack[k] = table[(i * k) & 63];
	__syncthreads();
	if (i < n)
		x.w += tile[127 - i] + dynamic[i ^ 1].y + fetch((const float *)in, i);
	x.x = (float)(d[i].x * d[i].y) + v[i] + stack[n & 15];
	v[i] = n;
	c[i] = c[i + 1];
	out[i] = x;
	table[i & 63] = n;
	atomicAdd(&counter, 1u);
	atomicAdd(&tile[i & 7], 1.0f);
	atomicCAS(&table[1], 1, 2);
	if (atomicExch((unsigned long long *)d, 5ull) == 6)
		atomicMax((int *)v, n);
	atomicAdd_system((int *)v, 1);
}
