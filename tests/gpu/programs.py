# SPDX-License-Identifier: Apache-2.0
"""The programs to trace: how each is built."""

import typing

NATIVE = "-gencode=arch=compute_ARCH,code=sm_ARCH"
PTX = "-gencode=arch=compute_ARCH,code=compute_ARCH"
OLDER = "-gencode=arch=compute_OLDER,code=[compute_OLDER,sm_OLDER]"
BOTH = "-gencode=arch=compute_ARCH,code=[compute_ARCH,sm_ARCH]"
# Features of this very architecture, which no other one has.
ACCELERATED = "-gencode=arch=compute_ARCHa,code=[compute_ARCHa,sm_ARCHa]"
DEVICE_RUNTIME = ("-rdc=true", "-lcudadevrt")
GPUTRACE = ("-IINCLUDE", "-LLIBRARIES", "-lgputrace", "-Wl,-rpath,LIBRARIES")


class Program(typing.NamedTuple):
    """
    Sources of CUDA are built by nvcc, those of C by cc; Python needs no build.  In the
    flags ARCH is this GPU's architecture, OLDER another; INCLUDE and LIBRARIES are
    libgputrace's.  toolkit: C that needs headers and libraries of the CUDA toolkit.
    """

    sources: tuple
    flags: tuple = ()
    toolkit: bool = False

    @property
    def language(self):
        return self.sources[0].rpartition(".")[2]


def variant(source, *flags, toolkit=False):
    return Program((source,), flags, toolkit)


def plain(*names):
    return {name: Program((f"{name}.cu",)) for name in names}


PROGRAMS = {
    # One program, built in many ways.
    "vecadd": variant("vecadd.cu"),
    "vecadd-sass": variant("vecadd.cu", NATIVE),
    "vecadd-ptx": variant("vecadd.cu", PTX),
    "vecadd-archs": variant("vecadd.cu", OLDER, BOTH),
    "vecadd-debug": variant("vecadd.cu", "-G"),
    "vecadd-lineinfo": variant("vecadd.cu", "-lineinfo"),
    "vecadd-none": variant("vecadd.cu", "-compress-mode=none"),
    "vecadd-size": variant("vecadd.cu", "-compress-mode=size"),
    "vecadd-speed": variant("vecadd.cu", "-compress-mode=speed"),
    "vecadd-balance": variant("vecadd.cu", "-compress-mode=balance"),
    "vecadd-shared": variant("vecadd.cu", "-cudart=shared"),
    "speed-ptx": variant("speed.cu", PTX),
    "speed-linked": variant("speed.cu", NATIVE, "-rdc=true"),
    "supplied-linked": variant("supplied.cu", "-rdc=true"),
    "threads-ptds": variant("threads.cu", "-default-stream=per-thread"),
    # CUDA runtime.
    **plain("accesses", "async", "attributes", "calls", "cluster", "conditional", "fault", "graph", "graph-change",
            "gridsync", "hostfunc", "managed", "many", "mma", "parameters", "pdl", "points", "pool", "printf", "returns",
            "shapes", "speed", "supplied", "surface", "texture", "threads", "variable", "warps"),
    "cublas": variant("cublas.cu", "-lcublas"),
    "speed-library": variant("speed-library.cu", "-lcublas"),
    "cufft": variant("cufft.cu", "-lcufft"),
    "gemms": variant("gemms.cu", "-lcublas", "-lcublasLt"),
    "random": variant("random.cu", "-lcurand"),
    "solver": variant("solver.cu", "-lcusolver"),
    "sparse": variant("sparse.cu", "-lcusparse"),
    "late": variant("late.cu", "-lcublas"),
    "graph-device": variant("graph-device.cu", *DEVICE_RUNTIME),
    "nested": variant("nested.cu", *DEVICE_RUNTIME),
    "rdc": Program(("rdc.cu", "rdc-part.cu"), ("-rdc=true",)),
    "sort": variant("sort.cu"),
    "wgmma": variant("wgmma.cu", ACCELERATED),
    # Driver API alone: these run on the software device as well.
    "busy": variant("busy.c"),
    "contexts": variant("contexts.c"),
    "copies": variant("copies.c"),
    "devices": variant("devices.c", "-lpthread"),
    "devices-runtime": variant("devices-runtime.cu"),
    "event-clock": variant("event-clock.c"),
    "fatbin": Program(("fatbin.c", *(f"../../../lib/agent/image/{name}.c" for name in ("cubin", "fatbin", "image"))),
                      ("-IINCLUDE/..",)),
    "fork": variant("fork.c"),
    "getproc": variant("getproc.c"),
    "handles": variant("handles.c"),
    "launches": variant("launches.c"),
    "link": variant("link.c"),
    "spin": variant("spin.c"),
    "twins": variant("twins.c"),
    "jitlink": variant("jitlink.c", "-lnvrtc", "-lnvJitLink", toolkit=True),
    "nvrtc": variant("nvrtc.c", "-lnvrtc", toolkit=True),
    # One program with the CUDA runtime in every form, and without it.
    "runtime-dlopen": variant("runtimes.c", "-DDLOPEN", toolkit=True),
    "runtime-none": variant("runtimes.c", "-DDRIVER"),
    "runtime-shared": variant("runtimes.c", "-lcudart", toolkit=True),
    "runtime-static": variant("runtimes.c", "-lcudart_static", "-lpthread", "-lrt", toolkit=True),
    # Python.
    "ddp": variant("ddp.py"),
    "short-stack": variant("short-stack.py"),
    "torch-copies": variant("torch-copies.py"),
    "torch-ops": variant("torch-ops.py"),
    "torch-profiler": variant("torch-profiler.py"),
    "torch-stack": variant("torch-stack.py"),
    "torch-step": variant("torch-step.py"),
    "torch-train": variant("torch-train.py"),
    "with-cupy": variant("with-cupy.py"),
    "with-jax": variant("with-jax.py"),
    "with-triton": variant("with-triton.py"),
    # Uses libgputrace itself.
    "clock": variant("../clock.c", *GPUTRACE),
    "delivery": variant("../delivery.c", *GPUTRACE),
    "peer-clock": variant("../peer-clock.c", *GPUTRACE),
}
