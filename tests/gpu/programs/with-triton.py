# SPDX-License-Identifier: Apache-2.0
"""Triton: an addition, a soft maximum, a product of matrices and attention, compiled at run time."""
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


@triton.jit
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for begin in range(0, k, K):
        at = begin + tl.arange(0, K)
        left = tl.load(a + row[:, None] * k + at[None, :], mask=(row[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + column[None, :], mask=(at[:, None] < k) & (column[None, :] < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(out + row[:, None] * n + column[None, :], total, mask=(row[:, None] < m) & (column[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, ROWS: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr):
    row, lane = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, WIDTH)
    base = tl.program_id(1) * length * WIDTH
    query = tl.load(q + base + row[:, None] * WIDTH + lane[None, :])
    most, total = tl.full((ROWS,), -float("inf"), tl.float32), tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, WIDTH), tl.float32)
    for begin in range(0, length, KEYS):
        at = begin + tl.arange(0, KEYS)
        scores = tl.dot(query, tl.trans(tl.load(k + base + at[:, None] * WIDTH + lane[None, :]))) * scale
        higher = tl.maximum(most, tl.max(scores, axis=1))
        powers, fade = tl.exp(scores - higher[:, None]), tl.exp(most - higher)
        values = tl.load(v + base + at[:, None] * WIDTH + lane[None, :])
        sums = sums * fade[:, None] + tl.dot(powers.to(tl.float16), values)
        total = total * fade + tl.sum(powers, axis=1)
        most = higher
    tl.store(out + base + row[:, None] * WIDTH + lane[None, :], sums / total[:, None])


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
left = (torch.arange(200 * 136, device="cuda") % 7 - 3).reshape(200, 136).half()
right = (torch.arange(136 * 90, device="cuda") % 5 - 2).reshape(136, 90).half()
product = torch.empty((200, 90), device="cuda")
matmul[(triton.cdiv(200, 64), triton.cdiv(90, 32))](left, right, product, 200, 90, 136, M=64, N=32, K=32)
assert bool((product == left.float() @ right.float()).all())
print("product", checksum(product))
q, k, v = (torch.sin(torch.arange(4 * 256 * 64, device="cuda") * step).reshape(4, 256, 64).half() for step in (0.3, 0.7, 1.1))
seen = torch.empty((4, 256, 64), device="cuda")
attention[(256 // 64, 4)](q, k, v, seen, 256, 0.125, ROWS=64, KEYS=64, WIDTH=64)
wanted = torch.softmax(q.float() @ k.float().transpose(1, 2) * 0.125, 2) @ v.float()
assert bool(torch.allclose(seen, wanted, atol=1e-2))
print("attention", checksum(seen))
