# SPDX-License-Identifier: Apache-2.0
"""Sessions that come and go in a program that runs."""

import os
import re
import signal
import subprocess
import time

import check_trace
from checks.registry import check
from lab import Failure, Skip, expect, maps

SESSIONS = 20
ROUNDS = 100  # of the program in each session; a round is two launches
PATIENCE = 600  # s: a guard against a hang, no measure of speed


class Program:
    """One that goes on until it is killed, or told that it is enough."""

    def __init__(self, lab, name, *args):
        environment = dict(os.environ, **lab.environment)
        if lab.device == "sim":
            environment["LD_LIBRARY_PATH"] = environment["GPUTRACE_SIM_DIR"]
        self.path = lab.scratch / f"rounds-{name}"
        self.path.write_bytes(bytes(16))
        argv = [str(lab.program(name)), *args, str(self.path)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def rounds(self):
        return int.from_bytes(self.path.read_bytes()[:8], "little")

    def is_right(self):
        """It checks what its kernels compute, and ends when that is wrong."""
        if self.process.poll() is not None:
            raise Failure(f"the program ended with {self.process.returncode}: {self.process.stderr.read()[-300:]}")

    def go_on(self, rounds):
        """Wait until it has done so many more."""
        goal, deadline = self.rounds() + rounds, time.monotonic() + PATIENCE
        while self.rounds() < goal:
            self.is_right()
            expect(time.monotonic() < deadline, f"the program does not go on after {self.rounds()} rounds")
            time.sleep(0.01)

    def end(self):
        self.is_right()
        with self.path.open("r+b") as file:
            file.seek(8)
            file.write(b"\1")
        said = self.process.communicate(timeout=PATIENCE)[1]
        expect(self.process.returncode == 0, f"the program ended with {self.process.returncode}: {said[-300:]}")


def follow(lab, program, rounds, tool, *args):
    """What a tool printed, on standard output and error, that followed the program for so many rounds."""
    argv = [lab.build / tool, "-p", str(program.process.pid), *args]
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=dict(os.environ, **lab.environment)) as process:
        said = process.stderr.readline()
        if "is traced now" in said:
            program.go_on(rounds)
            process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=PATIENCE)
    expect(process.returncode == 0, f"{tool} ended with {process.returncode}: {(said + rest)[-300:]}")
    return out, said + rest


def watch(lab, program):
    """The trace of one session of gputrace-record, and when it began and ended in ns."""
    path = lab.scratch / "session.json"
    path.unlink(missing_ok=True)
    begin = time.monotonic_ns()
    follow(lab, program, ROUNDS, "gputrace-record", "--no-api", "-o", path)
    trace, errors = check_trace.check(path)
    # The session may end between a kernel and the record of its launch, which has the sizes of grid and block.
    cut_off = [error for error in errors if "is not three sizes" in error]
    expect(len(errors) == len(cut_off) <= 2, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    return trace, begin, time.monotonic_ns()


def skip_sanitizer():
    if "ASAN_OPTIONS" in os.environ:
        raise Skip("AddressSanitizer does not know a thread that a program is given from outside")


@check(alone=True)
def sessions(lab):
    """
    Twenty in one process, with pauses, while it loads, launches and unloads: each sees kernels,
    none before its launch or at a time outside the session, and the program's results stay right.
    """
    skip_sanitizer()
    seen = []
    with Program(lab, "twins", "--rounds", "100000000") as program:
        program.go_on(1)
        for _ in range(SESSIONS):
            trace, begin, end = watch(lab, program)
            wild = [kernel for kernel in trace.kernels if not begin <= kernel["start"] <= kernel["end"] <= end]
            expect(not wild, f"{len(wild)} kernels outside their session, the first: {wild[:1]}")
            seen.append(len(trace.kernels))
            time.sleep(0.1)
        program.is_right()
    # In the round that a session begins in, both modules may have been loaded before, and so have had no programs.
    expect(min(seen) >= 2 * (ROUNDS - 1), f"kernels of each session: {seen}")
    return f"{SESSIONS} sessions, {min(seen)} to {max(seen)} kernels each"


@check
def copies(lab):
    """
    Kernels that ran before the tools came, by copies of them: times, counts and reasons; the program's results,
    each round's, stay right, and so does the variable of which a copy would have its own.
    """
    skip_sanitizer()
    with Program(lab, "late") as program:
        program.go_on(10)
        out, _ = follow(lab, program, ROUNDS, "gputrace-kernels", "--copies")
        kernels = lab.listed(out)
        own = {kernel.name.partition("(")[0]: kernel for kernel in kernels}
        expect({"plain", "counting", "large"} <= set(own), f"listed: {kernels}")
        for name in "plain", "large":
            expect(own[name].route != "none" and own[name].launches >= ROUNDS, f"{own[name]}")
        expect(own["counting"].route == "none" and "variable of its module" in own["counting"].reason,
               f"{own['counting']}")
        path = lab.scratch / "copies.json"
        follow(lab, program, ROUNDS, "gputrace-record", "--copies", "--no-api", "-o", path)
        trace, _ = check_trace.check(path)
        timed = sum(kernel["name"].startswith("plain") for kernel in trace.kernels)
        expect(timed >= ROUNDS - 1, f"{timed} kernels in the trace")
        out, _ = follow(lab, program, ROUNDS, "gputrace-run", "--copies", lab.build / "examples/bpf/threads.bpf.o")
        entered, left = (int(re.search(rf"^map {name}:\n *\[0\] (\d+)", out, re.MULTILINE).group(1))
                         for name in ("entered", "left"))
        expect(entered == left >= ROUNDS * (4 + 1) * 256, f"{entered} threads entered, {left} left")
        out, _ = follow(lab, program, ROUNDS, "gputrace-run", "--copies", lab.build / "tests/gpu/probes/memory.bpf.o")
        loads = maps(out).get("accesses", {}).get(0, [0])[0]
        # Each warp of `plain` loads once; what cuBLAS' kernels add, which are machine code alone, is not known.
        expect(loads >= ROUNDS * 4 * 8, f"{loads} loads of warps")
        program.end()
    others = [kernel for kernel in kernels if kernel.name.partition("(")[0] not in ("plain", "counting", "large")]
    return (f"plain by {own['plain'].route}, {timed} times of it; {entered} threads entered and left; {loads} loads of warps; of cuBLAS "
            f"{sum(kernel.route != 'none' for kernel in others)} of {len(others)} kernels")
