# SPDX-License-Identifier: Apache-2.0
"""Metrics of the software device, whose values are known: sim/README.md."""
import errno
import os
import subprocess
import sys
import time

from common import SOURCE, TARGET, EventType, gputrace, main, unittest
from gputrace import Metrics
from gputrace._library import milliseconds

RECORD = ["./gputrace-record"], [sys.executable, str(SOURCE / "examples/python/gputrace-record")]


class WithProgram(unittest.TestCase):
    """A program that runs until it reads a line."""

    def setUp(self):
        self.saved = os.dup(0)
        reading, self.to_program = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)

    def tearDown(self):
        os.dup2(self.saved, 0)
        os.close(self.saved)

    def spawn(self):
        return gputrace.Target.spawn([TARGET, "live", "1"], device=gputrace.Device.SIM)

    def let_go(self):
        os.write(self.to_program, b".\n")
        os.close(self.to_program)


class Values(WithProgram):
    def test_values(self):
        with self.spawn() as target, target.reader() as reader:
            reader.add_metrics(period=0.01, select=Metrics.MEMORY | Metrics.CLOCKS | Metrics.PROCESSES)
            with self.assertRaises(gputrace.Error) as again:
                reader.add_metrics()
            self.assertEqual(again.exception.errno, errno.EALREADY)
            target.resume()
            pid = target.pid
            metrics = {}
            for event in reader:
                if event.type is EventType.METRIC and "utilization" not in event.name:
                    metrics.setdefault((event.name, event.pid), []).append(event)
                    if len(metrics) == 5 and all(len(events) == 3 for events in metrics.values()):
                        break
                    metrics[event.name, event.pid] = metrics[event.name, event.pid][-3:]
            self.assertLess(event.end, time.monotonic_ns())
            self.let_go()
            for _ in reader:
                pass
        self.assertEqual({key: (events[0].metric_value, events[0].unit) for key, events in metrics.items()}, {
            ("memory.used", 0): (2.0**30, "bytes"), ("clocks.sm", 0): (1980.0, "MHz"), ("clocks.mem", 0): (2619.0, "MHz"),
            ("clocks_event_reasons.active", 0): (36.0, "bits"), ("process.memory.used", pid): (2.0**28, "bytes")})
        reasons = metrics["clocks_event_reasons.active", 0][0]
        self.assertEqual(reasons.text, "sw_power_cap, sw_thermal_slowdown")
        self.assertEqual((reasons.gpu.index, reasons.gpu.pci_address, reasons.device), (0, "0000:f0:00.0", -1))
        for first, second in zip(*[metrics["clocks.sm", 0][i:] for i in (0, 1)]):
            self.assertLess(first.end, second.time)


    def test_period(self):
        with self.spawn() as target, target.reader() as reader:
            for wrong in 60.001, 1e6:
                with self.assertRaises(gputrace.Error) as caught:
                    reader.add_metrics(period=wrong)
                self.assertEqual(caught.exception.errno, errno.EINVAL)
            with self.assertRaises(OverflowError):
                reader.add_metrics(period=-0.1)
        # A tenth of a millisecond is not the default of a tenth of a second.
        self.assertEqual([milliseconds(seconds) for seconds in (0, 0.0, 0.0001, 0.001, 0.0016, 0.1, 60)], [0, 0, 1, 1, 2, 100, 60000])


class Tools(unittest.TestCase):
    def test_both_print_them(self):
        for words in RECORD:
            with self.subTest(words), subprocess.Popen(
                    [*words, "--device=sim", "--no-api", "--metrics=5", "--", TARGET, "live", "1"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tool:
                lines = []
                for line in tool.stdout:
                    lines.append(line.rstrip("\n"))
                    if "clocks_event_reasons" in line:
                        break
                said = "\n".join(lines + tool.communicate(".\n")[0].splitlines())
                self.assertEqual(tool.returncode, 0)
                self.assertRegex(said, r"metric +0/0 +memory\.used 1073741824 bytes gpu=0\n")
                self.assertRegex(said, r"metric +0/0 +clocks_event_reasons\.active 36 bits gpu=0 \(sw_power_cap, ")
                self.assertRegex(said, r"metric +[1-9]\d*/0 +process\.memory\.used 268435456 bytes gpu=0\n")


if __name__ == "__main__":
    main()
