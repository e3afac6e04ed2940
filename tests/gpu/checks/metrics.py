# SPDX-License-Identifier: Apache-2.0
"""Metrics of the GPU (--metrics) beside what a program did at the time."""

from checks.registry import check
from lab import Skip, expect

SETTLED = 1_100_000_000  # ns: the driver's utilization and power are of its last second


def values(trace, name, during, settled=0):
    """Those of the only GPU whose time began within."""
    found = [float(event["args"][next(iter(event["args"]))]) for event in trace.events
             if event["ph"] == "C" and event["name"] == name and during[0] + settled <= event["start"] <= during[1]]
    expect(found, f"no {name} while the program was at it")
    return found


@check(alone=True)
def metrics(lab):
    """Utilization, memory and power follow what the program does; counters where the GPU has them."""
    if lab.device == "sim":
        raise Skip("the software device's metrics are made up")
    recorded, trace = lab.record(lab.program("busy"), "--seconds", "3", options=["--metrics=50", "--no-api"])
    lines = [line.split() for line in recorded.out.splitlines()]
    idle, memory, busy = ([int(word) for word in next(line for line in lines if line[0] == what)[1:]]
                          for what in ("idle", "memory", "busy"))
    size = recorded.number("bytes")

    utilization = values(trace, "utilization.gpu", busy, SETTLED)
    expect(min(utilization) > 90, f"a busy GPU's utilization: {utilization}")
    before, after = values(trace, "memory.used", idle), values(trace, "memory.used", memory)
    grown = after[0] - before[-1]
    expect(size <= grown < size + (64 << 20), f"memory grew by {grown} bytes, {size} were allocated")
    power = [values(trace, "power.draw", during, SETTLED) for during in (idle, busy)]
    expect(min(power[1]) > max(power[0]), f"power, idle and busy: {power}")
    said = (f"utilization {min(utilization):.0f} %, memory +{grown:.0f} of {size} bytes, "
            f"power {max(power[0]):.0f} W idle, {min(power[1]):.0f} W busy")

    # A counter's time begins with the sample before.
    counted = [busy[0], busy[1] - 400_000_000]
    if not any(event.get("name") == "gpm.sm_util" for event in trace.events):
        return f"{said}; no counters: {[line for line in recorded.err.splitlines() if 'gpm.' in line]}"
    counters = [(name, min(values(trace, name, counted))) for name in ("gpm.graphics_util", "gpm.sm_util")]
    for name, least in counters:
        expect(least > 90, f"{name} of a busy GPU: {least}")
    idle_sms = max(values(trace, "gpm.sm_util", [idle[0], idle[1] - 400_000_000]))
    expect(idle_sms < 10, f"gpm.sm_util of an idle GPU: {idle_sms}")
    return f"{said}; " + ", ".join(f"{name} {least:.1f} %" for name, least in counters)
