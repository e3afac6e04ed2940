# SPDX-License-Identifier: Apache-2.0
"""CuPy: element-wise and raw kernels, a reduction, a sort, a product by cuBLAS."""
import sys

try:
    import cupy
except ImportError as error:
    print(f"no CuPy: {error}")
    sys.exit(77)

RAW = """
extern "C" __global__ void mix(unsigned *data, unsigned rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < rounds; k++)
        data[i] = data[i] * 1664525u + i;
}
"""

numbers = cupy.arange(8192, dtype=cupy.uint32) * cupy.uint32(2654435761)
cupy.RawKernel(RAW, "mix")((64,), (128,), (numbers, cupy.uint32(7)))
right = cupy.arange(8192, dtype=cupy.uint32) * cupy.uint32(2654435761)
for _ in range(7):
    right = right * cupy.uint32(1664525) + cupy.arange(8192, dtype=cupy.uint32)
assert bool((numbers == right).all())
print("largest", hex(int(numbers.max())))
print("sum", hex(int(numbers.sum(dtype=cupy.uint64))))
ordered = cupy.sort(numbers)
assert bool((ordered[1:] >= ordered[:-1]).all())
print("middle", hex(int(ordered[4096])))
matrix = (cupy.arange(64 * 64, dtype=cupy.float32) % 17).reshape(64, 64)
product = matrix @ matrix.T
print("product", float(product.sum()).hex(), float(product[3, 5]).hex())
print("waves", float(cupy.abs(cupy.fft.fft(cupy.sin(matrix[0]))).sum()).hex())
