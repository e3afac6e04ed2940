# SPDX-License-Identifier: Apache-2.0
"""
Operations of PyTorch of every kind, forward and backward: torch-ops.py fp32 | tf32 | bf16 | fp16 [graph].
Prints a sum over the bits of what each computes.  graph: captured once, and replayed.
"""
import sys

from exact_torch import torch
from torch.nn import functional as F

kind, in_graph = sys.argv[1], "graph" in sys.argv[2:]
dtype = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[kind]
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = kind == "tf32"
torch.backends.cudnn.benchmark = False


def values(*shape, wants_grad=False):
    count = torch.Size(shape).numel()
    made = torch.sin(torch.arange(count, device="cuda", dtype=torch.float32) * 0.37).reshape(shape).to(dtype)
    return made.requires_grad_(wants_grad)


def matmul():
    a, b = values(192, 320, wants_grad=True), values(320, 128, wants_grad=True)
    out = a @ b
    return [out, *torch.autograd.grad(out.float().square().mean(), (a, b))]


def convolution():
    x, w = values(4, 16, 30, 30, wants_grad=True), values(32, 16, 3, 3, wants_grad=True)
    out = F.conv2d(x, w, padding=1, stride=2)
    return [out, *torch.autograd.grad(out.float().square().mean(), (x, w))]


def attention():
    q, k, v = (values(2, 4, 96, 64, wants_grad=True) for _ in range(3))
    # The memory-efficient way's backward adds in any order.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return [out, *torch.autograd.grad(out.float().square().mean(), (q, k, v))]


def fast_attention():
    with torch.no_grad():
        return [F.scaled_dot_product_attention(values(2, 4, 96, 64), values(2, 4, 96, 64), values(2, 4, 96, 64))]


def norms():
    x, w = values(64, 768, wants_grad=True), values(768, wants_grad=True)
    out = F.layer_norm(x, (768,), w)
    return [out, *torch.autograd.grad(out.float().square().mean(), (x, w)), F.softmax(x.detach(), 1)]


def sort():
    ordered, places = values(20000).sort(stable=True)
    return [ordered, places, values(64, 500).topk(7)[0]]


def index():
    x, at = values(500, 64), (torch.arange(3000, device="cuda") * 7919) % 500
    picked = x[at]
    put = torch.zeros_like(x).index_put_((at[:500],), picked[:500])
    return [picked, put, x.gather(0, at[:64].reshape(1, 64)), at.cumsum(0)]


def training():
    model = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 10))
    model = model.to("cuda", dtype)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4)
    wanted = torch.arange(64, device="cuda") % 10
    losses = []
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(values(64, 128)).float(), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def checksum(tensors):
    bits = {8: torch.int64, 4: torch.int32, 2: torch.int16}
    return hex(sum(int(tensor.contiguous().view(bits[tensor.element_size()]).to(torch.int64).sum()) * (place + 1)
                   for place, tensor in enumerate(tensors)) & 0xffffffffffffffff)


def replayed(operation):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        operation()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        outcome = operation()
    for _ in range(3):
        captured.replay()
    return outcome


CAPTURED = (matmul, convolution, attention, fast_attention, norms, sort)
# Places to put at are sorted with the host's help, and the weights of a new network come from it.
for operation in CAPTURED + (() if in_graph else (index, training)):
    print(operation.__name__, checksum(replayed(operation) if in_graph else operation()))
