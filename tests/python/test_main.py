# SPDX-License-Identifier: Apache-2.0
"""python3 -m gputrace: a script within gputrace.trace()."""
import gzip
import json
import os
import subprocess
import sys
import tempfile

from common import PATIENCE, main, unittest

SCRIPT = """import sys
from cuda import Cuda
cuda = Cuda()
for _ in range(int(sys.argv[1])):
    cuda.launch("add_one")
print(sys.argv, __name__, sys.path[0])
sys.exit(3)
"""


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.script = os.path.join(self.folder, "script.py")
        self.trace = os.path.join(self.folder, "trace.json")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)

    def start(self, *words, **options):
        return self.plain("-m", "gputrace", *words, **options)

    def plain(self, *words, cwd=None, driver=os.environ["GPUTRACE_SIM_DIR"]):
        """Without gputrace."""
        libraries = f"{driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        return subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": libraries}, timeout=PATIENCE)

    def check(self, done, first, output, path, name):
        # The status and what is printed are the script's, and the trace is there nevertheless.
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, f"{[first, '5']} __main__ {path}\n")
        self.assertRegex(done.stderr, r"(?m)^add_one .* 5$")
        self.assertIn("5 launches, 5 runs", done.stderr)
        with open(output, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        self.assertEqual(sum(event.get("cat") == "kernel" for event in events), 5)
        self.assertEqual([event["name"] for event in events if event.get("cat") == "user_annotation"], [name])
        return events

    def test_script(self):
        done = self.start("-o", self.trace, self.script, "5")
        events = self.check(done, self.script, self.trace, self.folder, "script.py")
        self.assertFalse(any(event["name"] == "cuLaunchKernel" for event in events))

    def test_module(self):
        done = self.start("--api", "--memcpy", "--metrics", "-o", "trace.json", "-m", "script", "5", cwd=self.folder)
        # runpy says where it found the module.
        events = self.check(done, self.script, self.trace, self.folder, "script")
        self.assertEqual(sum(event["name"] == "cuLaunchKernel" for event in events), 5)
        self.assertEqual(sum(event.get("cat") == "gpu_memset" for event in events), 1)

    def test_compressed(self):
        done = self.start("-o", self.trace + ".gz", self.script, "5")
        with gzip.open(self.trace + ".gz") as packed, open(self.trace, "wb") as file:
            file.write(packed.read())
        self.check(done, self.script, self.trace, self.folder, "script.py")

    def test_name_that_lies(self):
        done = self.start("-o", "trace.json.zst", self.script, "5", cwd=self.folder)
        self.assertEqual((done.stdout, done.returncode), ("", 2))
        self.assertTrue(done.stderr.endswith("error: trace.json.zst: a file is compressed here when its name ends in .gz, and "
                                             "not as .zst\n"), done.stderr)
        self.assertEqual(os.listdir(self.folder), ["script.py"])

    def test_script_that_fails(self):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("from cuda import Cuda\nCuda().launch('nothing')\n1 / 0\n")
        done = self.start(self.script)
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 launches, 1 runs", done.stderr)
        # What is printed of it is what Python itself prints: no frame before the script's own.
        self.assertEqual(done.stderr[done.stderr.index("Traceback"):], self.plain(self.script).stderr)
        self.assertIn("ZeroDivisionError", done.stderr)

    def test_file_that_cannot_be_written(self):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("from cuda import Cuda\nCuda().launch('nothing')\nprint('hi')\nraise SystemExit(0)\n")
        # It is not run in vain.
        done = self.start("-o", "no/such.json", self.script, cwd=self.folder)
        self.assertEqual((done.stdout, done.returncode), ("", 125), done.stderr)
        self.assertEqual(done.stderr, f"gputrace: writing {self.folder}/no/such.json: No such file or directory\n")
        # What fails later fails once it has run.
        done = self.start("-o", "/dev/full", self.script)
        self.assertEqual((done.stdout, done.returncode), ("hi\n", 125), done.stderr)
        self.assertIn("1 launches, 1 runs", done.stderr)
        self.assertTrue(done.stderr.endswith("gputrace: writing /dev/full: No space left on device\n"), done.stderr)

    def test_script_that_goes_elsewhere(self):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("import os\nos.chdir('/')\n" + SCRIPT)
        done = self.start("-o", "trace.json", "script.py", "5", cwd=self.folder)
        self.check(done, "script.py", self.trace, self.folder, "script.py")

    def test_no_driver(self):
        with open(os.path.join(self.folder, "libcuda.so.1"), "w", encoding="utf-8") as file:
            file.write("not a library\n")
        for script, status in ("print('hi')", 125), ("print('hi')\nraise SystemExit", 125), ("print('hi')\nexit(3)", 3):
            with open(self.script, "w", encoding="utf-8") as file:
                file.write(script)
            done = self.start(self.script, driver=self.folder)
            self.assertEqual((done.stdout, done.returncode), ("hi\n", status), done.stderr)
            self.assertRegex(done.stderr, r"^gputrace: the script runs without a trace: .*libcuda\.so\.1.*\n$")

    def test_no_script(self):
        done = self.start("nosuch.py", cwd=self.folder)
        self.assertEqual((done.stderr, done.returncode),
                         ("gputrace: can't open file 'nosuch.py': No such file or directory\n", 2))
        for name in "nosuch", "nosuch.part":
            done = self.start("-m", name, cwd=self.folder)
            self.assertRegex(done.stderr, r"^gputrace: No module named '?nosuch'?\n$")
            self.assertEqual(done.returncode, 1)

    def test_syntax_error(self):
        with open(self.script, "w", encoding="utf-8") as file:
            file.write("1 +\n")
        done = self.start(self.script)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(done.stderr.endswith(self.plain(self.script).stderr), done.stderr)

    def test_no_words(self):
        done = self.start()
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"(?m)required: SCRIPT$")


if __name__ == "__main__":
    main()
