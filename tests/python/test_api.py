# SPDX-License-Identifier: Apache-2.0
"""Driver calls, and maps shared with the operating system's kernel."""
import ctypes
import errno
import os
import shutil
import subprocess
import tempfile
import unittest.mock

from common import TARGET, EventType, Run, gputrace, main, unittest


class Calls(unittest.TestCase):
    def check_calls(self, way):
        run = Run("vecadd", "64", api=way)
        names = run.names(EventType.API)
        self.assertEqual(names["cuLaunchKernel"], 64)
        self.assertEqual(names["cuStreamSynchronize"], 4)
        launches = {launch.launch_id: launch for launch in run.of(EventType.LAUNCH)}
        for call in run.of(EventType.API):
            self.assertLessEqual(call.time, call.end)
            self.assertEqual(call.result, 0)
            if call.name == "cuLaunchKernel":
                launch = launches[call.launch_id]
                self.assertEqual(call.args["gridDimX"], launch.grid[0])
                self.assertEqual(call.args["blockDimX"], 256)

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_uprobes_see_calls_with_their_launches(self):
        self.check_calls("uprobes")

    def test_the_agent_sees_calls_with_their_launches(self):
        self.check_calls("agent")

    def test_copies(self):
        class Copied(Run):
            window = 2.0  # on a busy host a record may take long

            def _spawn(self, *words, **options):
                return gputrace.Target.spawn(["tests/e2e/copier", *words], device=gputrace.Device.SIM, **options)

            def _follow(self, target, *rest):
                target.attach_copies()
                super()._follow(target, *rest)

        run = Copied("each", api="agent")
        copies = sorted(run.of(EventType.COPY), key=lambda copy: copy.launch_id)
        self.assertEqual(len(copies), 40)
        first, second = copies[0], copies[1]
        self.assertEqual((first.name, first.copy_kind, first.copy_bytes, first.stream),
                         ("memcpy HtoD", gputrace.CopyKind.HOST_TO_DEVICE, 1, 0))
        self.assertEqual((second.name, second.copy_kind, second.copy_bytes),
                         ("memcpy DtoH", gputrace.CopyKind.DEVICE_TO_HOST, 2))
        self.assertEqual([copy.copy_kind for copy in copies].count(gputrace.CopyKind.MEMSET), 14)
        calls = {call.launch_id: call for call in run.of(EventType.API) if call.launch_id}
        for copy in copies:
            self.assertIn("cuMem", calls[copy.launch_id].name)
            self.assertIsNone(copy.text)
            self.assertIsNotNone(copy.time_error)
            self.assertEqual(copy.gpu.name, "gputrace software device")

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_other_functions(self):
        class Watched(Run):
            def _follow(self, target, *rest):
                target.attach_functions(TARGET, "mai?", stack_frames=8)
                target.attach_api(stack_frames=1)
                super()._follow(target, *rest)

        run = Watched("vecadd", "3", timeline=False)
        [call] = run.of(EventType.CALL)
        self.assertEqual((call.name, call.return_value, call.args["arg0"]), ("main", 0, 3))
        self.assertEqual(len(call.args), 6)
        self.assertIn(len(call.stack), range(1, 9))
        self.assertEqual({len(event.stack) for event in run.of(EventType.API)}, {1})
        launches = [event for event in run.of(EventType.API) if event.name == "cuLaunchKernel"]
        self.assertTrue(all(call.time < event.time and event.end < call.end for event in launches))
        self.assertEqual(len(launches), 3)

    @unittest.mock.patch.dict(os.environ, GPUTRACE_SIM_DIR="tests/e2e/unwatched")
    def test_stacks_are_unwound(self):
        symbolizer = gputrace.Symbolizer()

        class Unwound(Run):
            def _follow(self, target, *_):
                target.attach_api(way="agent", stack_bytes=self.bytes)
                reader = target.reader(symbolizer=symbolizer)
                target.resume()
                for event in reader:
                    if event.name == "cuLaunchKernel":
                        self.names = [frame.name for frame in symbolizer.stack(event)]
                        self.end = event.stack_end

        Unwound.bytes = 16384
        run = Unwound("vecadd", "3")
        self.assertEqual(run.end, gputrace.StackEnd.COMPLETE)
        self.assertEqual(run.names[0], "add")
        self.assertEqual(run.names[-1], "_start")
        self.assertIn("main", run.names)
        Unwound.bytes = 8
        run = Unwound("vecadd", "3")
        self.assertEqual((run.end, run.names), (gputrace.StackEnd.CUT, ["add"]))
        with self.assertRaises(gputrace.Error):
            Unwound.bytes = 12
            Unwound("vecadd", "3")

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_stacks_have_names(self):
        symbolizer = gputrace.Symbolizer()
        names = set()

        class Watched(Run):
            def _follow(self, target, *_):
                target.attach_api(stack_frames=127)
                reader = target.reader(symbolizer=symbolizer)
                target.resume()
                for event in reader:
                    if event.name == "cuLaunchKernel":
                        names.update(frame.name for frame in symbolizer.stack(event))
                        self.event = event

        event = Watched("vecadd", "3").event
        self.assertIn("add", names)
        self.assertEqual(event.command, "target")
        # The process has ended: it is the symbolizer that remembers.
        frame = symbolizer.resolve(event.pid, event.stack[0] - 1, time=event.time)[0]
        self.assertEqual(frame.module, os.path.realpath(TARGET))
        self.assertTrue(frame.file.endswith("tests/e2e/target.c"))
        self.assertGreater(frame.line, 0)
        self.assertIsNone(frame.reason)
        self.assertGreater(len(frame.build_id), 0)
        [nothing] = symbolizer.resolve(event.pid, 1, time=event.time)
        self.assertEqual((nothing.name, nothing.module, str(nothing)), (None, None, "0x1"))
        self.assertIn("no code there", nothing.reason)

    def test_processes_that_are_watched(self):
        """In files of their own: what programs under valgrind have mapped as well is not watched."""
        with tempfile.TemporaryDirectory() as folder:
            ctypes.CDLL("libm.so.6")
            with open("/proc/self/maps", encoding="utf-8") as maps:
                mapped = {os.path.basename(line.split()[-1]): line.split()[-1] for line in maps}
            shutil.copy(mapped["libc.so.6"], folder)
            shutil.copy(mapped["libm.so.6"], f"{folder}/libgtmath.so.1")
            self.check_watching(folder)

    def check_watching(self, folder):
        with subprocess.Popen(["sh", "-c", "echo; read x; true; true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env=dict(os.environ, LD_LIBRARY_PATH=folder)) as shell:
            # By now it has its libraries.
            shell.stdout.readline()
            with gputrace.Target.watch(shell.pid) as target:
                target.attach_functions("libc.so.6", "execve")
                reader = target.reader()
                shell.communicate(b"\n")
                self.assertEqual(list(reader), [])
                self.assertTrue(reader.ended)
        with self.assertRaises(gputrace.Error) as caught:
            gputrace.Target.watch(0x3ffffff)
        self.assertEqual(caught.exception.errno, errno.ESRCH)
        with gputrace.Target.watch() as target:
            library = ctypes.CDLL(f"{folder}/libgtmath.so.1")
            link = target.attach_functions("libgtmath.so.1", "fegetround")
            reader = target.reader()
            library.fegetround()
            link.detach()
            self.assertIn((os.getpid(), "fegetround"), {(event.pid, event.name) for event in reader})

    def test_no_such_functions(self):
        with gputrace.Target.spawn(["/bin/true"], device=gputrace.Device.SIM) as target:
            with self.assertRaisesRegex(gputrace.Error, "has no function that matches no_such"):
                target.attach_functions("libc.so.6", "no_such*")
            with self.assertRaisesRegex(gputrace.Error, "no libno_such.so in LD_LIBRARY_PATH"):
                target.attach_functions("libno_such.so", "*")

    @unittest.skipIf(os.geteuid(), "kernel programs need root")
    def test_each_side_reads_what_the_other_wrote(self):
        object = gputrace.Object.open("examples/bpf/launch-shared.bpf.o")
        self.assertIs(object.program("on_launch").point, gputrace.Point.KERNEL)
        run = Run("reload", "5", object=object)
        self.assertEqual(run.counts[EventType.LAUNCH], 5)
        # Shared: no refresh is needed, and initial values are what is in it.
        self.assertEqual(object["counts"].snapshot(), {0: 5, 1: 5})
        object["counts"].initial[0] = 100
        self.assertEqual(object["counts"][0], 100)


if __name__ == "__main__":
    main()
