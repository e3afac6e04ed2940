# SPDX-License-Identifier: Apache-2.0
"""Ways to launch: streams, threads, graphs, shapes of grids, ways to leave."""

from checks.compare import counts
from checks.registry import check


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
