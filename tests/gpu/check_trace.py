#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check a trace that gputrace-record wrote, with nothing but Python's json.

usage: check_trace.py FILE [--launches N]

Exits 0 when the file keeps to the format, and has N kernels and N arrows; else
prints what is wrong and exits 1.
"""

import argparse
import json
import re
import sys

DECIMALS = re.compile(r"-?\d+\.\d{3}")
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
KERNEL_ARGS = {
    "device": int,
    "context": int,
    "stream": int,
    "launch": int,
    "correlation": int,
    "grid": list,
    "block": list,
    "shared memory": int,
    "est. error ns": int,
}
COPIES = ("gpu_memcpy", "gpu_memset")
COPYING = ("cuMemcpy", "cuMemset")
COPY_ARGS = {"device": int, "context": int, "stream": int, "launch": int, "correlation": int, "bytes": int,
             "est. error ns": int}


class Microseconds(str):
    """A number with a decimal point, as it stands in the file."""

    def ns(self):
        if not DECIMALS.fullmatch(self):
            raise ValueError(f"{self} has not three decimals")
        whole, decimals = self.split(".")
        return int(whole) * 1000 + (-1 if whole.startswith("-") else 1) * int(decimals)


class Trace:
    """The slices of a trace, with times as integers of nanoseconds."""

    def __init__(self, path):
        with open(path, encoding="utf-8", errors="strict") as file:
            self.top = json.load(file, parse_float=Microseconds)
        self.events = self.top["traceEvents"]
        for event in self.events:
            if isinstance(event.get("ts"), Microseconds):
                event["start"] = event["ts"].ns()
            if isinstance(event.get("dur"), Microseconds):
                event["end"] = event["start"] + event["dur"].ns()
        slices = [event for event in self.events if event["ph"] == "X"]
        self.kernels = [event for event in slices if event["cat"] == "kernel"]
        self.copies = [event for event in slices if event["cat"] in COPIES]
        self.calls = [event for event in slices if event["cat"] != "kernel" and event["cat"] not in COPIES]
        # What launched: with a call around it (seen by uprobes) or as the agent saw it; and what copied.
        numbered = [call for call in self.calls if "correlation" in call["args"]]
        self.launches = [call for call in numbered if not call["name"].startswith(COPYING)]
        self.copy_calls = [call for call in numbered if call["name"].startswith(COPYING)]
        self.launch_calls = [
            call for call in self.calls if call["name"].startswith(("cuLaunchKernel", "cuLaunchCooperative"))
        ]
        self.arrows = {"s": [], "f": []}
        for event in self.events:
            if event["ph"] in self.arrows:
                self.arrows[event["ph"]].append(event)
        self.lost = sum(event["args"]["count"] for event in self.events if event.get("cat") == "lost")


class Checker:
    def __init__(self, trace):
        self.trace = trace
        self.errors = []

    def need(self, condition, text, event=None):
        if not condition and len(self.errors) < 20:
            self.errors.append(text + (f": {event}" if event is not None else ""))
        return condition

    def typed(self, where, key, kind, event):
        value = where.get(key)
        right = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
        return self.need(right, f"{key} is {value!r}, no {kind.__name__}", event)

    def top(self):
        top = self.trace.top
        self.need(top.get("schemaVersion") == 1, "schemaVersion is not 1")
        self.need(top.get("displayTimeUnit") in ("ns", "ms"), "displayTimeUnit is neither ns nor ms")
        self.typed(top, "baseTimeNanoseconds", int, "the top")
        if self.typed(top, "deviceProperties", list, "the top"):
            for device in top["deviceProperties"]:
                self.typed(device, "id", int, device)
                self.typed(device, "name", str, device)

    def element(self, event):
        self.typed(event, "name", str, event)
        self.typed(event, "pid", int, event)
        self.typed(event, "tid", int, event)
        self.typed(event, "ts", Microseconds, event)
        phase = event.get("ph")
        if phase == "X":
            self.slice(event)
        elif phase == "M":
            key, kind = METADATA.get(event["name"], (None, None))
            if self.need(key, "unknown metadata", event):
                self.typed(event["args"], key, kind, event)
        elif phase == "i":
            self.need(event.get("s") in ("g", "p", "t"), "an instant without scope", event)
        elif phase == "C":
            self.need(event.get("cat") == "metric", "a counter of another category", event)
            numbers = [float(value) for value in event["args"].values()]
            self.need(len(numbers) == 1, "a counter without one value", event)
        elif phase in ("b", "e"):
            self.typed(event, "id", int, event)
            self.need(event.get("cat") == "user_annotation", "an end of no annotation", event)
        elif phase in ("s", "f"):
            self.typed(event, "id", int, event)
            self.need(event.get("cat") == "ac2g", "an arrow of another category", event)
            self.need(phase == "s" or event.get("bp") == "e", "an arrow's end that is not bound", event)
        else:
            self.need(False, "unknown phase", event)

    def slice(self, event):
        self.typed(event, "dur", Microseconds, event)
        self.need(event["name"] != "", "a slice without name", event)
        self.need(event["end"] >= event["start"], "a slice that ends before it starts", event)
        self.typed(event, "args", dict, event)
        if event.get("cat") == "user_annotation":
            self.typed(event["args"], "range", int, event)
            return
        if event.get("cat") in COPIES:
            for key, kind in COPY_ARGS.items():
                self.typed(event["args"], key, kind, event)
            self.need(event["args"].get("device") == event["pid"], "a copy outside its device", event)
            return
        if event.get("cat") != "kernel":
            self.need(event.get("cat") in ("cuda_driver", "cuda_runtime"), "unknown category", event)
            self.typed(event["args"], "result", int, event)
            return
        for key, kind in KERNEL_ARGS.items():
            self.typed(event["args"], key, kind, event)
        for key in ("grid", "block"):
            values = event["args"].get(key) or []
            right = len(values) == 3 and all(isinstance(value, int) and value > 0 for value in values)
            self.need(right, f"{key} is not three sizes", event)
        self.need(event["args"].get("device") == event["pid"], "a kernel outside its device", event)

    def arrows(self):
        """Each arrow leads from within a launch's slice to the start of its kernel."""
        trace = self.trace
        starts = {event["id"]: event for event in trace.arrows["s"]}
        ends = {event["id"]: event for event in trace.arrows["f"]}
        self.need(len(starts) == len(trace.arrows["s"]), "arrows that begin twice")
        self.need(len(ends) == len(trace.arrows["f"]), "arrows that end twice")
        self.need(starts.keys() == ends.keys(), "arrows with one end only")
        calls = trace.launches + trace.copy_calls
        launches = {call["args"]["correlation"]: call for call in calls}
        self.need(len(launches) == len(calls), "two launches with one number")
        kernels = {}
        for kernel in trace.kernels + trace.copies:
            kernels.setdefault((kernel["args"].get("correlation"), kernel["start"]), kernel)
        for number in starts.keys() & ends.keys():
            self.arrow(starts[number], ends[number], launches.get(number), kernels)

    def arrow(self, start, end, launch, kernels):
        kernel = kernels.get((end["id"], end["start"]))
        if not self.need(launch, "an arrow from no launch", start):
            return
        if not self.need(kernel, "an arrow to no kernel", end):
            return
        row = (launch["pid"], launch["tid"])
        self.need((start["pid"], start["tid"]) == row, "an arrow from another row", start)
        self.need(launch["start"] <= start["start"] <= launch["end"], "an arrow from outside its call", start)
        self.need((end["pid"], end["tid"]) == (kernel["pid"], kernel["tid"]), "an arrow to another row", end)
        error = kernel["args"].get("est. error ns", 0)
        self.need(start["start"] <= end["start"] + error, "a kernel before its launch", end)

    def rows(self):
        """Within a row, slices nest or follow each other."""
        rows = {}
        for event in self.trace.kernels + self.trace.copies + self.trace.calls:
            rows.setdefault((event["pid"], event["tid"]), []).append(event)
        for slices in rows.values():
            slices.sort(key=lambda event: (event["start"], -event["end"]))
            open_ends = []
            for event in slices:
                while open_ends and open_ends[-1] <= event["start"]:
                    open_ends.pop()
                self.need(not open_ends or event["end"] <= open_ends[-1], "a slice that overlaps another", event)
                open_ends.append(event["end"])

    def run(self):
        self.top()
        for event in self.trace.events:
            self.element(event)
        self.arrows()
        self.rows()
        return self.errors


def check(path, launches=None):
    """The trace, and what is wrong with it as a list of sentences."""
    try:
        trace = Trace(path)
        errors = Checker(trace).run()
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        return None, [f"{path}: {type(error).__name__}: {error}"]
    if launches is not None:
        for what, number in (("kernels", len(trace.kernels)), ("arrows", len(trace.arrows["f"]))):
            if number != launches:
                errors.append(f"{number} {what} for {launches} launches")
    return trace, errors


def main():
    parser = argparse.ArgumentParser(description="check a trace of gputrace-record")
    parser.add_argument("file")
    parser.add_argument("--launches", type=int)
    args = parser.parse_args()
    trace, errors = check(args.file, args.launches)
    for error in errors:
        print(error)
    if errors:
        sys.exit(1)
    print(f"{len(trace.kernels)} kernels, {len(trace.calls)} calls, {len(trace.arrows['f'])} arrows")


if __name__ == "__main__":
    main()
