# SPDX-License-Identifier: Apache-2.0
"""When copies and memsets ran (--memcpy)."""

import re
import statistics

from checks.compare import without_api
from checks.inside import from_build
from checks.registry import check
from lab import Skip, expect

MEMCPY = ["--memcpy"]


# Streams of every kind, captures, host functions, memory pools, threads, contexts that end.
UNNOTICED = ("contexts", "handles", "launches", "async", "conditional", "graph", "graph-change", "hostfunc", "managed", "pool",
             "threads", "threads-ptds")


@check
def copies_unnoticed(lab):
    """Programs do the same while their copies are recorded, and all of these have times."""
    said = []
    for name in UNNOTICED:
        try:
            program = lab.program(name)
        except Skip:
            continue
        bare = lab.bare(program)
        recorded, trace = lab.record(program, options=[*MEMCPY, "--no-api"])
        expect(recorded.out == bare.out, f"{name}: the output changed: {recorded.out[:300]!r}, not {bare.out[:300]!r}")
        untimed = [event["args"]["text"] for event in trace.events if event.get("cat") == "untimed"]
        expect(not untimed, f"{name}: {len(untimed)} copies without times, the first: {untimed[:1]}")
        said.append(f"{name} {len(trace.copies)}")
    return ", ".join(said)


@check(alone=True)
def event_clock(lab):
    """The driver's events and %globaltimer are one clock: what each sample says of their distance agrees with all others."""
    outcome = lab.bare(lab.program("event-clock"), "--seconds", str(lab.seconds))
    number = {word: outcome.number(word) for word in ("samples", "width", "contradictions", "tick", "reversed", "bracket")}
    said = ", ".join(f"{word} {value}" for word, value in number.items())
    expect(number["contradictions"] == 0, said)
    # That is what the documentation promises, and what the library allows for.
    expect(number["tick"] <= (32 if lab.arch == "90" else 500), said)
    expect(lab.device == "sim" or number["width"] <= 10_000, said)
    return said


@check(alone=True)
def copies_between_kernels(lab):
    """In one stream nothing overlaps, nor comes in another order, beyond the errors; and a copy takes as long as the program measures."""
    recorded, trace = lab.record(lab.program("copies"), "--batches", "4", options=MEMCPY)
    reason = without_api(recorded)
    if reason:
        raise Skip(reason)
    own = [tuple(map(int, line.split()[1:])) for line in recorded.out.splitlines() if line.startswith("copy ")]
    expect(len(trace.copies) == recorded.number("copies"),
           f"{len(trace.copies)} copies of {recorded.number('copies')}")
    expect(len(trace.kernels) == recorded.number("launches"),
           f"{len(trace.kernels)} kernels for {recorded.number('launches')} launches")
    # Numbers are given to launches and copies in the order of their calls; the first is the set-up's.
    work = sorted(trace.kernels + trace.copies, key=lambda one: one["args"]["launch"])[1:3 * len(own) + 1]
    expect([one["cat"] == "kernel" for one in work] == [True, False, True] * len(own), "calls in another order")
    gaps, longer, worst = [], [], 0
    for one, after in zip(work, work[1:]):
        error = one["args"]["est. error ns"] + after["args"]["est. error ns"]
        gaps.append(after["start"] - one["end"])
        expect(gaps[-1] + error >= 0, f"{one['name']} and {after['name']} overlap by {-gaps[-1]} ns, the errors are {error}")
    for (size, length), copy in zip(own, work[1::3]):
        expect(copy["args"]["bytes"] == size, f"{copy['args']['bytes']} bytes, not {size}")
        longer.append(length - (copy["end"] - copy["start"]))
        worst = max(worst, copy["args"]["est. error ns"])
    # Its own events lie around ours.
    expect(lab.device == "sim" or min(longer) >= -1000, f"a copy that takes {-min(longer)} ns longer than the program says")
    expect(worst <= (10_000 if lab.device == "gpu" else 100_000_000), f"an error of {worst} ns")
    return (f"{len(own)} copies, error at most {worst} ns; gaps to the kernels before and behind at least {min(gaps)} ns, "
            f"median {statistics.median(gaps):.0f}; by the program's own events longer by {min(longer)} to {max(longer)} ns, "
            f"median {statistics.median(longer):.0f}")


@check(alone=True)
def copies_cost(lab):
    """What recording a copy of 4 KiB costs the program and its stream."""
    program = lab.program("copies")
    bare = lab.bare(program, "--rounds", "8")
    seen, _ = lab.record(program, "--rounds", "8", options=[*MEMCPY, "--no-api"], trace=False)
    cost = [f"{word} {bare.number(word)} ns, recorded {seen.number(word)}" for word in ("host", "stream")]
    # A guard against what is out of all proportion, such as waiting for the copy.
    expect(lab.device == "sim" or seen.number("host") < bare.number("host") + 20_000, "; ".join(cost))
    return "; ".join(cost)


@check(alone=True)
def copies_of_torch(lab):
    """Copies of a PyTorch program by gputrace.trace() and by torch.profiler: the same number, bytes and about the same length."""
    outcome = lab.bare(lab.program("torch-copies"), env=from_build(lab))
    rows = [(name, *map(int, numbers)) for *numbers, name in
            re.findall(r"^copy (\d+) (\d+) (-?\d+) (-?\d+) (.*)$", outcome.out, re.MULTILINE)]
    expect(rows, f"no copies: {outcome.out[-300:]!r}")
    said = []
    for name, ours, theirs, our_ns, their_ns in rows:
        expect(ours == theirs, f"{name}: {ours} by gputrace, {theirs} by torch.profiler")
        said.append(f"{name}: {our_ns} ns, by torch.profiler {their_ns}")
    return "; ".join(said)
