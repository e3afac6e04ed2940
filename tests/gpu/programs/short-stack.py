# SPDX-License-Identifier: Apache-2.0
"""Launches of an empty kernel, each by way of a function of its own, and no moment more: short-stack.py LAUNCHES."""
import ctypes
import sys

PTX = b".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"

if not getattr(sys, "is_stack_trampoline_active", lambda: False)():
    print("Python before 3.12, or run without -X perf: it does not name its functions")
    sys.exit(77)
cuda = ctypes.CDLL("libcuda.so.1")
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()


def check(result):
    assert result == 0, result


def launch():
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing"))
for i in range(int(sys.argv[1])):
    exec(f"def step_{i}():\n    launch()\nstep_{i}()\n")
print(f"{sys.argv[1]} launches")
