# SPDX-License-Identifier: Apache-2.0
"""Compiled programs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple

from ._cffi import ffi, lib
from ._library import Handle, guard, own, text
from .error import check

if TYPE_CHECKING:
    from .object import Object

Dim = Tuple[int, int, int]


def gpu_context(*, launch_id: int = 0, kernel_id: int = 0, space: int = 0, address: int = 0, size: int = 0,
                thread: Dim = (0, 0, 0), block: Dim = (0, 0, 0), block_dim: Dim = (1, 1, 1),
                grid_dim: Dim = (1, 1, 1)) -> bytes:
    """The bytes of a ``struct gputrace_gpu_ctx``, a GPU program's argument, for Image.run()."""
    struct = ffi.new("struct gputrace_gpu_ctx *", {
        "launch_id": launch_id, "kernel_id": kernel_id, "space": space, "address": address, "size": size,
        "thread": thread, "block": block, "block_dim": block_dim, "grid_dim": grid_dim})
    return bytes(ffi.buffer(struct))


class Image(Handle):
    """A program compiled to PTX text or to code of this machine.  Immutable."""

    __slots__ = ("_object",)

    def __init__(self, pointer: Any, object: "Object") -> None:
        super().__init__(own(pointer, lib.gputrace_image_unref))
        self._object = object  # its maps are what a host image works on

    @property
    def ptx(self) -> Optional[str]:
        """PTX text with unresolved map symbols; None for code of this machine."""
        with guard:
            return text(lib.gputrace_image_get_ptx(self._pointer))

    def run(self, context: Optional[bytes] = None) -> int:
        """Run a host image on the calling thread; what it returns (r0, 64 bits unsigned).

        context: the program's argument, see gpu_context(), which is the default.
        Maps are those of the object; their instance 0 appears at the first run.
        """
        if context is None:
            context = gpu_context()
        result = ffi.new("uint64_t *")
        with guard:
            check(lib.gputrace_image_run(self._pointer, ffi.from_buffer(context), len(context), result))
        return int(result[0])
