# SPDX-License-Identifier: Apache-2.0
"""Whole test programs of the build tree."""

import re

from checks.registry import check
from lab import HERE, ROOT, Skip, expect


def suite(lab, path, *args, env=None, cwd=None):
    """Run one; its last line, or the lines that say what failed."""
    if lab.device == "sim":
        raise Skip("make check runs it on the software device")
    program = lab.build / path
    expect(program.exists(), f"{path} is not built: make check builds it")
    outcome = lab.call(program, *args, env=dict(env or {}, GPUTRACE_TEST_DEVICE="gpu"), cwd=cwd or lab.build)
    lines = [line for line in (outcome.out + outcome.err).splitlines() if line.strip()]
    last = lines[-1] if lines else "it said nothing"
    if outcome.status == 77:
        raise Skip(last)
    bad = [line for line in lines if re.search(r":[FE]:|^FAIL", line)]
    expect(outcome.status == 0, f"{last}; {'; '.join(bad[:5])}")
    return next((line for line in lines if line.startswith("100%")), last)


@check
def end_to_end(lab):
    """What make check does on the software device, on the GPU."""
    return suite(lab, "tests/e2e/test-e2e")


@check
def shared_maps(lab):
    return suite(lab, "tests/e2e/test-shared")


@check
def launches(lab):
    """Functions by every name and number that resolves them; launches while modules come and go."""
    return suite(lab, "tests/e2e/test-launches")


@check
def graphs(lab):
    """Graphs that are long, many, nested, changed and destroyed."""
    return suite(lab, "tests/e2e/test-graphs")


@check
def stored_results(lab):
    """The GPU still gives the results that the software device is compared with."""
    kernels = sorted((HERE.parent / "sim/kernels").glob("*.ptx"))
    return suite(lab, "tests/sim/conformance", "compare", HERE.parent / "sim/expected", *kernels)


@check
def grafts(lab):
    """Probes on machine code: every kernel and kind of probe of tests/gpu/programs/graft.cu."""
    if not lab.nvcc:
        raise Skip("no nvcc to compile the kernels with")
    return suite(lab, "tests/gpu/graft", HERE / "programs/graft.cu", env={"NVCC": lab.nvcc})


@check
def bpf_programs(lab):
    """Compiled BPF programs compute what the host does: written by hand, and at random."""
    return suite(lab, "tests/gpu/bpf", "-p", "vectors,random", cwd=ROOT)


@check
def bpf_hash(lab):
    """Hash tables under all threads of a GPU."""
    return suite(lab, "tests/gpu/bpf", "-p", "hash", cwd=ROOT)


@check
def bpf_ring(lab):
    """Records of every size, and more of them than a ring holds."""
    return suite(lab, "tests/gpu/bpf", "-p", "ring", cwd=ROOT)
