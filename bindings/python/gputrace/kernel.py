# SPDX-License-Identifier: Apache-2.0
"""CUDA kernels that a target loaded."""
from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Optional

from ._cffi import lib
from ._library import sure_text, text


class Route(IntEnum):
    """Which way programs got into a kernel."""

    NONE = lib.GPUTRACE_ROUTE_NONE
    PTX = lib.GPUTRACE_ROUTE_PTX
    GRAFT = lib.GPUTRACE_ROUTE_GRAFT


@dataclass(frozen=True)
class Kernel:
    """A kernel as it was when Target.kernels() was called."""

    name: str  #: as the linker knows it
    display_name: str  #: as a person reads it
    pid: int
    id: int  #: in its process, as programs on the GPU see it
    module: int  #: number of the image in which it came; 0: that was loaded before the process was attached to
    route: Route
    reason: Optional[str]  #: why no program, or not every one meant for it, is in it
    arch: int  #: compute capability times ten of its code; 0: not known, and so below
    registers: int  #: per thread
    shared_bytes: int  #: static shared memory
    launches: int  #: successful ones, seen by a reader of the target so far; a captured one counts once
    plain_launches: int  #: of these, such that ran without programs though the kernel has a route

    def matches(self, pattern: str) -> bool:
        """Does a program with this pattern go into the kernel?"""
        return bool(lib.gputrace_kernel_name_matches(self.name.encode(), pattern.encode()))


def of_pointer(kernel: Any) -> Kernel:
    """A copy; to be called with the lock held."""
    return Kernel(
        name=sure_text(lib.gputrace_kernel_get_name(kernel)),
        display_name=sure_text(lib.gputrace_kernel_get_display_name(kernel)),
        pid=lib.gputrace_kernel_get_pid(kernel),
        id=lib.gputrace_kernel_get_id(kernel),
        module=lib.gputrace_kernel_get_module(kernel),
        route=Route(lib.gputrace_kernel_get_route(kernel)),
        reason=text(lib.gputrace_kernel_get_reason(kernel)),
        arch=lib.gputrace_kernel_get_arch(kernel),
        registers=lib.gputrace_kernel_get_registers(kernel),
        shared_bytes=lib.gputrace_kernel_get_shared_bytes(kernel),
        launches=lib.gputrace_kernel_get_launches(kernel),
        plain_launches=lib.gputrace_kernel_get_plain_launches(kernel))
