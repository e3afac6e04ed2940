# SPDX-License-Identifier: Apache-2.0
"""Maps as mappings, and programs made of instructions that work on them."""
import errno
import struct

from common import gputrace, main, unittest
from gputrace import MapType


def instruction(opcode, dst=0, src=0, offset=0, immediate=0):
    return struct.pack("<BBhi", opcode, src << 4 | dst, offset, immediate)


EXIT = instruction(0x95)


class Mapping(unittest.TestCase):
    def setUp(self):
        self.object = gputrace.Object.empty()

    def add(self, type=MapType.HASH, key_size=4, value_size=8, max_entries=8, **more):
        return self.object.add_map("table", type, key_size=key_size, value_size=value_size,
                                   max_entries=max_entries, **more)

    def test_a_table_is_a_mapping(self):
        table = self.add()
        self.assertEqual(table.instance_count, 0)
        self.assertEqual(dict(table), {})
        table[7] = 70
        table[8] = b"\x50\0\0\0\0\0\0\0"
        self.assertEqual(dict(table), {7: 70, 8: 80})
        self.assertEqual(table.snapshot(), {7: 70, 8: 80})
        self.assertEqual(len(table), 2)
        self.assertIn(7, table)
        self.assertNotIn(9, table)
        self.assertEqual(table.get(9, -1), -1)
        self.assertEqual(table.pop(7), 70)
        with self.assertRaises(KeyError):
            table[7]
        with self.assertRaises(KeyError):
            del table[7]
        table.clear()
        self.assertEqual(len(table), 0)

    def test_update_flags(self):
        table = self.add().initial
        table.update_element(1, 1, 1)  # BPF_NOEXIST
        with self.assertRaises(gputrace.Error) as caught:
            table.update_element(1, 2, 1)
        self.assertEqual(caught.exception.errno, errno.EEXIST)

    def test_a_full_table(self):
        table = self.add(max_entries=2)
        table.update({1: 1, 2: 2})
        with self.assertRaises(gputrace.Error) as caught:
            table[3] = 3
        self.assertEqual(caught.exception.errno, errno.E2BIG)

    def test_an_array_keeps_its_elements(self):
        array = self.add(MapType.ARRAY, max_entries=3)
        array[2] = 2**64 - 1
        self.assertEqual(array.snapshot(), {0: 0, 1: 0, 2: 2**64 - 1})
        with self.assertRaises(KeyError):
            array[3]
        with self.assertRaises(gputrace.Error):
            del array[2]
        with self.assertRaises(struct.error):
            array[0] = -1

    def test_formats(self):
        plain = self.add(MapType.HASH, key_size=6, value_size=12)
        with self.assertRaises(TypeError):
            plain[1] = bytes(12)
        plain[b"abcdef"] = b"\1\0\0\0\2\0\0\0\3\0\0\0"
        self.assertEqual(plain[b"abcdef"], b"\1\0\0\0\2\0\0\0\3\0\0\0")
        typed = plain.with_format("IIi", "HI")
        self.assertEqual(list(typed.values()), [(1, 2, 3)])
        typed[2, 3] = (4, 5, -6)
        self.assertEqual(typed[2, 3], (4, 5, -6))
        self.assertEqual(plain[struct.pack("=HI", 2, 3)], struct.pack("=IIi", 4, 5, -6))
        with self.assertRaisesRegex(ValueError, "has 8 bytes, the map has 12"):
            plain.with_format("Q")
        with self.assertRaisesRegex(ValueError, "5 bytes"):
            plain[b"abcde"]

    def test_arrays_for_each_warp(self):
        array = self.add(MapType.WARP_ARRAY, value_size=4, max_entries=2, slots=4)
        self.assertEqual(array.slots, 4)
        array[1] = [1, 2, 30, 400]
        self.assertEqual(array[1], [1, 2, 30, 400])
        self.assertEqual(array.initial.sum(1), 433)
        # It is in no context, and nothing was counted.
        self.assertEqual((array.instance_count, array.sum(0), array.sum(1)), (0, 0, 0))
        with self.assertRaises(KeyError):
            array.sum(2)
        self.assertEqual(array.snapshot(), {0: [0, 0, 0, 0], 1: [1, 2, 30, 400]})
        with self.assertRaisesRegex(ValueError, "list of 4"):
            array[1] = 5

    def test_what_a_map_is(self):
        table = self.add(key_size=2, value_size=16, max_entries=5)
        self.assertEqual((table.name, table.type, table.key_size, table.value_size, table.max_entries),
                         ("table", MapType.HASH, 2, 16, 5))
        self.assertEqual(list(self.object.maps), ["table"])
        with self.assertRaises(KeyError):
            self.object["chair"]
        with self.assertRaises(gputrace.Error):
            self.add(MapType.ARRAY, key_size=8)

    def test_a_program_fills_an_instance(self):
        array = self.add(MapType.ARRAY, max_entries=2)
        array[0] = 40
        # Look up element 0, add 2 to it, and return what is there.
        program = self.object.add_program("add_two", "cuda/entry:*", b"".join([
            instruction(0x62, dst=10, offset=-4, immediate=0),
            instruction(0xbf, dst=2, src=10),
            instruction(0x07, dst=2, immediate=-4),
            instruction(0x18, dst=1, src=1), instruction(0),
            instruction(0x85, immediate=1),
            instruction(0x15, dst=0, offset=3),
            instruction(0xb7, dst=2, immediate=2),
            instruction(0xdb, dst=0, src=2),
            instruction(0x79, dst=0, src=0),
            EXIT]))
        with program.compile_host(cache=False) as image:
            self.assertEqual([image.run(), image.run()], [42, 44])
        self.assertEqual(array.instance_count, 1)
        self.assertEqual(array[0], 44)
        self.assertEqual(array.initial[0], 40)
        self.assertEqual(array.sum(0), 44)


if __name__ == "__main__":
    main()
