# SPDX-License-Identifier: Apache-2.0
"""Triton: an addition and a soft maximum, compiled at run time."""
import sys

try:
    import torch
    import triton
    import triton.language as tl
except ImportError as error:
    print(f"no Triton: {error}")
    sys.exit(77)


@triton.jit
def add(a, b, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(a + at, mask=mask) + tl.load(b + at, mask=mask), mask=mask)


@triton.jit
def softmax(a, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(a + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def checksum(tensor):
    return hex(int(tensor.view(torch.int32).to(torch.int64).sum()) & 0xffffffffffffffff)


count = 100003
a = torch.arange(count, device="cuda", dtype=torch.float32) % 1013
b = torch.arange(count, device="cuda", dtype=torch.float32) % 719
out = torch.empty_like(a)
for _ in range(5):
    add[(triton.cdiv(count, 1024),)](a, b, out, count, BLOCK=1024)
assert bool((out == a + b).all())
print("sum", checksum(out))
table = (a[:64 * 300] / 97).reshape(64, 300)
soft = torch.empty_like(table)
softmax[(64,)](table, soft, 300, BLOCK=512)
assert bool(torch.allclose(soft, torch.softmax(table, 1), atol=1e-6))
print("softmax", checksum(soft))
