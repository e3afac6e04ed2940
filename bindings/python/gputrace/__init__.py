# SPDX-License-Identifier: Apache-2.0
"""See inside CUDA programs: driver calls, kernels and BPF programs on the GPU, on one clock.

A part of this very program, and a table of its kernels:

    import gputrace

    with gputrace.trace() as t:
        model(x)
    print(t)

Another program, event by event:

    with gputrace.Target.spawn(["./vecadd"]) as target:
        target.attach_timeline()
        reader = target.reader()
        target.resume()
        for event in reader:
            if event.type is gputrace.EventType.KERNEL:
                print(event.name, event.duration, "ns")

Calls of several threads are made one after another; waiting lets others run.
Failures raise gputrace.Error, which is an OSError.
"""
from ._library import escape, version
from .agent import range
from .clock import Clock, ClockBound, ClockSource, Drift, HostPair, Moment, host_pair
from .ctx import Context, LogLevel
from .error import Error
from .event import CopyKind, Event, EventType, StackEnd
from .gpu import Gpu
from .image import Image, gpu_context
from .kernel import Kernel, Route
from .link import Link
from .map import MAP_HOST, MMAPABLE, InstanceInfo, Map, MapType, MapView
from .object import Object
from .program import Granularity, Point, Program, VerifierLog
from .reader import Metrics, Reader
from .records import Records
from .source import CompileError, Diagnostic, bpf, compile_bpf
from .symbolizer import Frame, Symbolizer
from .target import Device, Target
from .tracing import CopyRun, KernelRun, KernelSum, MetricSample, Trace, expect_launches, trace
from .writer import Format, Writer

__version__ = version()

__all__ = [
    "Clock", "ClockBound", "ClockSource", "CompileError", "Context", "CopyKind", "CopyRun", "Device", "Diagnostic",
    "Drift", "Error", "Event", "EventType", "Format", "Frame", "Gpu", "Granularity", "HostPair", "Image",
    "InstanceInfo", "Kernel", "KernelRun", "KernelSum", "Link", "LogLevel", "MAP_HOST", "MMAPABLE", "Map",
    "MapType", "MapView", "MetricSample", "Metrics", "Moment", "Object", "Point", "Program", "Reader", "Records",
    "Route", "StackEnd", "Symbolizer", "Target", "Trace", "VerifierLog", "Writer", "bpf", "compile_bpf", "escape",
    "expect_launches", "gpu_context", "host_pair", "range", "trace", "version",
]
