# SPDX-License-Identifier: Apache-2.0
"""Metrics of the GPU (--metrics) beside what a program did at the time, and what nvidia-smi says of it."""

import re
import statistics
import subprocess
import threading
import time

from checks.registry import check
from lab import Skip, expect

MS = 1_000_000  # ns
SETTLED = 1100 * MS  # the driver's utilization and power are of its last second
REFRESHED = 300 * MS  # what a sample has of counters is a tenth of a second old, or two
MIB = 1 << 20
# What nvidia-smi calls it, and how far apart two readings of one moment may be: it rounds, and what it reads moves on.
SAME = {"temperature.gpu": ("C", 1, 0), "power.draw": ("W", 3, 0.05), "memory.used": ("bytes", MIB, 0)}


class Smi(threading.Thread):
    """What nvidia-smi says of the GPU, again and again: (begin, end, {name: value})."""

    def __init__(self, gpu):
        super().__init__(daemon=True)
        self.query = ["nvidia-smi", "-i", gpu, f"--query-gpu={','.join(SAME)}", "--format=csv,noheader,nounits"]
        self.readings = []
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.2):
            begin = time.monotonic_ns()
            words = subprocess.run(self.query, capture_output=True, text=True).stdout.strip().split(", ")
            if len(words) == len(SAME) and all(re.fullmatch(r"[\d.]+", word) for word in words):
                values = dict(zip(SAME, map(float, words)))
                values["memory.used"] *= MIB
                self.readings.append((begin, time.monotonic_ns(), values))

    def stop(self):
        self.over.set()
        self.join()
        return self.readings


class Seen:
    """The counters of a trace."""

    def __init__(self, trace):
        self.counters = {}
        for event in trace.events:
            if event["ph"] == "C":
                (unit, value), = event["args"].items()
                self.counters.setdefault(event["name"], []).append((event["start"], float(value), unit, event["pid"]))

    def values(self, name, begin, end):
        found = [value for start, value, _, _ in self.counters.get(name, []) if begin <= start <= end]
        expect(found, f"no {name} while the program was at it")
        return found


def compare_with_smi(seen, readings, begin, end):
    """What nvidia-smi read lies among what was sampled around that time; how often it was asked."""
    count = 0
    for first, last, values in readings:
        if first < begin + 500 * MS or last > end - 500 * MS:
            continue
        count += 1
        for name, (unit, slack, part) in SAME.items():
            around = seen.values(name, first - 250 * MS, last + 250 * MS)
            expect(min(around) - slack - part * min(around) <= values[name] <= max(around) + slack + part * max(around),
                   f"{name}: nvidia-smi says {values[name]} {unit}, sampled around that time: {around}")
            expect(seen.counters[name][0][2] == unit, f"{name} in {seen.counters[name][0][2]}, not in {unit}")
    expect(count >= 3, f"nvidia-smi answered {count} times of {len(readings)} while the program ran")
    return count


def grown(seen, name, idle, memory, size):
    """By how much memory grew when that much was allocated: by little more."""
    more = statistics.median(seen.values(name, *memory)) - statistics.median(seen.values(name, *idle))
    expect(size <= more < size + 64 * MIB, f"{name} grew by {more:.0f} bytes, {size} were allocated")
    return more


def check_processes(seen, trace, idle, memory, busy, size):
    """The program's own memory and utilization, or the note that the driver does not know it by this number."""
    name = next((name for name in seen.counters if name.startswith("process.memory.used")), None)
    if not name:
        notes = [event["args"]["text"] for event in trace.events if event.get("cat") == "note"]
        missing = [note for note in notes if "process" in note and "metrics" in note]
        expect(missing, f"no process.memory.used, and no word of it: {notes}")
        return f"processes: {missing[0]}"
    program = {launch["pid"] for launch in trace.launches}
    owners = {pid for _, _, _, pid in seen.counters[name]}
    expect(owners == program, f"{name} of the processes {owners}, and {program} launched")
    said = f"{name} +{grown(seen, name, idle, memory, size):.0f} bytes"
    name = name.replace("memory.used", "utilization.sm")
    if name in seen.counters:
        used = seen.values(name, busy[0] + SETTLED, busy[1])
        expect(min(used) > 50, f"{name} of a program that keeps the GPU busy: {used}")
        said += f", {name} {min(used):.0f} to {max(used):.0f} %"
    return said


def check_counters(seen, idle, busy):
    """GPM, of which each value's time begins with the sample before: what its unit was busy in between."""
    begins = [start for start, _, _, _ in seen.counters["gpm.sm_util"]]
    apart = [(later - earlier) / MS for earlier, later in zip(begins, begins[1:])]
    expect(min(apart) >= 100, f"counters over {min(apart)} ms")
    ticks = len(seen.counters["temperature.gpu"])
    expect(len(begins) >= 0.8 * ticks, f"counters at {len(begins)} of {ticks} ticks")
    said = [f"counters at {len(begins)} of {ticks} ticks, {min(apart):.1f} ms apart at least"]
    # All multiprocessors compute, in as many threads as they take; little of it is memory, none of it tensors.
    for name, least, most in (("graphics_util", 95, 100), ("sm_util", 95, 100), ("sm_occupancy", 80, 100),
                              ("dram_bw_util", 0, 10), ("any_tensor_util", 0, 1)):
        values = seen.values(f"gpm.{name}", busy[0] + REFRESHED, busy[1] - REFRESHED)
        expect(least <= min(values) and max(values) <= most + 0.5, f"gpm.{name} of a busy GPU: {values}")
        said.append(f"gpm.{name} {min(values):.1f} to {max(values):.1f} %")
    still = seen.values("gpm.sm_util", idle[0] + REFRESHED, idle[1] - REFRESHED)
    expect(max(still) < 10, f"gpm.sm_util of an idle GPU: {still}")
    return ", ".join(said)


@check(alone=True)
def metrics(lab):
    """Utilization, memory, power and counters follow what the program does; nvidia-smi says the same."""
    if lab.device == "sim":
        raise Skip("the software device's metrics are made up")
    smi = Smi(lab.gpus[0])
    recorded, trace = lab.record(lab.program("busy"), options=["--metrics", "--no-api"])
    readings = smi.stop()
    lines = [line.split() for line in recorded.out.splitlines()]
    idle, memory, busy = ([int(word) for word in next(line for line in lines if line[0] == what)[1:]]
                          for what in ("idle", "memory", "busy"))
    size = recorded.number("bytes")
    seen = Seen(trace)

    said = [f"nvidia-smi agrees {compare_with_smi(seen, readings, idle[0], busy[1])} times"]
    utilization = seen.values("utilization.gpu", busy[0] + SETTLED, busy[1])
    expect(min(utilization) > 90, f"a busy GPU's utilization: {utilization}")
    said.append(f"utilization {min(utilization):.0f} %")
    said.append(f"memory.used +{grown(seen, 'memory.used', idle, memory, size):.0f} bytes")
    power = [seen.values("power.draw", during[0] + SETTLED, during[1]) for during in (idle, busy)]
    expect(min(power[1]) > max(power[0]), f"power, idle and busy: {power}")
    said.append(f"power {max(power[0]):.0f} W idle, {min(power[1]):.0f} W busy")
    said.append(check_processes(seen, trace, idle, memory, busy, size))
    if "gpm.sm_util" in seen.counters:
        said.append(check_counters(seen, idle, busy))
    else:
        expect("gpm." in recorded.err, f"no counters, and no word of it: {recorded.err}")
        said.append("no counters")
    return "; ".join(said)


@check(alone=True)
def metrics_in_order(lab):
    """Metrics and kernels in one stream, in the order of their ends."""
    recorded = lab.tool("gputrace-record", "--metrics=1", "--no-api", "--", lab.program("spin"), "--rounds", "50").good()
    rows = re.findall(r"^ *(\d+\.\d+) +(\d+\.\d+|-) (kernel|metric) ", recorded.out, re.MULTILINE)
    kinds = [kind for _, _, kind in rows]
    expect("kernel" in kinds and "metric" in kinds, f"{len(rows)} rows: {set(kinds)}")
    ends = [round(1000 * float(begin)) + (0 if length == "-" else round(1000 * float(length))) for begin, length, _ in rows]
    late = sum(later < earlier for earlier, later in zip(ends, ends[1:]))
    expect(late == 0 or lab.device == "sim", f"{late} of {len(rows)} rows come too late")
    first, last = kinds.index("kernel"), len(kinds) - kinds[::-1].index("kernel")
    between = kinds[first:last].count("metric")
    expect(between > 0, f"no metrics between {kinds.count('kernel')} kernels")
    return f"{kinds.count('kernel')} kernels, {between} metrics between them, {late} late"
