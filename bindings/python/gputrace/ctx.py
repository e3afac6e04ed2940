# SPDX-License-Identifier: Apache-2.0
"""The library's context: where messages go."""
from __future__ import annotations

import itertools
from enum import IntEnum
from functools import partial
from typing import Any, Callable, Dict, Optional

from ._cffi import ffi, lib
from ._library import Handle, guard, options, own, sure_text
from .error import check

LogFunction = Callable[["LogLevel", str], None]


class LogLevel(IntEnum):
    """How much a message matters, as in syslog."""

    ERROR = lib.GPUTRACE_LOG_ERROR
    WARNING = lib.GPUTRACE_LOG_WARNING
    INFO = lib.GPUTRACE_LOG_INFO
    DEBUG = lib.GPUTRACE_LOG_DEBUG


# By number and not by address: a message may still come while a context is dropped.
_functions: Dict[int, LogFunction] = {}
_numbers = itertools.count(1)


@ffi.def_extern(name="gputrace_python_log")  # type: ignore[misc]
def _log(data: Any, level: int, line: Any) -> None:
    function = _functions.get(int(ffi.cast("uintptr_t", data)))
    if function:
        function(LogLevel(level) if level in LogLevel.__members__.values() else LogLevel.DEBUG,
                 sure_text(line))


def _end(unref: Callable[[Any], Any], functions: Dict[int, LogFunction], number: int, pointer: Any) -> None:
    unref(pointer)
    functions.pop(number, None)


class Context(Handle):
    """Receives the library's messages.  Wherever one is asked for, None will do.

    log is called with a LogLevel and a line of text, by the thread whose call
    caused the message, and must not call this package; log_level is the least
    important level passed on.
    """

    __slots__ = ()

    def __init__(self, log: Optional[LogFunction] = None, log_level: LogLevel = LogLevel.WARNING) -> None:
        result = ffi.new("struct gputrace_ctx **")
        number = next(_numbers)
        opts = options("gputrace_ctx_opts", log_level=log_level)
        if log:
            _functions[number] = log
            opts.log = lib.gputrace_python_log
            opts.log_data = ffi.cast("void *", number)
        with guard:
            check(lib.gputrace_ctx_new(opts, result))
            super().__init__(own(result[0], partial(_end, lib.gputrace_ctx_unref, _functions, number)))


def pointer(ctx: Optional[Context]) -> Any:
    return ctx._pointer if ctx is not None else ffi.NULL
