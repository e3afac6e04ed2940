# SPDX-License-Identifier: Apache-2.0
"""
Copies and memsets of PyTorch seen from inside the program by gputrace.trace(memcpy=True) and by
torch.profiler, in turn.  Prints "copy OURS THEIRS OURS_NS THEIRS_NS KIND BYTES" for each kind and
size: how many in one step by each, and their median length.
"""
import collections
import json
import pathlib
import statistics
import sys
import tempfile

try:
    import gputrace
    import torch
except ImportError as error:
    print(f"no PyTorch, or no Python package of libgputrace for it: {error}")
    sys.exit(77)
from torch.profiler import ProfilerActivity, profile

ROUNDS = 10
SIZES = [1 << 12, 1 << 20, 1 << 26]

pinned = {size: torch.empty(size, dtype=torch.uint8, pin_memory=True) for size in SIZES}
pageable = {size: torch.zeros(size, dtype=torch.uint8) for size in SIZES}
there = {size: torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES}
other = {size: torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES}


def step():
    for size in SIZES:
        there[size].copy_(pinned[size], non_blocking=True)
        pinned[size].copy_(there[size], non_blocking=True)
        other[size].copy_(there[size], non_blocking=True)
        torch.cuda.synchronize()
        there[size].copy_(pageable[size])
        pageable[size].copy_(there[size])
        other[size].zero_()
    torch.cuda.synchronize()


def of_file(path):
    """{(kind, bytes): lengths in ns}"""
    found = collections.defaultdict(list)
    for event in json.loads(pathlib.Path(path).read_text())["traceEvents"]:
        if event.get("cat") in ("gpu_memcpy", "gpu_memset"):
            # "Memcpy HtoD (Pinned -> Device)"
            kind = " ".join(event["name"].lower().split()[:2]) if event["cat"] == "gpu_memcpy" else "memset"
            found[kind, event["args"]["bytes"]].append(event["dur"] * 1000)
    return found


def by_gputrace(path):
    with gputrace.trace(memcpy=True) as t:
        step()
    t.save(path)
    if t.lost or t.notes:
        print(f"{t.lost} lost", t.notes[:3])
    return of_file(path)


def by_torch(path):
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        step()
    p.export_chrome_trace(str(path))
    return of_file(path)


step()
lengths = collections.defaultdict(lambda: ([], []))
counts = {}
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "trace.json"
    by_gputrace(path), by_torch(path)
    for _ in range(ROUNDS):
        seen = by_gputrace(path), by_torch(path)
        for key in {**seen[0], **seen[1]}:
            counts[key] = tuple(len(each[key]) for each in seen)
            for to, each in zip(lengths[key], seen):
                to.extend(each[key])
for key, (ours, theirs) in sorted(counts.items()):
    ns = [statistics.median(each) if each else -1 for each in lengths[key]]
    print(f"copy {ours} {theirs} {ns[0]:.0f} {ns[1]:.0f} {key[0]} {key[1]}")
