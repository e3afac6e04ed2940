# SPDX-License-Identifier: Apache-2.0
"""The tools that trace programs, and what came out."""

import concurrent.futures
import functools
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import typing

import check_trace
from programs import PROGRAMS

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "programs"
ROOT = HERE.parent.parent

NOTHING_DONE = 125  # exit status of a tool


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


def take_trace(path):
    """The trace in a file, which is removed; it must have no faults."""
    trace, errors = check_trace.check(path)
    path.unlink()
    expect(not errors, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
    return trace


class Kernel(typing.NamedTuple):
    """A line of gputrace-kernels; reason: why programs are not in it, or not all of them."""

    name: str
    route: str
    launches: int
    reason: str


class Outcome:
    """A finished command: its output, the "word number" lines of it, seconds, and the most KiB of memory it had itself."""

    def __init__(self, argv, status, out, err, seconds, resident):
        self.argv = [str(word) for word in argv]
        self.status = status
        self.out = out.decode(errors="replace")
        self.err = err.decode(errors="replace")
        self.seconds = seconds
        self.resident = resident

    def states(self, word):
        return re.search(rf"^{word} \d+$", self.out, re.MULTILINE) is not None

    def number(self, word):
        match = re.search(rf"^{word} (\d+)$", self.out, re.MULTILINE)
        expect(match, f"{' '.join(self.argv)} did not say '{word} N': {self.err.strip()[-300:]}")
        return int(match.group(1))

    def refusals(self, lack="not in"):
        """{kernel: reason} by gputrace-run, of the first kernel for each of the first ten reasons."""
        return dict(re.findall(rf": {lack} kernel (.*?)(?: and \d+ more)?: (.*)", self.err))

    def left_out(self, lack="not in"):
        """How many kernels gputrace-run says that it could not put programs in, or ("not all in") not all of them."""
        more = re.findall(rf": {lack} (?:kernel .*? and )?(\d+) more(?:: | kernels?$)", self.err, re.MULTILINE)
        return len(re.findall(rf": {lack} kernel ", self.err)) + sum(map(int, more))

    def good(self):
        expect(self.status == 0, f"{' '.join(self.argv)} ended with {self.status}: {self.err.strip()[-400:]}")
        return self


class Resident(threading.Thread):
    """
    The most KiB of memory that a process has had, as it was last seen.  What wait4() tells of a process counts
    the children that it has waited for as well, which here are the programs that are traced.
    """

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.status = pathlib.Path(f"/proc/{pid}/status")
        self.peak = 0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            try:
                match = re.search(r"^VmHWM:\s+(\d+)", self.status.read_text(), re.MULTILINE)
            except OSError:
                return
            if match:
                self.peak = int(match.group(1))


class Lab:
    """A build tree of libgputrace, a device, and a folder for what is made here."""

    def __init__(self, build, device, scratch, programs, seconds):
        self.build = pathlib.Path(build).resolve()
        self.device = device
        self.scratch = pathlib.Path(scratch)
        self.programs = pathlib.Path(programs).resolve()
        self.programs.mkdir(parents=True, exist_ok=True)
        self.seconds = seconds  # how long to watch what is better watched for long
        self.nvcc = self.find_nvcc()
        self.arch = self.find_arch()
        self.environment = self.find_environment()
        self.numbers = itertools.count()
        self.tables = {}  # for the report: {title: (columns, rows)}

    def find_environment(self):
        """What the tools need to use what lies in the build tree instead of what is installed."""
        found = {"GPUTRACE_AGENT": next(self.build.glob(".libs/libgputrace-agent.so"), None),
                 "GPUTRACE_SIM_DIR": next(self.build.rglob("libcuda.so.1"), None)}
        if found["GPUTRACE_SIM_DIR"]:
            found["GPUTRACE_SIM_DIR"] = found["GPUTRACE_SIM_DIR"].parent
        return {name: str(path) for name, path in found.items() if path and name not in os.environ}

    @staticmethod
    def find_nvcc():
        homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
        candidates = [os.environ.get("NVCC"), shutil.which("nvcc")]
        candidates += [home + "/bin/nvcc" for home in homes if home]
        candidates += sorted(map(str, pathlib.Path("/usr/local").glob("cuda*/bin/nvcc")), reverse=True)
        return next((path for path in candidates if path and os.access(path, os.X_OK)), None)

    @functools.cached_property
    def gpus(self):
        """Those that programs may use, as CUDA_VISIBLE_DEVICES names them."""
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            return [name for name in visible.split(",") if name]
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^GPU (\d+):", listed, re.MULTILINE)

    @staticmethod
    def find_arch():
        """Compute capability of the first GPU, "90"; that of an H100 or H200 where there is none."""
        query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
        try:
            result = subprocess.run(query, capture_output=True, text=True, check=True)
            return result.stdout.split()[0].replace(".", "")
        except (OSError, subprocess.CalledProcessError, IndexError):
            return "90"

    # Programs

    def program(self, name):
        """The path of a program of PROGRAMS, built if need be."""
        if name == "demo":
            return self.build / "examples/demo/vecadd"
        program = PROGRAMS[name]
        if program.language != "c" and self.device == "sim":
            raise Skip("the software device does not run the CUDA runtime")
        if program.language == "py":
            return SOURCES / program.sources[0]
        target = self.programs / name
        needs_toolkit = program.language == "cu" or program.toolkit
        if target.exists() and (self.is_new(target) or (needs_toolkit and not self.nvcc)):
            return target
        if needs_toolkit and not self.nvcc:
            raise Skip("no nvcc (set NVCC)")
        if program.toolkit and not (self.toolkit / "include/nvrtc.h").exists():
            raise Skip(f"{self.toolkit} has no nvrtc.h")
        # Renamed when whole: several checks may want it at once.
        unfinished = self.programs / f"{name}.{next(self.numbers)}"
        argv = self.compiler(program) + ["-o", str(unfinished), *self.fill_in(program)]
        result = subprocess.run(argv, capture_output=True, text=True)
        expect(result.returncode == 0, f"{' '.join(argv)}: {result.stderr.strip()[-400:]}")
        unfinished.rename(target)
        return target

    @staticmethod
    def is_new(target):
        return all(target.stat().st_mtime >= source.stat().st_mtime for source in SOURCES.iterdir())

    def compiler(self, program):
        sources = [str(SOURCES / source) for source in program.sources]
        libraries = self.toolkit / "lib64" if self.nvcc else None
        if program.language == "cu":
            return [self.nvcc, "-O2", "-std=c++17", *sources, "-ldl", f"-Xlinker=-rpath,{libraries}"]
        argv = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-O2", *os.environ.get("SANITIZE_FLAGS", "").split()]
        if program.toolkit:
            argv += [f"-I{self.toolkit}/include", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
        return [*argv, *sources, "-ldl"]

    def fill_in(self, program):
        """nvcc compiles for this GPU unless told otherwise."""
        flags = program.flags
        if program.language == "cu" and not any("gencode" in flag for flag in flags):
            flags = ("-arch=sm_ARCH", *flags)
        words = {"ARCH": self.arch, "OLDER": "75" if self.arch != "75" else "80", "INCLUDE": str(ROOT / "include"),
                 "LIBRARIES": str(self.build / ".libs")}
        return [re.sub("|".join(words), lambda match: words[match.group()], flag) for flag in flags]

    def build_programs(self):
        """Build several at a time; what goes wrong is said by the check that needs the program."""

        def build(name):
            try:
                self.program(name)
            except (Failure, Skip):
                pass

        # Those that take longest first.
        names = sorted(PROGRAMS, key=lambda name: name not in ("sort", "cublas", "cufft", "gridsync", "cluster", "mma"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(build, names))

    @functools.cached_property
    def toolkit(self):
        """Where nvcc says that its headers and libraries are: it may be a script that calls another."""
        said = subprocess.run([self.nvcc, "--dryrun", "-x", "cu", "/dev/null"], capture_output=True, text=True).stderr
        top = re.search(r"^#\$ TOP=(.+)$", said, re.MULTILINE)
        return pathlib.Path(top.group(1) if top else pathlib.Path(self.nvcc).parent.parent).resolve()

    # Commands

    def call(self, *argv, env=None, timeout=600, cwd=None):
        words = [str(word) for word in argv]
        environment = dict(os.environ, **self.environment, **(env or {}))
        begin = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(words, stdout=out, stderr=err, env=environment, stdin=subprocess.DEVNULL, cwd=cwd)
            alarm = threading.Timer(timeout, process.kill)
            alarm.start()
            resident = Resident(process.pid)
            process.wait()
            alarm.cancel()
            resident.over.set()
            seconds = time.monotonic() - begin
            expect(seconds < timeout, f"{' '.join(words)}: no end after {timeout} s")
            out.seek(0)
            err.seek(0)
            return Outcome(words, process.returncode, out.read(), err.read(), seconds, resident.peak)

    @staticmethod
    def command(program, args):
        """The words to run a program by: Python's need an interpreter."""
        interpreter = [sys.executable, "-B"] if str(program).endswith(".py") else []
        return [*interpreter, program, *args]

    def bare(self, program, *args, env=None, timeout=600):
        """The program by itself; one that lacks something ends with 77 and says what."""
        words = self.command(program, args)
        if self.device == "sim":
            # The tool puts the software device's folder into LD_LIBRARY_PATH; nothing is attached but the timeline.
            outcome = self.tool("gputrace-record", "--no-api", "-o", "/dev/null", "--", *words, env=env)
        else:
            outcome = self.call(*words, env=env, timeout=timeout)
        if outcome.status == 77:
            raise Skip(outcome.out.strip())
        return outcome.good()

    def tool(self, name, *args, env=None, timeout=600):
        return self.call(self.build / name, f"--device={self.device}", *args, env=env, timeout=timeout)

    def record(self, program, *args, options=(), trace=True, env=None):
        """Run under gputrace-record; the outcome and the checked trace."""
        path = self.scratch / f"trace-{next(self.numbers)}.json"
        outcome = self.tool("gputrace-record", *options, "-o", path, "--", *self.command(program, args), env=env).good()
        if trace:
            return outcome, take_trace(path)
        path.unlink()
        return outcome, None

    def list_kernels(self, program, *args, env=None):
        """Run under gputrace-kernels; the outcome and its list."""
        outcome = self.tool("gputrace-kernels", "--", *self.command(program, args), env=env).good()
        return outcome, self.listed(outcome.out)

    @staticmethod
    def listed(text):
        """What gputrace-kernels printed."""
        found = []
        for line in text.splitlines():
            row = re.match(r" *\d+ +\d+ +\d+ +\S+ +\d+ +\d+ +(\d+)  (PTX|graft|none) +(.*)", line)
            reason = re.match(r" {20,}no probe: (.*)", line)
            if row:
                found.append(Kernel(row.group(3), row.group(2), int(row.group(1)), ""))
            elif reason and found:
                found[-1] = found[-1]._replace(reason=reason.group(1))
        return found

    def run_object(self, name, program, *args, options=(), env=None, timeout=600):
        """Run under gputrace-run with an object of examples/bpf or tests/gpu/probes."""
        folders = [self.build / "examples/bpf", self.build / "tests/gpu/probes"]
        paths = [folder / f"{name}.bpf.o" for folder in folders]
        path = next((path for path in paths if path.exists()), None)
        expect(path, f"{name}.bpf.o is not built")
        outcome = self.tool("gputrace-run", *options, path, "--", *self.command(program, args), env=env, timeout=timeout)
        # The command ended well, and nothing could be attached to any kernel: it says so of each.
        if outcome.status == NOTHING_DONE and outcome.refusals():
            return outcome
        return outcome.good()


def maps(text):
    """What gputrace-run printed of its maps: {name: {key: [values]}}, instances added up."""
    found = {}
    current = None
    for line in text.splitlines():
        head = re.fullmatch(r"map ([^,:]+)(?:, instance \d+ \(.*\))?:", line)
        element = re.fullmatch(r"  \[(\d+)\] ([\d ]+)", line)
        if head:
            current = found.setdefault(head.group(1), {})
        elif element and current is not None:
            key, values = int(element.group(1)), [int(word) for word in element.group(2).split()]
            old = current.get(key, [0] * len(values))
            current[key] = [a + b for a, b in zip(old, values)]
        elif not line.startswith("  "):
            current = None
    return found


def only(found, name):
    """The one value of a map with one element; 0 when nothing was counted."""
    values = found.get(name, {})
    return values.get(0, [0])[0]
