# SPDX-License-Identifier: Apache-2.0
"""Maps as numpy arrays."""
import gc
import os

from common import THREADS, EventType, Run, gputrace, main, spawn, unittest
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

    def test_in_place(self):
        map = self.add(type=MapType.ARRAY, value_size=4, max_entries=3).with_format("i")
        view = map.numpy_view()
        self.assertEqual((view.dtype, view.shape, view.strides), (numpy.int32, (3,), (8,)))
        map[2] = -7
        self.assertEqual(view.tolist(), [0, 0, -7])
        # Memory of the library: not even on purpose.
        with self.assertRaises(ValueError):
            view[0] = 1
        with self.assertRaises(ValueError):
            view.flags.writeable = True
        slots = self.add(type=MapType.WARP_ARRAY, value_size=8, max_entries=2, slots=4).with_format("hhhh")
        slots[1] = [(1, -2, 3, 4), (0, 0, 0, 0), (5, 6, 7, 8), (0, 0, 0, -1)]
        self.assertEqual(slots.numpy_view().tolist(), slots.to_numpy()[1].tolist())
        with self.assertRaisesRegex(gputrace.Error, "is no array"):
            self.add(type=MapType.HASH, value_size=8, max_entries=2).numpy_view()

    def test_in_place_of_a_running_program(self):
        object = gputrace.Object.open(THREADS)
        views, seen = [], []
        with spawn("contexts") as target:
            target.attach(object)
            target.attach_timeline()
            reader = target.reader()
            target.resume()
            for event in reader:
                if event.type is EventType.KERNEL:
                    object.refresh()
                    views = views or [view.numpy_view() for view in object["entered"].instances]
                    seen.append([int(view[0]) for view in views])
            last = [view[0] for view in object["entered"].instances]
        self.assertEqual(sorted(seen), seen)
        self.assertGreater(seen[-1][0], 0)
        # Contexts and program have ended, and what the views looked into is gone.
        self.assertEqual([int(view[0]) for view in views], last[:len(views)])
        object.close()
        del object
        gc.collect()
        self.assertEqual([int(view[0]) for view in views], last[:len(views)])

    @unittest.skipIf(os.geteuid(), "kernel programs need root")
    def test_in_place_of_a_map_shared_with_the_kernel(self):
        object = gputrace.Object.open("examples/bpf/launch-shared.bpf.o")
        views, seen = [], []

        def watch(target, event):
            if not views:
                views.append(object["counts"].numpy_view())
            seen.append(views[0].tolist())

        run = Run("reload", "5", object=object, watch=watch)
        self.assertEqual(run.counts[EventType.LAUNCH], 5)
        # While it was shared, and what stays of it.
        self.assertEqual((seen[-1], views[0].tolist()), ([5, 5], [5, 5]))
        object["counts"].initial[0] = 100
        self.assertEqual(views[0].tolist(), [100, 5])
        self.assertEqual(object["counts"].numpy_view().tolist(), [100, 5])
        object.close()
        gc.collect()
        self.assertEqual(views[0].tolist(), [100, 5])


if __name__ == "__main__":
    main()
