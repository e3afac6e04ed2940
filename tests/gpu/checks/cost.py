# SPDX-License-Identifier: Apache-2.0
"""What it costs: times of kernels with programs in them against those without, in one run."""

import re
import statistics

from checks.registry import check
from lab import NOTHING_DONE, Failure, Skip, expect

KERNELS = ("vecadd", "matmul", "stream")
LIBRARIES = ("layernorm", "gemm")
# Object, what it is, and how much longer a kernel may take.
PROBES = (
    ("empty", "empty program, each thread", {"vecadd": 1.02, "matmul": 1.02, "stream": 1.02, "layernorm": 1.02, "gemm": 1.02}),
    ("kernel-count", "entry counter, each warp",
     {"vecadd": 1.05, "matmul": 1.03, "stream": 1.03, "layernorm": 1.05, "gemm": 1.05}),
    ("stamps", "time at entry and exit, each block",
     {"vecadd": 1.05, "matmul": 1.05, "stream": 1.05, "layernorm": 1.05, "gemm": 1.05}),
)
TRACES = (
    ("count-memory", "memory counter, each warp", {"vecadd": 1.5, "matmul": 1.5, "stream": 1.5}),
    ("count-plain", "memory counter, each thread, by load and store", {"vecadd": 1.5, "matmul": 1.5, "stream": 1.5}),
    ("trace-warp", "memory trace of each warp, sums", {"vecadd": 1.5, "matmul": 1.5, "stream": 1.5}),
    # It keeps addresses, which cannot be added up in registers: there is no goal.
    ("trace-map", "memory trace, each warp, map", {}),
)
TIMELINE = (None, "timeline", {})
# What a copy made from PTX may be measured against: the driver compiles it, and for linking.
BUILDS = (("speed-ptx", "nothing, PTX compiled by the driver"), ("speed-linked", "nothing, compiled for linking"))


def times(outcome):
    return {name: int(ns) for name, ns in re.findall(r"^time (\S+) (\d+)$", outcome.out, re.MULTILINE)}


def middle(runs):
    """Of each kernel's times."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


# Where the GPU puts a program's memory makes a kernel of 4.5 us by 4 % longer or shorter, in each run anew.
TURNS = 9


class Costs:
    """
    Times of a program's kernels with programs in them, beside those without.  What has goals of few percent runs
    several times, in turns with the program by itself, and the middle of the times counts.
    """

    def __init__(self, lab, program, kernels):
        self.lab, self.program, self.kernels = lab, lab.program(program), kernels
        self.bare = {}  # of the last measure()
        self.rows, self.missed = [], []

    def add(self, what, route, seen, goals):
        cells = []
        for kernel in self.kernels:
            ratio = seen[kernel] / self.bare[kernel]
            cells.append(f"{seen[kernel] / 1000:.2f} us, {ratio:.3f}x")
            if ratio > goals.get(kernel, ratio):
                self.missed.append(f"{what} by {route}: {kernel} {ratio:.3f}x, not {goals[kernel]}x")
        self.rows.append((what, route, *cells))

    def run(self, name, route):
        env = {"GPUTRACE_ROUTE": route}
        if name:
            return self.lab.run_object(name, self.program, env=env)
        return self.lab.record(self.program, options=["--no-api"], trace=False, env=env)[0]

    def measure(self, probes, routes, turns=1):
        """Each of the probes by each of the routes."""
        ways = [(*probe, route) for probe in probes for route in routes]
        bare, outcomes = [], [[] for _ in ways]
        for _ in range(turns):
            bare.append(times(self.lab.bare(self.program)))
            for (name, _, _, route), runs in zip(ways, outcomes):
                if not runs or runs[0].status != NOTHING_DONE:
                    runs.append(self.run(name, route))
        self.bare = middle(bare)
        for (_, what, goals, route), runs in zip(ways, outcomes):
            if runs[0].status == NOTHING_DONE:
                self.rows.append((what, route, *("not possible" for _ in self.kernels)))
                continue
            without = runs[0].left_out()
            self.add(what, f"{route}, not in {without} of the kernels" if without else route,
                     middle([times(run) for run in runs]), goals)

    def finish(self, title):
        """What a ratio can be trusted for is seen by the program by itself, once more.  What was seen, in words."""
        self.add("nothing, once more", "", times(self.lab.bare(self.program)), {})
        heads = (f"{kernel}, bare {self.bare[kernel] / 1000:.2f} us" for kernel in self.kernels)
        self.lab.tables[title] = (("program", "route", *heads), self.rows)
        text = "; ".join(" ".join((what, route, " / ".join(cell.rpartition(", ")[2] for cell in cells)))
                         for what, route, *cells in self.rows)
        text = f"{' / '.join(self.kernels)}: {text}"
        if self.missed:
            raise Failure(f"goals missed: {', '.join(self.missed)}; all ({text})")
        return text


@check(alone=True)
def cost_in_kernels(lab):
    """Vector addition of 5 us, product of matrices of 200 us, memory-bound kernel of 2 ms."""
    if lab.device == "sim":
        raise Skip("times of the software device mean nothing")
    costs = Costs(lab, "speed", KERNELS)
    costs.measure((*PROBES, TIMELINE), ("graft", "ptx"), TURNS)
    # What those cost in machine code, where the better place is PTX, is another check's.
    costs.measure(TRACES, ("ptx",))
    for name, what in BUILDS:
        costs.add(what, "", times(lab.bare(lab.program(name))), {})
    return costs.finish("Cost in kernel time")


@check(alone=True)
def cost_in_libraries(lab):
    """Layer norm of 20 us, cuBLAS' product of matrices in bf16: machine code."""
    if lab.device == "sim":
        raise Skip("times of the software device mean nothing")
    costs = Costs(lab, "speed-library", LIBRARIES)
    costs.measure((*PROBES, TIMELINE), ("graft",), turns=3)
    return costs.finish("Cost in kernels of libraries' kind")


STEP_GOAL = 1.05


@check(alone=True)
def cost_of_a_training_step(lab):
    """A step of PyTorch, 20 linear layers and Adam, by a twentieth longer at most; each way twice, in turns, and the shorter one counts."""
    program, args = lab.program("torch-step"), ("eager", "--time")
    ways = {"bare": lambda: lab.bare(program, *args),
            "timeline": lambda: lab.record(program, *args, options=["--no-api"], trace=False)[0],
            "entry counter": lambda: lab.run_object("kernel-count", program, *args)}
    runs = [{name: run() for name, run in ways.items()} for _ in range(2)]
    losses = {tuple(re.findall("^loss .*", outcome.out, re.MULTILINE)) for run in runs for outcome in run.values()}
    expect(len(losses) == 1 and losses.pop(), "a loss changed")
    step = {name: min(times(run[name])["step"] for run in runs) for name in ways}
    ratios = {name: ns / step["bare"] for name, ns in step.items() if name != "bare"}
    seen = f"bare {step['bare'] / 1e6:.2f} ms, " + ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
    expect(lab.device == "sim" or max(ratios.values()) <= STEP_GOAL, seen)
    return seen


COLD_US, WARM_US = 30_000, 1_000


@check(alone=True)
def cost_of_compiling(lab):
    """A program of 100 instructions is verified and compiled in less than 30 ms, and found in the cache in less than 1 ms."""
    out = lab.call(lab.build / "bench/compile", "50" if lab.device == "gpu" else "5").good().out
    spent = {what: int(us) for what, us in re.findall(r"^(\w+) (\d+)$", out, re.MULTILINE)}
    seen = ", ".join(f"{what} {us} us" for what, us in spent.items())
    expect(spent.keys() == {"first", "cold", "warm"}, out)
    expect(lab.device == "sim" or (spent["cold"] < COLD_US and spent["warm"] < WARM_US), seen)
    return seen


START_S = 2.0


@check(alone=True)
def cost_of_a_start(lab):
    """
    Some steps of PyTorch, from its start to its end, with programs at entry and exit of every kernel: 2 s longer at most.
    And what memory that takes of it.
    """
    program, args = lab.program("torch-step"), ("eager", "--memory")
    ways = [[lab.bare(program, *args) for _ in range(3)], [lab.run_object("threads", program, *args) for _ in range(3)]]
    bare, probed = (min(outcome.seconds for outcome in outcomes) for outcomes in ways)
    memory = [[max(outcome.number(word) for outcome in outcomes) // 1024 for outcomes in ways] for word in ("resident", "device")]
    seen = (f"bare {bare:.2f} s, with programs {probed:.2f} s; at most {memory[0][0]} and {memory[0][1]} MiB of host memory, "
            f"{memory[1][0]} and {memory[1][1]} MiB of the GPU's")
    expect(probed - bare <= START_S, seen)
    return seen


@check(alone=True)
def cost_of_launches(lab):
    """How much longer 10,000 launches take; a figure, no bound."""
    program = lab.program("many")
    args = ["--launches", "10000", "--batch", "100"]
    bare = min(lab.bare(program, *args).seconds for _ in range(2))
    traced = min(lab.record(program, *args, options=["--no-api"], trace=False)[0].seconds for _ in range(2))
    calls = min(lab.record(program, *args, trace=False)[0].seconds for _ in range(2))
    return f"bare {bare:.2f} s, kernels {traced:.2f} s, kernels and calls {calls:.2f} s"


def best_of_calls(out, call):
    """What bench/calls says of the least time of a call, ns, by how it was recorded."""
    best, how = {}, None
    for line in out.splitlines():
        if not line.startswith(" "):
            how = line
        elif word := re.match(rf" +{call} +best +([\d.]+) ns", line):
            best[how] = float(word[1])
    return best


HOOKS = "the agent's hooks"


@check(alone=True)
def cost_of_hooks(lab):
    """What it adds to a driver call to record it, the least of three runs: by hooks under 100 ns, also while nobody reads."""
    rounds = ["40"] if lab.device == "gpu" else ["--device=sim", "10"]
    outs = [lab.call(lab.build / "bench/calls", *rounds).out for _ in range(3 if lab.device == "gpu" else 1)]
    runs = [best_of_calls(out, "cuCtxGetCurrent") for out in outs]
    expect(all(HOOKS in run for run in runs), f"no calls recorded by hooks: {runs}")
    added = {how: min(run[how] - run["bare"] for run in runs) for how in runs[0] if how != "bare"}
    launches = [best_of_calls(out, "cuLaunchKernel") for out in outs]
    lab.tables["Cost of a driver call"] = (
        ("how it is recorded", "added to a call, ns", "a launch of an empty kernel, ns"),
        [(how, f"{added.get(how, 0):.1f}", f"{min(run[how] for run in launches):.0f}") for how in launches[0]])
    seen = ", ".join(f"{how} {ns:.1f} ns" for how, ns in added.items())
    # A machine without a GPU may be busy with anything else.
    expect(lab.device == "sim" or all(added[f"{HOOKS}{how}"] < 100 for how in ("", ", the reader idle", ", no reader")), seen)
    return seen
