# SPDX-License-Identifier: Apache-2.0
"""
Several GPUs, for tests/gpu/run --multi.  GPUs are told apart by their PCI addresses, which the
programs state; kernels must be in the tracks of the right ones.
"""

import collections
import os
import re
import socket
import sys
import typing

import check_trace
from checks.compare import same_output
from checks.registry import Check
from lab import SOURCES, Skip, expect

MULTI = []

STEP_RATIO = 1.05
# Without NVLink multicast, which a test must not depend on.
NCCL = {"NCCL_NVLS_ENABLE": "0", "NCCL_DEBUG": "WARN", "OMP_NUM_THREADS": "4", "PYTHONDONTWRITEBYTECODE": "1"}


def check(function):
    MULTI.append(Check(function.__name__, function, alone=True, slow=False))
    return function


class Counts(typing.NamedTuple):
    launches: int
    threads: int


def stated(out):
    """What the program says of each GPU: {PCI address: Counts}, and by ordinal."""
    lines = re.findall(r"^gpu (\d+) (\S+) launches (\d+) threads (\d+)$", out, re.MULTILINE)
    expect(lines, f"the program states no GPU: {out[:200]!r}")
    by_address = collections.Counter(), collections.Counter()
    for _, address, launches, threads in lines:
        by_address[0][address] += int(launches)
        by_address[1][address] += int(threads)
    return {address: Counts(by_address[0][address], by_address[1][address]) for address in by_address[0]}


def traced(trace):
    """Kernels in the tracks of each GPU: {PCI address: Counts}."""
    addresses = {device["id"]: device["pciAddress"] for device in trace.top["deviceProperties"]}
    found = {address: [0, 0] for address in addresses.values()}
    for kernel in trace.kernels:
        volume = 1
        for size in kernel["args"]["grid"] + kernel["args"]["block"]:
            volume *= size
        found[addresses[kernel["pid"]]][0] += 1
        found[addresses[kernel["pid"]]][1] += volume
    return {address: Counts(*counts) for address, counts in found.items()}


def counted(out, name):
    """What gputrace-run counted in a map for each GPU, by its number in the session."""
    found = collections.Counter()
    pattern = rf"^map {name}(?:, instance \d+ \(process \d+, context \d+, GPU (\d+)\))?:\n  \[0\] (\d+)$"
    for gpu, value in re.findall(pattern, out, re.MULTILINE):
        found[int(gpu or 0)] += int(value)
    return found


def same_counts(seen, said, what):
    # A GPU that runs nothing may or may not be known.
    seen, said = ({key: value for key, value in counts.items() if value.launches} for counts in (seen, said))
    expect(seen == said, f"{what}: {seen}, the program launched {said}")


def in_order(lab, trace):
    """No kernel starts before its launch was called, within the error stated: each GPU has its own clock."""
    starts = {call["args"]["correlation"]: call["start"] for call in trace.launches}
    worst = 0
    for kernel in trace.kernels:
        error = kernel["args"]["est. error ns"]
        early = starts[kernel["args"]["correlation"]] - kernel["start"] - error
        expect(early <= 0, f"a kernel of GPU {kernel['pid']} starts {early} ns too early")
        worst = max(worst, error)
    # A bound that says nothing holds always.
    expect(lab.device == "sim" or worst <= 10_000, f"a clock error of {worst} ns")
    return worst


def exact(lab, *args, name="devices", env=None):
    """Counts for each GPU: of the program, of the timeline, of a program at entry and exit."""
    program = lab.program(name)
    bare = lab.bare(program, *args, env=env)
    said = stated(bare.out)
    if len(said) < 2:
        raise Skip("there is one GPU only")
    recorded, trace = lab.record(program, *args, env=env)
    expect(recorded.out == bare.out, f"the program's output changed: {recorded.out!r}, not {bare.out!r}")
    expect(trace.lost == 0, f"{trace.lost} records lost")
    same_counts(traced(trace), said, "kernels in the trace")
    worst = in_order(lab, trace)
    run = lab.run_object("threads", program, *args, env=env)
    same_output(run, bare)
    threads = [counts.threads for counts in said.values()]
    for name in ("entered", "left"):
        found = counted(run.out, name)
        expect([found[gpu] for gpu in range(len(threads))] == threads, f"{name}: {dict(found)}, launched {threads}")
    return "; ".join(f"{address}: {counts.launches} launches, {counts.threads} threads"
                     for address, counts in said.items()) + f"; clock error at most {worst} ns"


@check
def threads_on_every_gpu(lab):
    """Host threads launch the same kernels on every GPU at once."""
    return exact(lab, "threads", "500")


@check
def switched_contexts(lab):
    """One thread, one library; another GPU at each launch."""
    return exact(lab, "switch", "500")


@check
def runtime_on_every_gpu(lab):
    """The CUDA runtime: threads, one thread that goes from GPU to GPU, copies, graphs."""
    return exact(lab, "300", name="devices-runtime")


@check
def contexts_by_threads(lab):
    return exact(lab, "makers", "8")


@check
def peer_copies(lab):
    return exact(lab, "peer", "100")


@check
def waiting_for_each_other(lab):
    """Two kernels that spin on each other's flags, the first of their GPUs."""
    return exact(lab, "pair", "20000" if lab.device == "gpu" else "200")


@check
def contexts_come_and_go(lab):
    return exact(lab, "contexts", "40")


@check
def peer_clocks(lab):
    """The clocks of two GPUs, against flags through peer memory."""
    if lab.device == "sim":
        raise Skip("the software device's timers cannot be read from outside")
    outcome = lab.call(lab.program("peer-clock"), "10000", timeout=60)
    if outcome.status == 77:
        raise Skip(outcome.out.strip())
    expect(outcome.status == 0, outcome.out + outcome.err)
    return "; ".join(line for line in outcome.out.splitlines() if not re.match(r"GPU \d: (?!drift)", line))


@check
def renumbered(lab):
    """CUDA_VISIBLE_DEVICES turns the program's numbers; the controller's stay."""
    return exact(lab, "switch", "50", env={"CUDA_VISIBLE_DEVICES": "1,0"})


@check
def one_gpu_each(lab):
    """Two processes of a session, each with another GPU that it calls 0."""
    program = lab.program("devices")
    script = 'CUDA_VISIBLE_DEVICES=0 "$0" switch 30; CUDA_VISIBLE_DEVICES=1 "$0" switch 70'
    recorded, trace = lab.record("/bin/sh", "-c", script, program)
    said = stated(recorded.out)
    if len(said) < 2:
        raise Skip("there is one GPU only")
    same_counts(traced(trace), said, "kernels in the trace")
    worst = in_order(lab, trace)
    return f"{sorted(counts.launches for counts in said.values())} launches; clock error at most {worst} ns"


# PyTorch over NCCL


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
    """Losses and step time of the run without us: measured once."""
    if not hasattr(lab, "ddp"):
        if lab.device == "sim":
            raise Skip("the software device does not run the CUDA runtime")
        count = lab.call("nvidia-smi", "-L").out.count("\n")
        if count < 2:
            raise Skip("there is one GPU only")
        outcome = lab.call(*ddp_words(), env=NCCL, timeout=90)
        if outcome.status and "no PyTorch" in outcome.out:
            raise Skip("no PyTorch")
        lab.ddp = outcome.good()
    return lab.ddp


def overlaps(trace):
    """Of all-reduces, which no GPU can end before the other has begun, how many run on both at some moment; and how many there are."""
    by_gpu = collections.defaultdict(list)
    for kernel in trace.kernels:
        if "AllReduce" in kernel["name"]:
            by_gpu[kernel["pid"]].append((kernel["start"], kernel["end"]))
    expect(len(by_gpu) == 2, f"all-reduces ran on {len(by_gpu)} GPUs")
    first, second = (sorted(spans) for spans in by_gpu.values())
    expect(len(first) == len(second), f"{len(first)} and {len(second)} all-reduces")
    return sum(a[0] < b[1] and b[0] < a[1] for a, b in zip(first, second)), len(first)


@check
def data_parallel(lab):
    """The timeline of two ranks: one merged trace, every launch tied to its kernel, the same losses, the step's time."""
    bare = bare_ddp(lab)
    path = lab.scratch / "ddp.json"
    outcome = lab.tool("gputrace-record", "--no-api", "-o", path, "--", *ddp_words(), env=NCCL, timeout=120).good()
    trace, errors = check_trace.check(path)
    path.unlink(missing_ok=True)
    expect(not errors, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    expect(losses(outcome.out) == losses(bare.out), "the losses changed")
    expect(trace.lost == 0, f"{trace.lost} records lost")
    launched = {call["args"]["correlation"] for call in trace.launches}
    ran = collections.Counter(kernel["args"]["correlation"] for kernel in trace.kernels)
    orphans = len(launched - set(ran))
    together, pairs = overlaps(trace)
    ratio = outcome.number("step") / bare.number("step")
    processes = {call["pid"] for call in trace.launches}
    numbers = (f"{len(launched)} launches of {len(processes)} processes, {orphans} without a kernel, {len(trace.kernels)} "
               f"kernels on {len(trace.top['deviceProperties'])} GPUs; {together} of {pairs} all-reduces overlap; clock error at "
               f"most {in_order(lab, trace)} ns; step {bare.number('step')} -> {outcome.number('step')} ns, {ratio:.3f}x; "
               f"{outcome.err.strip().splitlines()[-2:]}")
    expect(len(processes) == 2 and orphans == 0 and together == pairs and ratio <= STEP_RATIO, numbers)
    return numbers


@check
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
    numbers = (f"entered {dict(entered)}, left {dict(left)}; {len(nccl)} lines of NCCL kernels listed, {len(refused)} kernels of "
               f"NCCL without: {refused[:2]}; step {ratio:.3f}x")
    expect(len(entered) == 2 and entered == left and nccl, numbers)
    return numbers


@check
def one_rank_only(lab):
    """Rank 1 runs under the tool, rank 0 without; its GPU alone is in the trace."""
    bare = bare_ddp(lab)
    path = lab.scratch / "rank.json"
    tool = [lab.build / "gputrace-record", "--no-api", "-o", path, "--", sys.executable]
    script = f'case $RANK in 1) exec {" ".join(map(str, tool))} "$@";; esac; exec {sys.executable} "$@"'
    words = torchrun("--no-python", "/bin/sh", "-c", script, "rank", SOURCES / "ddp.py")
    outcome = lab.call(*words, env=NCCL, timeout=120).good()
    trace, errors = check_trace.check(path)
    path.unlink(missing_ok=True)
    expect(not errors, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    expect(losses(outcome.out) == losses(bare.out), "the losses changed")
    addresses = [device["pciAddress"] for device in trace.top["deviceProperties"]]
    ran = {kernel["pid"] for kernel in trace.kernels}
    expect(len(ran) == 1 and len({call["pid"] for call in trace.launches}) == 1, f"kernels of GPUs {ran}")
    second = lab.call("nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader", "-i", "1").out.strip().lower()
    at = {device["id"]: device["pciAddress"] for device in trace.top["deviceProperties"]}[ran.pop()]
    expect(second.endswith(at), f"the kernels are on {at}, rank 1 is on {second}")
    ratio = outcome.number("step") / bare.number("step")
    return f"{len(trace.kernels)} kernels, all on {at} of {addresses}; step {ratio:.3f}x"


@check
def renumbered_ranks(lab):
    """Each rank sees one GPU and calls it 0; the second rank has the first GPU."""
    bare = bare_ddp(lab)
    path = lab.scratch / "ranks.json"
    script = f'CUDA_VISIBLE_DEVICES=$((1 - RANK)) exec {sys.executable} "$@"'
    words = torchrun("--no-python", "/bin/sh", "-c", script, "rank", SOURCES / "ddp.py", "--steps", "40")
    outcome = lab.tool("gputrace-record", "--no-api", "-o", path, "--", *words, env=NCCL, timeout=120).good()
    trace, errors = check_trace.check(path)
    path.unlink(missing_ok=True)
    expect(not errors, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    expect(losses(outcome.out) == losses(bare.out)[:4], "the losses changed")
    kernels = traced(trace)
    expect(len([one for one in kernels.values() if one.launches]) == 2, f"{kernels}")
    return f"{ {address: counts.launches for address, counts in kernels.items()} } kernels; clock error at most {in_order(lab, trace)} ns"
