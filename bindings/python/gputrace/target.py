# SPDX-License-Identifier: Apache-2.0
"""Traced programs."""
from __future__ import annotations

import os
import time
import warnings
import weakref
from enum import IntEnum
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from . import ctx as _ctx
from . import gpu as _gpu
from . import kernel as _kernel
from ._cffi import ffi, lib
from ._library import Handle, guard, options, own, path_bytes, readable
from .ctx import Context
from .error import check
from .gpu import Gpu
from .kernel import Kernel
from .link import Link
from .object import Object
from .program import Program

if TYPE_CHECKING:
    from .reader import Reader
    from .symbolizer import Symbolizer

Path = Union[str, "os.PathLike[str]"]


WARNING = "warning: "  # how a line of a program's log begins that is one, see gputrace-verifier(7)
FAREWELLS = 1000  # messages taken in at the end; not all there will ever be, since children may go on


class Device(IntEnum):
    """What a program runs on."""

    REAL = lib.GPUTRACE_DEVICE_REAL  #: the driver that the program finds by itself
    SIM = lib.GPUTRACE_DEVICE_SIM  #: the software device that comes with the library


def _strings(words: Sequence[bytes]) -> Tuple[Any, List[Any]]:
    """A char *[] that ends with NULL; and its strings, to be kept as long as it is used."""
    strings = [ffi.new("char[]", word) for word in words]
    return ffi.new("char *[]", strings + [ffi.NULL]), strings


class Target(Handle):
    """A program started by Target.spawn(), and the processes that it starts; or one that runs already."""

    __slots__ = ("args", "_ctx", "_links", "_reader")

    def __init__(self, pointer: Any, args: Sequence[str], ctx: Optional[Context]) -> None:
        super().__init__(own(pointer, lib.gputrace_target_unref))
        self.args = list(args)
        self._ctx = ctx
        self._links: List[Link] = []
        self._reader: Optional["weakref.ref[Reader]"] = None

    @classmethod
    def spawn(cls, args: Sequence[Path], *, env: Optional[Mapping[str, str]] = None,
              device: Device = Device.REAL, agent: Optional[Path] = None, agent_ring_bytes: int = 0,
              gpu_ring_bytes: int = 0, ctx: Optional[Context] = None) -> "Target":
        """Prepare to run args[0] (searched in PATH); it waits until resume().

        env     its environment; default: ours
        agent   path of libgputrace-agent.so; default: the installed one
        agent_ring_bytes, gpu_ring_bytes
                ring of records per process and of kernel times per CUDA
                context, powers of two; default 4 MiB each
        """
        result = ffi.new("struct gputrace_target **")
        if isinstance(args, (str, bytes)):
            raise TypeError(f"a list of words is needed, such as [{args!r}], not {args!r}")
        words = [path_bytes(word) for word in args]
        argv, _kept_words = _strings(words)
        envp, _kept_environment = (None, []) if env is None else _strings(
            [os.fsencode(f"{name}={value}") for name, value in env.items()])
        path = None if agent is None else ffi.new("char[]", path_bytes(agent))
        opts = options("gputrace_spawn_opts", device=device, agent=path, envp=envp,
                       agent_ring_bytes=agent_ring_bytes, gpu_ring_bytes=gpu_ring_bytes)
        with guard:
            check(lib.gputrace_target_spawn(_ctx.pointer(ctx), argv, opts, result))
            return cls(result[0], [os.fsdecode(word) for word in words], ctx)

    @classmethod
    def watch(cls, pid: Optional[int] = None, *, ctx: Optional[Context] = None) -> "Target":
        """Watch a process and its descendants, or all processes (None), by the operating system's kernel alone.

        attach_api(), attach_functions() and kernel programs of objects work; kernels and programs on the GPU
        are not seen.  A reader's stream ends with the last of the processes, or when all links are detached.
        """
        result = ffi.new("struct gputrace_target **")
        which = lib.GPUTRACE_EVERY_PROCESS if pid is None else pid
        with guard:
            check(lib.gputrace_target_watch(_ctx.pointer(ctx), which, result))
            return cls(result[0], ["every process" if pid is None else f"process {pid}"], ctx)

    @classmethod
    def of_process(cls, pid: int, *, copies: bool = False, agent: Optional[Path] = None, agent_ring_bytes: int = 0,
                   gpu_ring_bytes: int = 0, ctx: Optional[Context] = None) -> "Target":
        """Prepare to trace a process that runs already and has loaded CUDA; resume() begins, and detach() ends it.

        copies: programs for kernels that it has loaded before, too, in copies of them (GPUTRACE_LIVE_COPIES).
        agent, agent_ring_bytes, gpu_ring_bytes: as for spawn().
        """
        return cls._live(lib.gputrace_target_attach, (pid,), copies, agent, agent_ring_bytes, gpu_ring_bytes, ctx)

    @classmethod
    def this_process(cls, *, copies: bool = False, agent: Optional[Path] = None, agent_ring_bytes: int = 0,
                     gpu_ring_bytes: int = 0, ctx: Optional[Context] = None) -> "Target":
        """Prepare to trace the calling process; as of_process(), also before it uses CUDA.  See also gputrace.trace()."""
        return cls._live(lib.gputrace_target_self, (), copies, agent, agent_ring_bytes, gpu_ring_bytes, ctx)

    @classmethod
    def _live(cls, how: Callable[..., int], which: Sequence[int], copies: bool, agent: Optional[Path],
              agent_ring_bytes: int, gpu_ring_bytes: int, ctx: Optional[Context]) -> "Target":
        result = ffi.new("struct gputrace_target **")
        path = None if agent is None else ffi.new("char[]", path_bytes(agent))
        opts = options("gputrace_live_opts", agent=path, agent_ring_bytes=agent_ring_bytes,
                       gpu_ring_bytes=gpu_ring_bytes, flags=lib.GPUTRACE_LIVE_COPIES if copies else 0)
        with guard:
            check(how(_ctx.pointer(ctx), *which, opts, result))
            return cls(result[0], [f"process {lib.gputrace_target_get_pid(result[0])}"], ctx)

    def detach(self, timeout: Optional[float] = 10) -> None:
        """Let go of its processes, which go on; what was recorded can still be read, to the end of the stream.

        Waits until the kernels that carry programs have ended, at most timeout seconds (None: for ever), then
        Error with errno ETIMEDOUT.  For a thread that is in a function of the driver it waits 10 seconds at most; then
        the agent stays, idle, and the Error says so.
        """
        with guard:
            check(lib.gputrace_target_detach(self._pointer, -1 if timeout is None else round(timeout * 1000)))

    def __repr__(self) -> str:
        return f"<gputrace.Target {self.args[0]!r}{' closed' if self.closed else ''}>"

    def close(self) -> None:
        """Detach everything and close the reader.

        A program that still waits for resume() is killed; one that runs goes on
        undisturbed.
        """
        with guard:
            reader = self._reader() if self._reader else None
            if reader is not None:
                reader.close()
            for link in self._links:
                link.close()
            self._links.clear()
        super().close()

    def _attach(self, how: Callable[..., int], *arguments: Any) -> Link:
        result = ffi.new("struct gputrace_link **")
        with guard:
            check(how(self._pointer, *arguments, result))
            link = Link(result[0])
            # The target keeps its links, so that nobody else has to.
            self._links = [old for old in self._links if not old.closed] + [link]
        return link

    def attach(self, what: Union[Object, Program]) -> Link:
        """Attach a GPU program, or everything in an object: GPU programs, and kernel programs by libbpf.

        GPU programs go into kernels loaded from now on, so attach before
        resume().  Error with errno EACCES: the verifier refused.  What is
        likely wrong in a program, though it is accepted, becomes a warning.
        """
        how = lib.gputrace_attach_program if isinstance(what, Program) else lib.gputrace_attach_object
        link = self._attach(how, what._pointer)
        for program in [what] if isinstance(what, Program) else what.programs.values():
            for line in program.log.splitlines():
                if line.startswith(WARNING):
                    warnings.warn(f"program {program.name}: {line[len(WARNING):]}", stacklevel=2)
        return link

    def attach_timeline(self) -> Link:
        """Record start and end of every kernel on the GPU (EventType.KERNEL)."""
        return self._attach(lib.gputrace_attach_timeline)

    def attach_nvtx(self) -> Link:
        """Record ranges and marks of NVTX 3 (EventType.RANGE, MARK, THREAD)."""
        return self._attach(lib.gputrace_attach_nvtx)

    def attach_copies(self) -> Link:
        """Record when copies and memsets run on the GPU (EventType.COPY).  Not tried on a real GPU yet."""
        return self._attach(lib.gputrace_attach_copies)

    def attach_api(self, *, way: str = "any", queries: bool = False, library: Optional[Path] = None,
                   ring_bytes: int = 0, stack_frames: int = 0, stack_bytes: int = 0) -> Link:
        """Record the driver API calls (EventType.API).

        way         "uprobes", which need root or capabilities; "agent", hooks in the program,
                    which do not; "any": uprobes if they can be had, else the agent, and a
                    NOTE says why
        queries     also functions that only ask, such as cuCtxGetCurrent
        library     path of libcuda to watch; default: the one the loader finds
        ring_bytes  kernel ring buffer, a power of two; default 4 MiB, with stack_bytes 32 MiB;
                    in the agent a quarter of it for each thread
        stack_frames
                    most frames of the caller's stack to take with each call (Event.stack),
                    up to 127; 0: none; with stack_bytes up to 1024, which 0 then means
        stack_bytes find the callers, also in code without frame pointers, in a copy of at most so
                    many bytes of the stack, a multiple of 8 up to 61440; 0: by frame pointers
        """
        flags = {"any": 0, "uprobes": lib.GPUTRACE_API_UPROBES, "agent": lib.GPUTRACE_API_AGENT}[way]
        if queries:
            flags |= lib.GPUTRACE_API_QUERIES
        path = None if library is None else ffi.new("char[]", path_bytes(library))
        return self._attach(lib.gputrace_attach_api,
                            options("gputrace_api_opts", library=path, ring_bytes=ring_bytes, flags=flags,
                                    stack_frames=stack_frames, stack_bytes=stack_bytes))

    def attach_functions(self, library: Path, pattern: str, *, ring_bytes: int = 0,
                         stack_frames: int = 0, stack_bytes: int = 0) -> Link:
        """Record the calls of functions whose names match a pattern (EventType.CALL).

        library     path of a shared library or program; or a name without a slash, of a
                    library that the target has loaded or that the loader finds
        pattern     '*' stands for any text, '?' for any character
        ring_bytes, stack_frames, stack_bytes
                    as in attach_api()
        """
        return self._attach(lib.gputrace_attach_functions, ffi.new("char[]", path_bytes(library)),
                            ffi.new("char[]", pattern.encode()),
                            options("gputrace_functions_opts", ring_bytes=ring_bytes,
                                    stack_frames=stack_frames, stack_bytes=stack_bytes))

    def reader(self, *, window: float = 0.0, symbolizer: Optional["Symbolizer"] = None) -> "Reader":
        """The stream of events; a target has one reader at a time.

        window: for how many seconds an event is held back so that earlier ones
        can overtake it; default 0.02.
        symbolizer: sees each stack as it comes in, so that it can name the functions in it later.
        """
        from .reader import Reader

        return Reader(self, window=window, symbolizer=symbolizer)

    def resume(self) -> None:
        """Let the program run."""
        with guard:
            check(lib.gputrace_target_resume(self._pointer))

    @property
    def pid(self) -> int:
        """The process's number."""
        with guard:
            return int(lib.gputrace_target_get_pid(self._pointer))

    @property
    def agents(self) -> int:
        """How many of its processes have loaded the agent, that is, used CUDA so far."""
        with guard:
            return int(lib.gputrace_target_count_agents(self._pointer))

    def poll(self) -> Optional[int]:
        """The exit status as subprocess has it (-n: ended by signal n), None while it runs."""
        status = ffi.new("int *")
        with guard:
            if not check(lib.gputrace_target_has_exited(self._pointer, status)):
                return None
        return os.waitstatus_to_exitcode(status[0])

    @property
    def returncode(self) -> Optional[int]:
        """As poll()."""
        return self.poll()

    def fileno(self) -> int:
        """Readable when dispatch() has something to do.  Not needed beside a reader."""
        with guard:
            return int(lib.gputrace_target_get_fd(self._pointer))

    def dispatch(self) -> None:
        """Serve the agents of the program; a reader and wait() do it too.  Does not block."""
        with guard:
            check(lib.gputrace_target_dispatch(self._pointer))

    def wait(self, timeout: Optional[float] = None) -> int:
        """Wait for the end of the program; its status as in poll().

        timeout in seconds, then subprocess.TimeoutExpired.  Without a reader the
        events are thrown away, so that maps are taken in and no ring runs full.
        With one, they wait for it, and its rings may: to get all events, read
        them to their end instead.
        """
        from .reader import Reader

        theirs = self._reader() if self._reader else None
        if theirs is not None and not theirs.closed:
            return self._wait(timeout, self.dispatch)
        with Reader(self) as reader:
            return self._wait(timeout, reader.discard)

    def _wait(self, timeout: Optional[float], serve: Callable[[], None]) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            # In this order: what came before the end is taken in.
            status = self.poll()
            serve()
            if status is not None:
                break
            left = 0.05 if deadline is None else min(0.05, deadline - time.monotonic())
            if timeout is not None and left <= 0:
                raise TimeoutExpired(self.args, timeout)
            readable(self.fileno(), left)
        for _ in range(FAREWELLS):
            if not readable(self.fileno(), 0):
                break
            serve()
        return status

    def kernels(self, program: Optional[Program] = None) -> List[Kernel]:
        """The CUDA kernels that a reader, or wait(), has taken in so far, in order of loading.

        program: only those with a place that this program, attached to the target, is at; one at atomics is in no kernel
        that has none.
        """
        kernels = []
        with guard:
            kernel = lib.gputrace_target_next_kernel(self._pointer, ffi.NULL)
            while kernel != ffi.NULL:
                if program is None or lib.gputrace_kernel_has_program(kernel, program._pointer):
                    kernels.append(_kernel.of_pointer(kernel))
                kernel = lib.gputrace_target_next_kernel(self._pointer, kernel)
        return kernels

    def gpus(self) -> List[Gpu]:
        """The GPUs that a reader, or wait(), has seen CUDA contexts on so far, in the order of their first use."""
        gpus = []
        with guard:
            pointer = lib.gputrace_target_next_gpu(self._pointer, ffi.NULL)
            while (gpu := _gpu.of_pointer(pointer)) is not None:
                gpus.append(gpu)
                pointer = lib.gputrace_target_next_gpu(self._pointer, pointer)
        return gpus
