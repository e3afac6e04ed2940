# SPDX-License-Identifier: Apache-2.0
"""Tracing a block of one's own Python.

    import gputrace

    with gputrace.trace() as t:
        model(x)
    print(t)                    # a table of the kernels
    t.save("step.json")         # for Perfetto

Works before and after CUDA was first used in the process.  Only one trace can be
on in a process at a time.
"""
from __future__ import annotations

import functools
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from ._cffi import ffi, lib
from ._library import guard, readable, text
from .ctx import Context
from .event import UNKNOWN, CopyKind, EventType
from .kernel import Kernel
from .object import Object
from .program import Program
from .reader import POLL_S, Reader
from .target import Path, Target
from .writer import Writer, create

Function = TypeVar("Function", bound=Callable[..., Any])

DETACH_S = 60.0  # kernels that were launched inside may take so long
BATCH = 1024  # records
RECORD = "struct gputrace_python_record"


@dataclass(frozen=True)
class KernelRun:
    """One run of a kernel on the GPU.  Times are nanoseconds of CLOCK_MONOTONIC."""

    name: str  #: as a person reads it
    kernel_id: int  #: Kernel.id of Trace.loaded
    launch_id: int  #: the runs of a graph's kernel share one
    start: int
    end: int
    time_error: Optional[int]  #: start and end are right within this many ns; None: not known
    duration: int  #: by the GPU's own clock, without that error
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    shared_bytes: int
    stream: int
    device: int
    tid: int


@dataclass(frozen=True)
class CopyRun:
    """A copy or a memset, as far as these were asked for.  Times are nanoseconds of CLOCK_MONOTONIC."""

    kind: CopyKind  #: from where to where
    bytes: int
    launch_id: int  #: that of its call
    start: int
    end: int
    time_error: Optional[int]  #: start and end are right within this many ns; None: when it ran is not known
    duration: int  #: by the GPU's own clock; 0 when it is not known
    stream: int
    device: int
    tid: int


@dataclass(frozen=True)
class MetricSample:
    """A value of a metric, as far as these were asked for.  Times are nanoseconds of CLOCK_MONOTONIC."""

    name: str  #: as "utilization.gpu"; gputrace_reader_add_metrics(3) has the list
    value: float
    unit: str  #: as "%"
    text: Optional[str]  #: the value in words, where it is bits
    start: int  #: the value is of one moment from start to end, or of all that time
    end: int
    gpu: int  #: its Gpu.index
    pid: int  #: the process that it is of; 0: of the GPU as a whole


@dataclass
class KernelSum:
    """All runs and launches of the kernels of one name."""

    name: str
    launches: int = 0  #: a launch that was captured into a graph counts once
    runs: int = 0  #: seen on the GPU, replays of graphs included
    total: int = 0  #: ns, and so below
    shortest: int = 0
    longest: int = 0
    reason: Optional[str] = None  #: why runs could not be seen

    @property
    def mean(self) -> float:
        """Average duration in ns."""
        return self.total / self.runs if self.runs else 0.0

    def _add(self, duration: int) -> None:
        self.shortest = min(self.shortest, duration) if self.runs else duration
        self.longest = max(self.longest, duration)
        self.runs += 1
        self.total += duration


def _run_of(record: Any, name: str) -> KernelRun:
    return KernelRun(
        name=name,
        kernel_id=record.kernel_id,
        launch_id=record.launch_id,
        start=record.start,
        end=record.end,
        time_error=None if record.time_error == UNKNOWN else record.time_error,
        duration=record.duration,
        grid=(record.grid[0], record.grid[1], record.grid[2]),
        block=(record.block[0], record.block[1], record.block[2]),
        shared_bytes=record.shared_bytes,
        stream=record.stream,
        device=record.device,
        tid=record.tid)


def _copy_of(record: Any) -> CopyRun:
    return CopyRun(
        kind=CopyKind(record.copy_kind),
        bytes=record.copy_bytes,
        launch_id=record.launch_id,
        start=record.start,
        end=record.end,
        time_error=None if record.time_error == UNKNOWN else record.time_error,
        duration=record.duration,
        stream=record.stream,
        device=record.device,
        tid=record.tid)


def _sample_of(event: Any) -> MetricSample:
    return MetricSample(
        name=text(lib.gputrace_event_get_name(event)) or "",
        value=lib.gputrace_event_get_metric_value(event),
        unit=text(lib.gputrace_event_get_unit(event)) or "",
        text=text(lib.gputrace_event_get_text(event)),
        start=lib.gputrace_event_get_time(event),
        end=lib.gputrace_event_get_end(event),
        gpu=lib.gputrace_gpu_get_index(lib.gputrace_event_get_gpu(event)),
        pid=lib.gputrace_event_get_pid(event))


class Trace:
    """What trace() gives: start() and stop() it, or use it in a ``with`` statement; then ask it."""

    def __init__(self, *, attach: Sequence[Union[Object, Program]] = (), api: bool = False, copies: bool = False,
                 memcpy: bool = False, metrics: float = 0.0, agent: Optional[Path] = None, ring_bytes: int = 0,
                 ctx: Optional[Context] = None) -> None:
        self._how: Dict[str, Any] = {"attach": attach, "api": api, "copies": copies, "memcpy": memcpy,
                                     "metrics": metrics, "agent": agent, "ring_bytes": ring_bytes, "ctx": ctx}
        self._records: List[bytes] = []  # not looked at yet
        self._runs: List[KernelRun] = []
        self._copies: List[CopyRun] = []
        self._metrics: List[MetricSample] = []
        self._launches: Dict[str, int] = {}
        self._target: Optional[Target] = None
        self._error: Optional[BaseException] = None
        self._file: Any = None
        self._pid = 0
        self.loaded: List[Kernel] = []  #: the kernels that were seen
        self.notes: List[str] = []  #: what the library had to say
        self.lost = 0  #: records dropped; 0: everything is here

    # ---- recording ----

    def start(self) -> "Trace":
        """Begin.  Error with errno EBUSY: this process is traced already."""
        if self._pid:
            raise ValueError("a trace is made once: call gputrace.trace() again")
        how = self._how
        target = Target.this_process(copies=how["copies"], agent=how["agent"], agent_ring_bytes=how["ring_bytes"],
                                     gpu_ring_bytes=how["ring_bytes"], ctx=how["ctx"])
        try:
            target.attach_timeline()
            target.attach_nvtx()
            if how["memcpy"]:
                target.attach_copies()
            if how["api"]:
                target.attach_api()
            for what in how["attach"]:
                target.attach(what)
            self._file = tempfile.TemporaryFile(prefix="gputrace-")
            self._writer = Writer(f"/proc/self/fd/{self._file.fileno()}", ctx=how["ctx"])
            reader = target.reader()
            if how["metrics"]:
                reader.add_metrics(period=0.0 if how["metrics"] is True else how["metrics"])
            target.resume()
        except BaseException:
            target.close()
            raise
        self._batch = ffi.new(f"{RECORD}[]", BATCH)
        self._target = target
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._collect, args=(reader,), name="gputrace", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End, when the kernels that were launched meanwhile have ended.  Harmless when repeated, and in a forked child."""
        target, self._target = self._target, None
        if target is None or os.getpid() != self._pid:
            return
        try:
            target.detach(DETACH_S)
        finally:
            self._thread.join()
            with guard:
                self.loaded = target.kernels()
                target.close()
                self._writer.close()
        if self._error is not None:
            raise self._error

    def _collect(self, reader: Reader) -> None:
        try:
            while not reader.ended:
                # Messages of the agent are served at once.
                readable(reader.fileno(), POLL_S)
                reader.wait(0)
                with guard:
                    self._drain(reader)
            self.lost = reader.lost
        except BaseException as error:  # for the thread that stops us
            self._error = error

    def _drain(self, reader: Reader) -> None:
        """Take what is due, and leave the program's own Python its time: records are looked at when somebody asks."""
        other = ffi.new("const struct gputrace_event **")
        while True:
            count = lib.gputrace_python_drain(reader._pointer, self._writer._pointer, self._batch, len(self._batch), other)
            if count:
                self._records.append(bytes(ffi.buffer(self._batch, count * ffi.sizeof(RECORD))))
            if other[0] != ffi.NULL:
                self._take(other[0])
            elif count < len(self._batch):
                return

    def _take(self, event: Any) -> None:
        """What is seldom is looked at as it comes."""
        if lib.gputrace_event_get_type(event) == EventType.METRIC:
            self._metrics.append(_sample_of(event))
        else:
            self.notes.append(text(lib.gputrace_event_get_text(event)) or "")

    def _look(self) -> None:
        """What came of the records so far."""
        if not self._records:
            return
        with guard:
            loaded = self.loaded if self._target is None else self._target.kernels()
            names = {kernel.id: kernel.display_name for kernel in loaded}
            for batch in self._records:
                for record in ffi.from_buffer(f"{RECORD}[]", batch):
                    name = names.get(record.kernel_id, "(unknown kernel)")
                    if record.type == EventType.COPY:
                        self._copies.append(_copy_of(record))
                    elif record.type == EventType.KERNEL:
                        self._runs.append(_run_of(record, name))
                    else:
                        self._launches[name] = self._launches.get(name, 0) + 1
            self._records.clear()

    def __enter__(self) -> "Trace":
        return self.start()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def __call__(self, function: Function) -> Function:
        """As a decorator: each call is a trace of its own, the latest of which is the function's attribute ``trace``."""
        @functools.wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            with Trace(**self._how) as made:
                traced.trace = made  # type: ignore[attr-defined]
                return function(*args, **kwargs)
        return traced  # type: ignore[return-value]

    # ---- what came of it ----

    def kernels(self) -> List[KernelRun]:
        """Every run of a kernel, in the order of their ends; pandas.DataFrame() takes the list as it is."""
        self._look()
        return list(self._runs)

    def copies(self) -> List[CopyRun]:
        """Every copy and memset, if trace() was told memcpy=True, in the order of their ends."""
        self._look()
        return list(self._copies)

    def metrics(self) -> List[MetricSample]:
        """Every value of a metric, if trace() was told metrics=..., in the order of their ends; pandas.DataFrame() takes the
        list as it is."""
        return list(self._metrics)

    def launches(self, name: Optional[str] = None) -> int:
        """Successful launches, of the kernels of one name or of all."""
        self._look()
        return sum(self._launches.values()) if name is None else self._launches.get(name, 0)

    def summary(self) -> List[KernelSum]:
        """One entry for each name, the longest total first."""
        self._look()
        sums: Dict[str, KernelSum] = {}
        for name, count in self._launches.items():
            sums.setdefault(name, KernelSum(name)).launches = count
        for run in self._runs:
            sums.setdefault(run.name, KernelSum(run.name))._add(run.duration)
        for kernel in self.loaded:
            if kernel.display_name in sums and kernel.reason:
                sums[kernel.display_name].reason = kernel.reason
        return sorted(sums.values(), key=lambda s: (-s.total, -s.launches, s.name))

    def table(self, rows: int = 0, width: int = 60) -> str:
        """summary() as text; rows: at most so many (0: all), width: of the names."""
        sums = self.summary()
        whole = sum(s.total for s in sums)
        rule = "  ".join("-" * n for n in (width, 12, 8, 12, 12, 12, 10))
        lines = [rule, f"{'Name':<{width}}  {'GPU total us':>12}  {'GPU %':>8}  {'GPU avg us':>12}  {'min us':>12}  "
                 f"{'max us':>12}  {'# of Runs':>10}", rule]
        for s in sums[:rows or None]:
            name = s.name if len(s.name) <= width else s.name[:width - 3] + "..."
            if s.runs:
                lines.append(f"{name:<{width}}  {s.total / 1000:12.3f}  {100 * s.total / whole if whole else 0:7.2f}%  "
                             f"{s.mean / 1000:12.3f}  {s.shortest / 1000:12.3f}  {s.longest / 1000:12.3f}  {s.runs:10}")
            else:
                lines.append(f"{name:<{width}}  {s.launches} launches without times: {s.reason or 'they had not ended'}")
        lines.append(rule)
        lines.append(f"{sum(s.launches for s in sums)} launches, {len(self._runs)} runs, "
                     f"GPU time total: {whole / 1000:.3f} us" + (f", {self.lost} records lost" if self.lost else ""))
        if not sums:
            lines.append("this process launched no kernel meanwhile; of programs that it starts, Target.spawn() tells")
        if self._copies:
            lines.append(f"{len(self._copies)} copies and memsets of {sum(c.bytes for c in self._copies)} bytes: "
                         f"{sum(c.duration for c in self._copies) / 1000:.3f} us")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        state = "on" if self._target is not None else "over" if self._pid else "not begun"
        return f"<gputrace.Trace {state}: {self.launches()} launches, {len(self._runs)} runs>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write a file in Chrome's JSON format, which Perfetto (https://ui.perfetto.dev) opens.  Once stopped.

        A file whose name ends in .gz is compressed, as gzip does it; Perfetto opens it as well.  ValueError: the name ends
        as those of files that are compressed otherwise.
        """
        if self._file is None or self._target is not None:
            raise ValueError("the trace is not over: stop it first")
        with open(f"/proc/self/fd/{self._file.fileno()}", "rb") as recorded, create(path) as file:
            shutil.copyfileobj(recorded, file)


def trace(*, attach: Sequence[Union[Object, Program]] = (), api: bool = False, copies: bool = False,
          memcpy: bool = False, metrics: float = 0.0, agent: Optional[Path] = None, ring_bytes: int = 0,
          ctx: Optional[Context] = None) -> Trace:
    """Trace a block of this process's own work: a context manager, or a decorator of a function.

    attach      objects or programs to attach meanwhile; their maps can be read at the end, and what
                they print or send is in the file of Trace.save()
    api         record the driver's calls too
    copies      times also of kernels that were loaded while no trace was on, by copies of them
                (GPUTRACE_LIVE_COPIES), where their images can be found
    memcpy      record copies and memsets of memory, and when they ran: Trace.copies(), and in the file of
                Trace.save()
    metrics     sample metrics of the GPUs each so many seconds: Trace.metrics(), and in the file of Trace.save();
                True: each tenth of a second; 0 or False: do not
    agent       path of libgputrace-agent.so; default: the installed one
    ring_bytes  room for what was not taken in yet, a power of two; default 4 MiB
    """
    return Trace(attach=attach, api=api, copies=copies, memcpy=memcpy, metrics=metrics, agent=agent,
                 ring_bytes=ring_bytes, ctx=ctx)


class expect_launches:
    """A block must launch kernels so often: ``with expect_launches(vecadd=3, total=4): step()``.

    Names are patterns as programs have them (Kernel.matches()); a dict can be
    given for those that are no Python names.  AssertionError says what differs.
    """

    def __init__(self, counts: Optional[Dict[str, int]] = None, *, total: Optional[int] = None, **named: int) -> None:
        self._counts = dict(counts or {}, **named)
        self._total = total
        self.trace = Trace()

    def __enter__(self) -> Trace:
        return self.trace.start()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        __tracebackhide__ = True  # pytest shows the test's own line
        self.trace.stop()
        if kind is not None:
            return
        wrong = []
        for pattern, count in self._counts.items():
            seen = sum(kernel.launches for kernel in self.trace.loaded if kernel.matches(pattern))
            if seen != count:
                wrong.append(f"{pattern}: {seen} launches, not {count}")
        if self._total is not None and self.trace.launches() != self._total:
            wrong.append(f"in all: {self.trace.launches()} launches, not {self._total}")
        if wrong:
            raise AssertionError("; ".join(wrong) + "\n" + str(self.trace))
