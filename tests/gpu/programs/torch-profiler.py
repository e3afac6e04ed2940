# SPDX-License-Identifier: Apache-2.0
"""
A step of PyTorch seen from inside the program by gputrace.trace() and by torch.profiler, in turn.
Prints "kernel OURS THEIRS OURS_NS THEIRS_NS NAME" for each kernel: runs in one step by each, and the
average of their durations, of each run the median over the steps, which are all alike; "differs N NAME"
for the N-th step that was not; and "time WAY NS", the median time of a step.
"""
import collections
import json
import pathlib
import statistics
import sys
import tempfile
import time

try:
    import gputrace
    import torch
except ImportError as error:
    print(f"no PyTorch, or no Python package of libgputrace for it: {error}")
    sys.exit(77)
from torch.profiler import ProfilerActivity, profile

# What is loaded while a trace is on has times in all later ones.
early = gputrace.trace().start()
torch.manual_seed(1)

ROUNDS = 11  # for durations
TIMED = 30  # steps, for each way in each of three rounds


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(512, 8, batch_first=True)
        self.rest = torch.nn.Sequential(torch.nn.LayerNorm(512), torch.nn.Linear(512, 2048), torch.nn.GELU(),
                                        torch.nn.Linear(2048, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1000))

    def forward(self, x):
        return self.rest(x + self.attention(x, x, x, need_weights=False)[0]).mean(dim=1)


model = Model().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
inputs = torch.randn(16, 128, 512, device="cuda")
targets = torch.randint(0, 1000, (16,), device="cuda")


def step():
    # Nothing at all in it: what is in a profiler's duration beside the kernel's instructions.
    torch.cuda._sleep(0)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
    torch.cuda.synchronize()


def plain(name):
    """A kernel's name without what one demangler writes and another does not: spaces, the type a function returns."""
    return name.replace("void ", "").replace(" ", "")


def by_gputrace():
    """{name: durations in ns}"""
    with gputrace.trace() as t:
        step()
    if t.lost or t.launches() != len(t.kernels()):
        print(f"{t.lost} lost, {t.launches()} launches, {len(t.kernels())} runs:",
              [(s.name, s.reason) for s in t.summary() if s.runs != s.launches][:3], t.notes[:3])
    found = collections.defaultdict(list)
    for run in t.kernels():
        found[plain(run.name)].append(run.duration)
    return found


def by_torch():
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        p.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    found = collections.defaultdict(list)
    for event in sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"]):
        found[plain(event["name"])].append(event["dur"] * 1000)
    return found


def timed():
    spent = []
    for _ in range(TIMED):
        begin = time.perf_counter_ns()
        step()
        spent.append(time.perf_counter_ns() - begin)
    return spent


def average(steps):
    """Of the durations of one kernel in each of the steps, in order."""
    return statistics.mean(map(statistics.median, zip(*steps)))


def compare():
    ours, theirs = zip(*((by_gputrace(), by_torch()) for _ in range(ROUNDS)))
    for name in dict.fromkeys(name for step in ours + theirs for name in step):
        counts = [(len(a[name]), len(b[name])) for a, b in zip(ours, theirs)]
        for number, count in enumerate(counts):
            if count != counts[0]:
                print(f"differs {number} {name}")
        lengths = [average([step[name] for step in steps]) if all(map(all, counts)) else 0 for steps in (ours, theirs)]
        print(f"kernel {counts[0][0]} {counts[0][1]} {lengths[0]:.0f} {lengths[1]:.0f} {name}")


def measure():
    spent = collections.defaultdict(list)
    for _ in range(3):
        spent["bare"] += timed()
        with gputrace.trace():
            spent["gputrace"] += timed()
        with profile(activities=[ProfilerActivity.CUDA]):
            spent["torch.profiler"] += timed()
    for way, times in spent.items():
        print(f"time {way} {statistics.median(times):.0f}")


for _ in range(5):
    step()
early.stop()
# Whatever either of them does only once.
by_gputrace(), by_torch()
compare()
measure()
