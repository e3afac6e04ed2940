# SPDX-License-Identifier: Apache-2.0
"""Events of the stream."""
from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Dict, Optional, Tuple

from . import gpu as _gpu
from ._cffi import ffi, lib

UNKNOWN = 2**64 - 1


class EventType(IntEnum):
    """What happened."""

    NONE = lib.GPUTRACE_EVENT_NONE  #: nothing, or what only a newer version of the library knows
    PROCESS = lib.GPUTRACE_EVENT_PROCESS  #: a process loaded the agent; name: its command
    EXIT = lib.GPUTRACE_EVENT_EXIT  #: such a process ended; count: launches whose kernels were not seen to end
    CONTEXT = lib.GPUTRACE_EVENT_CONTEXT  #: a CUDA context was seen; name: the GPU's
    API = lib.GPUTRACE_EVENT_API  #: a driver API call; name: the function
    LAUNCH = lib.GPUTRACE_EVENT_LAUNCH  #: a kernel launch as the agent saw it; name: the kernel
    KERNEL = lib.GPUTRACE_EVENT_KERNEL  #: a kernel ran on the GPU; name: the kernel
    DATA = lib.GPUTRACE_EVENT_DATA  #: bytes that a GPU program wrote to a ring buffer; name: the map
    PRINT = lib.GPUTRACE_EVENT_PRINT  #: text that a GPU program printed; name: the kernel
    FUNCTION = lib.GPUTRACE_EVENT_FUNCTION  #: a CUDA kernel became known; name: the kernel
    LOST = lib.GPUTRACE_EVENT_LOST  #: records were dropped; count: how many; name: where
    NOTE = lib.GPUTRACE_EVENT_NOTE  #: something the user should know; text
    CALL = lib.GPUTRACE_EVENT_CALL  #: a call of another function that is watched; name: the function

    RANGE = lib.GPUTRACE_EVENT_RANGE  #: a range that the program made known; name: what it said
    MARK = lib.GPUTRACE_EVENT_MARK  #: a moment that the program made known; name: what it said
    THREAD = lib.GPUTRACE_EVENT_THREAD  #: the program named thread tid; name: how
    COPY = lib.GPUTRACE_EVENT_COPY  #: the GPU copied or set memory; name: as profilers call it
    METRIC = lib.GPUTRACE_EVENT_METRIC  #: a value sampled of a GPU or of what a process uses of it; name: of what

    @classmethod
    def _missing_(cls, value: object) -> "EventType":
        return cls.NONE


class CopyKind(IntEnum):
    """From where to where a copy went."""

    UNKNOWN = lib.GPUTRACE_COPY_UNKNOWN  #: no copy, or a batch of several kinds
    HOST_TO_DEVICE = lib.GPUTRACE_COPY_HOST_TO_DEVICE
    DEVICE_TO_HOST = lib.GPUTRACE_COPY_DEVICE_TO_HOST
    DEVICE_TO_DEVICE = lib.GPUTRACE_COPY_DEVICE_TO_DEVICE
    HOST_TO_HOST = lib.GPUTRACE_COPY_HOST_TO_HOST
    PEER = lib.GPUTRACE_COPY_PEER  #: from the memory of one context to that of another
    MEMSET = lib.GPUTRACE_COPY_MEMSET  #: no copy: memory was set


class StackEnd(IntEnum):
    """What is behind the last address of a stack."""

    UNKNOWN = lib.GPUTRACE_STACK_UNKNOWN  #: no stack, or found by frame pointers, which do not tell
    COMPLETE = lib.GPUTRACE_STACK_COMPLETE  #: nothing: the last function is the thread's first
    FULL = lib.GPUTRACE_STACK_FULL  #: more callers than stack_frames
    CUT = lib.GPUTRACE_STACK_CUT  #: the stack goes on behind the bytes that were copied (stack_bytes)
    LOST = lib.GPUTRACE_STACK_LOST  #: it goes on, but what called the last function could not be found


TYPES = {int(kind): kind for kind in EventType}
STACK_ENDS = {int(end): end for end in StackEnd}
COPY_KINDS = {int(kind): kind for kind in CopyKind}

# As gputrace_python_copy() puts them down: bytes, what is never negative, a metric's value, what may be, lengths (-1: None).
NUMBERS = struct.Struct("=Q23Qd7q9q")
NEEDED = struct.Struct("=Q")  # the first of them
assert NUMBERS.size == 8 * lib.GPUTRACE_PYTHON_NUMBERS

_arg_names: Dict[bytes, Tuple[str, ...]] = {}  # of each of the driver's functions


def _text(buffer: Any, at: int, length: int) -> Tuple[Optional[str], int]:
    """A C string and what is behind it.  Names come from traced programs and may be any bytes."""
    if length < 0:
        return None, at
    return buffer[at:at + length].decode("utf-8", "backslashreplace"), at + length


def _words(buffer: Any, at: int, size: int) -> Tuple[int, ...]:
    return struct.unpack_from(f"={size // 8}Q", buffer, at) if size else ()


def _names(joined: bytes) -> Tuple[str, ...]:
    """Each ends in NUL."""
    names = _arg_names.get(joined)
    if names is None:
        names = _arg_names[joined] = tuple(name.decode("utf-8", "backslashreplace") for name in joined.split(b"\0")[:-1])
    return names


class Copy:
    """Where a reader's next event is copied to, all of it in one call."""

    def __init__(self) -> None:
        self._gpus: Dict[int, Optional[_gpu.Gpu]] = {}  # by where the library has them; they live as long as the reader
        self._make_room(4096)

    def _make_room(self, size: int) -> None:
        self._room = ffi.new("unsigned char[]", size)
        self.buffer = ffi.buffer(self._room)

    def next(self, reader: Any) -> Any:
        """The library's event, or NULL."""
        pointer = lib.gputrace_python_next(reader, self._room, len(self._room))
        if pointer:
            needed = NEEDED.unpack_from(self.buffer)[0]
            if needed > len(self._room):
                self._make_room(2 * needed)
                lib.gputrace_python_copy(pointer, self._room, len(self._room))
        return pointer

    def gpu(self, address: int) -> Optional[_gpu.Gpu]:
        if address not in self._gpus:
            self._gpus[address] = _gpu.of_pointer(ffi.cast("struct gputrace_gpu *", address))
        return self._gpus[address]


class Event:
    """One event, copied out of the stream: it stays what it is.

    Times are nanoseconds of CLOCK_MONOTONIC, as time.monotonic_ns() has them.
    Names and texts are the traced program's own: escape() makes them fit for a terminal.
    What an event's type lacks is 0, empty or None.
    """

    __slots__ = ("type", "time", "end", "time_error", "lateness", "gpu_start", "gpu_end", "pid", "tid", "name", "text",
                 "command", "launch_id", "range_id", "external_id", "domain", "kernel_id", "device", "gpu", "context", "stream",
                 "grid", "block", "shared_bytes", "copy_kind", "copy_bytes", "metric_value", "unit",
                 "result", "return_value", "args", "stack", "stack_end", "data", "count", "_reader", "_serial")

    type: EventType
    time: int  #: when it began; METRIC: the value is of a moment between time and end, or of all of it
    end: int  #: when it ended; equal to time for what takes no time
    time_error: Optional[int]  #: both times are right within this many ns; 0: taken on the host; None: not known
    lateness: int  #: an event before it ended by so many ns later: its record came too late for its place; 0: it is in order
    gpu_start: int  #: KERNEL, PRINT: the GPU's own times, %globaltimer ns; COPY: the same, to within time_error
    gpu_end: int
    pid: int  #: METRIC: 0 if it is the whole GPU's
    tid: int
    name: Optional[str]
    #: NOTE, PRINT: the text; FUNCTION: why not every program meant for it is in it; CONTEXT: how its
    #: clock is read; API, CALL: what is odd about the call; COPY: why it is not known when it ran;
    #: METRIC: clocks_event_reasons.active in words
    text: Optional[str]
    command: Optional[str]  #: API, CALL seen by the operating system's kernel: the thread's name
    launch_id: int  #: ties launch, kernel and API call of one process together, or copy and API call; 0: none
    range_id: int  #: RANGE: its number; LAUNCH, KERNEL, COPY, PRINT, API: the innermost range around it; 0: none
    external_id: int  #: LAUNCH, KERNEL, COPY, PRINT, API: the program's own number for it; 0: none
    domain: Optional[str]  #: RANGE, MARK: the NVTX domain, "" for the default one
    kernel_id: int
    device: int  #: ordinal of the GPU as the program numbers them, which two processes may do differently; -1: none
    gpu: Optional[_gpu.Gpu]  #: CONTEXT, LAUNCH, KERNEL, COPY, PRINT, DATA, METRIC: which GPU it is
    context: int
    stream: int
    grid: Tuple[int, int, int]  #: LAUNCH, KERNEL, PRINT: blocks
    block: Tuple[int, int, int]  #: threads of a block
    shared_bytes: int
    copy_kind: CopyKind  #: COPY
    copy_bytes: int  #: COPY: how much was copied or set
    metric_value: float  #: METRIC
    unit: Optional[str]  #: METRIC: the value's, "%", "bytes", "W", "C", "MHz", "bits", "KB/s" or "MiB/s"
    result: int  #: API, LAUNCH: the CUresult returned; -1: the call never did
    return_value: int  #: API, CALL: all 64 bits of the register that the result came in
    #: API: the arguments by their names, in order; CALL: arg0 to arg5, the first six integer registers
    args: Dict[str, int]
    #: API, CALL, if asked for: return addresses of the functions it was called from, the caller's first
    stack: Tuple[int, ...]
    stack_end: StackEnd  #: what is behind them
    data: bytes  #: DATA
    count: int  #: LOST: how many records; EXIT: how many launches without an end

    def __init__(self, copy: "Copy", reader: Any, serial: int) -> None:
        buffer = copy.buffer
        (_, self.time, self.end, error, self.lateness, self.gpu_start, self.gpu_end,
         self.launch_id, self.range_id, self.external_id, self.kernel_id, self.context, self.stream, self.shared_bytes, self.copy_bytes, self.return_value, self.count, gpu,
         grid_x, grid_y, grid_z, block_x, block_y, block_z, self.metric_value,
         kind, self.pid, self.tid, self.device, copy_kind, self.result, stack_end,
         name, text, command, domain, unit, names, args, stack, data) = NUMBERS.unpack_from(buffer)
        self.type = TYPES.get(kind, EventType.NONE)
        self.time_error = None if error == UNKNOWN else error
        self.grid = grid_x, grid_y, grid_z
        self.block = block_x, block_y, block_z
        self.gpu = copy.gpu(gpu) if gpu else None
        self.stack_end = STACK_ENDS.get(stack_end, StackEnd.UNKNOWN)
        self.copy_kind = COPY_KINDS.get(copy_kind, CopyKind.UNKNOWN)
        at = NUMBERS.size
        self.name, at = _text(buffer, at, name)
        self.text, at = _text(buffer, at, text)
        self.command, at = _text(buffer, at, command)
        self.domain, at = _text(buffer, at, domain)
        self.unit, at = _text(buffer, at, unit)
        values = _words(buffer, at + names, args)
        self.args = dict(zip(_names(buffer[at:at + names]), values)) if args else {}
        at += names + args
        self.stack = _words(buffer, at, stack)
        at += stack
        self.data = buffer[at:at + data]
        self._reader = reader
        self._serial = serial

    @property
    def duration(self) -> int:
        """How long it took, ns."""
        return self.end - self.time

    def __repr__(self) -> str:
        what = self.name if self.name is not None else self.text
        return f"<gputrace.Event {self.type.name} {what!r} at {self.time}, {self.duration} ns>"
