/* Every way out of a kernel. */
__device__ __noinline__ int quit(int i)
{
	if (i % 5 == 0)
		asm volatile("exit;");
	return i * 3;
}

extern "C" __global__ void several(int *a, int n)
{
	int i = threadIdx.x;

	if (i >= n)
		return;
	for (int k = 0; k < n; k++) {
		if (a[i] == k)
			return;
		a[i] += quit(k);
	}
	if (a[i] & 1)
		asm volatile("exit;");
	a[i]++;
}

extern "C" __global__ void predicated(int *a, int n)
{
	asm volatile("{\n\t.reg .pred p, q;\n\tsetp.eq.s32 p, %0, 3;\n\tsetp.gt.s32 q, %0, 30;\n\t"
		     "@p ret;\n\t@!q bra over;\n\texit; // ret;\nover:\n\t}" : : "r"(n) : "memory");
	a[n] = 1;
}

extern "C" __global__ void falls_off(int *a)
{
	*a = 1;
	__builtin_unreachable();
}

extern "C" __global__ void table(int *a, int n)
{
	switch (n) {
	case 0: a[0] = 7; break;
	case 1: a[1] = a[4]; return;
	case 2: a[2] += 4; break;
	case 3: a[3] = a[2] / 7; break;
	case 4: a[n] = 11; return;
	case 5: a[5] *= 9; break;
	case 6: a[0] = n; return;
	default: __trap();
	}
	a[n + 1]++;
}

extern "C" __global__ void endless(volatile int *a)
{
	for (;;)
		*a += 1;
}

extern "C" __global__ void nothing(void)
{
}
