# SPDX-License-Identifier: Apache-2.0
"""What programs on the GPU send and keep: rings, maps."""

import re

from checks.registry import add_check, check
from lab import expect, maps


@check
def full_ring(lab):
    """More records than a ring holds: delivered + lost = produced."""
    launches = 250 if lab.device == "gpu" else 4
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
def five_programs(lab):
    """At one point they run in the order in which they were attached."""
    outcome = lab.run_object("order", lab.program("demo"), "-l", "1")
    expect("\n  [0] sum 12641280, 1024 of " in outcome.out, f"not 12345 in each of 1024 blocks: {outcome.out[-300:]!r}")
    expect(", most 12345\n" in outcome.out, f"a block in which they ran otherwise: {outcome.out[-300:]!r}")
    return "1, 2, 3, 4, 5 in each of 1024 blocks"


@check
def every_access(lab):
    """Accesses of every kind and space, counted by thread: each once, with its size and address."""
    outcome = lab.run_object("accesses", lab.program("accesses"))
    right = {(int(kind) * 4 + int(space)): list(map(int, numbers.split()))
             for kind, space, numbers in re.findall(r"^access (\d) (\d) (.*)$", outcome.err, re.MULTILINE)}
    expect(len(right) == 7, f"the program says what it did of {len(right)} kinds and spaces, not 7")
    seen = {key: [value % 2**64 for value in values] for key, values in maps(outcome.out).get("accesses", {}).items()}
    expect(seen == right, f"{seen}, not {right}")
    return f"{sum(values[0] for values in seen.values())} accesses of {len(seen)} kinds and spaces"


# Loops, divergence, every way out, calls, cooperative launches, atomics, an exit within a function.
COUNTED = ("calls", "gridsync", "mma", "returns", "shapes", "threads", "warps")


@check
def additions_wait(lab):
    """What waits in registers until threads leave comes to what is added at once, and programs compute the same."""
    seen = []
    for name in COUNTED:
        program = lab.program(name)
        bare, outcome = lab.bare(program), lab.run_object("held", program)
        found = maps(outcome.out)
        expect(bare.out in outcome.out, f"{name}: the output changed: {outcome.out[:300]!r}, not {bare.out!r}")
        expect(found.get("held") and found["held"] == found.get("at_once"),
               f"{name}: {found.get('held')} waited, {found.get('at_once')} did not; {outcome.err[-300:]}")
        seen.append(f"{name} {sum(values[0] for values in found['held'].values())}")
    return ", ".join(seen)


def seen_by_tables(lab, program):
    """The maps of tests/gpu/probes/tables.bpf.c, checked against what the program states of itself."""
    args = ("--launches", "6")
    bare, outcome = lab.bare(program, *args), lab.run_object("tables", program, *args)
    expect(bare.out in outcome.out, f"the program's output changed: {outcome.out[:300]!r}, not {bare.out!r}")
    found = maps(outcome.out)
    threads, launches = bare.number("threads"), bare.number("launches")
    # Blocks are of whole warps; what is zero in an array is not printed.
    right = {"tally": {0: [threads], 1: [32]},
             "by_lane": {lane: [threads // 32] for lane in range(32)},
             "recent": {number: [number + 1] for number in range(256)}}
    for name, elements in right.items():
        expect(found.get(name) == elements,
               f"{program}: {name} is {found.get(name)}, not {elements}; {outcome.err[-300:]}")
    printed = len(re.findall(r"thread 5 of block 0$", outcome.out, re.MULTILINE))
    expect(printed == launches, f"{program}: {printed} lines printed by {launches} launches")
    return found, f"{threads} threads, {printed} lines"


@check
def tables_by_both_ways(lab):
    """Programs that call functions (hash tables, printing) by machine code and by PTX: the same counts."""
    grafted, numbers = seen_by_tables(lab, lab.program("vecadd-sass"))
    woven, _ = seen_by_tables(lab, lab.program("vecadd-ptx"))
    expect(grafted == woven, f"{grafted} by machine code, {woven} by PTX")
    return f"{numbers}; 32 keys inserted once, each way"


ENDS = (("entered", "left"), ("params_in", "params_out"), ("quotients_in", "quotients_out"), ("blocks_in", "blocks_out"),
        ("sm_in", "sm_out"))


def values_at_exit(lab, name, *args):
    """Programs at exit read parameters, divide, keep a warp's value, print, and find what those at entry did."""
    program = lab.program(name)
    bare, outcome = lab.bare(program, *args), lab.run_object("exits", program, *args)
    for line in bare.out.splitlines():
        expect(line in outcome.out, f"the program's output changed: {outcome.out[:300]!r}, not {bare.out!r}")
    found = maps(outcome.out)
    for before, after in ENDS:
        expect(found.get(before, {}) == found.get(after, {}), f"{before} {found.get(before)}, but {after} {found.get(after)}")
    threads = sum(values[0] for values in found.get("entered", {}).values())
    expect(threads, f"no thread was counted; {outcome.err[-300:]}")
    begun, ended = (sorted(re.findall(rf"kernel (\d+) {what}$", outcome.out, re.MULTILINE)) for what in ("begins", "ends"))
    expect(begun and begun == ended, f"{len(begun)} launches said that they begin, {len(ended)} that they end")
    return (f"{threads} threads of {len(found['entered'])} kernels, {sum(v[0] for v in found['blocks_in'].values())} blocks, "
            f"{len(begun)} launches")


for words in (("demo",), ("vecadd-sass",), ("wgmma",), ("cublas",), ("torch-step", "eager")):
    add_check(f"values_at_exit_{words[0]}", lambda lab, words=words: values_at_exit(lab, *words))
