extern "C" __global__ void scale(float *a, float k, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] *= k;
}
template <class T> __global__ void reverse(T *a)
{
	__shared__ T s[64];
	s[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	a[threadIdx.x] = s[63 - threadIdx.x];
}
template __global__ void reverse<double>(double *);
