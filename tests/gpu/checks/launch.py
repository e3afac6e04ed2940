# SPDX-License-Identifier: Apache-2.0
"""Ways to launch: streams, threads, graphs, shapes of grids, ways to leave."""

import re

from checks.compare import counts
from checks.registry import check
from lab import expect


@check
def per_thread_streams(lab):
    """Calls with a default stream for each thread: the driver's other entries."""
    return counts(lab, lab.program("threads-ptds"))


@check
def graph_captured(lab):
    return counts(lab, lab.program("graph"), graphs=True)


@check
def graph_of_nodes(lab):
    return counts(lab, lab.program("graph"), "--nodes", graphs=True)


@check
def host_threads(lab):
    return counts(lab, lab.program("threads"))


@check
def shapes(lab):
    """Cooperative grid, dynamic shared memory, constants, launch bounds, three dimensions."""
    return counts(lab, lab.program("shapes"))


@check
def returns(lab):
    """Kernels that end in many ways: entries = exits, for each thread."""
    return counts(lab, lab.program("returns"))


@check
def device_variable(lab):
    """One variable, with the right value throughout."""
    return counts(lab, lab.program("variable"))


@check
def twin_kernels(lab):
    """Two modules with one kernel name, loaded and unloaded in turns."""
    return counts(lab, lab.program("twins"), "--rounds", "50")


@check
def modules_10000_times(lab):
    """Two modules with one kernel name, loaded and unloaded 10,000 times: right kernel each time, memory flat."""
    rounds = 5000 if lab.device == "gpu" else 250
    program, args = lab.program("twins"), ("--rounds", str(rounds))
    # The program checks its own results.
    outcome, kernels = lab.list_kernels(program, *args)
    expect([(kernel.name, kernel.launches) for kernel in kernels] == [("twin", rounds)] * 2, f"listed: {kernels}")
    grown = int(re.search(r"^grew by (-?\d+) KiB$", outcome.err, re.MULTILINE).group(1))
    expect(grown < 16384, f"the process grew by {grown} KiB")
    few, _ = lab.list_kernels(program, "--rounds", str(rounds // 10))
    expect(outcome.resident < few.resident + 16384,
           f"the tool took {few.resident} KiB for {rounds // 5} modules, {outcome.resident} KiB for {2 * rounds}")
    return f"2 kernels, {rounds} launches each; the process grew by {grown} KiB, the tool took {outcome.resident} KiB"
