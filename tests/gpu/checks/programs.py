# SPDX-License-Identifier: Apache-2.0
"""
Every program: bare, with the timeline, with counts at entry and exit of every kernel by
machine code and by PTX, with probes at every access to memory.  Its output stays the same, what it states of its
launches is what was seen, and every kernel is listed, with the reason if it lacks a probe.
"""

import collections
import concurrent.futures
import fnmatch
import math
import re
import typing

from checks.compare import same_output, without_api
from checks.registry import add_check
from lab import Skip, expect, maps, only

# What machine code may lack of programs at memory accesses, all or some, where they go into it; else it needs PTX.
NO_ACCESSES = ("programs cannot run at this kernel's memory accesses: *",
               "a block of * threads could not be launched with the * registers that the probes need",
               "this kernel gives registers away while it runs, down to *, and the probes need *")
NO_PTX = ("programs at memory accesses, instructions and blocks need PTX, and the image has none",)
SOME_ACCESSES = ("without * of * instructions that access memory (*)",
                 "without the accesses of functions that the driver supplies (as for assert, printf, malloc)")


class Run(typing.NamedTuple):
    """
    graphs: kernels run that no call launched, so that calls need not be as many.
    fails: ends with an error of the GPU on purpose, which takes the counters with it.
    refused: patterns of reasons for which kernels may lack probes at entry and exit.
    library: has kernels that are machine code alone, or beside so much PTX that the driver is not asked to compile it,
        which may lack probes at accesses to memory.
    accesses: has accesses to memory that count; those by textures and surfaces do not.
    slow: its runs take long and had better be side by side.
    machine_code: needs a device that runs it; the software device does not, nor the CUDA runtime.
    """

    program: str
    args: tuple = ()
    graphs: bool = False
    fails: bool = False
    refused: tuple = ()
    library: bool = False
    machine_code: bool = False
    accesses: bool = True
    slow: bool = False


LIBRARY = {"library": True}
RUNS = {
    "accesses": Run("accesses"),
    "async": Run("async"),
    "attributes": Run("attributes"),
    "calls": Run("calls"),
    "cluster": Run("cluster"),
    "conditional": Run("conditional", graphs=True),
    "contexts": Run("contexts"),
    "cublas": Run("cublas", **LIBRARY),
    "cufft": Run("cufft", **LIBRARY),
    "cupy": Run("with-cupy", slow=True, **LIBRARY),
    "fault-address": Run("fault", ("address",), fails=True),
    "fault-assert": Run("fault", ("assert",), fails=True),
    "fault-trap": Run("fault", ("trap",), fails=True),
    "fork": Run("fork"),
    "gemms": Run("gemms", slow=True, **LIBRARY),
    "getproc": Run("getproc"),
    "graph-change": Run("graph-change", graphs=True),
    "graph-device": Run("graph-device", graphs=True, **LIBRARY),
    "graph-nodes": Run("graph", ("--nodes",), graphs=True),
    "gridsync": Run("gridsync"),
    "hostfunc": Run("hostfunc"),
    "jitlink": Run("jitlink", machine_code=True, **LIBRARY),
    "jax": Run("with-jax", graphs=True, slow=True, **LIBRARY),
    "launches": Run("launches"),
    "link": Run("link", machine_code=True, **LIBRARY),
    "managed": Run("managed"),
    "mma": Run("mma"),
    "nested": Run("nested", refused=("kernels launch it from the GPU, *",), **LIBRARY),
    "nvrtc": Run("nvrtc", machine_code=True, **LIBRARY),
    "nvrtc-ptx": Run("nvrtc", ("ptx",)),
    "parameters": Run("parameters", refused=("32760 bytes of parameters leave no room for * more (limit 32764)",)),
    "pdl": Run("pdl"),
    "pool": Run("pool", graphs=True),
    "printf": Run("printf"),
    "random": Run("random", **LIBRARY),
    "rdc": Run("rdc", **LIBRARY),
    "returns": Run("returns"),
    "runtime-none": Run("runtime-none"),
    "shapes": Run("shapes"),
    "solver": Run("solver", **LIBRARY),
    "sort": Run("sort", **LIBRARY),
    "sparse": Run("sparse", **LIBRARY),
    "supplied": Run("supplied"),
    "supplied-linked": Run("supplied-linked", **LIBRARY),
    "surface": Run("surface", accesses=False),
    "texture": Run("texture"),
    "torch-compiled": Run("torch-step", ("compiled",), slow=True, **LIBRARY),
    "torch-eager": Run("torch-step", ("eager",), slow=True, **LIBRARY),
    **{f"torch-{kind}": Run("torch-ops", (kind,), slow=True, **LIBRARY) for kind in ("fp32", "tf32", "bf16", "fp16")},
    "torch-fp16-graph": Run("torch-ops", ("fp16", "graph"), graphs=True, slow=True, **LIBRARY),
    "torch-graph": Run("torch-step", ("graph",), graphs=True, slow=True, **LIBRARY),
    "triton": Run("with-triton", slow=True, **LIBRARY),
    "twins": Run("twins", ("--rounds", "20")),
    "variable": Run("variable"),
    "warps": Run("warps"),
    "wgmma": Run("wgmma"),
}


def allowed(reason, patterns):
    return any(fnmatch.fnmatchcase(reason, pattern) for pattern in patterns)


def kernels(run, bare, listed):
    """Every kernel is listed, with a probe or with the reason why not; returns those without."""
    outcome, found = listed
    same_output(outcome, bare)
    expect(found, "no kernel is listed")
    without = [kernel for kernel in found if kernel.route == "none"]
    for kernel in without:
        expect(kernel.reason, f"{kernel.name} has no probe, and no reason is given")
        expect(allowed(kernel.reason, run.refused), f"{kernel.name} has no probe: {kernel.reason}")
    launches = sum(kernel.launches for kernel in found)
    if bare.states("launches") and not run.graphs and not run.fails:
        expect(launches == bare.number("launches"), f"{launches} launches listed of {bare.number('launches')}")
    return without


def runs_again(run, trace, api):
    """How many kernels are nodes of graphs that ran before; each runs at most as often as graphs are launched."""
    runs = collections.Counter(kernel["args"]["correlation"] for kernel in trace.kernels)
    most = max(runs.values(), default=0)
    if api and run.graphs:
        launched = sum(call["name"].startswith("cuGraphLaunch") for call in trace.calls)
        expect(most <= max(launched, 1), f"a node ran {most} times, graphs were launched {launched} times")
    return len(trace.kernels) - len(runs)


def timeline(run, bare, found, recorded):
    outcome, trace = recorded
    expect(outcome.out == bare.out, f"the program's output changed: {outcome.out!r}, not {bare.out!r}")
    expect(trace.lost == 0, f"{trace.lost} records lost: {outcome.err[-300:]}")
    seen = len(trace.kernels)
    # The kernel that fails does not end, and those of graphs run more often than they are launched.
    if bare.states("launches"):
        launches = bare.number("launches") - sum(kernel.launches for kernel in found if kernel.route == "none")
        expect(seen == launches, f"{seen} kernels for {launches} launches")
    else:
        launches = sum(kernel.launches for kernel in found if kernel.route != "none")
        again = runs_again(run, trace, api=not without_api(outcome))
        expect(seen - again == launches,
               f"{seen} kernels, {again} of them nodes of graphs once more, {launches} launches of probed kernels are listed")
    expect(seen, "no kernel in the timeline")
    if not run.graphs:
        distinct = {kernel["args"]["correlation"] for kernel in trace.kernels}
        expect(len(distinct) == seen and len(trace.arrows["f"]) == seen,
               f"{seen} kernels of {len(distinct)} launches, {len(trace.arrows['f'])} arrows")
    return f"{seen} kernels, {len(trace.launches)} launches"


def launched_threads(trace):
    return sum(math.prod(kernel["args"]["grid"] + kernel["args"]["block"]) for kernel in trace.kernels)


def entry_and_exit(run, bare, without, trace, outcome):
    same_output(outcome, bare)
    if run.fails:
        return "output right"
    found = maps(outcome.out)
    entered, left = only(found, "entered"), only(found, "left")
    expect(entered == left, f"{entered} threads entered, {left} left")
    expect(entered, "no thread was counted")
    if not without:
        threads = bare.number("threads") if bare.states("threads") else launched_threads(trace)
        expect(entered == threads, f"{entered} threads entered, {threads} were launched")
    return f"{entered} = {left} threads"


def by_ptx(run, bare, grafted, woven):
    """The other route: the same counts, where every kernel has PTX."""
    same_output(woven, bare)
    if woven.left_out():
        return f"{woven.left_out()} kernels have none"
    if not run.fails:
        first, second = ({name: only(maps(outcome.out), name) for name in ("entered", "left")} for outcome in (grafted, woven))
        expect(first == second, f"{first}, but by PTX {second}")
    return "the same"


def memory(run, bare, listed, outcome, grafted):
    """grafted: such programs go into machine code as well."""
    same_output(outcome, bare)
    lacks = {"not in": run.refused + (NO_ACCESSES if grafted else NO_PTX) * run.library, "not all in": SOME_ACCESSES * run.library}
    for lack, patterns in lacks.items():
        for kernel, reason in outcome.refusals(lack).items():
            expect(allowed(reason, patterns), f"memory probes {lack} {kernel}: {reason}")
    if run.fails:
        return "output right"
    counted = sum(values[0] for values in maps(outcome.out).get("accesses", {}).values())
    expect(counted or not run.accesses or outcome.left_out() == len(listed), "no access was counted")
    said = [f"{counted} accesses of warps"] + [f"{lack} {outcome.left_out(lack)}" for lack in lacks if outcome.left_out(lack)]
    # Of those without any: why.
    return ", ".join(said) + "".join(f"; {reason}" for reason in sorted(set(outcome.refusals().values())))


TITLE = "Programs"
COLUMNS = ("program", "kernels", "timeline", "entry and exit", "by PTX", "memory", "without probe")


def row(lab, name, run):
    if run.machine_code and lab.device == "sim":
        raise Skip("the software device runs no machine code, nor the CUDA runtime")
    program, args = lab.program(run.program), run.args
    bare = lab.bare(program, *args)
    with concurrent.futures.ThreadPoolExecutor(5 if run.slow else 1) as pool:
        runs = [pool.submit(call, *words, program, *args, env=env) for call, env, *words in (
            (lab.list_kernels, None), (lab.record, None), (lab.run_object, None, "threads"),
            (lab.run_object, {"GPUTRACE_ROUTE": "ptx"}, "threads"), (lab.run_object, None, "memory"))]
    listed, recorded, counted, woven, accessed = (each.result() for each in runs)
    without = kernels(run, bare, listed)
    routes = [kernel.route for kernel in listed[1]]
    cells = [", ".join(f"{routes.count(route)} {route}" for route in sorted(set(routes))),
             timeline(run, bare, listed[1], recorded),
             entry_and_exit(run, bare, without, recorded[1], counted),
             by_ptx(run, bare, counted, woven),
             memory(run, bare, listed[1], accessed, lab.arch == "90"),
             "; ".join(f"{count}: {reason}" for reason, count in collections.Counter(
                 kernel.reason for kernel in without).items())]
    lab.tables.setdefault(TITLE, (COLUMNS, []))[1].append((name, *cells))
    return "; ".join(f"{column}: {cell}" for column, cell in zip(COLUMNS[1:], cells) if cell)


for name, run in RUNS.items():
    add_check(f"program_{name}", lambda lab, name=name, run=run: row(lab, name, run), slow=run.slow)
