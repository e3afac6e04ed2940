# SPDX-License-Identifier: Apache-2.0
"""The stream of a target's events."""
from __future__ import annotations

import asyncio
import time
import weakref
from enum import IntFlag
from errno import ENODATA
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, List, Optional

from . import kernel as _kernel
from ._cffi import ffi, lib
from ._library import Handle, guard, milliseconds, options, own, path_bytes, readable
from .error import check
from .event import Copy, Event
from .kernel import Kernel
from .records import FUNCTION, RecordsFunction, Taker

if TYPE_CHECKING:
    from .map import Map
    from .symbolizer import Symbolizer
    from .target import Path, Target

POLL_S = 0.002  # rings that the GPU writes wake nobody up


class Metrics(IntFlag):
    """What Reader.add_metrics() samples."""

    UTILIZATION = lib.GPUTRACE_METRICS_UTILIZATION  #: utilization.gpu, utilization.memory
    MEMORY = lib.GPUTRACE_METRICS_MEMORY  #: memory.used
    POWER = lib.GPUTRACE_METRICS_POWER  #: power.draw
    TEMPERATURE = lib.GPUTRACE_METRICS_TEMPERATURE  #: temperature.gpu
    CLOCKS = lib.GPUTRACE_METRICS_CLOCKS  #: clocks.sm, clocks.mem, clocks_event_reasons.active
    PCIE = lib.GPUTRACE_METRICS_PCIE  #: pcie.tx, pcie.rx; of a GPU with GPM gpm.pcie_tx, gpm.pcie_rx
    COUNTERS = lib.GPUTRACE_METRICS_COUNTERS  #: gpm.*, with NVLink
    PROCESSES = lib.GPUTRACE_METRICS_PROCESSES  #: process.memory.used, process.utilization.*


class Reader(Handle):
    """All rings of a target as one stream, in the order of the events' ends.

    ``for event in reader`` waits for events until the target has ended and all
    is delivered; ``async for`` does the same in asyncio.  Both serve the target,
    which must have been resumed, or be resumed by somebody else meanwhile.
    Other threads run while it waits, and Ctrl-C is heard.  Target.reader()
    makes one; window is in seconds.
    """

    __slots__ = ("_target", "_serial", "_current", "_copy", "_ended", "_symbolizer", "_takers")

    def __init__(self, target: "Target", *, window: float = 0.0,
                 symbolizer: Optional["Symbolizer"] = None) -> None:
        result = ffi.new("struct gputrace_reader **")
        opts = options("gputrace_reader_opts", window_ns=round(window * 1e9))
        with guard:
            check(lib.gputrace_reader_new(target._pointer, opts, result))
            self._begin(result[0], target, symbolizer)
        target._reader = weakref.ref(self)

    def _begin(self, pointer: Any, target: Optional["Target"], symbolizer: Optional["Symbolizer"]) -> None:
        super().__init__(own(pointer, lib.gputrace_reader_unref))
        if symbolizer is not None:
            lib.gputrace_reader_set_symbolizer(self._pointer, symbolizer._pointer)
        self._symbolizer = symbolizer
        self._target = target
        self._serial = 0
        self._current: Any = None
        self._copy = Copy()
        self._ended = False
        self._takers: Dict[int, Taker] = {}  # by the map's address

    @classmethod
    def connect(cls, path: Path, *, symbolizer: Optional["Symbolizer"] = None) -> "Reader":
        """Read along the stream that another process publishes at this path, from when it lets us in.

        Waiting raises an Error with ECONNRESET when that process is gone before all was delivered, and with
        EPROTO when it is no such stream or one of another version of the library.
        """
        result = ffi.new("struct gputrace_reader **")
        reader = cls.__new__(cls)
        with guard:
            check(lib.gputrace_reader_connect(ffi.new("char[]", path_bytes(path)), result))
            reader._begin(result[0], None, symbolizer)
        return reader

    def publish(self, path: Path, *, buffer_bytes: int = 0, linger: float = 0.0) -> None:
        """Tell each event also to readers in other processes of this user or root, which connect() to this path.

        It is a Unix socket, which exists as long as the reader.  Nobody is waited for: what finds no room in
        the buffer_bytes (default 16 MiB) of one that is slow is counted, and told to it as EventType.LOST.
        linger: how many seconds closing the reader waits for those that have not taken all; default 1.
        """
        opts = options("gputrace_publish_opts", buffer_bytes=buffer_bytes, linger_ms=milliseconds(linger))
        with guard:
            check(lib.gputrace_reader_publish(self._pointer, ffi.new("char[]", path_bytes(path)), opts))

    def add_metrics(self, *, period: float = 0.0, select: Metrics = Metrics(0)) -> None:
        """Sample metrics of the target's GPUs into the stream (EventType.METRIC), from now on, by a thread of the library.

        period: seconds from one sample to the next, 0.001 to 60; default 0.1.  select: what; default all.  Of a target that
        is only watched, of all GPUs of the machine.  What a GPU or its driver does not give is left out, and a
        NOTE says so once.
        """
        opts = options("gputrace_metrics_opts", period_ms=milliseconds(period), select=int(select))
        with guard:
            check(lib.gputrace_reader_add_metrics(self._pointer, opts))

    def set_records(self, map: "Map", function: Optional[RecordsFunction]) -> None:
        """Give what GPU programs write to this ring buffer map to a function, many records at a time.

        Instead of as events, for rates of millions a second.  It is called with Records, by whoever waits for
        events or asks for the next one, in no order with events; it must not use the reader, its target or
        links, and what it raises is raised there.  None: as events again.
        """
        taker = Taker(function) if function else None
        with guard:
            check(lib.gputrace_reader_set_records(self._pointer, map._pointer, FUNCTION if taker else ffi.NULL,
                                                  taker.handle if taker else ffi.NULL))
            address = int(ffi.cast("uintptr_t", map._pointer))
            self._takers.pop(address, None)
            if taker:
                self._takers[address] = taker

    def fileno(self) -> int:
        """Readable when there may be something to do; not every event makes it so, so wait with a timeout."""
        with guard:
            return int(lib.gputrace_reader_get_fd(self._pointer))

    def kernels(self) -> List[Kernel]:
        """The CUDA kernels that it has taken in so far, in order of loading; also those of another process's stream.

        Of that, also kernels that were known before we came; how often they were launched is what was so when
        the stream last told of them, at the latest at its end.
        """
        kernels = []
        with guard:
            kernel = lib.gputrace_reader_next_kernel(self._pointer, ffi.NULL)
            while kernel != ffi.NULL:
                kernels.append(_kernel.of_pointer(kernel))
                kernel = lib.gputrace_reader_next_kernel(self._pointer, kernel)
        return kernels

    @property
    def lost(self) -> int:
        """Records dropped so far, over all rings."""
        with guard:
            return int(lib.gputrace_reader_get_lost(self._pointer))

    @property
    def ended(self) -> bool:
        """Has the target ended, and was everything delivered?"""
        return self._ended

    def _look(self) -> bool:
        """Serve the target; is there an event, or the end?"""
        with guard:
            self._forget()
            result = lib.gputrace_reader_wait(self._pointer, 0)
            for taker in self._takers.values():
                if taker.error is not None:
                    error, taker.error = taker.error, None
                    raise error
            if result == -ENODATA:
                self._ended = True
            else:
                check(result)
        return bool(result)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait for events, at most timeout seconds (None: for ever), serving the target.

        True: next_event() has something; False: nothing in that time, or the end.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._look():
            left = POLL_S if deadline is None else min(POLL_S, deadline - time.monotonic())
            if left <= 0:
                return False
            readable(self.fileno(), left)
        return not self._ended

    def next_event(self) -> Optional[Event]:
        """The next event; None when there is none for now.  Never blocks."""
        with guard:
            self._forget()
            pointer = self._copy.next(self._pointer)
            if not pointer:
                return None
            self._current = pointer
            return Event(self._copy, self, self._serial)

    def discard(self) -> None:
        """Serve the target and throw away the events that are due."""
        self._look()
        while self.next_event() is not None:
            pass

    def _forget(self) -> None:
        """The event delivered last is about to be overwritten."""
        self._serial += 1
        self._current = None

    def close(self) -> None:
        """Give up the object."""
        with guard:
            self._forget()
            super().close()

    def _pointer_of(self, event: Event) -> Any:
        """The library's own event behind a copy, as long as it is there."""
        if event._reader is not self or event._serial != self._serial or self._current is None:
            raise ValueError("the reader has gone on: use an event before asking for the next one")
        return self._current

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        while True:
            event = self.next_event()
            if event is not None:
                return event
            if self._ended or not self.wait() and self._ended:
                raise StopIteration

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            event = self.next_event()
            if event is not None:
                return event
            if self._ended:
                raise StopAsyncIteration
            if not self._look():
                await self._readable()

    async def _readable(self) -> None:
        """Wait for the descriptor, a few milliseconds."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        fd = self.fileno()
        loop.add_reader(fd, ready.set)
        try:
            await asyncio.wait_for(ready.wait(), POLL_S)
        except asyncio.TimeoutError:
            pass
        finally:
            loop.remove_reader(fd)
