# SPDX-License-Identifier: Apache-2.0
"""Sessions that come and go in a program that runs."""

import os
import signal
import subprocess
import time

import check_trace
from checks.registry import check
from lab import Skip, expect

SESSIONS = 20
ROUNDS = 100  # of the program in each session; a round is two launches
PATIENCE = 600  # s: a guard against a hang, no measure of speed


class Program:
    """One that goes on until it is killed."""

    def __init__(self, lab, environment):
        self.path = lab.scratch / "rounds"
        self.path.write_bytes(bytes(8))
        argv = [str(lab.program("twins")), "--rounds", "100000000", str(self.path)]
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)

    def rounds(self):
        return int.from_bytes(self.path.read_bytes(), "little")

    def go_on(self, rounds):
        """Wait until it has done so many more."""
        goal, deadline = self.rounds() + rounds, time.monotonic() + PATIENCE
        while self.rounds() < goal:
            expect(self.process.poll() is None, f"the program ended with {self.process.returncode}")
            expect(time.monotonic() < deadline, f"the program does not go on after {self.rounds()} rounds")
            time.sleep(0.01)


def watch(lab, program):
    """The trace of one session of gputrace-record, and when it began and ended in ns."""
    path = lab.scratch / "session.json"
    path.unlink(missing_ok=True)
    argv = [lab.build / "gputrace-record", f"--device={lab.device}", "--no-api", "-o", path,
            "-p", str(program.process.pid)]
    begin = time.monotonic_ns()
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, **lab.environment)) as tool:
        said = tool.stderr.readline()
        if "is traced now" in said:
            program.go_on(ROUNDS)
            tool.send_signal(signal.SIGINT)
        said += tool.communicate(timeout=PATIENCE)[1]
    expect(tool.returncode == 0, f"gputrace-record ended with {tool.returncode}: {said[-300:]}")
    trace, errors = check_trace.check(path)
    # The session may end between a kernel and the record of its launch, which has the sizes of grid and block.
    cut_off = [error for error in errors if "is not three sizes" in error]
    expect(len(errors) == len(cut_off) <= 2, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    return trace, begin, time.monotonic_ns()


@check(alone=True)
def sessions(lab):
    """
    Twenty in one process, with pauses, while it loads, launches and unloads: each sees kernels,
    none before its launch or at a time outside the session, and the program's results stay right.
    """
    if "ASAN_OPTIONS" in os.environ:
        raise Skip("AddressSanitizer does not know a thread that a program is given from outside")
    environment = dict(os.environ, **lab.environment)
    if lab.device == "sim":
        environment["LD_LIBRARY_PATH"] = environment["GPUTRACE_SIM_DIR"]
    seen = []
    program = Program(lab, environment)
    try:
        program.go_on(1)
        for _ in range(SESSIONS):
            trace, begin, end = watch(lab, program)
            wild = [kernel for kernel in trace.kernels if not begin <= kernel["start"] <= kernel["end"] <= end]
            expect(not wild, f"{len(wild)} kernels outside their session, the first: {wild[:1]}")
            seen.append(len(trace.kernels))
            time.sleep(0.1)
        # It checks what its kernels compute, and ends when that is wrong.
        expect(program.process.poll() is None, f"the program ended with {program.process.returncode}")
    finally:
        program.process.kill()
        program.process.wait()
    # The module of one of them may have been loaded before the session, and so have had no programs.
    expect(min(seen) >= 2 * ROUNDS - 1, f"kernels of each session: {seen}")
    return f"{SESSIONS} sessions, {min(seen)} to {max(seen)} kernels each"
