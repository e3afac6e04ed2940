# SPDX-License-Identifier: Apache-2.0
"""The notebook of the examples, run as Jupyter does, shows what it says, but for times and other numbers of the moment."""
import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile

from common import PATIENCE, SOURCE, main, unittest

NOTEBOOK = SOURCE / "examples/python/first-steps.ipynb"


def shown(source, names):
    """What a cell prints, and the value of its last line."""
    *statements, last = ast.parse(source).body
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return out.getvalue() + ("" if value is None else repr(value))


def outputs(sources):
    """What each of the cells shows, in a process of their own in which CUDA was not used before."""
    code = ("import json, sys, test_notebook\n"
            "names = {}\n"
            "json.dump([test_notebook.shown(source, names) for source in json.load(sys.stdin)], sys.stdout)")
    libraries = f"{os.environ['GPUTRACE_SIM_DIR']}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], input=json.dumps(sources), capture_output=True,
                              text=True, cwd=folder, env={**os.environ, "LD_LIBRARY_PATH": libraries}, timeout=PATIENCE)
        if done.returncode:
            raise AssertionError(done.stderr)
        with open(os.path.join(folder, "first-steps.json"), encoding="utf-8") as file:
            saved = json.load(file)["traceEvents"]
    return json.loads(done.stdout), saved


def plain(text):
    """Without times, columns of the table, and numbers of processes."""
    text = re.sub(r"process \d+", "process N", text)
    text = re.sub(r"\d+\.\d+", "N", re.sub(r"\d+ ns", "N ns", text))
    return re.sub(r" +", " ", text)


class Notebook(unittest.TestCase):
    maxDiff = None

    def test_cells_show_what_they_say(self):
        with open(NOTEBOOK, encoding="utf-8") as file:
            notebook = json.load(file)
        self.assertEqual((notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]), (4, "python"))
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        seen, saved = outputs(["".join(cell["source"]) for cell in cells])
        for cell, output in zip(cells, seen):
            text = "".join("".join(part["text"]) for part in cell["outputs"])
            # The table is sorted by times.
            self.assertEqual(sorted(plain(output).split("\n")), sorted(plain(text).split("\n")), "".join(cell["source"]))
        self.assertIn("356 threads", seen[-1])
        self.assertEqual(sorted(event["name"] for event in saved if event.get("cat") == "kernel"),
                         ["clear", "square", "square", "square"])
        self.assertIn("one step", {event["name"] for event in saved if event.get("cat") == "user_annotation"})


if __name__ == "__main__":
    main()
