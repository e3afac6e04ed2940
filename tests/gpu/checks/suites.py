# SPDX-License-Identifier: Apache-2.0
"""Whole test programs of the build tree."""

import os
import pathlib
import re
import subprocess

from checks.registry import check
from lab import HERE, ROOT, Skip, expect


def lines_of(lab, path, *args, env=None, cwd=None):
    """Run one that passes; what it says."""
    if lab.device == "sim":
        raise Skip("make check runs it on the software device")
    program = lab.build / path
    expect(program.exists(), f"{path} is not built: make check builds it")
    outcome = lab.call(program, *args, env=dict(env or {}, GPUTRACE_TEST_DEVICE="gpu"), cwd=cwd or lab.build)
    lines = [line for line in (outcome.out + outcome.err).splitlines() if line.strip()] or ["it said nothing"]
    if outcome.status == 77:
        raise Skip(lines[-1])
    bad = [line for line in lines if re.search(r":[FE]:|^FAIL", line)]
    expect(outcome.status == 0, f"{lines[-1]}; {'; '.join(bad[:5])}")
    return lines


def suite(lab, path, *args, env=None, cwd=None):
    """Its last line, or the lines that say what failed."""
    lines = lines_of(lab, path, *args, env=env, cwd=cwd)
    return next((line for line in lines if line.startswith("100%")), lines[-1])


def bpf(lab, parts, *args, env=None):
    """Parts of tests/gpu/bpf, with their counts."""
    lines = lines_of(lab, "tests/gpu/bpf", "-p", parts, *args, env=env, cwd=ROOT)
    return "; ".join(line.removeprefix("PASS ") for line in lines if line.startswith("PASS "))


@check(alone=True)
def end_to_end(lab):
    """What make check does on the software device, on the GPU; it measures lengths."""
    return suite(lab, "tests/e2e/test-e2e")


@check
def processes(lab):
    """What comes and goes, forks, or is not wanted."""
    return suite(lab, "tests/e2e/test-processes")


@check
def interrupted(lab):
    """Signals while the agent works, whose handlers end the program or a thread, jump away, or use the GPU."""
    return suite(lab, "tests/e2e/test-interrupted")


@check
def crowd(lab):
    """8 threads on 4 streams in each of 2 contexts of 3 processes: every launch is tied to exactly one kernel."""
    return suite(lab, "tests/e2e/test-crowd")


@check
def calls(lab):
    """Driver calls by uprobes and by hooks: the same calls, arguments and results, tied to their launches."""
    return suite(lab, "tests/e2e/test-calls")


@check
def annotated(lab):
    """Ranges, marks and numbers that the program gives are tied to launches and kernels."""
    return suite(lab, "tests/e2e/test-annotated")


@check
def shared_maps(lab):
    return suite(lab, "tests/e2e/test-shared")


@check
def spread_maps(lab):
    """Maps with a copy for each multiprocessor hold the same as those with one."""
    return suite(lab, "tests/e2e/test-spread")


@check
def launches(lab):
    """Functions by every name and number that resolves them; launches while modules come and go."""
    return suite(lab, "tests/e2e/test-launches")


@check
def graphs(lab):
    """Graphs that are long, many, nested, changed and destroyed."""
    return suite(lab, "tests/e2e/test-graphs", env={"GPUTRACE_TEST_REPLAYS": "30000" if lab.seconds >= 100 else "3000"})


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
    return bpf(lab, "vectors,random")


@check
def bpf_suite(lab):
    """The public conformance suite; its own assembler reads its cases."""
    folder = os.environ.get("BPF_CONFORMANCE")
    if not folder:
        raise Skip("BPF_CONFORMANCE does not name a folder with the suite (github Alan-Jowett/bpf_conformance)")
    folder, printer, cases = pathlib.Path(folder), lab.programs / "print-suite", lab.scratch / "suite.list"
    sources = [folder / f"lib/src/bpf_{name}.cc" for name in ("assembler", "test_parser")]
    compiler = [*os.environ.get("CXX", "c++").split(), "-std=c++20", "-O1", "-w",
                *(f"-I{folder / 'lib' / name}" for name in ("include", "src"))]
    subprocess.run([*compiler, HERE.parent / "conformance/print-suite.cc", *sources, "-o", printer], check=True)
    listed = subprocess.run([printer, *sorted(folder.glob("tests/*.data"))], check=True, capture_output=True)
    cases.write_bytes(listed.stdout)
    return bpf(lab, "suite", "-c", cases)


@check
def bpf_hash(lab):
    """Hash tables under all threads of a GPU."""
    return bpf(lab, "hash")


@check
def bpf_ring(lab):
    """Records of every size, and more of them than a ring holds."""
    return bpf(lab, "ring", "-e")


@check(alone=True)
def bpf_speed(lab):
    """Probes take at most 1.05 times as long as the same written into the kernels' source."""
    if not lab.nvcc:
        raise Skip("no nvcc to compile the kernels with")
    return bpf(lab, "speed", env={"NVCC": lab.nvcc})
