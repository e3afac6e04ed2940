# SPDX-License-Identifier: Apache-2.0
"""A traced program: a pool of processes in which threads launch kernels.  Prints one line for each process."""
import ctypes
import multiprocessing
import os
import sys
import threading

from gputrace.agent import numbered

PTX = b".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"
THREADS, LAUNCHES = 2, 25


def check(result):
    if result:
        raise RuntimeError(f"CUresult {result}")


def launch(cu, context, function, number):
    check(cu.cuCtxSetCurrent(context))
    for i in range(LAUNCHES):
        with numbered(number * 1000 + i):
            check(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))


def work(number):
    cu = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cu.cuInit(0))
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cu.cuCtxSetCurrent(context))
    check(cu.cuModuleLoadData(ctypes.byref(module), PTX))
    check(cu.cuModuleGetFunction(ctypes.byref(function), module, b"nothing"))
    threads = [threading.Thread(target=launch, args=(cu, context, function, number * THREADS + i))
               for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(cu.cuCtxSynchronize())
    return os.getpid()


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(3) as pool:
        print(sorted(pool.map(work, range(6), chunksize=1)), flush=True)
        pool.close()
        pool.join()
