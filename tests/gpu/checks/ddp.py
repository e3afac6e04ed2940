# SPDX-License-Identifier: Apache-2.0
"""PyTorch on two GPUs, a process for each, over NCCL; for tests/gpu/run --multi."""

import collections
import re
import socket
import sys

from checks.multi import counted, in_order, traced
from checks.registry import check_of_several
from lab import SOURCES, Skip, expect, take_trace

STEP_RATIO = 1.05
# Without NVLink multicast, which a test must not depend on.
NCCL = {"NCCL_NVLS_ENABLE": "0", "NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "4", "PYTHONDONTWRITEBYTECODE": "1"}


def torchrun(*words):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1",
            f"--master-port={port}", *map(str, words)]


def ddp_words():
    return torchrun(SOURCES / "ddp.py")


def losses(out):
    found = re.findall(r"^loss (\S+)$", out, re.MULTILINE)
    expect(len(found) > 3, f"no losses: {out[-300:]!r}")
    return found


def bare_ddp(lab):
    """Losses and step time of the run without us: of two, since the first one finds nothing warm."""
    if not hasattr(lab, "ddp"):
        if lab.device == "sim":
            raise Skip("the software device does not run the CUDA runtime")
        count = lab.call("nvidia-smi", "-L").out.count("\n")
        if count < 2:
            raise Skip("there is one GPU only")
        first = lab.call(*ddp_words(), env=NCCL, timeout=90)
        if first.status and "no PyTorch" in first.out:
            raise Skip("no PyTorch")
        second = lab.call(*ddp_words(), env=NCCL, timeout=90)
        lab.ddp = min(first.good(), second.good(), key=lambda outcome: outcome.number("step"))
    return lab.ddp


def overlaps(trace):
    """
    Of all-reduces, which no GPU can end before the other has begun, how many run on both
    at some moment; and how many there are.
    """
    by_gpu = collections.defaultdict(list)
    for kernel in trace.kernels:
        if "AllReduce" in kernel["name"]:
            by_gpu[kernel["pid"]].append((kernel["start"], kernel["end"]))
    expect(len(by_gpu) == 2, f"all-reduces ran on {len(by_gpu)} GPUs")
    first, second = (sorted(spans) for spans in by_gpu.values())
    expect(len(first) == len(second), f"{len(first)} and {len(second)} all-reduces")
    return sum(a[0] < b[1] and b[0] < a[1] for a, b in zip(first, second)), len(first)


@check_of_several
def data_parallel(lab):
    """The timeline of two ranks: one merged trace, every launch tied to its kernel, the same losses, the step's time."""
    bare = bare_ddp(lab)
    path = lab.scratch / "ddp.json"
    first, outcome = (lab.tool("gputrace-record", "--no-api", "-o", path, "--", *ddp_words(), env=NCCL, timeout=120).good()
                      for _ in range(2))
    trace = take_trace(path)
    expect(losses(outcome.out) == losses(bare.out), "the losses changed")
    expect(trace.lost == 0, f"{trace.lost} records lost")
    launched = {call["args"]["correlation"] for call in trace.launches}
    ran = collections.Counter(kernel["args"]["correlation"] for kernel in trace.kernels)
    orphans = len(launched - set(ran))
    together, pairs = overlaps(trace)
    step = min(first.number("step"), outcome.number("step"))
    ratio = step / bare.number("step")
    processes = {call["pid"] for call in trace.launches}
    numbers = (f"{len(launched)} launches of {len(processes)} processes, {orphans} without a kernel, "
               f"{len(trace.kernels)} kernels on {len(trace.top['deviceProperties'])} GPUs; "
               f"{together} of {pairs} all-reduces overlap; clock error at most {in_order(lab, trace)} ns; step {bare.number('step')} -> {step} ns, {ratio:.3f}x; "
               f"{outcome.err.strip().splitlines()[-2:]}")
    expect(len(processes) == 2 and orphans == 0 and together == pairs and ratio <= STEP_RATIO, numbers)
    return numbers


@check_of_several
def data_parallel_probed(lab):
    """Programs at entry and exit of every kernel: NCCL's are probed, or it is said why not."""
    bare = bare_ddp(lab)
    listed = lab.tool("gputrace-kernels", "--", *ddp_words(), "--steps", "5", env=NCCL, timeout=120).good()
    nccl = [line for line in listed.out.splitlines() if "nccl" in line and not line.startswith(" " * 20)]
    probes = lab.build / "examples/bpf/threads.bpf.o"
    outcome = lab.tool("gputrace-run", probes, "--", *ddp_words(), env=NCCL, timeout=120).good()
    expect(losses(outcome.out) == losses(bare.out), "the losses changed")
    entered, left = counted(outcome.out, "entered"), counted(outcome.out, "left")
    refused = [line for line in outcome.err.splitlines() if "nccl" in line and "not in kernel" in line]
    ratio = outcome.number("step") / bare.number("step")
    numbers = (f"entered {dict(entered)}, left {dict(left)}; {len(nccl)} lines of NCCL kernels listed, "
               f"{len(refused)} kernels of NCCL without: {refused[:2]}; step {ratio:.3f}x")
    expect(len(entered) == 2 and entered == left and nccl, numbers)
    return numbers


@check_of_several
def one_rank_only(lab):
    """Rank 1 runs under the tool, rank 0 without; its GPU alone is in the trace."""
    bare = bare_ddp(lab)
    path = lab.scratch / "rank.json"
    tool = [lab.build / "gputrace-record", "--no-api", "-o", path, "--", sys.executable]
    script = f'case $RANK in 1) exec {" ".join(map(str, tool))} "$@";; esac; exec {sys.executable} "$@"'
    words = torchrun("--no-python", "/bin/sh", "-c", script, "rank", SOURCES / "ddp.py")
    outcome = lab.call(*words, env=NCCL, timeout=120).good()
    trace = take_trace(path)
    expect(losses(outcome.out) == losses(bare.out), "the losses changed")
    addresses = [device["pciAddress"] for device in trace.top["deviceProperties"]]
    ran = {kernel["pid"] for kernel in trace.kernels}
    expect(len(ran) == 1 and len({call["pid"] for call in trace.launches}) == 1, f"kernels of GPUs {ran}")
    second = lab.call("nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader", "-i", "1").out.strip().lower()
    at = {device["id"]: device["pciAddress"] for device in trace.top["deviceProperties"]}[ran.pop()]
    expect(second.endswith(at), f"the kernels are on {at}, rank 1 is on {second}")
    ratio = outcome.number("step") / bare.number("step")
    return f"{len(trace.kernels)} kernels, all on {at} of {addresses}; step {ratio:.3f}x"


@check_of_several
def renumbered_ranks(lab):
    """Each rank sees one GPU and calls it 0; the second rank has the first GPU."""
    bare = bare_ddp(lab)
    path = lab.scratch / "ranks.json"
    script = f'CUDA_VISIBLE_DEVICES=$((1 - RANK)) exec {sys.executable} "$@"'
    words = torchrun("--no-python", "/bin/sh", "-c", script, "rank", SOURCES / "ddp.py", "--steps", "40")
    outcome = lab.tool("gputrace-record", "--no-api", "-o", path, "--", *words, env=NCCL, timeout=120).good()
    trace = take_trace(path)
    expect(losses(outcome.out) == losses(bare.out)[:4], "the losses changed")
    kernels = traced(trace)
    expect(len([one for one in kernels.values() if one.launches]) == 2, f"{kernels}")
    launches = {address: counts.launches for address, counts in kernels.items()}
    return f"{launches} kernels; clock error at most {in_order(lab, trace)} ns"
