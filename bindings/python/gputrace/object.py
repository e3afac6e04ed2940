# SPDX-License-Identifier: Apache-2.0
"""An opened BPF object file: its programs and its maps."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, Optional, Union

from . import ctx as _ctx
from ._cffi import ffi, lib
from ._library import Handle, guard, options, own, path_bytes
from .ctx import Context
from .error import check
from .map import Map
from .program import Program


class Object(Handle):
    """A BPF object: Object.open(path), Object.from_bytes(data), or Object.empty() to fill.

    Its programs and maps belong to it and can be used as long as it is not closed.
    """

    __slots__ = ("_ctx",)

    def __init__(self, pointer: Any, ctx: Optional[Context] = None) -> None:
        super().__init__(own(pointer, lib.gputrace_object_unref))
        self._ctx = ctx

    def __repr__(self) -> str:
        what = "closed" if self.closed else f"programs {', '.join(self.programs)}; maps {', '.join(self.maps)}"
        return f"<gputrace.Object {what}>"

    @classmethod
    def open(cls, path: Union[str, "os.PathLike[str]"], *, ctx: Optional[Context] = None) -> "Object":
        """Open an ELF file that clang made with ``-target bpf``."""
        result = ffi.new("struct gputrace_object **")
        with guard:
            check(lib.gputrace_object_open_file(_ctx.pointer(ctx), path_bytes(path), result))
            return cls(result[0], ctx)

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "object", *, ctx: Optional[Context] = None) -> "Object":
        """The same from memory, which is copied.  name is used in messages."""
        result = ffi.new("struct gputrace_object **")
        with guard:
            check(lib.gputrace_object_open_mem(_ctx.pointer(ctx), ffi.from_buffer(data), len(data),
                                               name.encode(), result))
            return cls(result[0], ctx)

    @classmethod
    def empty(cls, name: str = "object", *, ctx: Optional[Context] = None) -> "Object":
        """An object without a file, for add_map() and add_program()."""
        result = ffi.new("struct gputrace_object **")
        with guard:
            check(lib.gputrace_object_new(_ctx.pointer(ctx), name.encode(), result))
            return cls(result[0], ctx)

    def add_map(self, name: str, type: int, *, key_size: int, value_size: int, max_entries: int,
                flags: int = 0, slots: int = 0) -> Map:
        """Add a map (see MapType; sizes in bytes).  The n-th map added has index n - 1."""
        result = ffi.new("struct gputrace_map **")
        opts = options("gputrace_map_opts", type=type, key_size=key_size, value_size=value_size,
                       max_entries=max_entries, flags=flags, slots=slots)
        with guard:
            check(lib.gputrace_object_add_map(self._pointer, name.encode(), opts, result))
        return Map(self, result[0])

    def add_program(self, name: str, section: Optional[str], instructions: bytes) -> Program:
        """Add a program of eight-byte BPF instructions.

        section is named as in an object file.  None: the program belongs to no
        kernel, and can be compiled only without verification.
        """
        result = ffi.new("struct gputrace_program **")
        if len(instructions) % 8:
            raise ValueError("BPF instructions have 8 bytes each")
        with guard:
            check(lib.gputrace_object_add_program(
                self._pointer, name.encode(), ffi.NULL if section is None else section.encode(),
                ffi.from_buffer(instructions), len(instructions) // 8, result))
        return Program(self, result[0])

    def _walk(self, following: Callable[[Any, Any], Any]) -> Iterator[Any]:
        with guard:
            item = following(self._pointer, ffi.NULL)
        while item != ffi.NULL:
            yield item
            with guard:
                item = following(self._pointer, item)

    @property
    def programs(self) -> Dict[str, Program]:
        """The programs by name, in the order of the file."""
        programs = (Program(self, item) for item in self._walk(lib.gputrace_object_next_program))
        return {program.name: program for program in programs}

    @property
    def maps(self) -> Dict[str, Map]:
        """The maps by name, in the order of the file."""
        maps = (Map(self, item) for item in self._walk(lib.gputrace_object_next_map))
        return {map.name: map for map in maps}

    def program(self, name: str) -> Program:
        """The program of this name; KeyError if there is none."""
        with guard:
            item = lib.gputrace_object_find_program(self._pointer, name.encode())
        if item == ffi.NULL:
            raise KeyError(name)
        return Program(self, item)

    def map(self, name: str) -> Map:
        """The map of this name; KeyError if there is none."""
        with guard:
            item = lib.gputrace_object_find_map(self._pointer, name.encode())
        if item == ffi.NULL:
            raise KeyError(name)
        return Map(self, item)

    def __getitem__(self, name: str) -> Map:
        """As map()."""
        return self.map(name)

    def refresh(self, timeout: Optional[float] = 5.0) -> None:
        """Fetch the maps' contents from the GPUs, for what is read afterwards.

        Blocks until every live CUDA context has answered, at most timeout
        seconds (None: for ever); then Error with errno ETIMEDOUT, and the older
        contents stay.  Other threads' calls of this module wait meanwhile.
        Contents of processes that have ended stay as they were.
        """
        milliseconds = -1 if timeout is None else max(0, round(timeout * 1000))
        with guard:
            check(lib.gputrace_object_refresh_maps(self._pointer, milliseconds))
