# SPDX-License-Identifier: Apache-2.0
"""Programs at memory accesses of machine code: where there is no PTX, or GPUTRACE_ROUTE=graft."""

import re

from checks.compare import same_output
from checks.cost import KERNELS, LIBRARIES, Costs
from checks.registry import add_check, check
from lab import Skip, expect, maps

SPACES = 4  # generic, global, shared, local
GENERIC, GLOBAL = range(2)
LOAD, STORE, ATOMIC = (kind * SPACES for kind in range(3))
WAITING = 64 * 256 - 1000  # threads of the program `points` when they wait for one another: each stores once
SUPPLIED = "the accesses of functions that the driver supplies (as for assert, printf, malloc)"
COPIED = 8  # bytes of each thread's asynchronous copy in the program `accesses`, which have no program


def forced(route):
    return {"GPUTRACE_ROUTE": route}


def only_known(lab):
    if lab.device == "sim":
        raise Skip("the software device runs no machine code")
    if lab.arch != "90":
        raise Skip("such programs are for compute capability 9.0 alone")


@check
def points_of_every_kind(lab):
    """Accesses of every kind in machine code: those that programs can have are seen, with size and address; no more."""
    only_known(lab)
    program = lab.program("accesses")
    bare, outcome = lab.bare(program), lab.run_object("accesses", program, env=forced("graft"))
    same_output(outcome, bare)
    right = {(int(kind) * SPACES + int(space)): list(map(int, numbers.split()))
             for kind, space, numbers in re.findall(r"^access (\d) (\d) (.*)$", outcome.err, re.MULTILINE)}
    seen = {key: [value % 2**64 for value in values] for key, values in maps(outcome.out).get("accesses", {}).items()}
    seen = {key: values for key, values in seen.items() if values[0]}
    threads = bare.number("threads")
    loads = right[LOAD + GLOBAL]
    expect(seen.get(LOAD + GLOBAL, [])[:2] == [loads[0] - threads, loads[1] - COPIED * threads],
           f"loads of global memory: {seen.get(LOAD + GLOBAL)}, not {loads} less {threads} copies")
    for key in (LOAD + GENERIC, STORE + GLOBAL):
        expect(seen.get(key) == right[key], f"kind and space {key}: {seen.get(key)}, not {right[key]}")
    # Compilers let one thread of a warp add for all.
    atomics = seen.get(ATOMIC + GLOBAL, [0])[0]
    expect(threads // 32 <= atomics <= right[ATOMIC + GLOBAL][0], f"{atomics} atomics, not up to {right[ATOMIC + GLOBAL]}")
    expect(set(seen) == {LOAD + GLOBAL, LOAD + GENERIC, STORE + GLOBAL, ATOMIC + GLOBAL}, f"kinds and spaces {sorted(seen)}")
    return f"{sum(values[0] for values in seen.values())} accesses of {len(seen)} kinds and spaces"


def counted_by(lab, route, program, bare):
    """Accesses of global and generic memory, {kind and space: [how many, bytes]}; what the program says of them; the run."""
    outcome = lab.run_object("points", program, env=forced(route))
    same_output(outcome, bare)
    seen = {key: values for key, values in maps(outcome.out).get("points", {}).items() if values[0] and key % SPACES < 2}
    said = {int(kind) * SPACES + int(space): list(map(int, numbers.split()))
            for kind, space, numbers in re.findall(r"^points (\d) (\d) (.*)$", outcome.err, re.MULTILINE)}
    return seen, said, outcome


def same_as_ptx(lab, name):
    """Each access of kernels that compilers have no reason to change is counted by either route."""
    only_known(lab)
    program = lab.program(name)
    bare = lab.bare(program)
    right, said, _ = counted_by(lab, "ptx", program, bare)
    seen, _, _ = counted_by(lab, "graft", program, bare)
    expect(right, "no access was counted in PTX")
    expect(not said or said == right, f"by PTX {right}, not {said}")
    expect(seen == right, f"{seen}, not {right}")
    return f"{sum(values[0] for values in seen.values())} accesses by both routes"


def beside_calls(lab, name):
    """Kernels that call functions of the driver: their own accesses are counted, and that the others' are not is told."""
    only_known(lab)
    program = lab.program(name)
    seen, said, outcome = counted_by(lab, "graft", program, lab.bare(program))
    expect(seen == said, f"{seen}, not {said}")
    expect(outcome.left_out() == 0, f"{outcome.left_out()} kernels have none: {outcome.refusals()}")
    told = outcome.refusals("not all in")
    expect(outcome.left_out("not all in") == 3 and all(SUPPLIED in reason for reason in told.values()), f"told: {told}")
    return f"{sum(values[0] for values in seen.values())} accesses"


@check
def points_before_a_fault(lab):
    """An assertion that fails does so as without programs."""
    only_known(lab)
    program = lab.program("fault")
    same_output(lab.run_object("points", program, "assert", env=forced("graft")), lab.bare(program, "assert"))
    return "same output"


@check
def points_that_wait(lab):
    """Threads of a warp that wait for one another, with programs where they do: they go on, to the same end."""
    only_known(lab)
    program = lab.program("points")
    bare = lab.bare(program, "spin")
    outcome = lab.run_object("points", program, "spin", env=forced("graft"))
    same_output(outcome, bare)
    stores = maps(outcome.out).get("points", {}).get(STORE + GLOBAL, [0])[0]
    expect(stores == WAITING, f"{stores} stores, not {WAITING}")
    return f"{stores} stores"


def output_stays(lab, name, *args):
    """With programs at the accesses of libraries' kernels."""
    only_known(lab)
    program = lab.program(name)
    bare = lab.bare(program, *args)
    outcome = lab.run_object("memory", program, *args)
    same_output(outcome, bare)
    counted = sum(values[0] for values in maps(outcome.out).get("accesses", {}).values())
    expect(counted, f"no access was counted: {outcome.err[-300:]}")
    _, kernels = lab.list_kernels(program, *args)
    spent = f"{bare.seconds:.1f} s bare, {outcome.seconds:.1f} s with them"
    return (f"same output, {spent}, {counted} accesses of warps; of {len(kernels)} kernels {outcome.left_out()} without, "
            f"{outcome.left_out('not all in')} without some: {sorted(set(outcome.refusals().values()))}")


for name in ("vecadd", "points", "supplied"):
    add_check(f"points_{name}", lambda lab, name=name: same_as_ptx(lab, name))
for name in ("supplied", "supplied-linked"):
    add_check(f"points_calls_{name}", lambda lab, name=name: beside_calls(lab, name))
for name, args in (("cublas", ()), ("sort", ()), ("torch-step", ("eager",)), ("with-triton", ())):
    add_check(f"points_{name}", lambda lab, name=name, args=args: output_stays(lab, name, *args), slow=True)


@check(alone=True)
def cost_of_points(lab):
    """A counter at loads, stores and atomics of machine code, beside the same by PTX where there is some."""
    only_known(lab)
    texts = []
    for program, kernels, routes in (("speed", KERNELS, ("ptx", "graft")),
                                     ("speed-library", LIBRARIES, ("graft",))):
        costs = Costs(lab, program, kernels)
        costs.measure((("memory", "memory counter, each warp", {}),), routes)
        texts.append(costs.finish(f"Cost at memory accesses of machine code, {program}"))
    return "; ".join(texts)
