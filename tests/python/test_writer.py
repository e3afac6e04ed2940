# SPDX-License-Identifier: Apache-2.0
"""Trace files."""
import errno
import gzip
import json
import os
import tempfile

from common import EventType, Run, gputrace, main, spawn, unittest

from gputrace.writer import OTHERS, create


class Writers(unittest.TestCase):
    def test_every_kernel_is_in_the_file(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            with gputrace.Writer(file.name) as writer:
                run = Run("vecadd", "20", watch=lambda target, event: writer.add(event))
            writer.close()
            trace = json.load(file)["traceEvents"]
        kernels = [event for event in trace if event.get("cat") == "kernel"]
        self.assertEqual([event["name"] for event in kernels], ["vecadd"] * 20)
        self.assertEqual(run.counts[EventType.KERNEL], 20)

    def test_compressed(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/trace.json", f"{folder}/trace.json.gz"]
            with gputrace.Writer(paths[0]) as plain, gputrace.Writer(paths[1]) as compressed:
                Run("vecadd", "20", watch=lambda target, event: (plain.add(event), compressed.add(event)))
            with open(paths[0], "rb") as file, gzip.open(paths[1]) as unpacked:
                self.assertEqual(json.load(file)["traceEvents"], json.load(unpacked)["traceEvents"])
            self.assertLess(2 * os.path.getsize(paths[1]), os.path.getsize(paths[0]))

    def test_names_that_lie(self):
        """The library refuses the names that Python does."""
        for suffix in OTHERS:
            path = f"/nonexistent/trace.json{suffix}"
            with self.assertRaises(gputrace.Error) as caught:
                gputrace.Writer(path)
            self.assertEqual(caught.exception.errno, errno.EINVAL)
            with self.assertRaises(ValueError) as refused:
                create(path)
            self.assertIn(str(refused.exception), str(caught.exception))
        for suffix in "", ".json", ".gz", ".gz.json", ".zst.gz":
            self.assertRaises(FileNotFoundError, create, f"/nonexistent/trace{suffix}")
            with self.assertRaises(gputrace.Error) as caught:
                gputrace.Writer(f"/nonexistent/trace{suffix}")
            self.assertEqual(caught.exception.errno, errno.ENOENT)

    def test_only_the_latest_event(self):
        with tempfile.NamedTemporaryFile() as file, spawn("exits") as target:
            writer = gputrace.Writer(file.name)
            target.attach_timeline()
            reader = target.reader()
            target.resume()
            first, second = next(reader), next(reader)
            writer.add(second)
            with self.assertRaisesRegex(ValueError, "gone on"):
                writer.add(first)
            reader.close()
            with self.assertRaisesRegex(ValueError, "gone on"):
                writer.add(second)
            writer.close()
            with self.assertRaisesRegex(ValueError, "closed"):
                writer.add(second)

    def test_files_that_cannot_be(self):
        with self.assertRaises(gputrace.Error) as caught:
            gputrace.Writer("/nonexistent/trace.json")
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        writer = gputrace.Writer("/dev/full")
        with self.assertRaises(gputrace.Error) as caught:
            writer.close()
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        writer.close()


if __name__ == "__main__":
    main()
