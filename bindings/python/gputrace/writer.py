# SPDX-License-Identifier: Apache-2.0
"""Trace files."""
from __future__ import annotations

import gzip
import os
from enum import IntEnum
from typing import BinaryIO, Optional, Union

from . import ctx as _ctx
from ._cffi import ffi, lib
from ._library import Handle, guard, own, path_bytes
from .ctx import Context
from .error import check
from .event import Event
from .symbolizer import Symbolizer

#: As gputrace_writer_open() has it: names of files that are compressed otherwise than by gzip.
OTHERS = (".zst", ".zstd", ".xz", ".lzma", ".bz2", ".lz4", ".br", ".gzip", ".tgz", ".zip", ".7z")


def check_name(path: Union[str, "os.PathLike[str]"]) -> None:
    """A name must not promise what is not in the file."""
    name = os.fspath(path)
    suffix = name[name.rfind("."):]
    if suffix.lower() in OTHERS:
        raise ValueError(f"{name}: a file is compressed here when its name ends in .gz, and not as {suffix}")


def create(path: Union[str, "os.PathLike[str]"]) -> Union[gzip.GzipFile, BinaryIO]:
    """A file as a Writer makes it, of bytes that are at hand."""
    check_name(path)
    if os.fspath(path).lower().endswith(".gz"):
        return gzip.open(path, "wb", compresslevel=6)
    return open(path, "wb")


class Format(IntEnum):
    """Kinds of trace files."""

    #: as PyTorch's Kineto writes it; opens in Perfetto and chrome://tracing
    CHROME_JSON = lib.GPUTRACE_FORMAT_CHROME_JSON
    #: for flamegraph.pl and its kin: ns of calls and, marked [GPU], of the kernels they launched, by stack
    FOLDED_STACKS = lib.GPUTRACE_FORMAT_FOLDED_STACKS


class Writer(Handle):
    """Writes a stream of events into a file, which close() or the end of a ``with`` block finishes.

    A file whose name ends in .gz is compressed, as gzip does it; Error with errno EINVAL: the name ends as those of files
    that are compressed otherwise.
    """

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
