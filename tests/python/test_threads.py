# SPDX-License-Identifier: Apache-2.0
"""Waiting beside other threads, in asyncio, across fork, and under Ctrl-C."""
import asyncio
import gc
import os
import signal
import threading
import time

from common import PATIENCE, THREADS, EventType, gputrace, main, spawn, unittest


def counting_thread(stop, counts):
    while not stop.is_set():
        counts[0] += 1
        time.sleep(0.001)


class Waiting(unittest.TestCase):
    def test_others_run_meanwhile(self):
        stop, counts = threading.Event(), [0]
        with spawn("exits") as target, target.reader() as reader:
            other = threading.Thread(target=counting_thread, args=(stop, counts))
            other.start()
            while True:
                start, before = time.monotonic(), counts[0]
                self.assertFalse(reader.wait(0.5))
                self.assertGreaterEqual(time.monotonic() - start, 0.5)
                # On a busy host it may take more than one wait, but then within a single one.
                if counts[0] > before + 5:
                    break
            stop.set()
            other.join()

    def test_one_reads_and_others_look(self):
        object = gputrace.Object.open(THREADS)
        stop, failures = threading.Event(), []
        with spawn("vecadd", "200") as target:
            target.attach_timeline()
            target.attach(object)
            reader = target.reader()

            def look():
                try:
                    while not stop.is_set():
                        target.kernels(), target.agents, reader.lost, object["entered"].sum
                        object["entered"].initial[0]
                        gc.collect()
                except BaseException as error:
                    failures.append(error)

            others = [threading.Thread(target=look) for _ in range(3)]
            for other in others:
                other.start()
            target.resume()
            kernels = sum(event.type is EventType.KERNEL for event in reader)
            stop.set()
            for other in others:
                other.join()
        self.assertEqual(failures, [])
        self.assertEqual(kernels, 200)

    def test_two_targets_at_once(self):
        results = []

        def follow():
            with spawn("vecadd", "50") as target:
                target.attach_timeline()
                reader = target.reader()
                target.resume()
                results.append(sum(event.type is EventType.KERNEL for event in reader))

        others = [threading.Thread(target=follow) for _ in range(2)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        self.assertEqual(results, [50, 50])

    def test_asyncio(self):
        async def resume_later(target):
            for _ in range(5):
                await asyncio.sleep(0.001)
            target.resume()

        async def follow():
            with spawn("vecadd", "100") as target:
                target.attach_timeline()
                reader = target.reader()
                # While the reader waits for events, which do not come before.
                later = asyncio.ensure_future(resume_later(target))
                types = [event.type async for event in reader]
                await later
                return types

        types = asyncio.run(follow())
        self.assertEqual(types.count(EventType.KERNEL), 100)

    def test_interrupted(self):
        # What runs in the background starts with SIGINT ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with spawn("exits") as target, target.reader() as reader:
            timer = threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,))
            with self.assertRaises(KeyboardInterrupt):
                timer.start()
                reader.wait(PATIENCE)
            timer.join()
            # The reader is as it was.
            target.attach_timeline()
            target.resume()
            self.assertEqual(sum(event.type is EventType.KERNEL for event in reader), 1)


def forked(function):
    """Run a function in a child; did it return true?"""
    child = os.fork()
    if not child:
        try:
            os._exit(0 if function() else 8)
        finally:
            os._exit(9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Fork(unittest.TestCase):
    def in_child(self):
        """All is the parent's: nothing may reach the traced program."""
        try:
            self.target.resume()
        except ValueError as error:
            refused = "forked" in str(error)
        self.target.close()
        del self.target, self.object
        gc.collect()
        with gputrace.Object.open(THREADS) as object:
            return refused and len(object.programs) == 2

    def test_a_child_leaves_its_parents_objects_alone(self):
        self.object = gputrace.Object.open(THREADS)
        self.target = spawn("threads", "100")
        self.target.attach_timeline()
        self.target.attach(self.object)
        reader = self.target.reader()
        # Ending a target that waits would kill its program.
        self.assertTrue(forked(self.in_child))
        self.target.resume()
        kernels = 0
        for event in reader:
            kernels += event.type is EventType.KERNEL
            if kernels == 1 and event.type is EventType.KERNEL:
                # Detaching would stop what its threads count.
                self.assertTrue(forked(self.in_child))
        self.assertEqual(kernels, 400)
        self.assertEqual(self.object["left"][0], 400 * 32)
        self.assertEqual(self.target.wait(PATIENCE), 0)
        self.target.close()


if __name__ == "__main__":
    main()
