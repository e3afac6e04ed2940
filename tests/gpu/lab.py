# SPDX-License-Identifier: Apache-2.0
"""The programs to trace, the tools that trace them, and what came out."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import time

import check_trace

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE / "programs"

# The programs to trace: source, and flags of the compiler.
PROGRAMS = {
    "vecadd": ("vecadd.cu", ()),
    "vecadd-sass": ("vecadd.cu", ("-gencode=arch=compute_ARCH,code=sm_ARCH",)),
    "vecadd-ptx": ("vecadd.cu", ("-gencode=arch=compute_ARCH,code=compute_ARCH",)),
    "vecadd-archs": ("vecadd.cu", ("-gencode=arch=compute_OLDER,code=[compute_OLDER,sm_OLDER]",
                                   "-gencode=arch=compute_ARCH,code=[compute_ARCH,sm_ARCH]")),
    "vecadd-debug": ("vecadd.cu", ("-G",)),
    "vecadd-lineinfo": ("vecadd.cu", ("-lineinfo",)),
    "vecadd-none": ("vecadd.cu", ("-compress-mode=none",)),
    "vecadd-size": ("vecadd.cu", ("-compress-mode=size",)),
    "vecadd-speed": ("vecadd.cu", ("-compress-mode=speed",)),
    "vecadd-balance": ("vecadd.cu", ("-compress-mode=balance",)),
    "vecadd-shared": ("vecadd.cu", ("-cudart=shared",)),
    "threads": ("threads.cu", ()),
    "threads-ptds": ("threads.cu", ("-default-stream=per-thread",)),
    "graph": ("graph.cu", ()),
    "many": ("many.cu", ()),
    "shapes": ("shapes.cu", ()),
    "returns": ("returns.cu", ()),
    "variable": ("variable.cu", ()),
    # These need no CUDA toolkit.
    "spin": ("spin.c", ()),
    "twins": ("twins.c", ()),
    # Uses libgputrace itself.
    "clock": ("../clock.c", ("-IINCLUDE", "-LLIBRARIES", "-lgputrace", "-Wl,-rpath,LIBRARIES")),
}


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Failure(text)


class Outcome:
    """A finished command: its output, and the "word number" lines of it."""

    def __init__(self, argv, result, seconds):
        self.argv = [str(word) for word in argv]
        self.status = result.returncode
        self.out = result.stdout.decode(errors="replace")
        self.err = result.stderr.decode(errors="replace")
        self.seconds = seconds

    def number(self, word):
        match = re.search(rf"^{word} (\d+)$", self.out, re.MULTILINE)
        expect(match, f"{' '.join(self.argv)} did not say '{word} N': {self.err.strip()[-300:]}")
        return int(match.group(1))

    def good(self):
        expect(self.status == 0, f"{' '.join(self.argv)} ended with {self.status}: {self.err.strip()[-400:]}")
        return self


class Lab:
    """A build tree of libgputrace, a device, and a folder for what is made here."""

    def __init__(self, build, device, scratch, programs):
        self.build = pathlib.Path(build).resolve()
        self.device = device
        self.scratch = pathlib.Path(scratch)
        self.programs = pathlib.Path(programs).resolve()
        self.programs.mkdir(parents=True, exist_ok=True)
        self.nvcc = self.find_nvcc()
        self.arch = self.find_arch()
        self.environment = self.find_environment()

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
        source, flags = PROGRAMS[name]
        target = self.programs / name
        cuda = source.endswith(".cu")
        if cuda and self.device == "sim":
            raise Skip("the software device does not run the CUDA runtime")
        if target.exists() and (self.is_new(target) or (cuda and not self.nvcc)):
            return target
        if cuda and not self.nvcc:
            raise Skip("no nvcc (set NVCC)")
        if cuda:
            argv = [self.nvcc, "-O2", "-std=c++17", *self.fill_in(flags)]
        else:
            argv = [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-O2"]
            argv += os.environ.get("SANITIZE_FLAGS", "").split()
        argv += [str(SOURCES / source), "-o", str(target), "-ldl"]
        if not cuda:
            argv += self.fill_in_paths(flags)
        result = subprocess.run(argv, capture_output=True, text=True)
        expect(result.returncode == 0, f"{' '.join(argv)}: {result.stderr.strip()[-400:]}")
        return target

    @staticmethod
    def is_new(target):
        return all(target.stat().st_mtime >= source.stat().st_mtime for source in SOURCES.iterdir())

    def fill_in(self, flags):
        """ARCH is this GPU's, for which nvcc compiles unless told otherwise."""
        arch = self.arch
        older = "75" if arch != "75" else "80"
        if not any("gencode" in flag for flag in flags):
            flags = ("-arch=sm_ARCH", *flags)
        return [flag.replace("ARCH", arch).replace("OLDER", older) for flag in flags]

    def fill_in_paths(self, flags):
        include, libraries = str(HERE.parent.parent / "include"), str(self.build / ".libs")
        return [flag.replace("INCLUDE", include).replace("LIBRARIES", libraries) for flag in flags]

    def build_programs(self, names):
        """Build several at a time; what goes wrong is said by the check that needs the program."""

        def build(name):
            try:
                self.program(name)
            except (Failure, Skip):
                pass

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(build, names))

    def runtime_libraries(self):
        """Where libcudart.so is, for the programs that do not bring it along."""
        return pathlib.Path(self.nvcc).resolve().parent.parent / "lib64"

    # Commands

    def call(self, *argv, env=None, timeout=300, cwd=None):
        environment = dict(os.environ, **self.environment, **(env or {}))
        begin = time.monotonic()
        try:
            result = subprocess.run([str(word) for word in argv], capture_output=True, env=environment,
                                    timeout=timeout, stdin=subprocess.DEVNULL, cwd=cwd)
        except subprocess.TimeoutExpired:
            raise Failure(f"{' '.join(map(str, argv))}: no end after {timeout} s") from None
        return Outcome(argv, result, time.monotonic() - begin)

    def bare(self, program, *args, env=None):
        """The program by itself."""
        if self.device == "sim":
            # The tool puts the software device in the loader's path; nothing is attached.
            return self.record(program, *args, options=["--no-api"], trace=False, env=env)[0]
        return self.call(program, *args, env=env).good()

    def tool(self, name, *args, env=None, timeout=300):
        return self.call(self.build / name, f"--device={self.device}", *args, env=env, timeout=timeout)

    def record(self, program, *args, options=(), trace=True, env=None):
        """Run under gputrace-record; the outcome and the checked trace."""
        path = self.scratch / "trace.json"
        path.unlink(missing_ok=True)
        outcome = self.tool("gputrace-record", *options, "-o", path, "--", program, *args, env=env).good()
        if not trace:
            return outcome, None
        checked, errors = check_trace.check(path)
        expect(not errors, f"{len(errors)} faults in the trace, the first: {errors[:1]}")
        return outcome, checked

    def run_object(self, name, program, *args, options=(), env=None):
        """Run under gputrace-run with one of examples/bpf."""
        path = self.build / "examples/bpf" / f"{name}.bpf.o"
        return self.tool("gputrace-run", *options, path, "--", program, *args, env=env).good()


def maps(text):
    """What gputrace-run printed of its maps: {name: {key: [values]}}, instances added up."""
    found = {}
    current = None
    for line in text.splitlines():
        head = re.fullmatch(r"map ([^,:]+)(?:, instance \d+)?:", line)
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
