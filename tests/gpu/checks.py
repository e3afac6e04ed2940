# SPDX-License-Identifier: Apache-2.0
"""The checks: each returns the numbers that it saw, or raises Failure or Skip."""

import os
import re
import subprocess
import time

from lab import HERE, Failure, Skip, expect, maps, only

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


# Parts that several checks use


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
    expect(trace.lost == 0, f"{trace.lost} records lost")
    expect(len(trace.kernels) == launches, f"{len(trace.kernels)} kernels for {launches} launches")
    calls = "no uprobes"
    if not graphs:
        expect(len(trace.launches) == launches, f"{len(trace.launches)} launches seen of {launches}")
        expect(len(trace.arrows["f"]) == launches, f"{len(trace.arrows['f'])} arrows for {launches} launches")
        if not without_api(recorded):
            calls = len(trace.launch_calls)
            expect(calls == launches, f"uprobes saw {calls} launches of {launches}")

    counted = lab.run_object("threads", program, *args, env=env)
    same_output(counted, bare)
    found = maps(counted.out)
    entered, left = only(found, "entered"), only(found, "left")
    expect(entered == threads, f"{entered} threads entered, {threads} were launched")
    expect(left == threads, f"{left} threads left, {threads} were launched")

    counted = lab.run_object("kernel-count", program, *args, env=env)
    same_output(counted, bare)
    seen = sum(values[0] for values in maps(counted.out).get("warps", {}).values())
    warps = bare.number("warps") if "\nwarps " in bare.out else threads // 32
    expect(seen == warps, f"{seen} warps entered, {warps} were launched")
    return f"launches {launches}, uprobes {calls}, kernels {len(trace.kernels)}, threads {threads}, warps {warps}"


# The checks


@check
def demo(lab):
    """The example program: driver API, PTX text."""
    return counts(lab, lab.program("demo"))


@check
def vecadd(lab):
    """Built by plain nvcc: static runtime, several sizes, two streams."""
    return counts(lab, lab.program("vecadd"))


def listed(lab, program):
    """The lines of gputrace-kernels: {kernel name: (route, reason)}."""
    outcome = lab.tool("gputrace-kernels", "--", program).good()
    found, name = {}, None
    for line in outcome.out.splitlines():
        row = re.match(r" *\d+ +\d+ +\d+ +\S+ +\d+ +\d+ +\d+  (\S+) +(.*)", line)
        reason = re.match(r" +no probe: (.*)", line)
        if row:
            name = row.group(2)
            found[name] = (row.group(1), None)
        elif reason:
            found[name] = (found[name][0], reason.group(1))
    return found


@check
def machine_code_only(lab):
    """A program without PTX: probed, or listed with the reason and unharmed."""
    program = lab.program("vecadd-sass")
    kernels = listed(lab, program)
    expect(len(kernels) == 2, f"gputrace-kernels lists {sorted(kernels)}")
    if all(route != "none" for route, _ in kernels.values()):
        return "probed; " + counts(lab, program)
    reasons = {reason for _, reason in kernels.values()}
    expect(None not in reasons, "a kernel is not probed and no reason is given")
    expect(lab.record(program)[0].out == lab.bare(program).out, "the program's output changed")
    return f"not probed, reason given: {'; '.join(sorted(reasons))}"


def variant(lab, name, env=None):
    return counts(lab, lab.program(name), "--launches", "24", env=env)


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
    program = lab.program("vecadd-shared")
    folders = [str(lab.runtime_libraries()), os.environ.get("LD_LIBRARY_PATH", "")]
    return variant(lab, program.name, env={"LD_LIBRARY_PATH": ":".join(filter(None, folders))})


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


def order(lab, program, *args):
    """Each kernel starts after its launch was called and ends before the synchronise returns."""
    recorded, trace = lab.record(program, *args)
    reason = without_api(recorded)
    if reason:
        raise Skip(reason)
    launches = recorded.number("launches")
    expect(len(trace.kernels) == launches, f"{len(trace.kernels)} kernels for {launches} launches")
    calls = {call["args"]["correlation"]: call for call in trace.launches}
    waits = sorted((call for call in trace.calls if "Synchronize" in call["name"]), key=lambda call: call["start"])
    early = late = position = worst = 0
    least_start = least_end = None
    for kernel in sorted(trace.kernels, key=lambda kernel: calls[kernel["args"]["correlation"]]["start"]):
        call, error = calls[kernel["args"]["correlation"]], kernel["args"]["est. error ns"]
        stream = call["args"].get("hStream")
        while position < len(waits) and waits[position]["start"] < call["start"]:
            position += 1
        wait = next((wait for wait in waits[position:position + 64]
                     if stream is None or wait["args"].get("hStream", stream) == stream), None)
        expect(wait, "a launch that no synchronise follows")
        start, end = kernel["start"] - call["start"], wait["end"] - kernel["end"]
        early += start + error < 0
        late += end + error < 0
        worst = max(worst, error)
        least_start = start if least_start is None else min(least_start, start)
        least_end = end if least_end is None else min(least_end, end)
    numbers = (f"{launches} launches, {early} start too early, {late} end too late; clock error at most {worst} ns; "
               f"nearest: start {least_start} ns after its call began, end {least_end} ns before the synchronise returned")
    expect(early == 0 and late == 0, numbers)
    # A bound that says nothing holds always.
    expect(worst <= (10_000 if lab.device == "gpu" else 100_000_000), numbers)
    return numbers


@check
def order_of_10000(lab):
    return order(lab, lab.program("many"), "--launches", "10000")


@check
def order_in_batches(lab):
    return order(lab, lab.program("many"), "--launches", "10000", "--batch", "100")


@check
def order_of_demo(lab):
    return order(lab, lab.program("demo"), "-l", "500", "-n", "4096")


@check
def spin(lab):
    """Kernels of known length: 50 us, 500 us, 5 ms, each within 1 us + 1 %."""
    recorded, trace = lab.record(lab.program("spin"))
    said = [tuple(map(int, line.split()[1:])) for line in recorded.out.splitlines() if line.startswith("spin ")]
    kernels = sorted(trace.kernels, key=lambda kernel: kernel["args"]["correlation"])
    expect(len(kernels) == len(said), f"{len(kernels)} kernels for {len(said)} launches")
    worst = {}
    for (asked, own), kernel in zip(said, kernels):
        length = kernel["end"] - kernel["start"]
        # What it measured itself is the truth; on a busy host a software device overshoots what was asked.
        off = length - own
        # A thread of the software device may have to wait for a core between its probes and its loop.
        expect(off >= -1000 and (lab.device == "sim" or off <= 1000 + own // 100),
               f"{length} ns for a kernel of {own} ns")
        expect(own >= asked, f"the program says {own} ns for {asked}")
        if lab.device == "gpu":
            expect(abs(length - asked) <= 1000 + asked // 100, f"{length} ns where {asked} were asked for")
        if abs(off) >= abs(worst.get(asked, 0)):
            worst[asked] = off
    return ", ".join(f"{asked // 1000} us: off by at most {off} ns" for asked, off in sorted(worst.items()))


@check
def clock(lab):
    """The clock by itself, against pings of a resident kernel that it was not given."""
    if lab.device == "sim":
        raise Skip("the software device's clock is the host's")
    outcome = lab.call(lab.program("clock"), "20")
    if outcome.status == 77:
        raise Skip(outcome.out.strip().splitlines()[-1])
    last = next((line for line in reversed(outcome.out.splitlines()) if line.startswith("clock:")), outcome.err)
    expect(outcome.status == 0, last)
    return last.removeprefix("clock: ")


@check
def full_ring(lab):
    """More records than a ring holds: delivered + lost = produced."""
    launches = 200 if lab.device == "gpu" else 4
    blocks = launches * 4096
    outcome = lab.run_object("block-times", lab.program("demo"), "-l", str(launches), "-n", str(4096 * 256))
    delivered = len(re.findall(r"^blocks: \d+ \d+ \d+ \d+$", outcome.out, re.MULTILINE))
    lost = sum(int(number) for number in re.findall(r"(\d+) records of blocks were lost", outcome.err))
    numbers = f"{delivered} delivered + {lost} lost of {blocks} produced"
    expect(delivered + lost == blocks, numbers)
    return numbers


@check
def histogram(lab):
    """Every block is in it."""
    outcome = lab.run_object("histogram", lab.program("demo"), "-l", "10")
    counted = sum(values[0] for values in maps(outcome.out).get("block_ns_log2", {}).values())
    expect(counted == 10 * 1024, f"{counted} blocks of 10240")
    return f"{counted} blocks"


@check
def one_map_two_sides(lab):
    """A uprobe and a GPU program count in one map."""
    outcome = lab.run_object("launch-shared", lab.program("demo"), "-l", "10")
    values = maps(outcome.out).get("counts", {})
    launches, blocks = values.get(0, [0])[0], values.get(1, [0])[0]
    expect((launches, blocks) == (10, 10240), f"{launches} launches and {blocks} blocks, not 10 and 10240")
    return f"{launches} launches by the uprobe, {blocks} blocks by the GPU"


@check
def tool_killed(lab):
    """The tool is killed in the middle: the program goes on and computes what it should."""
    program, args = lab.program("demo"), ["-l", "20000", "-n", "4096"]
    if lab.device == "sim":
        args[1] = "2000"
    bare = lab.bare(program, *args)
    out = lab.scratch / "killed.out"
    argv = [str(lab.build / "gputrace-record"), f"--device={lab.device}"]
    # The shell says when the program ended, which outlives the tool.
    script = f'"$0" "$@" >{out}; echo "status $?" >>{out}'
    argv += ["-o", str(lab.scratch / "killed.json"), "--", "sh", "-c", script, str(program), *args]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, **lab.environment)) as tool:
        time.sleep(max(0.3, bare.seconds / 3))
        early = tool.poll() is None
        # In a build tree it is a script of libtool's, which becomes the tool by exec.
        if early:
            tool.kill()
        tool.wait()
    expect(early, "the program was too quick to kill the tool while it ran")
    for _ in range(600):
        text = out.read_text() if out.exists() else ""
        if "status " in text:
            break
        time.sleep(0.1)
    expect(text == bare.out + "status 0\n", f"the program ended with {text[-200:]!r}")
    return f"killed after {max(0.3, bare.seconds / 3):.1f} s, output right"


@check
def exit_status(lab):
    """The command's status, 127 for no command, 125 for nothing to trace."""
    seen = [lab.tool("gputrace-record", "--", *argv).status
            for argv in (["sh", "-c", "exit 7"], ["./no-such-command"], ["true"])]
    expect(seen == [7, 127, 125], f"{seen}, not [7, 127, 125]")
    return "7, 127, 125"


@check
def no_gpu(lab):
    """A machine without a usable GPU: a sentence and a failure."""
    if lab.device == "sim":
        raise Skip("the software device is always there")
    outcome = lab.tool("gputrace-record", "--", lab.program("demo"), env={"CUDA_VISIBLE_DEVICES": ""})
    expect(outcome.status != 0, "the tool ended with 0")
    expect("no GPU" in outcome.err or "CUDA error 100" in outcome.err, f"no sentence: {outcome.err!r}")
    return f"status {outcome.status}"


@check
def bad_objects(lab):
    """No ELF, an ELF that is not BPF, a pattern that matches nothing."""
    text = lab.scratch / "text.bpf.o"
    text.write_text("this is no ELF file\n")
    for path in (text, "/bin/true", lab.scratch / "missing.bpf.o"):
        outcome = lab.tool("gputrace-run", path, "--", lab.program("demo"))
        expect(outcome.status == 125, f"{path}: status {outcome.status}")
        expect(len(outcome.err.strip()) > 20, f"{path}: no sentence: {outcome.err!r}")
    source = lab.build / "examples/bpf/threads.bpf.o"
    # Same length, so that nothing else in the file moves.
    other = lab.scratch / "nothing.bpf.o"
    data = source.read_bytes()
    expect(b"cuda/entry:*\0" in data, "threads.bpf.o has no section cuda/entry:*")
    other.write_bytes(data.replace(b"cuda/entry:*\0", b"cuda/entry:q\0").replace(b"cuda/exit:*\0", b"cuda/exit:q\0"))
    outcome = lab.tool("gputrace-run", other, "--", lab.program("demo"))
    expect(outcome.status == 125, f"a pattern that matches nothing: status {outcome.status}")
    expect("no kernel matches 'q'" in outcome.err, f"no sentence: {outcome.err!r}")
    expect("\n  vecadd\n" in outcome.err, f"the kernel that exists is not named: {outcome.err!r}")
    return "125 and a sentence each"


@check
def overhead(lab):
    """How much longer 10,000 launches take; a figure, no bound."""
    program = lab.program("many")
    args = ["--launches", "10000", "--batch", "100"]
    bare = min(lab.bare(program, *args).seconds for _ in range(3))
    traced = min(lab.record(program, *args, options=["--no-api"], trace=False)[0].seconds for _ in range(3))
    calls = min(lab.record(program, *args, trace=False)[0].seconds for _ in range(3))
    return f"bare {bare:.2f} s, kernels {traced:.2f} s, kernels and calls {calls:.2f} s"


# Whole test programs of the build tree


def suite(lab, path, *args, env=None):
    """Run one; its last line, or the lines that say what failed."""
    if lab.device == "sim":
        raise Skip("make check runs it on the software device")
    program = lab.build / path
    expect(program.exists(), f"{path} is not built: make check builds it")
    outcome = lab.call(program, *args, env=dict(env or {}, GPUTRACE_TEST_DEVICE="gpu"), cwd=lab.build)
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
