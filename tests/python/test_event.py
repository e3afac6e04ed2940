# SPDX-License-Identifier: Apache-2.0
"""Events are copied out of the library in one call, and are what it says of them one by one."""
from unittest import mock

import gputrace
import gputrace.event
import gputrace.reader
from common import main, spawn, unittest
from gputrace import EventType
from gputrace._cffi import ffi, lib
from gputrace._library import text


def counted(function):
    """With an array and where its length goes."""
    def get(event):
        count = ffi.new("unsigned *")
        values = function(event, count)
        return tuple(values[i] for i in range(count[0]))
    return get


def data(event):
    size = ffi.new("size_t *")
    bytes_ = lib.gputrace_event_get_data(event, size)
    return bytes(ffi.buffer(bytes_, size[0])) if size[0] else b""


def three(values):
    return tuple(values[0:3]) if values else (0, 0, 0)


# How each attribute comes from what its function returns, where that is not it.
MADE_OF = {
    "type": lambda event: EventType(lib.gputrace_event_get_type(event)),
    "time_error": lambda event: {2**64 - 1: None}.get(*2 * [lib.gputrace_event_get_time_error(event)]),
    "name": lambda event: text(lib.gputrace_event_get_name(event)),
    "text": lambda event: text(lib.gputrace_event_get_text(event)),
    "command": lambda event: text(lib.gputrace_event_get_command(event)),
    "unit": lambda event: text(lib.gputrace_event_get_unit(event)),
    "domain": lambda event: text(lib.gputrace_event_get_domain(event)),
    "gpu": lambda event: gputrace.gpu.of_pointer(lib.gputrace_event_get_gpu(event)),
    "grid": lambda event: three(lib.gputrace_event_get_grid(event)),
    "block": lambda event: three(lib.gputrace_event_get_block(event)),
    "args": lambda event: {text(lib.gputrace_event_get_arg_name(event, i)) or f"arg{i}": value
                           for i, value in enumerate(counted(lib.gputrace_event_get_args)(event))},
    "stack": counted(lib.gputrace_event_get_stack),
    "data": data,
}


class Calls:
    """The library, and how often it was called."""

    def __init__(self):
        self.count = 0

    def __getattr__(self, name):
        self.count += 1
        return getattr(lib, name)


def attributes():
    return [name for name in gputrace.Event.__slots__ if not name.startswith("_")]


def started(*words, program="vecadd"):
    target = spawn(program, *words) if program == "vecadd" else \
        gputrace.Target.spawn([program, *words], device=gputrace.Device.SIM)
    target.attach_timeline()
    target.attach_nvtx()
    target.attach_api(way="agent", stack_frames=16)
    return target


class Events(unittest.TestCase):
    maxDiff = None

    def compare(self, reader):
        """Returns for each attribute in how many events it is not empty."""
        told = dict.fromkeys(attributes(), 0)
        for event in reader:
            pointer = reader._pointer_of(event)
            for name in told:
                expected = MADE_OF.get(name, getattr(lib, f"gputrace_event_get_{name}", None))(pointer)
                self.assertEqual(getattr(event, name), expected, f"{name} of {event}")
                told[name] += bool(expected)
        return told

    def test_all_that_the_library_tells(self):
        with started("6") as target:
            target.attach(gputrace.Object.open("examples/bpf/block-times.bpf.o"))
            with target.reader() as reader:
                # So small that much does not fit at once.
                reader._copy._make_room(gputrace.event.NUMBERS.size)
                target.resume()
                told = self.compare(reader)
        for name in "args", "stack", "data", "gpu", "grid", "launch_id", "gpu_start", "kernel_id", "stream":
            self.assertGreater(told[name], 0, name)

    def test_ranges_and_marks(self):
        with started("ranges", program="tests/e2e/annotated") as target, target.reader() as reader:
            target.resume()
            told = self.compare(reader)
        for name in "range_id", "domain":
            self.assertGreater(told[name], 0, name)

    def test_one_call_for_each(self):
        events = 0
        with started("20") as target, target.reader() as reader:
            target.resume()
            while not reader.ended:
                reader.wait(0.05)
                while True:
                    with mock.patch("gputrace.event.lib", Calls()) as copying, \
                            mock.patch("gputrace.reader.lib", Calls()) as reading:
                        event = reader.next_event()
                    self.assertEqual((copying.count, reading.count), (1, 0))
                    if event is None:
                        break
                    events += 1
        self.assertGreater(events, 40)


if __name__ == "__main__":
    main()
