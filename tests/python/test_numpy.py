# SPDX-License-Identifier: Apache-2.0
"""Maps as numpy arrays."""
from common import gputrace, main, unittest
from gputrace import MapType

try:
    import numpy
except ImportError:
    numpy = None


@unittest.skipUnless(numpy, "numpy is not there (Debian: python3-numpy)")
class Arrays(unittest.TestCase):
    def add(self, **how):
        return gputrace.Object.empty().add_map("table", key_size=4, **how)

    def test_integers(self):
        map = self.add(type=MapType.ARRAY, value_size=8, max_entries=3)
        map[1] = 2**40
        keys, values = map.to_numpy()
        self.assertEqual((keys.dtype, values.dtype), (numpy.uint32, numpy.uint64))
        self.assertEqual((keys.tolist(), values.tolist()), ([0, 1, 2], [0, 2**40, 0]))

    def test_only_what_is_there(self):
        map = self.add(type=MapType.HASH, value_size=8, max_entries=100)
        map.update({5: 50})
        keys, values = map.to_numpy()
        self.assertEqual((keys.tolist(), values.tolist()), ([5], [50]))

    def test_several_numbers_and_slots(self):
        map = self.add(type=MapType.WARP_ARRAY, value_size=8, max_entries=2, slots=4).with_format("if")
        keys, values = map.to_numpy()
        self.assertEqual((values.dtype, values.shape), (numpy.uint8, (2, 4, 8)))
        map = map.with_format("hhhh")
        map[1] = [(1, -2, 3, 4), (0, 0, 0, 0), (5, 6, 7, 8), (0, 0, 0, -1)]
        keys, values = map.to_numpy()
        self.assertEqual((values.dtype, values.shape), (numpy.int16, (2, 4, 4)))
        self.assertEqual(values[1].tolist(), [[1, -2, 3, 4], [0, 0, 0, 0], [5, 6, 7, 8], [0, 0, 0, -1]])


if __name__ == "__main__":
    main()
