# SPDX-License-Identifier: Apache-2.0
"""A few calls of the CUDA driver, by ctypes: a program to be traced from inside."""
import ctypes

PTX = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 to)
{
	.reg .b64 %rd<2>; .reg .b32 %r<2>;
	ld.param.u64 %rd1, [to];
	atom.global.add.u32 %r1, [%rd1], 1;
	ret;
}
.visible .entry nothing()
{
	ret;
}
"""

# add_one goes on for a while.
SLOW_PTX = b"""
.version 6.3
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 to)
{
	.reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .pred %p;
	mov.u64 %rd2, %globaltimer;
	add.u64 %rd2, %rd2, NANOSECONDS;
again:
	mov.u64 %rd3, %globaltimer;
	setp.lt.u64 %p, %rd3, %rd2;
	@%p bra again;
	ld.param.u64 %rd1, [to];
	atom.global.add.u32 %r1, [%rd1], 1;
	ret;
}
.visible .entry nothing()
{
	ret;
}
"""


def slow_ptx(seconds):
    return SLOW_PTX.replace(b"NANOSECONDS", b"%d" % round(seconds * 1e9))


class Cuda:
    """A context on the first device, and a module with kernels add_one and nothing."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.context = context
        self.use()
        self.functions = {}
        self.counter = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.counter), ctypes.c_size_t(4))
        self.call("cuMemsetD8_v2", self.counter, 0, ctypes.c_size_t(4))
        self.load(PTX)

    def use(self):
        """In each thread."""
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result:
            raise RuntimeError(f"{name}: CUresult {result}")

    def load(self, ptx):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ptx)
        for name in b"add_one", b"nothing":
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, name)
            self.functions[name.decode()] = function

    def launch(self, name, threads=32):
        params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.pointer(self.counter), ctypes.c_void_p))
        self.call("cuLaunchKernel", self.functions[name], 1, 1, 1, threads, 1, 1, 0, None, params, None)

    def count(self):
        """How many threads add_one has had."""
        value = ctypes.c_uint32()
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", ctypes.byref(value), self.counter, ctypes.c_size_t(4))
        return value.value
