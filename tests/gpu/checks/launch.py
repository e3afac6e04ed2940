# SPDX-License-Identifier: Apache-2.0
"""Ways to launch: streams, threads, graphs; modules that come and go.  The table of programs has more."""

import os
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
def host_threads(lab):
    return counts(lab, lab.program("threads"))


def growth(outcome):
    return int(re.search(r"^grew by (-?\d+) KiB$", outcome.err, re.MULTILINE).group(1))


@check
def modules_10000_times(lab):
    """Two modules with one kernel name, loaded and unloaded 10,000 times: right kernel each time, memory flat."""
    rounds = 5000 if lab.device == "gpu" else 250
    program, args = lab.program("twins"), ("--rounds", str(rounds))
    # The program checks its own results.
    outcome, kernels = lab.list_kernels(program, *args)
    expect([(kernel.name, kernel.launches) for kernel in kernels] == [("twin", rounds)] * 2, f"listed: {kernels}")
    grown = growth(outcome)
    if "ASAN_OPTIONS" in os.environ:  # memory that was freed is kept to catch its use
        return f"2 kernels, {rounds} launches each; memory not looked at, under AddressSanitizer"
    alone = growth(lab.call(program, *args).good()) if lab.device == "gpu" else 0
    expect(grown < alone + 16384, f"the process grew by {grown} KiB, by {alone} KiB when it is not traced")
    half, _ = lab.list_kernels(program, "--rounds", str(rounds // 2))
    expect(outcome.resident < half.resident + 8192,
           f"the tool took {half.resident} KiB for {rounds} modules, {outcome.resident} KiB for {2 * rounds}")
    beside = f" ({alone} KiB when it is not traced)" if lab.device == "gpu" else ""
    return (f"2 kernels, {rounds} launches each; the process grew by {grown} KiB{beside}, the tool took "
            f"{outcome.resident} KiB, {half.resident} KiB for half as many")


@check
def handles_asked(lab):
    """Which module or library a handle belongs to, as the agent asks the driver: right, or no answer."""
    said = dict(re.findall(r"^(\S+ \S+) (\d+ \w+)$", lab.bare(lab.program("handles")).out, re.MULTILINE))
    for question in "kernel library", "its-function module", "function module":
        expect(said.get(question) == "0 right", f"{question}: {said}")
    # A function must not be taken for a kernel of some library; of what module a kernel is, nobody relies on.
    expect("wrong" not in said["its-function library"] + said["function library"], f"wrong answers: {said}")
    return "; ".join(f"{question}: {answer}" for question, answer in said.items())
