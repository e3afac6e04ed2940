# SPDX-License-Identifier: Apache-2.0
"""What it costs: times of kernels with programs in them against those without, in one run."""

import re

from checks.registry import check
from lab import Failure, Skip, expect

KERNELS = ("vecadd", "matmul", "stream")
# Object, what it is, and how much longer a kernel may take.
PROBES = (
    ("empty", "empty program, each thread", {"vecadd": 1.05, "matmul": 1.03, "stream": 1.03}),
    ("kernel-count", "entry counter, each warp", {"vecadd": 1.05, "matmul": 1.03, "stream": 1.03}),
    ("count-sm", "memory counter, each warp, by multiprocessor", {"vecadd": 1.5, "matmul": 1.5, "stream": 1.5}),
    ("trace-map", "memory trace, each warp, map", {"vecadd": 1.5, "matmul": 1.5, "stream": 1.5}),
)
ROUTES = ("graft", "ptx")
# What a copy made from PTX may be measured against: the driver compiles it, and for linking.
BUILDS = (("speed-ptx", "nothing, PTX compiled by the driver"), ("speed-linked", "nothing, compiled for linking"))
TITLE = "Cost in kernel time"


def times(outcome):
    return {name: int(ns) for name, ns in re.findall(r"^time (\S+) (\d+)$", outcome.out, re.MULTILINE)}


def ratios(seen, bare, goals):
    """A cell for each kernel, and the goals that were missed."""
    cells, missed = [], []
    for kernel in KERNELS:
        ratio = seen[kernel] / bare[kernel]
        cells.append(f"{seen[kernel] / 1000:.2f} us, {ratio:.2f}x")
        if ratio > goals.get(kernel, ratio):
            missed.append(f"{kernel} {ratio:.2f}x, not {goals[kernel]}x")
    return cells, missed


@check(alone=True)
def cost_in_kernels(lab):
    """Vector addition of 5 us, product of matrices of 200 us, memory-bound kernel of 2 ms."""
    if lab.device == "sim":
        raise Skip("times of the software device mean nothing")
    program = lab.program("speed")
    first = times(lab.bare(program))
    rows, missed = [], []
    for name, what, goals in (*PROBES, (None, "timeline", {})):
        for route in ROUTES:
            env = {"GPUTRACE_ROUTE": route}
            if name:
                outcome = lab.run_object(name, program, env=env)
            else:
                outcome, _ = lab.record(program, options=["--no-api"], trace=False, env=env)
            if outcome.refusals():
                rows.append((what, route, *("not possible" for _ in KERNELS)))
                continue
            cells, over = ratios(times(outcome), first, goals)
            rows.append((what, route, *cells))
            missed += [f"{what} by {route}: {text}" for text in over]
    again = times(lab.bare(program))
    # The same program by itself, at the begin and at the end: what a ratio can be trusted for.
    rows.append(("nothing, once more", "", *ratios(again, first, {})[0]))
    rows += [(what, "", *ratios(times(lab.bare(lab.program(name))), first, {})[0]) for name, what in BUILDS]
    heads = (f"{kernel}, bare {first[kernel] / 1000:.2f} us" for kernel in KERNELS)
    lab.tables[TITLE] = (("program", "route", *heads), rows)
    text = "; ".join(" ".join((what, route, " / ".join(cell.rpartition(" ")[2] for cell in cells)))
                     for what, route, *cells in rows)
    if missed:
        raise Failure(f"goals missed: {', '.join(missed)}; all ({' / '.join(KERNELS)}): {text}")
    return f"{' / '.join(KERNELS)}: {text}"


@check(alone=True)
def cost_of_a_training_step(lab):
    """A step of PyTorch, 20 linear layers and Adam; each way twice, in turns, and the shorter one counts."""
    program, args = lab.program("torch-step"), ("eager", "--time")
    ways = {"bare": lambda: lab.bare(program, *args),
            "timeline": lambda: lab.record(program, *args, options=["--no-api"], trace=False)[0],
            "entry counter": lambda: lab.run_object("kernel-count", program, *args)}
    runs = [{name: run() for name, run in ways.items()} for _ in range(2)]
    losses = {tuple(re.findall("^loss .*", outcome.out, re.MULTILINE)) for run in runs for outcome in run.values()}
    expect(len(losses) == 1 and losses.pop(), "a loss changed")
    step = {name: min(times(run[name])["step"] for run in runs) for name in ways}
    return f"bare {step['bare'] / 1e6:.2f} ms, " + ", ".join(
        f"{name} {ns / step['bare']:.2f}x" for name, ns in step.items() if name != "bare")


@check(alone=True)
def cost_of_launches(lab):
    """How much longer 10,000 launches take; a figure, no bound."""
    program = lab.program("many")
    args = ["--launches", "10000", "--batch", "100"]
    bare = min(lab.bare(program, *args).seconds for _ in range(2))
    traced = min(lab.record(program, *args, options=["--no-api"], trace=False)[0].seconds for _ in range(2))
    calls = min(lab.record(program, *args, trace=False)[0].seconds for _ in range(2))
    return f"bare {bare:.2f} s, kernels {traced:.2f} s, kernels and calls {calls:.2f} s"
