# SPDX-License-Identifier: Apache-2.0
"""Ways to build and to load a program: PTX, machine code, both, compressed, with debug information."""

import re

from checks.compare import counts, same_output
from checks.registry import check
from lab import Skip, expect, maps


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
def any_runtime(lab):
    """One program with the runtime static, shared, opened by dlopen, and with the driver alone: equal counts."""
    if lab.device == "sim":
        raise Skip("the software device does not run the CUDA runtime")
    seen = {form: counts(lab, lab.program(f"runtime-{form}")) for form in ("static", "shared", "dlopen", "none")}
    expect(len(set(seen.values())) == 1, f"{seen}")
    return f"each: {seen['none']}"


@check
def newer_ptx(lab):
    """PTX of a version that no compiler knows yet, beside machine code: probed by that, refused where PTX is needed."""
    program, args = lab.scratch / "newer-ptx", ("--launches", "24")
    code = lab.program("vecadd-none").read_bytes()
    version = re.search(rb"\n\.version (\d+\.\d)\n", code)
    expect(version, "the program holds no PTX as text")
    program.write_bytes(code.replace(version.group(), b"\n.version 9.9\n"))
    program.chmod(0o755)
    seen = counts(lab, program, *args)
    outcome = lab.run_object("memory", program, *args)
    same_output(outcome, lab.bare(program, *args))
    if lab.arch == "90":
        forced = lab.run_object("memory", lab.program("vecadd-none"), *args, env={"GPUTRACE_ROUTE": "graft"})
        found = maps(outcome.out)
        expect(outcome.left_out() == 0, f"{outcome.left_out()} kernels refused for memory probes: {outcome.refusals()}")
        expect(found == maps(forced.out) and found.get("accesses"), f"accesses {found}, by machine code {maps(forced.out)}")
        return f"{seen}; memory probes in machine code: {found['accesses']}"
    refused = outcome.refusals()
    expect(outcome.left_out() == 2, f"{outcome.left_out()} kernels refused for memory probes, not 2: {outcome.err[-300:]}")
    expect(all("Unsupported .version 9.9" in reason for reason in refused.values()), f"refused: {refused}")
    return f"{seen}; memory probes: {next(iter(refused.values()))}"


@check
def written_container(lab):
    """Code for several architectures in one container that the agent's writer made."""
    program = lab.program("fatbin")
    if lab.device == "sim":
        # What its linker makes is no machine code, so nothing can be put into it.
        return f"launches {lab.bare(program).number('launches')}, by itself"
    return counts(lab, program)
