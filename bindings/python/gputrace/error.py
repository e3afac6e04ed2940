# SPDX-License-Identifier: Apache-2.0
"""Errors of the library as exceptions."""
from __future__ import annotations

from typing import Any, Tuple

from ._cffi import lib
from ._library import sure_text


class Error(OSError):
    """A call of the library failed.

    errno       the error as in the errno module
    strerror    the library's sentence, which says what to do
    vendor_code the vendor's own code behind it (a CUresult, or a status of the
                NVIDIA kernel driver), 0 if there was none
    """

    def __init__(self, errno: int, sentence: str, vendor_code: int = 0) -> None:
        super().__init__(errno, sentence)
        self.sentence = sentence
        self.vendor_code = vendor_code

    def __str__(self) -> str:
        return self.sentence

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.errno, self.sentence, self.vendor_code)


def check(result: int) -> int:
    """What a call returned, unless that is an error: then raise it.

    To be called by the thread that made the call, before its next one.
    """
    if result < 0:
        sentence = sure_text(lib.gputrace_last_error())
        raise Error(-result, sentence, lib.gputrace_last_vendor_error())
    return result
