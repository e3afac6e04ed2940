# SPDX-License-Identifier: Apache-2.0
"""The tools themselves: their end, their errors, what they say."""

import os
import subprocess
import time

from checks.registry import check
from lab import Failure, Skip, expect


PATIENCE = 600  # in seconds, a guard


def kill_in_the_middle(lab, program, args):
    """Kill the tool while the program runs, which ends as it should.  False: it had ended before."""
    bare = lab.bare(program, *args)
    out = lab.scratch / "killed.out"
    out.unlink(missing_ok=True)
    argv = [str(lab.build / "gputrace-record"), f"--device={lab.device}"]
    # The shell says when the program ended, which outlives the tool.
    script = f'"$0" "$@" >{out}; echo "status $?" >>{out}'
    argv += ["-o", str(lab.scratch / "killed.json"), "--", "sh", "-c", script, str(program), *args]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=dict(os.environ, **lab.environment)) as tool:
        end = time.monotonic() + PATIENCE
        while not out.exists() and tool.poll() is None and time.monotonic() < end:  # until it has been started
            time.sleep(0.1)
        time.sleep(max(0.3, bare.seconds / 3))
        early = tool.poll() is None
        # In a build tree it is a script of libtool's, which becomes the tool by exec.
        tool.kill()
        tool.wait()
    text = ""
    while "status " not in text and time.monotonic() < end:
        time.sleep(0.1)
        text = out.read_text() if out.exists() else ""
    expect(text == bare.out + "status 0\n", f"the program ended with {text[-200:]!r}")
    return early


@check(alone=True)
def tool_killed(lab):
    """The tool is killed in the middle: the program goes on and computes what it should."""
    launches = 2000 if lab.device == "sim" else 20000
    # How long it takes may change as other programs come and go.
    for _ in range(3):
        if kill_in_the_middle(lab, lab.program("demo"), ["-l", str(launches), "-n", "4096"]):
            return f"killed within {launches} launches, output right"
        launches *= 4
    raise Failure("the program was always too quick to kill the tool while it ran")


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
