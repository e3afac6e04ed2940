# SPDX-License-Identifier: Apache-2.0
"""What programs say of their own work; and pools of processes, whose launches have one kernel each."""
import ast
import collections
import json
import sys
import tempfile

from common import EventType, SOURCE, Run, gputrace, main, unittest


class Annotated(Run):
    program = ["tests/e2e/annotated"]

    def _spawn(self, *words, **options):
        return gputrace.Target.spawn([*self.program, *words], device=gputrace.Device.SIM, **options)

    def _follow(self, target, *rest):
        target.attach_nvtx()
        super()._follow(target, *rest)


class Pool(Annotated):
    program = [sys.executable, str(SOURCE / "tests/python/pool.py")]


class Annotations(unittest.TestCase):
    def test_ranges(self):
        run = Annotated("ranges", api="agent")
        ranges = {event.name: event for event in run.of(EventType.RANGE)}
        self.assertEqual(sorted(ranges), ["größe → 🚀", "inner", "left open", "outer", "setup", "span"])
        self.assertEqual(ranges["inner"].domain, "library")
        self.assertEqual(ranges["left open"].text, "its end was not seen")
        around = {event.grid[0]: event.range_id for event in run.of(EventType.KERNEL)}
        self.assertEqual(around, {1: ranges["outer"].range_id, 2: ranges["inner"].range_id,
                                  3: ranges["größe → 🚀"].range_id, 4: 0})
        [mark] = run.of(EventType.MARK)
        self.assertEqual((mark.name, mark.domain), ("here", ""))
        [thread] = run.of(EventType.THREAD)
        self.assertEqual(thread.name, "ender")

    def test_a_range_without_an_end_in_a_file(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            with gputrace.Writer(file.name) as writer:
                Annotated("ranges", api="agent", watch=lambda target, event: writer.add(event))
            trace = json.load(file)["traceEvents"]
        phases = collections.defaultdict(str)
        for event in trace:
            if event.get("cat") == "user_annotation":
                phases[event["name"]] += event["ph"]
        # It would overlap what its thread did later: a row of its own, as for ranges that need not nest.
        self.assertEqual((phases["left open"], phases["span"], phases["inner"]), ("be", "be", "X"))

    def test_numbers(self):
        run = Annotated("ids", api="agent")
        expected = {1: 0, 2: 77, 3: 1 << 60, 4: 77, 5: 0}
        for type in EventType.LAUNCH, EventType.KERNEL:
            self.assertEqual({event.grid[0]: event.external_id for event in run.of(type)}, expected)
        calls = [event for event in run.of(EventType.API) if event.name == "cuLaunchKernel"]
        self.assertEqual({event.args["gridDimX"]: event.external_id for event in calls}, expected)

    def test_outside_of_a_traced_program(self):
        from gputrace import agent
        self.assertFalse(agent.push_id(5))
        self.assertIsNone(agent.pop_id())
        with agent.numbered(5):
            pass


class Pools(unittest.TestCase):
    def check(self, method):
        run = Pool(method, api="agent")
        self.assertEqual(run.lost, 0)
        pids = ast.literal_eval(run.output.strip())
        self.assertEqual(len(pids), 6)
        launches, kernels = run.of(EventType.LAUNCH), run.of(EventType.KERNEL)
        self.assertEqual(len(launches), 6 * 2 * 25)
        # The very same: each launch has one kernel, and no kernel is an orphan.
        self.assertEqual(collections.Counter((event.pid, event.launch_id) for event in launches),
                         collections.Counter((event.pid, event.launch_id) for event in kernels))
        self.assertEqual(max(collections.Counter((event.pid, event.launch_id) for event in kernels).values()), 1)
        self.assertEqual({event.pid for event in launches}, set(pids))
        self.assertEqual(sorted(event.external_id for event in kernels),
                         [thread * 1000 + i for thread in range(12) for i in range(25)])
        calls = [event for event in run.of(EventType.API) if event.name == "cuLaunchKernel"]
        self.assertEqual({(event.pid, event.launch_id) for event in calls},
                         {(event.pid, event.launch_id) for event in launches})
        self.assertEqual(len(calls), len(launches))

    def test_forked(self):
        self.check("fork")

    def test_spawned(self):
        self.check("spawn")


if __name__ == "__main__":
    main()
