# SPDX-License-Identifier: Apache-2.0
"""What was closed, or belongs to something that was, says so, whichever of its methods is called."""
import importlib.util
import inspect
import os

from common import PATIENCE, THREADS, gputrace, main, spawn, unittest

# What methods are given, by the names of their parameters; those that are not here keep their defaults.
ARGUMENTS = {
    "after_ns": 3, "before_ns": 1, "context": None, "event": None, "function": None, "gpu_end_ns": 2, "gpu_ns": 2,
    "gpu_start_ns": 2, "host_ns": 2, "instructions": bytes(8), "key": 0, "key_size": 4, "launch_enter_ns": 1,
    "library": "libc.so.6", "map": None, "max_entries": 1, "name": "entered", "number": 0, "other": {0: 1},
    "path": "no-such-folder/stream", "pattern": "*", "pid": os.getpid(),
    "section": "cuda/entry:*", "timeout": 0, "type": gputrace.MapType.ARRAY, "value": 1, "value_size": 8,
    "wait_return_ns": 3, "address": 1, "what": None,
}
# What needs nothing of what was closed.
HARMLESS = {
    *(("Map", name) for name in ("instance", "initial", "keys", "items", "values")),
    *(("MapView", name) for name in ("keys", "items", "values")),
    ("Link", "detach"), ("Reader", "ended"), ("Symbolizer", "stack"), ("Target", "args"),
}


def everything():
    """An object of each class that stands for one of the library's; all but programs, maps and views can be closed."""
    ctx = gputrace.Context()
    object = gputrace.Object.open(THREADS, ctx=ctx)
    program = object.program("on_entry")
    target = spawn("exits", ctx=ctx)
    symbolizer = gputrace.Symbolizer()
    made = [program, object["entered"], object["entered"].initial, program.compile_host(), target.attach(object),
            target.reader(symbolizer=symbolizer), target, object, gputrace.Writer("/dev/null", symbolizer=symbolizer),
            symbolizer, gputrace.Clock.without_device(), ctx]
    target.resume()
    event = next(made[5])
    target.wait(PATIENCE)
    return made, event


def methods(thing):
    """(name, call without arguments) for each public method and property, and for what operators call."""
    operators = ["__enter__", "__getitem__", "__setitem__", "__delitem__", "__iter__", "__len__", "__next__"]
    for name in [name for name in dir(thing) if not name.startswith("_")] + operators:
        attribute = inspect.getattr_static(type(thing), name, None)
        if "numpy" in name and importlib.util.find_spec("numpy") is None:
            continue
        if inspect.isfunction(attribute):
            yield name, lambda name=name: call(getattr(thing, name))
        # Class methods make new ones.
        elif attribute is not None and not isinstance(attribute, classmethod):
            yield name, lambda name=name: getattr(thing, name)


def call(method):
    parameters = inspect.signature(method).parameters.values()
    wanted = [one for one in parameters if one.name in ARGUMENTS or
              one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    result = method(*[ARGUMENTS[one.name] for one in wanted if one.kind is one.POSITIONAL_ONLY],
                    **{one.name: ARGUMENTS[one.name] for one in wanted if one.kind is not one.POSITIONAL_ONLY})
    if method.__name__ == "__iter__":
        list(result)


class Closed(unittest.TestCase):
    def check(self, order):
        made, event = everything()
        ARGUMENTS.update(event=event, what=made[0], map=made[1])
        for thing in order([thing for thing in made if hasattr(thing, "close")]):
            thing.close()
            thing.close()
            self.assertTrue(thing.closed)
        for thing in made:
            kind = type(thing).__name__
            for name, use in methods(thing):
                with self.subTest(f"{kind}.{name}"):
                    self.check_use(kind, name, use)
            repr(thing), str(thing)

    def check_use(self, kind, name, use):
        if name in ("close", "closed") or (kind, name) in HARMLESS:
            use()
        else:
            with self.assertRaisesRegex(ValueError, "is closed"):
                use()

    def test_every_method(self):
        self.check(lambda things: things)

    def test_every_method_in_the_other_order(self):
        self.check(lambda things: things[::-1])

    def test_links_may_be_closed_in_any_order(self):
        target = spawn("exits")
        first, second = target.attach_timeline(), target.attach(gputrace.Object.open(THREADS))
        first.detach()
        first.close()
        first.detach()
        target.close()
        self.assertTrue(second.closed)
        second.detach()


if __name__ == "__main__":
    main()
