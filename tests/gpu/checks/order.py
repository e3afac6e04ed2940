# SPDX-License-Identifier: Apache-2.0
"""Times: what comes before what, and how long."""

import re

from checks.compare import without_api
from checks.registry import check
from lab import Skip, expect


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


@check(alone=True)
def order_of_10000(lab):
    return order(lab, lab.program("many"), "--launches", "10000")


@check(alone=True)
def order_in_batches(lab):
    return order(lab, lab.program("many"), "--launches", "10000", "--batch", "100")


@check(alone=True)
def order_of_demo(lab):
    return order(lab, lab.program("demo"), "-l", "500", "-n", "4096")


@check(alone=True)
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


LATENCY_NS = 10_000
PART_OF_BARE = 0.8


def delivered(lab, who):
    records = lab.build / "tests/gpu/probes/records.bpf.o"
    sim = lab.device == "sim"
    outcome = lab.call(lab.program("delivery"), *(["--device=sim"] if sim else []), records, "1" if sim else "2", who)
    if outcome.status == 77:
        raise Skip(outcome.out.strip().splitlines()[-1])
    last = next((line for line in reversed(outcome.out.splitlines()) if line.startswith("delivery:")), outcome.err)
    expect(outcome.status == 0, last)
    latency = int(re.search(r"latency_ns=(-?\d+)", last).group(1))
    expect(sim or 0 < latency < LATENCY_NS, last)
    return last.removeprefix("delivery: ")


@check(alone=True)
def delivery(lab):
    """
    How soon what GPU programs write reaches a reader that polls, and how fast, from each warp and from each thread, beside
    a kernel that writes as much by itself: every record is delivered or counted.
    """
    lines = [delivered(lab, who) for who in ("warps", "threads")]
    part = float(re.search(r"part_of_bare=([\d.]+)", lines[1]).group(1))
    expect(lab.device == "sim" or part >= PART_OF_BARE, "; ".join(lines))
    return "; ".join(lines)


@check(alone=True)
def clock(lab):
    """The clock by itself, against pings of a resident kernel that it was not given."""
    if lab.device == "sim":
        raise Skip("the software device's clock is the host's")
    outcome = lab.call(lab.program("clock"), str(max(lab.seconds, 8)), timeout=lab.seconds + 120)
    if outcome.status == 77:
        raise Skip(outcome.out.strip().splitlines()[-1])
    last = next((line for line in reversed(outcome.out.splitlines()) if line.startswith("clock:")), outcome.err)
    expect(outcome.status == 0, last)
    return last.removeprefix("clock: ")
