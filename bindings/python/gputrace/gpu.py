# SPDX-License-Identifier: Apache-2.0
"""GPUs that a target uses."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional
from uuid import UUID

from ._cffi import ffi, lib
from ._library import sure_text


@dataclass(frozen=True)
class Gpu:
    """A GPU, the same one for all processes of a target whatever number each of them gives it."""

    index: int  #: in this target: the program's own ordinal, unless another GPU has it
    name: str
    uuid: UUID
    pci_address: str  #: as lspci and nvidia-smi have it, "0000:1b:00.0"
    arch: int  #: compute capability times ten
    sm_count: int  #: multiprocessors


def of_pointer(gpu: Any) -> Optional[Gpu]:
    """A copy; to be called with the lock held."""
    if gpu == ffi.NULL:
        return None
    return Gpu(
        index=lib.gputrace_gpu_get_index(gpu),
        name=sure_text(lib.gputrace_gpu_get_name(gpu)),
        uuid=UUID(bytes=bytes(ffi.buffer(lib.gputrace_gpu_get_uuid(gpu), 16))),
        pci_address=sure_text(lib.gputrace_gpu_get_pci_address(gpu)),
        arch=lib.gputrace_gpu_get_arch(gpu),
        sm_count=lib.gputrace_gpu_get_sm_count(gpu))
