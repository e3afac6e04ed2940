# SPDX-License-Identifier: Apache-2.0
"""A network that is trained for as long as one likes, with programs in all kernels."""

import concurrent.futures
import re

from checks.registry import add_check
from lab import expect, maps, only


def losses(outcome):
    return re.findall(r"^loss \d+ \S+$", outcome.out, re.MULTILINE)


def training(lab):
    """Programs at entry and exit of every kernel, and none, side by side for --seconds: the same losses, step by step."""
    program, patience = lab.program("torch-train"), lab.seconds + 300
    # Of several GPUs the bare run has another one for itself.
    apart = {"CUDA_VISIBLE_DEVICES": lab.gpus[-1]} if len(lab.gpus) > 1 else {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        bare = pool.submit(lab.bare, program, str(lab.seconds), env=apart, timeout=patience)
        probed = pool.submit(lab.run_object, "threads", program, str(lab.seconds), timeout=patience)
    bare, probed = bare.result(), probed.result()
    right, seen = losses(bare), losses(probed)
    steps = min(len(right), len(seen))
    expect(steps >= 10, f"{len(right)} and {len(seen)} steps; {probed.err[-300:]}")
    changed = next((ours for ours, theirs in zip(seen, right) if ours != theirs), None)
    expect(changed is None, f"{changed!r} of {steps} steps is another one than without programs")
    found = maps(probed.out)
    entered, left = only(found, "entered"), only(found, "left")
    expect(entered == left and entered, f"{entered} threads entered, {left} left")
    expect(not probed.refusals(), f"kernels without programs: {probed.refusals()}")
    return f"{steps} losses the same in {lab.seconds} s ({len(right)} without, {len(seen)} with); {entered} = {left} threads"


add_check("training", training, slow=True)
