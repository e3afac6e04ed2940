# SPDX-License-Identifier: Apache-2.0
"""The fixture for pytest."""
import importlib.util
import os
import subprocess
import sys
import tempfile

from common import PATIENCE, main, unittest

TESTS = """
from cuda import Cuda
cuda = Cuda()

def test_as_expected(gpu_launches):
    with gpu_launches({"add*": 2}, total=3) as trace:
        cuda.launch("add_one")
        cuda.launch("add_one")
        cuda.launch("nothing")
    assert trace.launches("add_one") == 2

def test_too_few(gpu_launches):
    with gpu_launches(nothing=2):
        cuda.launch("nothing")

def test_own_failure(gpu_launches):
    with gpu_launches(nothing=1):
        1 / 0
"""


@unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not there (Debian: python3-pytest)")
class Fixture(unittest.TestCase):
    def test_fixture(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_launches.py"), "w", encoding="utf-8") as file:
                file.write(TESTS)
            libraries = f"{os.environ['GPUTRACE_SIM_DIR']}:{os.environ.get('LD_LIBRARY_PATH', '')}"
            # Once installed, the plugin is found by its entry point.
            done = subprocess.run([sys.executable, "-m", "pytest", "-p", "gputrace.pytest_plugin", "-p", "no:cacheprovider",
                                   folder], env={**os.environ, "LD_LIBRARY_PATH": libraries}, capture_output=True, text=True,
                                  timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"2 failed, 1 passed")
        self.assertIn("AssertionError: nothing: 1 launches, not 2", done.stdout)
        self.assertRegex(done.stdout, r"test_launches\.py:13: AssertionError")
        self.assertIn("ZeroDivisionError", done.stdout)


if __name__ == "__main__":
    main()
