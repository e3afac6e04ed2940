# SPDX-License-Identifier: Apache-2.0
"""What is attached to a target."""
from __future__ import annotations

from typing import Any

from ._cffi import lib
from ._library import Handle, guard, own
from .error import check


class Link(Handle):
    """Something attached to a target, which keeps it attached until it is closed itself.

    detach(), close() and the end of a ``with`` block detach it: what it counted
    stays readable, its code stops running at the next launch (kernels that were
    put into a graph before keep running it).
    """

    __slots__ = ()

    def __init__(self, pointer: Any) -> None:
        super().__init__(own(pointer, lib.gputrace_link_unref))

    def detach(self) -> None:
        """Detach now.  Harmless when repeated, and after the target has ended."""
        with guard:
            if not self.closed:
                check(lib.gputrace_link_detach(self._pointer))

    def close(self) -> None:
        """Detach, and give up the object."""
        self.detach()
        super().close()
