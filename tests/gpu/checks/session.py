# SPDX-License-Identifier: Apache-2.0
"""Sessions that come and go in a program that runs."""

import os
import pathlib
import re
import signal
import subprocess
import time

import check_trace
from checks.registry import check
from lab import Skip, expect

SESSIONS = 20
SECONDS = 0.4


def catches_interrupts(pid):
    """The tool does once it has attached."""
    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(caught.group(1), 16) >> (signal.SIGINT - 1) & 1


def watch(lab, pid):
    """The trace of one session of gputrace-record, and when it began and ended in ns."""
    path = lab.scratch / "session.json"
    path.unlink(missing_ok=True)
    argv = [lab.build / "gputrace-record", f"--device={lab.device}", "--no-api", "-o", path, "-p", str(pid)]
    begin = time.monotonic_ns()
    with subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, **lab.environment)) as tool:
        while tool.poll() is None and not catches_interrupts(tool.pid) and time.monotonic_ns() < begin + 20e9:
            time.sleep(0.02)
        time.sleep(SECONDS)
        tool.send_signal(signal.SIGINT)
        _, said = tool.communicate(timeout=60)
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
    argv = [str(lab.program("twins")), "--rounds", "100000000"]
    seen = []
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as program:
        try:
            time.sleep(2 * SECONDS)
            for _ in range(SESSIONS):
                trace, begin, end = watch(lab, program.pid)
                wild = [kernel for kernel in trace.kernels if not begin <= kernel["start"] <= kernel["end"] <= end]
                expect(not wild, f"{len(wild)} kernels outside their session, the first: {wild[:1]}")
                seen.append(len(trace.kernels))
                time.sleep(0.1)
            # It checks what its kernels compute, and ends when that is wrong.
            expect(program.poll() is None, f"the program ended with {program.returncode}")
        finally:
            program.kill()
    # On a busy host the software device may run few.
    expect(min(seen) >= (50 if lab.device == "gpu" else 1), f"kernels of each session: {seen}")
    return f"{SESSIONS} sessions, {min(seen)} to {max(seen)} kernels each"
