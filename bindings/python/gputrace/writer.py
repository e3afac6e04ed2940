# SPDX-License-Identifier: Apache-2.0
"""Trace files."""
from __future__ import annotations

import os
from enum import IntEnum
from typing import Optional, Union

from . import ctx as _ctx
from ._cffi import ffi, lib
from ._library import Handle, guard, own, path_bytes
from .ctx import Context
from .error import check
from .event import Event
from .symbolizer import Symbolizer


class Format(IntEnum):
    """Kinds of trace files."""

    #: as PyTorch's Kineto writes it; opens in Perfetto and chrome://tracing
    CHROME_JSON = lib.GPUTRACE_FORMAT_CHROME_JSON
    #: for flamegraph.pl and its kin: ns of calls and, marked [GPU], of the kernels they launched, by stack
    FOLDED_STACKS = lib.GPUTRACE_FORMAT_FOLDED_STACKS


class Writer(Handle):
    """Writes a stream of events into a file, which close() or the end of a ``with`` block finishes."""

    __slots__ = ("_ctx", "_symbolizer")

    def __init__(self, path: Union[str, "os.PathLike[str]"], format: Format = Format.CHROME_JSON, *,
                 symbolizer: Optional[Symbolizer] = None, ctx: Optional[Context] = None) -> None:
        result = ffi.new("struct gputrace_writer **")
        with guard:
            check(lib.gputrace_writer_open(_ctx.pointer(ctx), path_bytes(path), format, result))
            super().__init__(own(result[0], lib.gputrace_writer_close))
            if symbolizer is not None:
                lib.gputrace_writer_set_symbolizer(self._pointer, symbolizer._pointer)
        self._symbolizer = symbolizer
        self._ctx = ctx

    def add(self, event: Event) -> None:
        """Add an event, in the reader's order, before the reader is asked for the next one."""
        with guard:
            check(lib.gputrace_writer_add(self._pointer, event._reader._pointer_of(event)))

    def close(self) -> None:
        """Finish the file.  Harmless when repeated."""
        with guard:
            owned, self._owned = self._owned, None
            if owned is not None:
                ffi.gc(owned, None)
                check(lib.gputrace_writer_close(owned))
