# SPDX-License-Identifier: Apache-2.0
"""Ways to build and to load a program: PTX, machine code, both, compressed, with debug information."""

from checks.compare import counts
from checks.registry import check
from lab import expect


@check
def demo(lab):
    """The example program: driver API, PTX text."""
    return counts(lab, lab.program("demo"))


@check
def vecadd(lab):
    """Built by plain nvcc: static runtime, several sizes, two streams."""
    return counts(lab, lab.program("vecadd"))


@check
def machine_code_only(lab):
    """A program without PTX: its kernels are probed all the same."""
    program = lab.program("vecadd-sass")
    _, kernels = lab.list_kernels(program)
    expect(sorted(kernel.route for kernel in kernels) == ["graft", "graft"], f"gputrace-kernels lists {kernels}")
    return counts(lab, program)


def variant(lab, name):
    return counts(lab, lab.program(name), "--launches", "24")


@check
def ptx_only(lab):
    return variant(lab, "vecadd-ptx")


@check
def debug_build(lab):
    return variant(lab, "vecadd-debug")


@check
def lineinfo_build(lab):
    return variant(lab, "vecadd-lineinfo")


@check
def several_architectures(lab):
    return variant(lab, "vecadd-archs")


@check
def compression_none(lab):
    return variant(lab, "vecadd-none")


@check
def compression_size(lab):
    return variant(lab, "vecadd-size")


@check
def compression_speed(lab):
    return variant(lab, "vecadd-speed")


@check
def compression_balance(lab):
    return variant(lab, "vecadd-balance")


@check
def shared_runtime(lab):
    """The CUDA runtime as a shared library."""
    return variant(lab, "vecadd-shared")


@check
def eager_loading(lab):
    """All code is loaded at the start, not when it is first needed."""
    return counts(lab, lab.program("vecadd"), env={"CUDA_MODULE_LOADING": "EAGER"})


@check
def same_launches_by_any_runtime(lab):
    """Static runtime, shared runtime: one program, equal counts (driver API and dlopen: see the table of programs)."""
    seen = []
    for name in ("vecadd", "vecadd-shared"):
        _, trace = lab.record(lab.program(name))
        seen.append((len(trace.kernels), len(trace.launches)))
    expect(seen[0] == seen[1], f"kernels and launches {seen[0]} with the static runtime, {seen[1]} with the shared one")
    return f"{seen[0][0]} kernels, {seen[0][1]} launches each"
