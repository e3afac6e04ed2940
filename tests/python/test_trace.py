# SPDX-License-Identifier: Apache-2.0
"""A process that traces itself, on the software device."""
import errno
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from unittest import mock

import gputrace
import gputrace.tracing
from common import PATIENCE, main, unittest

if os.path.join(os.environ["GPUTRACE_SIM_DIR"], "") not in os.environ.get("LD_LIBRARY_PATH", ""):
    # The loader reads this once.
    os.environ["LD_LIBRARY_PATH"] = f"{os.environ['GPUTRACE_SIM_DIR']}/:{os.environ.get('LD_LIBRARY_PATH', '')}"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

from cuda import PTX, Cuda, slow_ptx


def in_child(function):
    """Run a test in a process of its own, as a program that has not used CUDA yet."""
    def test(self):
        code = f"import test_trace; test_trace.{function.__qualname__}.body(None)"
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    test.body = lambda _: function(unittest.TestCase())
    return test


def launches_of_its_own(count):
    with gputrace.trace() as t:
        cuda = Cuda()
        for _ in range(count):
            cuda.launch("nothing")
    return len(t.kernels())


def resident_kb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def counters(trace):
    """Their elements in the trace's file."""
    with tempfile.NamedTemporaryFile() as file:
        trace.save(file.name)
        return [event for event in json.load(file)["traceEvents"] if event["ph"] == "C"]


class Tracing(unittest.TestCase):
    @in_child
    def test_metrics(self):
        # The device that the loader will find, which is not there yet.
        with open("/proc/self/maps") as maps:
            self.assertNotIn("libcuda", maps.read())
        # However slow the machine is, a sample is taken in one of these times.
        for length in (0.2, 2, 20, 200):
            with gputrace.trace(metrics=0.01) as t:
                Cuda().launch("nothing")
                time.sleep(length)
            elements = counters(t)
            found = {element["name"]: element["args"] for element in elements}
            if "memory.used" in found:
                break
        self.assertEqual(found["memory.used"], {"bytes": 2.0**30})
        self.assertEqual(found["process.memory.used (GPU 0)"], {"bytes": 2.0**28})
        samples = t.metrics()
        values = {(sample.name, sample.pid): (sample.value, sample.unit, sample.text) for sample in samples}
        self.assertEqual(values["memory.used", 0], (2.0**30, "bytes", None))
        self.assertEqual(values["process.memory.used", os.getpid()], (2.0**28, "bytes", None))
        self.assertEqual(values["clocks_event_reasons.active", 0], (36.0, "bits", "sw_power_cap, sw_thermal_slowdown"))
        # The same ones as in the file.
        self.assertEqual(len(samples), len(elements))
        self.assertEqual([sample.end for sample in samples], sorted(sample.end for sample in samples))
        for sample in samples:
            self.assertEqual(sample.gpu, 0)
            self.assertLessEqual(sample.start, sample.end)
            self.assertLess(sample.end, time.monotonic_ns())

    @in_child
    def test_metrics_as_often_as_the_library_has_it(self):
        # True is no second.
        for metrics, asked in (True, 0.0), (2, 2), (0.5, 0.5):
            with mock.patch.object(gputrace.Reader, "add_metrics") as add, gputrace.trace(metrics=metrics):
                pass
            add.assert_called_once_with(period=asked)

    @in_child
    def test_limit_of_file_sizes(self):
        # Python ignores this signal; in a program that does not, we raise none.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        whole = resource.getrlimit(resource.RLIMIT_FSIZE)
        cuda = Cuda()
        with self.assertRaises(gputrace.Error) as caught, gputrace.trace() as t:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, whole[1]))
            cuda.launch("nothing")
        self.assertEqual(caught.exception.errno, errno.EFBIG)
        self.assertEqual(t.launches("nothing"), 1)
        with self.assertRaises(gputrace.Error), gputrace.trace():
            pass
        resource.setrlimit(resource.RLIMIT_FSIZE, whole)
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, []), set())
        with gputrace.trace() as t:
            cuda.launch("nothing")
        self.assertEqual(t.launches("nothing"), 1)

    @in_child
    def test_before_cuda(self):
        with gputrace.trace() as t:
            cuda = Cuda()
            for _ in range(10):
                cuda.launch("add_one")
            cuda.launch("nothing")
        self.assertEqual(cuda.count(), 320)
        runs = t.kernels()
        self.assertEqual([run.name for run in runs].count("add_one"), 10)
        self.assertEqual(len(runs), 11)
        self.assertEqual(t.lost, 0)
        self.assertEqual(t.notes, [])
        self.assertTrue(all(run.start < run.end and run.block == (32, 1, 1) for run in runs))
        self.assertEqual({s.name: (s.launches, s.runs) for s in t.summary()}, {"add_one": (10, 10), "nothing": (1, 1)})
        self.assertRegex(str(t), r"add_one +.* 10\n")
        self.assertIn("11 launches, 11 runs", str(t))

    @in_child
    def test_after_cuda(self):
        cuda = Cuda()
        cuda.launch("add_one")
        with gputrace.trace() as t:
            cuda.launch("add_one")
            # What is loaded inside has times.
            cuda.load(PTX)
            cuda.launch("add_one")
        cuda.launch("add_one")
        self.assertEqual(cuda.count(), 128)
        self.assertEqual(t.launches("add_one"), 2)
        self.assertEqual(len(t.kernels()), 1)
        # The module of the trace before is still there and carries the same programs.
        with gputrace.trace() as again:
            cuda.launch("add_one")
            cuda.launch("add_one")
        self.assertEqual(len(again.kernels()), 2)
        self.assertEqual(cuda.count(), 192)

    @in_child
    def test_copies(self):
        cuda = Cuda()
        for copies, reason in (False, "^loaded before attach; .*--copies"), (True, "^loaded before attach: no images were found"):
            with gputrace.trace(copies=copies) as t:
                cuda.launch("add_one")
            # Text of PTX that was loaded from memory is nowhere any more.
            self.assertRegex(t.summary()[0].reason, reason)

    @in_child
    def test_threads(self):
        cuda = Cuda()

        def launch():
            cuda.use()
            for _ in range(50):
                cuda.launch("add_one")

        with gputrace.trace() as t:
            cuda.load(PTX)
            threads = [threading.Thread(target=launch) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(cuda.count(), 200 * 32)
        self.assertEqual(len(t.kernels()), 200)
        self.assertEqual(len({run.tid for run in t.kernels()}), 4)

    @in_child
    def test_fork_and_spawn(self):
        with gputrace.trace() as t:
            cuda = Cuda()
            child = os.fork()
            if not child:
                # CUDA does not work here, and the trace is the parent's.
                t.stop()
                os._exit(7)
            status = os.waitpid(child, 0)[1]
            subprocess.run([sys.executable, "-c", "from cuda import Cuda; Cuda().launch('nothing')"], check=True)
            cuda.launch("add_one")
        self.assertEqual(os.waitstatus_to_exitcode(status), 7)
        self.assertEqual([run.name for run in t.kernels()], ["add_one"])

    @in_child
    def test_pools(self):
        with gputrace.trace() as t:
            with multiprocessing.get_context("fork").Pool(2) as pool:
                self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
            cuda = Cuda()
            cuda.launch("add_one")
            for method in "fork", "spawn", "forkserver":
                with multiprocessing.get_context(method).Pool(2) as pool:
                    self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                # Each of them traces itself.
                self.assertEqual(pool.map(launches_of_its_own, [2, 3]), [2, 3])
            cuda.launch("add_one")
        self.assertEqual([run.name for run in t.kernels()], ["add_one", "add_one"])

    @in_child
    def test_child_that_ends_by_exit(self):
        with gputrace.trace() as t:
            cuda = Cuda()
            for _ in range(50):
                cuda.launch("add_one")
            while not t.kernels():
                time.sleep(0.01)
            child = os.fork()
            if not child:
                sys.exit(3)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)
        with tempfile.NamedTemporaryFile() as file:
            t.save(file.name)
            with open(file.name) as text:
                events = json.load(text)["traceEvents"]
        self.assertEqual(sum(event.get("cat") == "kernel" for event in events), 50)

    @in_child
    def test_copies_are_in_the_file(self):
        with gputrace.trace(memcpy=True, api=True) as t:
            cuda = Cuda()
            cuda.launch("add_one")
            self.assertEqual(cuda.count(), 32)
        kinds = [(copy.kind, copy.bytes) for copy in sorted(t.copies(), key=lambda copy: copy.launch_id)]
        self.assertEqual(kinds, [(gputrace.CopyKind.MEMSET, 4), (gputrace.CopyKind.DEVICE_TO_HOST, 4)])
        for copy in t.copies():
            self.assertIsNotNone(copy.time_error)
            self.assertLessEqual(copy.start, copy.end)
        self.assertRegex(str(t), r"\n2 copies and memsets of 8 bytes: \d+\.\d{3} us$")
        with tempfile.NamedTemporaryFile() as file:
            t.save(file.name)
            with open(file.name) as text:
                events = json.load(text)["traceEvents"]
        [copied] = [event for event in events if event.get("cat") == "gpu_memcpy"]
        self.assertEqual((copied["name"], copied["args"]["bytes"]), ("memcpy DtoH", 4))
        [filled] = [event for event in events if event.get("cat") == "gpu_memset"]
        self.assertEqual(filled["args"]["bytes"], 4)
        calls = {event["args"]["launch"]: event["name"] for event in events
                 if event.get("cat") == "cuda_driver" and "launch" in event["args"]}
        self.assertEqual(calls[copied["args"]["launch"]], "cuMemcpyDtoH_v2")
        self.assertEqual(calls[filled["args"]["launch"]], "cuMemsetD8_v2")
        self.assertEqual(sum(event["ph"] == "s" for event in events), 3)

    @in_child
    def test_others_run_while_it_stops(self):
        cuda = Cuda()
        ended, counts = threading.Event(), [0]

        def count():
            while not ended.is_set():
                counts[0] += 1
                time.sleep(0.001)

        other = threading.Thread(target=count)
        other.start()
        # On a busy machine it takes its time.
        for seconds in 0.5, 5, 50:
            t = gputrace.trace().start()
            cuda.load(slow_ptx(seconds))
            cuda.launch("add_one", 1)
            before = counts[0]
            t.stop()
            counted = counts[0] - before
            self.assertGreaterEqual(t.kernels()[0].duration, seconds * 1e9)
            if counted > 5:
                break
        ended.set()
        other.join()
        self.assertGreater(counted, 5)

    @in_child
    def test_kernel_that_goes_on(self):
        cuda = Cuda()
        # On a busy machine it may have ended before it was to be let go.
        for seconds in 1, 10, 100:
            gputrace.tracing.DETACH_S = 0.1
            t = gputrace.trace().start()
            cuda.load(slow_ptx(seconds))
            cuda.launch("add_one", 1)
            try:
                t.stop()
            except gputrace.Error as error:
                self.assertEqual(error.errno, errno.ETIMEDOUT)
                # Before its thread has come to that on a busy machine, it has not answered.
                self.assertRegex(str(error), f"process {os.getpid()}: (kernels are still running|its agent did not answer)")
                break
        else:
            self.fail("a kernel of 100 s has ended in no time")
        t.stop()
        self.assertEqual((t.launches(), cuda.count()), (1, 1))
        gputrace.tracing.DETACH_S = PATIENCE
        with gputrace.trace() as again:
            cuda.launch("nothing")
        self.assertEqual(again.launches(), 1)

    @in_child
    def test_failure_inside(self):
        cuda = Cuda()
        for _ in range(3):
            with self.assertRaises(ZeroDivisionError):
                with gputrace.trace() as t:
                    cuda.launch("nothing")
                    1 / 0
            self.assertEqual(t.launches(), 1)

    def test_end_of_the_program_within(self):
        code = "import gputrace, cuda; t = gputrace.trace().start(); cuda.Cuda().launch('nothing'); print('end')"
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "end\n", ""))

    @in_child
    def test_asked_too_early_or_too_late(self):
        t = gputrace.trace()
        t.stop()
        self.assertEqual((t.kernels(), t.launches(), t.summary(), t.loaded, t.lost), ([], 0, [], [], 0))
        self.assertIn("0 launches", str(t))
        self.assertIn("this process launched no kernel", str(t))
        self.assertIn("not begun", repr(t))
        with self.assertRaises(ValueError):
            t.save("/dev/null")
        with t:
            Cuda().launch("nothing")
        with self.assertRaisesRegex(ValueError, "made once"):
            t.start()
        self.assertIn("over", repr(t))

    @in_child
    def test_save(self):
        with gputrace.trace() as t:
            with self.assertRaises(ValueError):
                t.save("/dev/null")
            cuda = Cuda()
            with gputrace.range("a part"):
                cuda.launch("add_one")
        with tempfile.NamedTemporaryFile() as file:
            t.save(file.name)
            t.save(file.name)
            with open(file.name) as text:
                events = json.load(text)["traceEvents"]
        self.assertEqual([e["name"] for e in events if e.get("cat") == "kernel"], ["add_one"])
        self.assertEqual([e["name"] for e in events if e.get("cat") == "user_annotation"], ["a part"])

    @in_child
    def test_one_at_a_time(self):
        with gputrace.trace():
            with self.assertRaises(gputrace.Error) as caught:
                gputrace.trace().start()
            self.assertEqual(caught.exception.errno, errno.EBUSY)
            Cuda().launch("nothing")

    @in_child
    def test_decorator_and_expectation(self):
        cuda = Cuda()

        @gputrace.trace()
        def step(n):
            for _ in range(n):
                cuda.launch("nothing")
            return n

        self.assertEqual(step(3), 3)
        self.assertEqual(step.trace.launches(), 3)
        self.assertEqual(step(5), 5)
        self.assertEqual(step.trace.launches(), 5)
        with gputrace.expect_launches(nothing=2, total=3):
            cuda.launch("nothing")
            cuda.launch("add_one")
            cuda.launch("nothing")
        with self.assertRaisesRegex(AssertionError, "n.thing: 1 launches, not 2"):
            with gputrace.expect_launches({"n?thing": 2}):
                cuda.launch("nothing")

    @in_child
    def test_a_thousand_times(self):
        # AddressSanitizer is slow, and keeps freed memory.
        sanitized = bool(os.environ.get("SANITIZE_FLAGS"))
        cycles = 100 if sanitized else 1000
        cuda = Cuda()
        sizes = []
        for i in range(1, cycles + 1):
            with gputrace.trace() as t:
                cuda.launch("add_one")
            assert t.launches() == 1, t
            if i in (cycles // 10, cycles):
                sizes.append((resident_kb(), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))))
        self.assertEqual(cuda.count(), cycles * 32)
        (memory, files, threads), last = sizes
        self.assertTrue(sanitized or last[0] - memory < 4096, sizes)
        # Threads that have ended are there for a while on a busy machine, and with them what they hold.
        end = time.monotonic() + PATIENCE
        while (len(os.listdir("/proc/self/fd")) > files + 2 or len(os.listdir("/proc/self/task")) > threads + 2):
            self.assertLess(time.monotonic(), end, sizes)
            time.sleep(0.01)


if __name__ == "__main__":
    main()
