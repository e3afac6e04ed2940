# SPDX-License-Identifier: Apache-2.0
"""The whole way on the software device; the numbers are those of tests/e2e."""
import contextlib
import errno
import os
import re
import struct
import tempfile
import threading

from common import PATIENCE, THREADS, EventType, Run, gputrace, main, spawn, unittest


class Stream(unittest.TestCase):
    def test_every_launch_becomes_a_kernel(self):
        run = Run("vecadd", "100")
        self.assertEqual(run.counts[EventType.LAUNCH], 100)
        self.assertEqual(run.counts[EventType.KERNEL], 100)
        self.assertEqual(run.counts[EventType.PROCESS], 1)
        self.assertEqual(run.counts[EventType.EXIT], 1)
        self.assertEqual(run.counts[EventType.CONTEXT], 1)
        self.assertEqual(run.counts[EventType.NOTE], 0)
        self.assertEqual(run.lost, 0)
        self.assertEqual(run.status, 0)
        self.assertIn("launches 100 threads", run.output)

    def test_read_along(self):
        with tempfile.TemporaryDirectory() as folder, spawn("vecadd", "20") as target:
            path = os.path.join(folder, "stream")
            target.attach_timeline()
            own, others = [], []
            with target.reader() as reader:
                reader.publish(path, linger=PATIENCE)
                with self.assertRaises(gputrace.Error) as refused:
                    reader.publish(path + "2")
                self.assertEqual(refused.exception.errno, errno.EBUSY)
                connected = gputrace.Reader.connect(path)
                thread = threading.Thread(target=lambda: others.extend(connected))
                thread.start()
                target.resume()
                own.extend(reader)
                kernels = reader.kernels()
            thread.join()
            self.assertEqual([(kernel.name, kernel.pid, kernel.launches) for kernel in kernels if kernel.launches],
                             [("vecadd", target.pid, 20)])
            self.assertEqual(connected.kernels(), kernels)
            fields = "type name time end time_error lateness pid tid launch_id grid device text data".split()
            self.assertEqual(*[[[getattr(event, field) for field in fields] for event in events]
                               for events in (others, own)])
            connected.close()
            self.assertEqual(sum(event.type is EventType.KERNEL for event in others), 20)
            with self.assertRaises(gputrace.Error) as gone:
                gputrace.Reader.connect(path)
            self.assertEqual(gone.exception.errno, errno.ENOENT)

    def test_kernels_are_tied_to_launches(self):
        run = Run("vecadd", "64")
        launches = {launch.launch_id: launch for launch in run.of(EventType.LAUNCH)}
        self.assertEqual(len(launches), 64)
        for kernel in run.of(EventType.KERNEL):
            launch = launches.pop(kernel.launch_id)
            self.assertEqual(kernel.name, "vecadd")
            self.assertEqual(kernel.stream, launch.stream)
            self.assertEqual(kernel.grid, launch.grid)
            self.assertEqual(kernel.block, (256, 1, 1))
            self.assertEqual(launch.pid, run.pid)
            self.assertLess(kernel.gpu_start, kernel.gpu_end)
            self.assertGreaterEqual(kernel.time + kernel.time_error, launch.time)
        self.assertEqual(launches, {})
        self.assertEqual(sorted({kernel.grid[0] for kernel in run.of(EventType.KERNEL)}), [1, 4, 391])

    def test_threads_are_counted_exactly(self):
        object = gputrace.Object.open(THREADS)
        run = Run("vecadd", "40", object=object)
        threads = int(re.match(r"launches 40 threads (\d+)", run.output).group(1))
        object.refresh()
        self.assertEqual(object["entered"][0], threads)
        self.assertEqual(object["left"][0], threads)
        self.assertEqual(sum(k.grid[0] * k.block[0] for k in run.of(EventType.KERNEL)), threads)

    def block_times(self):
        """The demo with a record of launch, block, start and end for each block: 3 launches of 512 blocks."""
        target = gputrace.Target.spawn(["examples/demo/vecadd", "-l", "3", "-n", "131072"], device=gputrace.Device.SIM)
        object = gputrace.Object.open("examples/bpf/block-times.bpf.o")
        target.attach(object)
        return target, object

    def test_records_in_batches(self):
        target, object = self.block_times()
        batches = []
        with target, object, target.reader() as reader:
            reader.set_records(object["blocks"], batches.append)
            target.resume()
            self.assertEqual([event for event in reader if event.type == EventType.DATA], [])
            self.assertEqual({batch.pid for batch in batches}, {target.pid})
        records = [struct.unpack("4Q", record) for batch in batches for record in batch]
        self.assertEqual(sum(map(len, batches)), 3 * 512)
        self.assertEqual(b"".join(struct.pack("4Q", *record) for record in records), b"".join(batch.data for batch in batches))
        launches = {launch for launch, *_ in records}
        self.assertEqual({(launch, block) for launch, block, *_ in records},
                         {(launch, block) for launch in launches for block in range(512)})
        self.assertEqual(len(launches), 3)
        self.assertTrue(all(start <= end for *_, start, end in records))

    def test_what_a_function_for_records_raises(self):
        target, object = self.block_times()

        def fail(records):
            raise ZeroDivisionError(len(records))

        with target, object, target.reader() as reader:
            with self.assertRaises(gputrace.Error) as caught:
                reader.set_records(object["starts"], fail)
            self.assertEqual(caught.exception.errno, errno.EINVAL)
            reader.set_records(object["blocks"], fail)
            target.resume()
            with self.assertRaises(ZeroDivisionError):
                list(reader)
            reader.set_records(object["blocks"], None)
            list(reader)

    def test_every_way_out_counts(self):
        object = gputrace.Object.open(THREADS)
        run = Run("exits", object=object)
        self.assertEqual(object["entered"][0], 96)
        self.assertEqual(object["left"][0], 96)
        self.assertEqual(run.counts[EventType.KERNEL], 1)

    def test_graphs_replay_with_their_probes(self):
        object = gputrace.Object.open(THREADS)
        run = Run("graph", "50", object=object)
        self.assertEqual(object["entered"][0], 50 * (1024 + 2048 + 32 + 32 + 64))
        self.assertEqual(run.counts[EventType.LAUNCH], 5)
        self.assertEqual(run.counts[EventType.KERNEL], 250)

    def test_kernels_are_listed(self):
        run = Run("reload", "20", object=gputrace.Object.open(THREADS))
        self.assertEqual(sorted(kernel.name for kernel in run.kernels), ["bump", "exits", "spin", "vecadd"])
        for kernel in run.kernels:
            self.assertEqual(kernel.launches, 20 if kernel.name == "bump" else 0)
            self.assertIs(kernel.route, gputrace.Route.PTX)
            self.assertIsNone(kernel.reason)
            self.assertEqual(kernel.arch, 75)
            self.assertEqual(kernel.pid, run.pid)
            self.assertEqual(kernel.matches("b*p"), kernel.name == "bump")

    def test_children_are_followed(self):
        object = gputrace.Object.open(THREADS)
        run = Run("fork", object=object)
        self.assertEqual(run.counts[EventType.PROCESS], 2)
        self.assertEqual(run.counts[EventType.EXIT], 2)
        blocks = {kernel.pid == run.pid: kernel.block[0] for kernel in run.of(EventType.KERNEL)}
        self.assertEqual(blocks, {True: 32, False: 64})
        entered = object["entered"]
        self.assertEqual(entered.instance_count, 2)
        self.assertEqual(sorted(view[0] for view in entered.instances), [32, 64])
        self.assertEqual(entered.sum(0), 96)
        with self.assertRaisesRegex(LookupError, "2 instances"):
            entered[0]

    def test_contexts_are_on_gpus(self):
        object = gputrace.Object.open(THREADS)
        gpus = []
        run = Run("contexts", object=object, watch=lambda target, event: gpus.extend(target.gpus()))
        self.assertEqual(len(set(gpus)), 1)
        gpu = gpus[0]
        self.assertEqual((gpu.index, gpu.name, gpu.pci_address), (0, "gputrace software device", "0000:f0:00.0"))
        self.assertEqual((gpu.arch, gpu.sm_count, gpu.uuid.bytes[15]), (90, 4, 0))
        self.assertEqual({event.gpu for event in run.of(EventType.KERNEL)}, {gpu})
        self.assertEqual({event.gpu for event in run.of(EventType.API)}, set())
        for context, view in enumerate(object["entered"].instances):
            self.assertEqual(view.info, gputrace.InstanceInfo(run.pid, context, gpu.index, gpu.uuid))
        with self.assertRaises(gputrace.Error):
            object["entered"].initial.info

    def test_every_end_is_survived(self):
        for way in "return", "exit", "_exit", "kill":
            with self.subTest(way):
                run = Run("leave", way)
                self.assertEqual(run.counts[EventType.LAUNCH], 2)
                self.assertEqual(run.counts[EventType.KERNEL], 2)
                self.assertEqual(run.status < 0, way == "kill")

    def test_detached_in_the_middle(self):
        links = []

        def watch(target, event):
            if event.type is EventType.KERNEL:
                for link in links:
                    link.detach()

        class Detached(Run):
            def _follow(self, target, *rest):
                links.append(target.attach_timeline())
                links.append(target.attach(gputrace.Object.open(THREADS)))
                super()._follow(target, *rest)

        run = Detached("vecadd", "300", timeline=False, watch=watch)
        self.assertGreaterEqual(run.counts[EventType.KERNEL], 1)
        self.assertEqual(run.counts[EventType.LAUNCH], 300)
        self.assertEqual(run.status, 0)

    def test_what_is_lost_is_counted(self):
        waited = []

        def watch(target, event):
            # Nothing more is read until the program has ended; it may have, and be waited for, by now.
            if not waited and event.type is EventType.LAUNCH:
                waited.append(event)
                with contextlib.suppress(ChildProcessError):
                    os.waitid(os.P_PID, target.pid, os.WEXITED | os.WNOWAIT)

        run = Run("threads", "1000", agent_ring_bytes=4096, watch=watch)
        self.assertGreater(run.lost, 0)
        self.assertEqual(sum(event.count for event in run.of(EventType.LOST)), run.lost)
        self.assertEqual(run.counts[EventType.LAUNCH] + run.counts[EventType.FUNCTION] +
                         run.counts[EventType.CONTEXT] + run.lost, 4000 + 4 + 1)

    def test_lengths_are_measured(self):
        kernels = Run("spin", "50000", "500000").of(EventType.KERNEL)
        self.assertEqual(len(kernels), 2)
        for kernel, length in zip(kernels, (50000, 500000)):
            self.assertGreaterEqual(kernel.duration + 100, length)

    def test_a_target_without_reader(self):
        object = gputrace.Object.open(THREADS)
        with spawn("exits") as target:
            target.attach(object)
            self.assertIsNone(target.poll())
            target.resume()
            self.assertEqual(target.wait(PATIENCE), 0)
            self.assertEqual(target.agents, 1)
            object.refresh()
        self.assertEqual(object["left"][0], 96)

    def test_environment_and_status(self):
        for words, status in ((["sh", "-c", "exit $N"], 7), (["sh", "-c", "kill -9 $$"], -9)):
            with gputrace.Target.spawn(words, env={"N": "7", "PATH": "/bin:/usr/bin"}) as target:
                target.resume()
                self.assertEqual(target.wait(PATIENCE), status)
                self.assertEqual(target.returncode, status)

    def test_kinds_of_a_newer_library(self):
        self.assertIs(EventType(10000), EventType.NONE)

    def test_one_reader_at_a_time(self):
        with spawn("exits") as target:
            with target.reader():
                with self.assertRaises(gputrace.Error) as caught:
                    target.reader()
            self.assertIn("reader already", caught.exception.sentence)
            target.reader()


if __name__ == "__main__":
    main()
