# SPDX-License-Identifier: Apache-2.0
"""
Data-parallel training over NCCL, started by torchrun, a process for each GPU: ddp.py [--steps N].
Rank 0 prints each loss to its last bit, and the median time of a step.
"""
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
try:
    import torch
    import torch.distributed
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(77)

STEPS = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 120
WARM = min(20, STEPS // 2)
WIDTH = 1024
LAYERS = 12

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
torch.distributed.init_process_group("nccl")
torch.use_deterministic_algorithms(True)
torch.manual_seed(1)

stack = []
for _ in range(LAYERS):
    stack += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*stack).cuda())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
values = torch.arange(256 * WIDTH, device="cuda", dtype=torch.float32).reshape(256, WIDTH) + 1000 * rank
inputs, targets = torch.sin(values), torch.cos(values * 3)

losses, times = [], []
for step in range(STEPS):
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=False)
    loss = ((model(inputs) - targets) ** 2).mean()
    loss.backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
    losses.append(loss.detach())
if rank == 0:
    for loss in losses[::10]:
        print("loss", float(loss).hex())
    print(f"step {sorted(times[WARM:])[(STEPS - WARM) // 2] * 1e9:.0f}")
torch.distributed.destroy_process_group()
