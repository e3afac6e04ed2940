// SPDX-License-Identifier: Apache-2.0
// Virtual functions, function pointers, structures by value.
struct shape {
	__device__ virtual int area() const = 0;
};
struct square : shape {
	int side;
	__device__ square(int s) : side(s) {}
	__device__ int area() const override { return side * side; }
};
struct rectangle : shape {
	int a, b;
	__device__ rectangle(int x, int y) : a(x), b(y) {}
	__device__ int area() const override { return a * b; }
};

struct big {
	int v[12];
};

__device__ __noinline__ big shift(big x, int by)
{
	big y;

	for (int i = 0; i < 12; i++)
		y.v[i] = x.v[(i + by) % 12];
	return y;
}

__device__ int twice(int x) { return 2 * x; }
__device__ int minus(int x) { return -x; }
__device__ int same(int x) { return x; }
typedef int (*op)(int);
__device__ op table[3] = { twice, minus, same };

extern "C" __global__ void objects(big given, const int *which, int *out)
{
	int i = threadIdx.x;
	square s(i);
	rectangle r(i, which[i]);
	const shape *p = which[i] & 1 ? (const shape *)&s : (const shape *)&r;

	out[4 * i] = p->area();
	out[4 * i + 1] = table[which[i] % 3](i + 10);
	out[4 * i + 2] = shift(given, which[i]).v[i % 12];
	switch (which[i] % 7) {
	case 0: out[4 * i + 3] = i + 1; break;
	case 1: out[4 * i + 3] = i * 3; break;
	case 2: out[4 * i + 3] = i ^ 85; break;
	case 3: out[4 * i + 3] = i << 3; break;
	case 4: out[4 * i + 3] = -i; break;
	case 5: out[4 * i + 3] = i / 3; break;
	default: out[4 * i + 3] = 1000;
	}
}
