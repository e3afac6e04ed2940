# SPDX-License-Identifier: Apache-2.0
"""For programs that are traced: numbers of their own around what they launch.

    from gputrace.agent import numbered

    with numbered(request.id):
        model(batch)

Event.external_id has the number.  Without a tracer nothing happens.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Iterator, Optional


def _agent() -> Optional[ctypes.CDLL]:
    """The agent, if it is in this process: it comes with CUDA's first call."""
    try:
        return ctypes.CDLL("libgputrace-agent.so", mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return None


def push_id(id: int) -> bool:
    """From now on what this thread launches and calls carries `id`, until it is popped.

    False: the program is not traced, so far, or there is no memory.
    """
    agent = _agent()
    return agent is not None and agent.gputrace_agent_push_id(ctypes.c_uint64(id)) == 0


def pop_id() -> Optional[int]:
    """Back to the id before; the one that is taken away, None if there is none."""
    agent = _agent()
    id = ctypes.c_uint64()
    if not agent or agent.gputrace_agent_pop_id(ctypes.byref(id)):
        return None
    return id.value


@contextlib.contextmanager
def numbered(id: int) -> Iterator[None]:
    """`id` around what is launched inside."""
    pushed = push_id(id)
    try:
        yield
    finally:
        if pushed:
            pop_id()


@contextlib.contextmanager
def range(name: str) -> Iterator[None]:
    """A named range around what this thread does inside, also as a decorator; in a trace it is an event of its own."""
    agent = _agent()
    pushed = agent is not None and agent.gputrace_agent_push_range(name.encode()) == 0
    try:
        yield
    finally:
        if agent is not None and pushed:
            agent.gputrace_agent_pop_range()
