# SPDX-License-Identifier: Apache-2.0
"""Runs tests/e2e/target on the software device, and tests as automake wants them."""
import collections
import faulthandler
import os
import pathlib
import sys
import tempfile
import unittest

import gputrace
from gputrace import EventType

SOURCE = pathlib.Path(os.environ["srcdir"])
TARGET = "tests/e2e/target"
THREADS = "examples/bpf/threads.bpf.o"


# In seconds, a guard against a hang: a machine may be as slow and busy as it likes.
PATIENCE = 600


def spawn(*words, **options):
    return gputrace.Target.spawn([TARGET, *words], device=gputrace.Device.SIM, **options)


class Run:
    """What came of a run of the target."""

    def __init__(self, *words, object=None, timeline=True, api=None, watch=None, **options):
        with tempfile.TemporaryFile("w+") as file:
            # The program inherits our standard output when it is started.
            sys.stdout.flush()
            saved = os.dup(1)
            os.dup2(file.fileno(), 1)
            try:
                target = self._spawn(*words, **options)
            finally:
                os.dup2(saved, 1)
                os.close(saved)
            with target:
                self._follow(target, object, timeline, api, watch)
            file.seek(0)
            self.output = file.read()

    def _spawn(self, *words, **options):
        return spawn(*words, **options)

    def _follow(self, target, object, timeline, api, watch):
        if timeline:
            target.attach_timeline()
        if object:
            target.attach(object)
        if api:
            target.attach_api(way=api)
        # On a busy host a launch may take long to tell of itself: so all at the end, unless the run hangs on events.
        reader = target.reader(window=0.0 if watch else float(PATIENCE))
        target.resume()
        self.events = []
        for event in reader:
            self.events.append(event)
            if watch:
                watch(target, event)
        self.pid = target.pid
        self.lost = reader.lost
        self.status = target.wait(PATIENCE)
        self.kernels = target.kernels()
        self.counts = collections.Counter(event.type for event in self.events)

    def of(self, type):
        return [event for event in self.events if event.type is type]

    def names(self, type):
        return collections.Counter(event.name for event in self.of(type))


def main():
    """Run the tests of the calling file; exit with 0, 1, or 77 if any was skipped."""
    # A target that never ends must not hold up the others.
    faulthandler.dump_traceback_later(3 * PATIENCE, exit=True)
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    for test, reason in result.skipped:
        print(f"not tried: {test}: {reason}")
    sys.exit(77 if result.skipped or not result.testsRun else 0)


__all__ = ["EventType", "PATIENCE", "Run", "SOURCE", "TARGET", "THREADS", "gputrace", "main", "spawn", "unittest"]
