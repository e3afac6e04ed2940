# SPDX-License-Identifier: Apache-2.0
"""
Training steps of PyTorch: torch-step.py eager | compiled | graph [--time] [--memory].
Prints each loss to its last bit; --time also the time of a step of a larger model; --memory
the most host memory that the process has had, and what of the GPU's is in use, in KiB.
"""
import os
import resource
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
from exact_torch import torch


def model(width, layers):
    stack = []
    for _ in range(layers):
        stack += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    return torch.nn.Sequential(*stack).cuda()


def trainer(network, inputs, targets, capturable=False):
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, capturable=capturable)

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = ((network(inputs) - targets) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def data(width):
    values = torch.arange(128 * width, device="cuda", dtype=torch.float32).reshape(128, width)
    return torch.sin(values), torch.cos(values * 3)


def eager():
    step = trainer(model(256, 4), *data(256))
    return [step() for _ in range(5)]


def compiled():
    step = trainer(torch.compile(model(256, 2)), *data(256))
    return [step() for _ in range(5)]


def graph():
    step = trainer(model(256, 4), *data(256), capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        losses = [step().clone() for _ in range(3)]
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = step()
    for _ in range(5):
        captured.replay()
        losses.append(loss.clone())
    return losses


def measure():
    step = trainer(model(1024, 20), *data(1024))
    for _ in range(10):
        step()
    best = None
    for _ in range(30):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        spent = (time.perf_counter() - begin) / 10
        best = spent if best is None else min(best, spent)
    print(f"time step {best * 1e9:.0f}")


for loss in {"eager": eager, "compiled": compiled, "graph": graph}[sys.argv[1]]():
    print("loss", float(loss).hex())
if "--time" in sys.argv:
    measure()
if "--memory" in sys.argv:
    free, total = torch.cuda.mem_get_info()
    print(f"resident {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}")
    print(f"device {(total - free) // 1024}")
