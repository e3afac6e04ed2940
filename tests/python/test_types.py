# SPDX-License-Identifier: Apache-2.0
"""The annotations agree with each other, says mypy."""
import shutil
import subprocess
import tempfile

from common import SOURCE, main, unittest


@unittest.skipUnless(shutil.which("mypy"), "mypy is not there (Debian: mypy)")
class Types(unittest.TestCase):
    def test_mypy_strict(self):
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(["mypy", "--strict", "--cache-dir", cache, "-p", "gputrace"], text=True,
                                  cwd=SOURCE / "bindings/python", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    main()
