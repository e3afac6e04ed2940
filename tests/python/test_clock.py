# SPDX-License-Identifier: Apache-2.0
"""Clocks, on intervals whose truth is known."""
import errno
import time

from common import gputrace, main, unittest
from gputrace import Clock, ClockBound, ClockSource

SECOND = 10**9


class Clocks(unittest.TestCase):
    def fed(self):
        """The GPU's clock is 7 s ahead of the host's; each stamp is known to 1 us."""
        clock = Clock.offline(tick_ns=32)
        for host in range(100 * SECOND, 110 * SECOND, SECOND // 10):
            clock.add_interval(host - 500, host + 500, host + 7 * SECOND, ClockSource.REGISTER)
        return clock

    def test_there_and_back(self):
        clock = self.fed()
        for bound in ClockBound:
            ns, error = clock.to_host(112 * SECOND, bound)
            self.assertLessEqual(abs(ns - 105 * SECOND), error)
            self.assertLess(error, 600 if bound is ClockBound.REGISTER else 2200)
            ns, error = clock.from_host(105 * SECOND, bound)
            self.assertLessEqual(abs(ns - 112 * SECOND), error)
        self.assertLessEqual(abs(clock.drift.ppb), clock.drift.error_ppb)
        self.assertIs(clock.source, ClockSource.REGISTER)
        self.assertEqual(str(clock.source), "register")
        self.assertEqual(clock.stats["samples"], 100)
        self.assertEqual(clock.stats["rejects"], 0)

    def test_causality(self):
        clock = self.fed()
        self.assertFalse(clock.contradicts_start(105 * SECOND, 112 * SECOND + 10000))
        self.assertTrue(clock.contradicts_start(105 * SECOND, 112 * SECOND - 10000))
        self.assertFalse(clock.contradicts_end(112 * SECOND - 10000, 105 * SECOND))
        self.assertTrue(clock.contradicts_end(112 * SECOND + 10000, 105 * SECOND))
        self.assertEqual((clock.stats["checks"], clock.stats["violations"]), (4, 2))

    def test_without_samples(self):
        with Clock.without_device() as clock:
            for ask in lambda: clock.to_host(1), lambda: clock.drift:
                with self.assertRaises(gputrace.Error) as caught:
                    ask()
                self.assertEqual(caught.exception.errno, errno.ENODATA)
            self.assertIs(clock.source, ClockSource.NONE)
            self.assertNotEqual(clock.source_text, "")
            clock.tick_ns = 64
            self.assertEqual(clock.tick_ns, 64)
            with self.assertRaises(gputrace.Error):
                clock.tick_ns = 0

    def test_which_gpu(self):
        for way in {}, {"ordinal": 99}, {"pci": "0000:ff:1f.0"}, {"uuid": "GPU-00000000-0000-0000-0000-000000000001"}:
            clock = Clock(**way)
            self.assertNotEqual(clock.source_text, "")
            if way:
                # There is no such GPU: it cannot be read, and update() says so or does nothing.
                try:
                    clock.update()
                except gputrace.Error as error:
                    self.assertNotEqual(error.sentence, "")
                self.assertIs(clock.source, ClockSource.NONE)
        with self.assertRaises(ValueError):
            Clock(0, pci="0000:01:00.0")
        with self.assertRaises(ValueError):
            Clock(pci="here")
        with self.assertRaises(gputrace.Error) as caught:
            Clock(tick_ns=2**30)
        self.assertEqual(caught.exception.errno, errno.EINVAL)

    def test_two_clocks_of_the_host(self):
        before = time.monotonic_ns(), time.time_ns()
        pair = gputrace.host_pair(time.CLOCK_REALTIME)
        after = time.monotonic_ns(), time.time_ns()
        self.assertLessEqual(before[0], pair.monotonic_ns)
        self.assertLessEqual(pair.monotonic_ns, after[0])
        self.assertLessEqual(before[1], pair.other_ns)
        self.assertLessEqual(pair.other_ns, after[1])
        self.assertLessEqual(pair.error_ns, after[0] - before[0])
        with self.assertRaises(gputrace.Error):
            gputrace.host_pair(1000)


if __name__ == "__main__":
    main()
