# SPDX-License-Identifier: Apache-2.0
"""Names for places in the code of processes."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

from . import ctx as _ctx
from ._cffi import ffi, lib
from ._library import Handle, guard, own, text
from .ctx import Context
from .error import check
from .event import Event


class Frame(NamedTuple):
    """A place in code, and what could be found out about it."""

    name: Optional[str]  #: the function; None: not known
    reason: Optional[str]  #: why there is no name
    module: Optional[str]  #: the file, by the path that the process knows it by, or a name of the kernel's
    offset: int  #: the address in that file as its linker gave it, or from the start of the memory
    build_id: bytes
    file: Optional[str]  #: of the source
    line: int  #: 0: not known
    address: int
    inlined: bool  #: the function was inlined into that of the next frame

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        return hex(self.address) if self.module is None else f"{self.module}+{self.offset:#x}"


def _frame(pointer: Any) -> Frame:
    size = ffi.new("size_t *")
    build_id = lib.gputrace_frame_get_build_id(pointer, size)
    return Frame(name=text(lib.gputrace_frame_get_name(pointer)),
                 reason=text(lib.gputrace_frame_get_reason(pointer)),
                 module=text(lib.gputrace_frame_get_module(pointer)),
                 offset=lib.gputrace_frame_get_offset(pointer),
                 build_id=b"" if build_id == ffi.NULL else bytes(ffi.buffer(build_id, size[0])),
                 file=text(lib.gputrace_frame_get_file(pointer)),
                 line=lib.gputrace_frame_get_line(pointer),
                 address=lib.gputrace_frame_get_address(pointer),
                 inlined=lib.gputrace_frame_get_caller(pointer) != ffi.NULL)


class Symbolizer(Handle):
    """Names places by the symbols and DWARF of mapped files, and by /tmp/perf-PID.map.

    Give it to a reader, so that it sees each process while that runs.
    """

    __slots__ = ("_ctx",)

    def __init__(self, *, ctx: Optional[Context] = None) -> None:
        result = ffi.new("struct gputrace_symbolizer **")
        with guard:
            check(lib.gputrace_symbolizer_new(_ctx.pointer(ctx), result))
            super().__init__(own(result[0], lib.gputrace_symbolizer_unref))
        self._ctx = ctx

    def resolve(self, pid: int, address: int, *, time: int = 0) -> List[Frame]:
        """What is at an address of a process at that time (time.monotonic_ns(); 0: now).

        More than one frame where functions were inlined, the innermost first.  To
        name the functions of a stack, give return addresses less one.
        """
        result = ffi.new("struct gputrace_frame **")
        frames = []
        with guard:
            check(lib.gputrace_symbolizer_resolve(self._pointer, pid, time, address, result))
            frame = result[0]
            while frame != ffi.NULL:
                frames.append(_frame(frame))
                frame = lib.gputrace_frame_get_caller(frame)
        return frames

    def stack(self, event: Event) -> List[Frame]:
        """The frames of an event's stack, the innermost first."""
        return [frame for address in event.stack if address > 1
                for frame in self.resolve(event.pid, address - 1, time=event.time)]
