# SPDX-License-Identifier: Apache-2.0
"""What several checks compare."""

import re

from lab import expect, maps, only


def without_api(outcome):
    """Why there are no driver calls in a trace; None when there are."""
    match = re.search(r"without driver calls: (.*)", outcome.err)
    return match.group(1) if match else None


def same_output(traced, bare):
    """gputrace-run prints maps after the program's own output."""
    expect(traced.out.startswith(bare.out), f"the program's output changed: {traced.out[:200]!r}, not {bare.out!r}")


def counts(lab, program, *args, graphs=False, env=None):
    """
    Launches that the program says it made = kernels on the GPU = arrows = calls seen by
    uprobes; threads = entries = exits; warps; output as without us.
    """
    bare = lab.bare(program, *args, env=env)
    launches, threads = bare.number("launches"), bare.number("threads")
    recorded, trace = lab.record(program, *args, env=env)
    expect(recorded.out == bare.out, f"the program's output changed: {recorded.out!r}, not {bare.out!r}")
    expect(trace.lost == 0, f"{trace.lost} records lost: {recorded.err[-300:]}")
    expect(len(trace.kernels) == launches, f"{len(trace.kernels)} kernels for {launches} launches")
    calls = "no uprobes"
    if not graphs:
        expect(len(trace.launches) == launches, f"{len(trace.launches)} launches seen of {launches}")
        expect(len(trace.arrows["f"]) == launches, f"{len(trace.arrows['f'])} arrows for {launches} launches, kernels "
               f"of {len({kernel['args']['correlation'] for kernel in trace.kernels})} launches")
        if not without_api(recorded):
            calls = len(trace.launch_calls)
            expect(calls == launches, f"uprobes saw {calls} launches of {launches}")

    counted = lab.run_object("counts", program, *args, env=env)
    same_output(counted, bare)
    found = maps(counted.out)
    entered, left = only(found, "entered"), only(found, "left")
    expect(entered == threads, f"{entered} threads entered, {threads} were launched")
    expect(left == threads, f"{left} threads left, {threads} were launched")
    seen = only(found, "warps")
    warps = bare.number("warps") if "\nwarps " in bare.out else threads // 32
    expect(seen == warps, f"{seen} warps entered, {warps} were launched")
    return f"launches {launches}, uprobes {calls}, kernels {len(trace.kernels)}, threads {threads}, warps {warps}"
