# SPDX-License-Identifier: Apache-2.0
"""The tools themselves: their end, their errors, what they say."""

import os
import subprocess
import time

from checks.registry import check
from lab import Skip, expect


@check(alone=True)
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
        for _ in range(600):  # until the program has been started
            if out.exists() or tool.poll() is not None:
                break
            time.sleep(0.1)
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
