# SPDX-License-Identifier: Apache-2.0
"""Records of ring buffer maps, many at a time."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional

from . import gpu as _gpu
from ._cffi import ffi, lib

RecordsFunction = Callable[["Records"], object]


@dataclass(frozen=True)
class Records:
    """What GPU programs wrote to a ring buffer map in one CUDA context, in the order of the ring.

    Iterating gives the bytes of one record after the other.  Where all are of one size, a multiple of 8
    bytes, numpy.frombuffer(records.data, dtype) is all of them as an array.
    """

    pid: int
    gpu: Optional[_gpu.Gpu]
    context: int  #: as Event.context
    sizes: List[int]  #: bytes of each record
    data: bytes  #: each record begins at the next multiple of 8 bytes behind the one before

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[bytes]:
        begin = 0
        for size in self.sizes:
            yield self.data[begin:begin + size]
            begin += size + 7 & ~7


class Taker:
    """A function that gets records, and what it raised, for whoever made the reader look."""

    def __init__(self, function: RecordsFunction) -> None:
        self.function = function
        self.error: Optional[BaseException] = None
        self.handle = ffi.new_handle(self)


@ffi.def_extern(name="gputrace_python_records")  # type: ignore[misc]
def _take(data: Any, records: Any) -> None:
    taker = ffi.from_handle(data)
    if taker.error is not None:
        return
    try:
        taker.function(Records(pid=records.pid, gpu=_gpu.of_pointer(records.gpu), context=records.context,
                               sizes=ffi.unpack(records.sizes, records.count),
                               data=ffi.buffer(records.data, records.data_size)[:]))
    except BaseException as error:  # even Ctrl-C must not be lost in C
        taker.error = error


FUNCTION = lib.gputrace_python_records
