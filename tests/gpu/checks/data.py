# SPDX-License-Identifier: Apache-2.0
"""What programs on the GPU send and keep: rings, maps."""

import re

from checks.registry import check
from lab import expect, maps


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
