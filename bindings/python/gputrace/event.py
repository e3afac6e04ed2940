# SPDX-License-Identifier: Apache-2.0
"""Events of the stream."""
from __future__ import annotations

from enum import IntEnum
from typing import Any, Dict, Optional, Tuple

from . import gpu as _gpu
from ._cffi import ffi, lib
from ._library import sure_text, text

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

    @classmethod
    def _missing_(cls, value: object) -> "EventType":
        return cls.NONE


class StackEnd(IntEnum):
    """What is behind the last address of a stack."""

    UNKNOWN = lib.GPUTRACE_STACK_UNKNOWN  #: no stack, or found by frame pointers, which do not tell
    COMPLETE = lib.GPUTRACE_STACK_COMPLETE  #: nothing: the last function is the thread's first
    FULL = lib.GPUTRACE_STACK_FULL  #: more callers than stack_frames
    CUT = lib.GPUTRACE_STACK_CUT  #: the stack goes on behind the bytes that were copied (stack_bytes)
    LOST = lib.GPUTRACE_STACK_LOST  #: it goes on, but what called the last function could not be found


def _three(values: Any) -> Tuple[int, int, int]:
    return (0, 0, 0) if values == ffi.NULL else (values[0], values[1], values[2])


class Event:
    """One event, copied out of the stream: it stays what it is.

    Times are nanoseconds of CLOCK_MONOTONIC, as time.monotonic_ns() has them.
    Names and texts are the traced program's own: escape() makes them fit for a terminal.
    What an event's type lacks is 0, empty or None.
    """

    __slots__ = ("type", "time", "end", "time_error", "gpu_start", "gpu_end", "pid", "tid", "name", "text", "command",
                 "launch_id", "range_id", "external_id", "domain", "kernel_id", "device", "gpu", "context", "stream",
                 "grid", "block", "shared_bytes",
                 "result", "return_value", "args", "stack", "stack_end", "data", "count", "_reader", "_serial")

    type: EventType
    time: int  #: when it began
    end: int  #: when it ended; equal to time for what takes no time
    time_error: Optional[int]  #: both times are right within this many ns; 0: taken on the host; None: not known
    gpu_start: int  #: KERNEL, PRINT: the GPU's own times, %globaltimer ns
    gpu_end: int
    pid: int
    tid: int
    name: Optional[str]
    #: NOTE, PRINT: the text; FUNCTION: why not every program meant for it is in it; CONTEXT: how its
    #: clock is read; API, CALL: what is odd about the call
    text: Optional[str]
    command: Optional[str]  #: API, CALL seen by the operating system's kernel: the thread's name
    launch_id: int  #: ties launch, kernel and API call of one process together; 0: none
    range_id: int  #: RANGE: its number; LAUNCH, KERNEL, PRINT, API: the innermost range around it; 0: none
    external_id: int  #: LAUNCH, KERNEL, PRINT, API: the program's own number for it; 0: none
    domain: Optional[str]  #: RANGE, MARK: the NVTX domain, "" for the default one
    kernel_id: int
    device: int  #: ordinal of the GPU as the program numbers them, which two processes may do differently; -1: none
    gpu: Optional[_gpu.Gpu]  #: CONTEXT, LAUNCH, KERNEL, PRINT, DATA: which GPU it is
    context: int
    stream: int
    grid: Tuple[int, int, int]  #: LAUNCH, KERNEL, PRINT: blocks
    block: Tuple[int, int, int]  #: threads of a block
    shared_bytes: int
    result: int  #: API, LAUNCH: the CUresult returned; -1: the call never did
    return_value: int  #: API, CALL: all 64 bits of the register that the result came in
    #: API: the arguments by their names, in order; CALL: arg0 to arg5, the first six integer registers
    args: Dict[str, int]
    #: API, CALL, if asked for: return addresses of the functions it was called from, the caller's first
    stack: Tuple[int, ...]
    stack_end: StackEnd  #: what is behind them
    data: bytes  #: DATA
    count: int  #: LOST: how many records; EXIT: how many launches without an end

    def __init__(self, pointer: Any, reader: Any, serial: int) -> None:
        error = lib.gputrace_event_get_time_error(pointer)
        self.type = EventType(lib.gputrace_event_get_type(pointer))
        self.time = lib.gputrace_event_get_time(pointer)
        self.end = lib.gputrace_event_get_end(pointer)
        self.time_error = None if error == UNKNOWN else error
        self.gpu_start = lib.gputrace_event_get_gpu_start(pointer)
        self.gpu_end = lib.gputrace_event_get_gpu_end(pointer)
        self.pid = lib.gputrace_event_get_pid(pointer)
        self.tid = lib.gputrace_event_get_tid(pointer)
        self.name = text(lib.gputrace_event_get_name(pointer))
        self.text = text(lib.gputrace_event_get_text(pointer))
        self.command = text(lib.gputrace_event_get_command(pointer))
        self.launch_id = lib.gputrace_event_get_launch_id(pointer)
        self.range_id = lib.gputrace_event_get_range_id(pointer)
        self.external_id = lib.gputrace_event_get_external_id(pointer)
        self.domain = text(lib.gputrace_event_get_domain(pointer))
        self.kernel_id = lib.gputrace_event_get_kernel_id(pointer)
        self.device = lib.gputrace_event_get_device(pointer)
        self.gpu = _gpu.of_pointer(lib.gputrace_event_get_gpu(pointer))
        self.context = lib.gputrace_event_get_context(pointer)
        self.stream = lib.gputrace_event_get_stream(pointer)
        self.grid = _three(lib.gputrace_event_get_grid(pointer))
        self.block = _three(lib.gputrace_event_get_block(pointer))
        self.shared_bytes = lib.gputrace_event_get_shared_bytes(pointer)
        self.result = lib.gputrace_event_get_result(pointer)
        self.return_value = lib.gputrace_event_get_return_value(pointer)
        self.args = self._arguments(pointer)
        self.stack = self._addresses(pointer)
        self.stack_end = StackEnd(lib.gputrace_event_get_stack_end(pointer))
        self.data = self._bytes(pointer)
        self.count = lib.gputrace_event_get_count(pointer)
        self._reader = reader
        self._serial = serial

    @staticmethod
    def _arguments(pointer: Any) -> Dict[str, int]:
        count = ffi.new("unsigned *")
        values = lib.gputrace_event_get_args(pointer, count)
        if values == ffi.NULL:
            return {}
        return {sure_text(lib.gputrace_event_get_arg_name(pointer, i)) or f"arg{i}": values[i]
                for i in range(count[0])}

    @staticmethod
    def _addresses(pointer: Any) -> Tuple[int, ...]:
        count = ffi.new("unsigned *")
        values = lib.gputrace_event_get_stack(pointer, count)
        return tuple(values[i] for i in range(count[0]))

    @staticmethod
    def _bytes(pointer: Any) -> bytes:
        size = ffi.new("size_t *")
        data = lib.gputrace_event_get_data(pointer, size)
        return b"" if data == ffi.NULL else bytes(ffi.buffer(data, size[0]))

    @property
    def duration(self) -> int:
        """How long it took, ns."""
        return self.end - self.time

    def __repr__(self) -> str:
        what = self.name if self.name is not None else self.text
        return f"<gputrace.Event {self.type.name} {what!r} at {self.time}, {self.duration} ns>"
