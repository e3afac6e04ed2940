# SPDX-License-Identifier: Apache-2.0
"""
Several GPUs, for tests/gpu/run --multi.  GPUs are told apart by their PCI addresses, which the
programs state; kernels must be in the tracks of the right ones.
"""

import collections
import re
import typing

from checks.compare import same_output
from checks.registry import check_of_several
from lab import Skip, expect


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


def need_two(lab):
    """CUDA has no GPU at all for a program that may use only one that is not there."""
    if len(stated(lab.bare(lab.program("devices"), "switch", "2").out)) < 2:
        raise Skip("there is one GPU only")


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


@check_of_several
def threads_on_every_gpu(lab):
    """Host threads launch the same kernels on every GPU at once."""
    return exact(lab, "threads", "500")


@check_of_several
def switched_contexts(lab):
    """One thread, one library; another GPU at each launch."""
    return exact(lab, "switch", "500")


@check_of_several
def runtime_on_every_gpu(lab):
    """The CUDA runtime: threads, one thread that goes from GPU to GPU, copies, graphs."""
    return exact(lab, "300", name="devices-runtime")


@check_of_several
def contexts_by_threads(lab):
    return exact(lab, "makers", "8")


@check_of_several
def peer_copies(lab):
    return exact(lab, "peer", "100")


@check_of_several
def waiting_for_each_other(lab):
    """Two kernels that spin on each other's flags, the first of their GPUs."""
    return exact(lab, "pair", "20000" if lab.device == "gpu" else "200")


@check_of_several
def contexts_come_and_go(lab):
    return exact(lab, "contexts", "40")


@check_of_several
def peer_clocks(lab):
    """The clocks of two GPUs, against flags through peer memory."""
    if lab.device == "sim":
        raise Skip("the software device's timers cannot be read from outside")
    outcome = lab.call(lab.program("peer-clock"), "10000", timeout=60)
    if outcome.status == 77:
        raise Skip(outcome.out.strip())
    expect(outcome.status == 0, outcome.out + outcome.err)
    return "; ".join(line for line in outcome.out.splitlines() if not re.match(r"GPU \d: (?!drift)", line))


@check_of_several
def renumbered(lab):
    """CUDA_VISIBLE_DEVICES turns the program's numbers; the controller's stay."""
    need_two(lab)
    return exact(lab, "switch", "50", env={"CUDA_VISIBLE_DEVICES": "1,0"})


@check_of_several
def one_gpu_each(lab):
    """Two processes of a session, each with another GPU that it calls 0."""
    need_two(lab)
    program = lab.program("devices")
    script = 'CUDA_VISIBLE_DEVICES=0 "$0" switch 30; CUDA_VISIBLE_DEVICES=1 "$0" switch 70'
    recorded, trace = lab.record("/bin/sh", "-c", script, program)
    said = stated(recorded.out)
    same_counts(traced(trace), said, "kernels in the trace")
    worst = in_order(lab, trace)
    return f"{sorted(counts.launches for counts in said.values())} launches; clock error at most {worst} ns"
