# SPDX-License-Identifier: Apache-2.0
"""Every public function, constant and option of the headers is used by the package, or the reason stands here."""
import ast
import inspect
import pathlib
import re
import sys

import gputrace
from common import SOURCE, main, unittest

sys.path.append(str(SOURCE / "bindings/python"))
import cdef  # noqa: E402

# What Python has no use for, and why.
NOT_USED = {
    # A Python object holds one reference; Python itself counts who holds the object.
    r"gputrace_(?!object_)\w+_ref": "Python counts references itself",
}

# By names of parameters, attributes and properties: the words of which one must be there.
UNITS = {
    r"timeout|window": r"\b(seconds|s)\b",
    r"(gpu_)?(time|start|end)|duration|mean|shortest|longest|time_error": r"\b(ns|nanoseconds|CLOCK_MONOTONIC|monotonic_ns)\b",
    r"(key|value)?_?size": r"\b[Bb]ytes\b",
}


def headers():
    # agent.h is for programs that are traced; gputrace.agent is its twin.
    texts = [path.read_text() for path in sorted((SOURCE / "include/gputrace").glob("*.h")) if path.name != "agent.h"]
    return re.sub(r"/\*.*?\*/", " ", "\n".join(texts), flags=re.DOTALL)


def package():
    folder = pathlib.Path(gputrace.__file__).parent
    return {path.name: ast.parse(path.read_text()) for path in folder.glob("*.py")}


def used():
    """Names X in lib.X, and what the C functions call that come with the package."""
    in_c = set(re.findall(r"\b(gputrace_(?!python_)\w+)\(", cdef.SOURCE))
    return in_c | {node.attr for tree in package().values() for node in ast.walk(tree)
                   if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lib"}


class Coverage(unittest.TestCase):
    def check(self, declared):
        excused = {name for name in declared for pattern in NOT_USED if re.fullmatch(pattern, name)}
        self.assertEqual(sorted(declared - excused - used()), [], "no Python code uses these")
        self.assertEqual(sorted(excused & used()), [], "these are used and need no excuse")

    def test_functions(self):
        declared = set(re.findall(r"\b(gputrace_\w+)\(", re.sub(r"typedef[^;]*;", "", headers())))
        self.assertGreater(len(declared), 90)
        self.check(declared)

    def test_constants(self):
        enums = re.findall(r"enum \w+ \{(.*?)\}", headers(), flags=re.DOTALL)
        declared = {name for enum in enums for name in re.findall(r"\bGPUTRACE_\w+", enum)}
        declared |= set(re.findall(r"#define (GPUTRACE_\w+) \(?-?\d", headers()))
        self.assertGreater(len(declared), 40)
        self.check(declared)

    def test_options(self):
        """Each field of an option struct can be given."""
        names = {keyword.arg for tree in package().values() for node in ast.walk(tree)
                 if isinstance(node, ast.Call) for keyword in node.keywords}
        names |= {node.attr for tree in package().values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.value for tree in package().values() for node in ast.walk(tree)
                  if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        structs = re.findall(r"struct gputrace_\w+_opts \{(.*?)\}", headers(), flags=re.DOTALL)
        fields = {name for struct in structs for name in re.findall(r"(\w+)(?:\[\d+\])?\s*[;,]", struct)}
        self.assertGreater(len(fields), 20)
        # Flags of a compilation are verify= and cache=; the others have none yet.
        self.assertEqual(sorted(fields - names - {"reserved"}), [])

    def test_docstrings(self):
        """What a user can call says what it does."""
        missing = []
        for name in gputrace.__all__:
            thing = getattr(gputrace, name)
            if isinstance(thing, type):
                missing += [f"{name}.{key}" for key, value in vars(thing).items()
                            if not key.startswith("_") and (callable(value) or isinstance(value, property))
                            and not getattr(value, "__doc__", None)]
            if callable(thing) and not thing.__doc__:
                missing.append(name)
        self.assertEqual(missing, [])

    def test_units(self):
        """What has a unit says which, in its name or where it is explained."""
        unsaid = []
        for name in gputrace.__all__:
            thing = getattr(gputrace, name)
            if isinstance(thing, type):
                described = set(thing.__dict__.get("__annotations__", ())) | {
                    key for key, value in vars(thing).items() if isinstance(value, property)}
                unsaid += self.without_unit(name, described, inspect.getsource(thing))
                for key, value in vars(thing).items():
                    function = getattr(value, "__func__", value)
                    if inspect.isfunction(function) and (key == "__init__" or not key.startswith("_")):
                        text = inspect.getsource(thing) if key == "__init__" else function.__doc__
                        unsaid += self.without_unit(f"{name}.{key}", inspect.signature(function).parameters, text)
            elif inspect.isfunction(thing):
                unsaid += self.without_unit(name, inspect.signature(thing).parameters, thing.__doc__)
        self.assertEqual(unsaid, [])

    @staticmethod
    def without_unit(where, names, text):
        return [f"{where}: {name}" for name in names for pattern, unit in UNITS.items()
                if re.fullmatch(pattern, name) and not re.search(unit, text)]


if __name__ == "__main__":
    main()
