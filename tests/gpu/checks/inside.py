# SPDX-License-Identifier: Apache-2.0
"""Programs that trace themselves, from Python."""

import os
import re
import sys

from checks.cost import times
from checks.registry import check
from lab import Skip, expect

SELVES = (("with-cupy",), ("with-triton",), ("with-jax",), ("torch-step", "eager"), ("torch-step", "compiled"), ("torch-step", "graph"))
SLACK_NS, SLACK_PART = 1000, 0.03
TITLE = "A step of PyTorch by gputrace.trace() and by torch.profiler"


def from_build(lab):
    """The environment that finds this build's Python package."""
    folders = [str(lab.build / "bindings/python/stage"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, folders))}


def inside(lab, name, *args):
    """How often kernels ran in a program within gputrace.trace(), all as when it is recorded from outside."""
    program = lab.program(name)
    bare = lab.bare(program, *args)
    recorded, trace = lab.record(program, *args, options=["--no-api"])
    outcome = lab.call(sys.executable, "-B", "-m", "gputrace", program, *args, env=from_build(lab))
    if "_cffi_backend" in outcome.err:
        raise Skip(f"no cffi for {sys.executable}")
    expect(outcome.good().out == bare.out, f"the output changed: {outcome.out[:200]!r}, not {bare.out[:200]!r}")
    seen = re.search(r"^(\d+) launches, (\d+) runs, .*$", outcome.err, re.MULTILINE)
    expect(seen and int(seen.group(2)) == len(trace.kernels) and "lost" not in seen.group(),
           f"{seen and seen.group()!r}, {len(trace.kernels)} kernels from outside: {recorded.err[-200:]}")
    return f"{' '.join((name, *args))}: {seen.group()}"


@check
def inside_themselves(lab):
    """CuPy, Triton, JAX and PyTorch programs within gputrace.trace(): same output, and the kernels that gputrace-record sees."""
    seen, missing = [], []
    for name, *args in SELVES:
        try:
            seen.append(inside(lab, name, *args))
        except Skip as skip:
            missing.append(str(skip))
    if not seen:
        raise Skip("; ".join(missing))
    return "; ".join(seen + [f"not tried: {reason}" for reason in missing])


def apart(ours, theirs):
    return abs(ours - theirs) > SLACK_NS + SLACK_PART * theirs


@check(alone=True)
def torch_profiler(lab):
    """
    gputrace.trace() and torch.profiler see the same kernels as often and as long; what a step takes beside.
    A kernel's time is here from its first instruction until the memory has answered its last thread, there from when the
    GPU begins to launch it until all that it wrote is in place.
    """
    outcome = lab.bare(lab.program("torch-profiler"), env=from_build(lab))
    rows = [(name, *map(int, numbers)) for *numbers, name in
            re.findall(r"^kernel (\d+) (\d+) (\d+) (\d+) (.*)$", outcome.out, re.MULTILINE)]
    expect(rows, f"no kernels: {outcome.out[-300:]!r}")
    spent = times(outcome)
    lab.tables[TITLE] = (("kernel", "runs", "torch.profiler's", "median, ns", "torch.profiler's"),
                         [(name, *map(str, numbers)) for name, *numbers in rows])
    launch = next(theirs - ours for name, _, _, ours, theirs in rows if "spin_kernel" in name)
    counts = [f"{name}: {ours}, not {theirs}" for name, ours, theirs, _, _ in rows if ours != theirs]
    timed = [(name, ours, theirs) for name, count, _, ours, theirs in rows if count]
    lengths = [f"{name[:100]}: {ours} ns, not {theirs}" for name, ours, theirs in timed if apart(ours, theirs)]
    numbers = (f"{sum(row[1] for row in rows)} runs of {len(rows)} kernels, torch.profiler {sum(row[2] for row in rows)}; "
               f"runs differ: {len(counts)} {counts[:2]}; durations of {len(timed) - len(lengths)} of {len(timed)} kernels within "
               f"1 us + 3 %, not {lengths}; "
               f"one that does nothing takes {launch} ns longer for torch.profiler; "
               f"step bare {spent['bare']} ns, gputrace {spent['gputrace'] / spent['bare']:.3f}x, "
               f"torch.profiler {spent['torch.profiler'] / spent['bare']:.3f}x")
    said = [line for line in outcome.out.splitlines() if not line.startswith(("kernel ", "time "))]
    expect(not (counts or lengths or said), f"{numbers}; {said[:3]}")
    return numbers
