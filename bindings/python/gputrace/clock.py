# SPDX-License-Identifier: Apache-2.0
"""Clocks of GPUs.  All times are nanoseconds."""
from __future__ import annotations

import time
import uuid as _uuid
from enum import IntEnum
from typing import Any, Dict, NamedTuple, Optional

from . import ctx as _ctx
from ._cffi import ffi, lib
from ._library import Handle, guard, options, own, sure_text
from .ctx import Context
from .error import check


class ClockSource(IntEnum):
    """Where a sample comes from, best first."""

    NONE = lib.GPUTRACE_CLOCK_SOURCE_NONE
    REGISTER = lib.GPUTRACE_CLOCK_SOURCE_REGISTER  #: the GPU's timer register, mapped read-only
    PING = lib.GPUTRACE_CLOCK_SOURCE_PING  #: %globaltimer itself, stamped by code on the GPU
    CALL = lib.GPUTRACE_CLOCK_SOURCE_CALL  #: the timer register, asked of the kernel driver

    def __str__(self) -> str:
        return sure_text(lib.gputrace_clock_source_name(self))


class ClockBound(IntEnum):
    """What an error bound rests on."""

    #: Narrow: takes timer register and %globaltimer for one counter, which everything measured supports.
    REGISTER = lib.GPUTRACE_CLOCK_BOUND_REGISTER
    #: From stamps of %globaltimer alone, or the register with 1.5 us on either side.
    STRICT = lib.GPUTRACE_CLOCK_BOUND_STRICT


class Moment(NamedTuple):
    """A time, and how far it may be off."""

    ns: int
    error_ns: int


class HostPair(NamedTuple):
    """The same moment on CLOCK_MONOTONIC and on another clock of this host."""

    monotonic_ns: int
    other_ns: int
    error_ns: int


class Drift(NamedTuple):
    """How much faster the GPU's clock runs than CLOCK_MONOTONIC, and how far that may be off."""

    ppb: int
    error_ppb: int


class Clock(Handle):
    """%globaltimer of one GPU to CLOCK_MONOTONIC (time.monotonic_ns()) and back, with errors that hold.

    Clock(n) is the n-th GPU by PCI address, Clock(pci="0000:1b:00.0") and
    Clock(uuid="GPU-...") are as they say; Clock.without_device() lives on
    add_interval() alone, and so does Clock.offline(), for recorded intervals,
    which does not look at this host's clocks.  Needs no CUDA context.  After
    fork() a child must open its own.

    tick_ns     step of %globaltimer; default: measured, or 1024
    reads       register reads in one sample, 1 to 64, 1 us each; default 16
    rate_uncertainty_ppb, rate_change_ppb_s
                how far the GPU's rate may be from its mean, parts per billion;
                defaults 500, and 100 more for each second of distance
    """

    __slots__ = ("_ctx",)

    def __init__(self, ordinal: Optional[int] = None, *, pci: Optional[str] = None,
                 uuid: Optional[str] = None, tick_ns: int = 0, reads: int = 0,
                 rate_uncertainty_ppb: int = 0, rate_change_ppb_s: int = 0,
                 ctx: Optional[Context] = None) -> None:
        if sum(way is not None for way in (ordinal, pci, uuid)) > 1:
            raise ValueError("one of ordinal, pci and uuid says which GPU")
        which: Dict[str, Any] = {"select": lib.GPUTRACE_CLOCK_BY_ORDINAL, "ordinal": ordinal}
        if pci is not None:
            which = {"select": lib.GPUTRACE_CLOCK_BY_PCI, **_pci(pci)}
        elif uuid is not None:
            plain = uuid[4:] if uuid.startswith("GPU-") else uuid
            which = {"select": lib.GPUTRACE_CLOCK_BY_UUID, "uuid": list(_uuid.UUID(plain).bytes)}
        self._open(ctx, tick_ns=tick_ns, reads=reads, rate_uncertainty_ppb=rate_uncertainty_ppb,
                   rate_change_ppb_s=rate_change_ppb_s, **which)

    def _open(self, ctx: Optional[Context], **fields: Any) -> None:
        result = ffi.new("struct gputrace_clock **")
        with guard:
            check(lib.gputrace_clock_open(_ctx.pointer(ctx), options("gputrace_clock_opts", **fields), result))
            super().__init__(own(result[0], lib.gputrace_clock_unref))
        self._ctx = ctx

    @classmethod
    def without_device(cls, *, tick_ns: int = 0, ctx: Optional[Context] = None) -> "Clock":
        """A clock for intervals taken elsewhere on this host while it lives."""
        clock = cls.__new__(cls)
        clock._open(ctx, select=lib.GPUTRACE_CLOCK_NO_DEVICE, tick_ns=tick_ns)
        return clock

    @classmethod
    def offline(cls, *, tick_ns: int = 0, ctx: Optional[Context] = None) -> "Clock":
        """A clock for recorded intervals."""
        clock = cls.__new__(cls)
        clock._open(ctx, select=lib.GPUTRACE_CLOCK_OFFLINE, tick_ns=tick_ns)
        return clock

    def update(self) -> None:
        """Take a sample now: some tens of microseconds.  Ten times a second is plenty."""
        with guard:
            check(lib.gputrace_clock_update(self._pointer))

    def add_interval(self, before_ns: int, after_ns: int, gpu_ns: int,
                     source: ClockSource = ClockSource.PING) -> None:
        """Between two host times the GPU's time was gpu_ns."""
        with guard:
            check(lib.gputrace_clock_add_interval(self._pointer, before_ns, after_ns, gpu_ns, source))

    def to_host(self, gpu_ns: int, bound: ClockBound = ClockBound.REGISTER) -> Moment:
        """When, on the host, %globaltimer showed gpu_ns.  Error with ENODATA: no sample yet."""
        ns, error = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        with guard:
            check(lib.gputrace_clock_to_host(self._pointer, gpu_ns, bound, ns, error))
        return Moment(ns[0], error[0])

    def from_host(self, host_ns: int, bound: ClockBound = ClockBound.REGISTER) -> Moment:
        """What %globaltimer showed at host_ns."""
        ns, error = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        with guard:
            check(lib.gputrace_clock_from_host(self._pointer, host_ns, bound, ns, error))
        return Moment(ns[0], error[0])

    def contradicts_start(self, launch_enter_ns: int, gpu_start_ns: int) -> bool:
        """Did a kernel certainly start (GPU time) before its launch call was entered (host time)?"""
        with guard:
            return bool(check(lib.gputrace_clock_check_start(self._pointer, launch_enter_ns, gpu_start_ns)))

    def contradicts_end(self, gpu_end_ns: int, wait_return_ns: int) -> bool:
        """Did a kernel certainly end (GPU time) after the call that waited for it returned (host time)?"""
        with guard:
            return bool(check(lib.gputrace_clock_check_end(self._pointer, gpu_end_ns, wait_return_ns)))

    @property
    def source(self) -> ClockSource:
        """Where the latest sample came from."""
        with guard:
            return ClockSource(lib.gputrace_clock_get_source(self._pointer))

    @property
    def source_text(self) -> str:
        """A sentence on which GPU is read and how, or why it is not."""
        with guard:
            return sure_text(lib.gputrace_clock_get_source_text(self._pointer))

    @property
    def drift(self) -> Drift:
        """The GPU's rate.  Error with ENODATA: fewer than two samples."""
        ppb, error = ffi.new("int64_t *"), ffi.new("uint64_t *")
        with guard:
            check(lib.gputrace_clock_get_drift(self._pointer, ppb, error))
        return Drift(ppb[0], error[0])

    @property
    def tick_ns(self) -> int:
        """The step of %globaltimer that the bounds allow for; may be set when it was measured."""
        with guard:
            return int(lib.gputrace_clock_get_tick(self._pointer))

    @tick_ns.setter
    def tick_ns(self, value: int) -> None:
        with guard:
            check(lib.gputrace_clock_set_tick(self._pointer, value))

    @property
    def stats(self) -> Dict[str, int]:
        """Counters since the clock was opened: samples, rejects, resets, rate_breaks, ..."""
        stats = options("gputrace_clock_stats")
        with guard:
            check(lib.gputrace_clock_get_stats(self._pointer, stats))
        names = [name for name, _ in ffi.typeof("struct gputrace_clock_stats").fields]
        return {name: getattr(stats, name) for name in names if name != "size"}


def _pci(address: str) -> Dict[str, int]:
    """ "0000:1b:00.0" or "1b:00.0" """
    parts = address.split(".")[0].split(":")
    if len(parts) not in (2, 3):
        raise ValueError(f"not a PCI address: {address!r}")
    numbers = [int(part, 16) for part in parts]
    if len(numbers) == 2:
        numbers.insert(0, 0)
    return dict(zip(("pci_domain", "pci_bus", "pci_device"), numbers))


def host_pair(clock_id: int = time.CLOCK_REALTIME) -> HostPair:
    """The same moment, now, on CLOCK_MONOTONIC and on another clock of this host (time.CLOCK_*)."""
    values = [ffi.new("uint64_t *") for _ in range(3)]
    with guard:
        check(lib.gputrace_clock_host_pair(clock_id, *values))
    return HostPair(*(value[0] for value in values))
