# SPDX-License-Identifier: Apache-2.0
"""200 starts and stops leave no memory and no descriptors behind."""
import os

from common import THREADS, EventType, gputrace, main, spawn, unittest

CYCLES = 200


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def cycle(whole):
    object = gputrace.Object.open(THREADS)
    with spawn("exits") as target:
        target.attach_timeline()
        target.attach(object)
        if not whole:
            return
        reader = target.reader()
        target.resume()
        assert sum(event.type is EventType.KERNEL for event in reader) == 1
        object.refresh()
        assert object["left"][0] == 96


@unittest.skipIf(os.environ.get("SANITIZE_FLAGS"), "AddressSanitizer keeps freed memory")
class Memory(unittest.TestCase):
    def check(self, whole):
        for _ in range(CYCLES // 4):
            cycle(whole)
        start, descriptors = resident(), len(os.listdir("/proc/self/fd"))
        for _ in range(CYCLES - CYCLES // 4):
            cycle(whole)
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)
        grown = resident() - start
        print(f"{grown} bytes more after {CYCLES - CYCLES // 4} cycles")
        # Nothing that a cycle leaves could be smaller than this: 1 KiB each.
        self.assertLess(grown, 512 * 1024)

    def test_to_the_end(self):
        self.check(True)

    def test_given_up(self):
        self.check(False)


if __name__ == "__main__":
    main()
