# SPDX-License-Identifier: Apache-2.0
"""Failures as exceptions."""
import errno
import pickle

from common import PATIENCE, THREADS, gputrace, main, spawn, unittest


class Errors(unittest.TestCase):
    def test_an_error_is_an_oserror_with_a_sentence(self):
        with self.assertRaises(OSError) as caught:
            gputrace.Object.open("/nonexistent.bpf.o")
        error = caught.exception
        self.assertIs(type(error), gputrace.Error)
        self.assertEqual(error.errno, errno.ENOENT)
        self.assertIn("/nonexistent.bpf.o", error.sentence)
        self.assertEqual(str(error), error.sentence)
        self.assertEqual(error.vendor_code, 0)

    def test_the_vendor_code_survives_pickling(self):
        error = pickle.loads(pickle.dumps(gputrace.Error(5, "out of order", 719)))
        self.assertEqual((error.errno, error.sentence, error.vendor_code), (5, "out of order", 719))

    def test_programs_that_are_not_there(self):
        for words, number in ((["no-such-command"], errno.ENOENT), ([], errno.EINVAL)):
            with self.assertRaises(gputrace.Error) as caught:
                gputrace.Target.spawn(words)
            self.assertEqual(caught.exception.errno, number)
        with self.assertRaisesRegex(gputrace.Error, "agent"):
            gputrace.Target.spawn(["true"], agent="/nonexistent.so")

    def test_a_command_is_a_list(self):
        for command in "true", b"true":
            with self.assertRaisesRegex(TypeError, "list of words"):
                gputrace.Target.spawn(command)

    def test_not_an_object(self):
        for data in b"", b"not ELF", b"\x7fELF" + bytes(60):
            with self.assertRaises(gputrace.Error) as caught:
                gputrace.Object.from_bytes(data)
            self.assertEqual(caught.exception.errno, errno.ENOEXEC)

    def test_resumed_twice(self):
        with spawn("exits") as target:
            target.resume()
            with self.assertRaises(gputrace.Error) as caught:
                target.resume()
            self.assertEqual(caught.exception.errno, errno.EALREADY)
            with self.assertRaises(gputrace.Error) as caught:
                target.attach(gputrace.Object.open(THREADS))
            self.assertEqual(caught.exception.errno, errno.EBUSY)
            target.wait(PATIENCE)


class Log(unittest.TestCase):
    def test_messages_reach_the_function(self):
        lines = []
        with gputrace.Context(lambda level, text: lines.append((level, text)), gputrace.LogLevel.DEBUG) as ctx:
            gputrace.Object.open(THREADS, ctx=ctx)["entered"]
            with spawn("exits", ctx=ctx) as target:
                target.resume()
                target.wait(PATIENCE)
        for level, text in lines:
            self.assertIsInstance(level, gputrace.LogLevel)
            self.assertIsInstance(text, str)


class Escape(unittest.TestCase):
    def test_what_a_terminal_obeys(self):
        self.assertEqual(gputrace.escape("gr\u00f6\u00dfe \033[2J\n"), "gr\u00f6\u00dfe \\x1b[2J\\x0a")
        self.assertEqual(gputrace.escape(b"\xff\x9b"), "\\xff\\x9b")
        self.assertEqual(gputrace.escape("\ud800"), "\\xed\\xa0\\x80")


if __name__ == "__main__":
    main()
