# SPDX-License-Identifier: Apache-2.0
"""What all objects share: one lock around calls, and references that end by themselves.

The library wants an object to be used by one thread at a time, and objects are
tied together (a reader serves its target, whose agents fill maps).  So one lock
is held during each call; nothing waits for long while holding it, except
Object.refresh().
"""
from __future__ import annotations

import os
import select
import threading
from collections import deque
from types import TracebackType
from typing import Any, Callable, Optional, Type, TypeVar, Union

from ._cffi import ffi, lib

Self = TypeVar("Self", bound="Handle")


class Guard:
    """The lock.  References that Python drops while it is held are given back afterwards."""

    def __init__(self) -> None:
        self._dropped: "deque[tuple[Callable[[Any], Any], Any]]" = deque()
        self.generation = 0
        self._renew()
        os.register_at_fork(after_in_child=self._forked)

    def _renew(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0

    def _forked(self) -> None:
        # What the parent holds is the parent's to end: a child must not detach it.
        self.generation += 1
        self._dropped.clear()
        self._renew()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        try:
            while self._depth == 1 and self._dropped:
                unref, pointer = self._dropped.popleft()
                unref(pointer)
        finally:
            self._depth -= 1
            self._lock.release()

    def drop(self, unref: Callable[[Any], Any], pointer: Any, generation: int) -> None:
        if generation != self.generation:
            return
        self._dropped.append((unref, pointer))
        with self:
            pass


guard = Guard()


def own(pointer: Any, unref: Callable[[Any], Any]) -> Any:
    """The pointer with our one reference to it, which ends with the last Python object using it."""
    # Bound now: at the interpreter's end a module's names are gone before its objects.
    drop, generation = guard.drop, guard.generation
    return ffi.gc(pointer, lambda p: drop(unref, p, generation))


class Handle:
    """Base of what holds a reference to one of the library's objects."""

    __slots__ = ("_owned", "_generation", "__weakref__")

    def __init__(self, owned: Any) -> None:
        self._owned = owned
        self._generation = guard.generation

    @property
    def _pointer(self) -> Any:
        if self._owned is None:
            raise ValueError(f"this {type(self).__name__} is closed")
        if self._generation != guard.generation:
            raise ValueError(f"this {type(self).__name__} belongs to the process that forked this one")
        return self._owned

    @property
    def closed(self) -> bool:
        """Was close() called, or does it belong to the process that forked this one?"""
        return self._owned is None or self._generation != guard.generation

    def close(self) -> None:
        """Give up the object now.  Harmless when repeated."""
        with guard:
            owned, self._owned = self._owned, None
            if owned is not None:
                ffi.release(owned)

    def __enter__(self: Self) -> Self:
        self._pointer  # raises when it is closed
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


def text(pointer: Any) -> Optional[str]:
    """A C string; None for NULL.  Names come from traced programs and may be any bytes."""
    if pointer == ffi.NULL:
        return None
    result: bytes = ffi.string(pointer)
    return result.decode("utf-8", "backslashreplace")


def sure_text(pointer: Any) -> str:
    """A C string that is never NULL."""
    return text(pointer) or ""


def escape(shown: Union[str, bytes]) -> str:
    """Text of a traced program for a terminal: what that would obey or could not show becomes \\xHH."""
    if isinstance(shown, str) and shown.isascii() and shown.isprintable():
        return shown
    raw = shown if isinstance(shown, bytes) else shown.encode("utf-8", "surrogatepass")
    source = ffi.new("char[]", raw.split(b"\0")[0])
    size = lib.gputrace_escape(source, ffi.NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    lib.gputrace_escape(source, buffer, size)
    return sure_text(buffer)


def options(struct: str, **fields: Any) -> Any:
    """An option struct with its size set and the rest as given; what is None keeps its default."""
    given = {name: value for name, value in fields.items() if value is not None}
    result = ffi.new(f"struct {struct} *", given)
    result.size = ffi.sizeof(f"struct {struct}")
    return result


def milliseconds(seconds: float) -> int:
    """For an option whose 0 is its default: only 0 is 0."""
    return round(seconds * 1000) or int(seconds > 0)


def readable(fd: int, seconds: float) -> bool:
    """Wait until a descriptor is readable, at most so long.  Unlike select() good for any number."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(0, seconds) * 1000))


def path_bytes(path: Any) -> bytes:
    return os.fsencode(os.fspath(path))


def version() -> str:
    """The library's version, as "0.1.0"."""
    return sure_text(lib.gputrace_version())
