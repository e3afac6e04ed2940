# SPDX-License-Identifier: Apache-2.0
"""
compute-sanitizer on traced programs: ours adds no error.  It comes into a program by
LD_PRELOAD and we by CUDA_INJECTION64_PATH, so that both can be there: the tool starts
the sanitizer, and that the program.
"""

import os
import re
import shutil

from checks.registry import add_check
from lab import Skip, expect, maps, only

PROGRAMS = ("accesses", "calls", "cluster", "graph", "gridsync", "mma", "returns", "shapes", "texture", "warps")
OBJECTS = (("threads", "graft"), ("threads", "ptx"), ("memory", "ptx"))


def find_sanitizer(lab):
    candidates = [shutil.which("compute-sanitizer")]
    if lab.nvcc:
        candidates.append(str(lab.toolkit / "bin/compute-sanitizer"))
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


def errors(outcome):
    found = re.search(r"ERROR SUMMARY: (\d+) error", outcome.out)
    expect(found, f"the sanitizer did not end: {outcome.out[-300:]} {outcome.err[-300:]}")
    return int(found.group(1))


def own_output(outcome):
    """What the program said; the sanitizer's lines are marked."""
    return "".join(line for line in outcome.out.splitlines(keepends=True) if not line.startswith("====="))


def memcheck(lab, name):
    sanitizer = find_sanitizer(lab)
    if lab.device == "sim" or not sanitizer:
        raise Skip("no compute-sanitizer for this device")
    program = lab.program(name)
    bare = lab.bare(program)
    seen = []
    for probes, route in OBJECTS:
        outcome = lab.run_object(probes, sanitizer, program, env={"GPUTRACE_ROUTE": route})
        what = f"{probes} by {route}"
        expect(errors(outcome) == 0, f"{what}: {errors(outcome)} errors: {outcome.out[-600:]}")
        expect(own_output(outcome).startswith(bare.out), f"{what}: the output changed")
        found = maps(outcome.out)
        if probes == "threads":
            entered, left = only(found, "entered"), only(found, "left")
            expect(entered == left == bare.number("threads"),
                   f"{what}: {entered} threads entered, {left} left of {bare.number('threads')}")
        counted = sum(values[0] for values in found.get("accesses", found.get("entered", {})).values())
        expect(counted, f"{what}: nothing was counted, so nothing was checked")
        seen.append(f"{what}: {counted}")
    return f"0 errors; {', '.join(seen)}"


for name in PROGRAMS:
    add_check(f"memcheck_{name}", lambda lab, name=name: memcheck(lab, name))
