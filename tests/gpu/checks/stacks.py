# SPDX-License-Identifier: Apache-2.0
"""Stacks of launches, up to the lines of Python that they come from."""

import re
import sys

from checks.registry import check
from lab import Skip, expect

PRODUCTS = 50


def stacks(out):
    """The names in the stack of each launch, the innermost first."""
    found = []
    for line in out.splitlines():
        if re.match(r" *(\S+) +\S+ \w+ +\d+/\d+ ", line):
            found.append([] if " api " in line and " cuLaunchKernel" in line else None)
        elif found and found[-1] is not None and line.startswith(" " * 54):
            found[-1].append(line.strip())
    return [stack for stack in found if stack is not None]


@check
def python_stacks(lab):
    """PyTorch under python3 -X perf: the stack of a sum's launch has the Python functions, in order."""
    program = lab.program("torch-stack")
    if sys.version_info < (3, 12):
        raise Skip("Python before 3.12 does not name its functions")
    words = [sys.executable, "-B", "-X", "perf", program, str(PRODUCTS)]
    bare = lab.call(*words)
    if bare.status == 77:
        raise Skip(bare.out.strip())
    outcome = lab.tool("gputrace-record", "--api=agent", "--unwind=61440", "--", *words).good()
    # The tool's own lines are between the program's.
    expect(bare.good().out.strip() in outcome.out, f"it computed something else than {bare.out.strip()}")
    launches = stacks(outcome.out)
    through = [stack for stack in launches
               if any(name.startswith("py::forward:") for name in stack)
               and any(name.startswith("py::train:") for name in stack)]
    whole = [stack for stack in launches if stack and stack[-1].startswith("_start")]
    example = "\n".join(launches[-1]) if launches else "no launch"
    expect(len(through) >= PRODUCTS, f"{len(through)} launches come from forward() in train(); the last one: {example}")
    for stack in through:
        order = [name.split(":")[2] for name in stack if name.startswith("py::")]
        expect(order.index("forward") < order.index("train"), f"in the wrong order: {order}")
    lost = sum(stack[-1].startswith("[") for stack in launches if stack)
    return (f"{len(launches)} launches, {len(through)} from forward() in train(), {len(whole)} up to _start, "
            f"{lost} that end early since more than 60 KiB of the stack are in the way, the longest of {max(map(len, launches))} functions")


@check
def python_stacks_of_a_short_run(lab):
    """A Python program that ends right after its launches: each has its stack, through its Python function, to the end."""
    words = [sys.executable, "-B", "-X", "perf", lab.program("short-stack"), str(PRODUCTS)]
    bare = lab.call(*words)
    if bare.status == 77:
        raise Skip(bare.out.strip())
    outcome = lab.tool("gputrace-record", "--api=agent", "--unwind=61440", "--", *words).good()
    launches = stacks(outcome.out)
    through = sum(any(name.startswith("py::step_") for name in stack) for stack in launches)
    whole = sum(bool(stack) and stack[-1].startswith("_start") for stack in launches)
    expect(len(launches) == through == whole == PRODUCTS,
           f"{len(launches)} launches, {through} through a function of their own, {whole} up to _start")
    return f"{PRODUCTS} launches, all up to _start"
