/* Many parameters, structures by value, grid constants, bounds. */
struct matrix { float *data; int rows, columns; char tag; };

template <class T, int N> __global__ void __launch_bounds__(N) fill(matrix m, T value, short a, char b, const matrix __grid_constant__ c)
{
	for (int i = threadIdx.x; i < m.rows * m.columns; i += N)
		m.data[i] = (float)value + a + b + c.data[i];
}

namespace { __global__ void hidden(int *a) { a[0] = a[1] / a[2]; } }
__global__ void uses(int *a) { a[1] = 2; }
void start(matrix m, int *a)
{
	hidden<<<1, 1>>>(a);
	fill<float, 128><<<1, 128>>>(m, 1.0f, 2, 3, m);
	fill<double, 256><<<1, 256>>>(m, 1.0, 2, 3, m);
}
