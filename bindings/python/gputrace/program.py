# SPDX-License-Identifier: Apache-2.0
"""A BPF program of an object."""
from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Callable, Optional

from ._cffi import ffi, lib
from ._library import guard, options, sure_text, text
from .error import check
from .image import Image

if TYPE_CHECKING:
    from .object import Object


class Point(IntEnum):
    """Where a program runs."""

    KERNEL = lib.GPUTRACE_POINT_KERNEL  #: in the operating system's kernel
    ENTRY = lib.GPUTRACE_POINT_ENTRY  #: on the GPU, and so below: at entry of a CUDA kernel
    EXIT = lib.GPUTRACE_POINT_EXIT  #: at every way out
    LOAD = lib.GPUTRACE_POINT_LOAD
    STORE = lib.GPUTRACE_POINT_STORE
    ATOMIC = lib.GPUTRACE_POINT_ATOMIC
    INST = lib.GPUTRACE_POINT_INST
    BLOCK = lib.GPUTRACE_POINT_BLOCK


class VerifierLog(IntEnum):
    """What the verifier writes into a program's log."""

    WARNINGS = lib.GPUTRACE_VERIFIER_WARNINGS  #: why it refuses a program, and what is likely wrong in one that it accepts
    REFUSALS = lib.GPUTRACE_VERIFIER_REFUSALS  #: the former alone
    STATES = lib.GPUTRACE_VERIFIER_STATES  #: both, and each instruction as it is followed, with the registers before it


class Granularity(IntEnum):
    """For which threads of a CUDA kernel a program runs."""

    THREAD = lib.GPUTRACE_PER_THREAD
    WARP = lib.GPUTRACE_PER_WARP  #: the thread with lane 0
    BLOCK = lib.GPUTRACE_PER_BLOCK  #: the thread with index (0, 0, 0) of its block


class Program:
    """A program; belongs to its object."""

    __slots__ = ("_object", "_item")

    def __init__(self, object: "Object", item: Any) -> None:
        self._object = object
        self._item = item

    @property
    def _pointer(self) -> Any:
        self._object._pointer  # raises when it is closed
        return self._item

    def __repr__(self) -> str:
        return "<gputrace.Program closed>" if self._object.closed else f"<gputrace.Program {self.name!r} in {self.section!r}>"

    @property
    def name(self) -> str:
        """The C function's name."""
        with guard:
            return sure_text(lib.gputrace_program_get_name(self._pointer))

    @property
    def section(self) -> str:
        """The section, as "cuda/entry:*"."""
        with guard:
            return sure_text(lib.gputrace_program_get_section(self._pointer))

    @property
    def point(self) -> Point:
        """Where it runs."""
        with guard:
            return Point(lib.gputrace_program_get_point(self._pointer))

    @property
    def granularity(self) -> Granularity:
        """For which threads it runs."""
        with guard:
            return Granularity(lib.gputrace_program_get_granularity(self._pointer))

    @property
    def pattern(self) -> Optional[str]:
        """The glob over kernel names; None for programs in the operating system's kernel."""
        with guard:
            return text(lib.gputrace_program_get_pattern(self._pointer))

    @property
    def opcode(self) -> Optional[str]:
        """Point.INST: the glob over opcodes; else None."""
        with guard:
            return text(lib.gputrace_program_get_opcode(self._pointer))

    @property
    def log(self) -> str:
        """What verifier and compiler said at the last compilation; "" if nothing."""
        with guard:
            return sure_text(lib.gputrace_program_get_log(self._pointer))

    def _compile(self, how: Callable[[Any, Any, Any], int], optimize: Optional[int], verify: bool,
                 cache: bool, verifier_log: VerifierLog) -> Image:
        result = ffi.new("struct gputrace_image **")
        flags = 0 if verify else lib.GPUTRACE_COMPILE_UNVERIFIED
        flags |= 0 if cache else lib.GPUTRACE_COMPILE_UNCACHED
        opts = options("gputrace_compile_opts", flags=flags, verifier_log=verifier_log,
                       optimize=lib.GPUTRACE_OPTIMIZE_NONE if optimize == 0 else optimize)
        with guard:
            check(how(self._pointer, opts, result))
            return Image(result[0], self._object)

    def compile_ptx(self, *, optimize: Optional[int] = None, verify: bool = True, cache: bool = True,
                    verifier_log: VerifierLog = VerifierLog.WARNINGS) -> Image:
        """Verify the program and compile it to PTX for sm_75 and newer.  Needs no GPU.

        optimize: 0 to 3 as LLVM's -O, default 2.  verify=False is for tests of
        the compiler.  cache=False: do not use ~/.cache/gputrace.  verifier_log:
        how much log says.
        Error with errno EACCES: the verifier refused; log has the details.
        """
        return self._compile(lib.gputrace_compile_ptx, optimize, verify, cache, verifier_log)

    def compile_host(self, *, optimize: Optional[int] = None, verify: bool = True, cache: bool = True,
                     verifier_log: VerifierLog = VerifierLog.WARNINGS) -> Image:
        """Compile the same intermediate code for this machine, for Image.run()."""
        return self._compile(lib.gputrace_compile_host, optimize, verify, cache, verifier_log)
