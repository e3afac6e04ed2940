# SPDX-License-Identifier: Apache-2.0
"""
Products of matrices by PyTorch, each from train() by way of forward() and followed by a sum: torch-stack.py [PRODUCTS].
cuBLAS has more of the stack than can be copied between the product's launch and Python; a sum's launch is near.
"""
import sys
import time

try:
    import torch
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)
if not getattr(sys, "is_stack_trampoline_active", lambda: False)():
    print("Python before 3.12, or run without -X perf: it does not name its functions")
    sys.exit(77)


def forward(left, right):
    return left @ right + 0.0


def train(products):
    value = torch.full((256, 256), 1 / 256, device="cuda")
    unit = value.clone()
    for _ in range(products):
        value = forward(value, unit)
    return value


total = train(int(sys.argv[1]) if len(sys.argv) > 1 else 50).sum().item()
# Its stacks are looked into while it runs: the code that Python makes goes with it.
time.sleep(10)
print(f"sum {total}")
