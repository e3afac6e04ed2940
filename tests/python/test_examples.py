# SPDX-License-Identifier: Apache-2.0
"""The example tools say what their twins in C say, but for numbers of processes and times."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import PATIENCE, SOURCE, TARGET, THREADS, gputrace, main, unittest

TWINS = SOURCE / "examples/python"


def start(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)


def both(tool, *words):
    """What the two do."""
    return (start([f"./gputrace-{tool}", *words]),
            start([sys.executable, str(TWINS / f"gputrace-{tool}"), *words]))


def alike(text):
    """Without what differs from run to run: processes and times."""
    text = re.sub(r"(?m)^( *\d+) +\d+( +\d+   sm)", r"\1 PID\2", text)
    text = re.sub(r"\(process \d+([,)])", r"(process PID\1", text)
    return re.sub(r"at most [\d.]+ us", "at most TIME", text)


class Twins(unittest.TestCase):
    maxDiff = None

    def assert_alike(self, results):
        c, python = results
        self.assertEqual(alike(python.stdout), alike(c.stdout))
        self.assertEqual(alike(python.stderr), alike(c.stderr))
        self.assertEqual(python.returncode, c.returncode)
        return python

    def test_run(self):
        said = self.assert_alike(both("run", "--device=sim", THREADS, "--", TARGET, "exits"))
        self.assertIn("map entered:\n  [0] 96\nmap left:\n  [0] 96\n", said.stdout)
        self.assert_alike(both("run", "--device=sim", "examples/bpf/kernel-count.bpf.o", TARGET, "contexts"))
        self.assert_alike(both("run", "--device=sim", "-a", "examples/bpf/kernel-count.bpf.o", TARGET, "exits"))
        said = self.assert_alike(both("run", "--device=sim", "-k", "examples/bpf/kernel-count.bpf.o", TARGET, "exits")).stdout
        # One of the numbers of the map has the name of the kernel that ran: three warps, as above.
        names = dict(re.findall(r"(?m)^  \[(\d+)\] (\S+) \(process \d+\)$", said[said.index("\nkernels:\n"):]))
        self.assertIn("exits", [names[number] for number in re.findall(r"(?m)^  \[(\d+)\] 3$", said)])

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_run_uprobes(self):
        """Programs for the operating system's kernel, which run for what the command starts, and their maps."""
        said = self.assert_alike(both("run", "--device=sim", "tests/e2e/watched.bpf.o", "--", "sh", "-c",
                                      f"{TARGET} vecadd 1; exit $?")).stdout
        calls = int(re.search(r"map totals:\n  \[2\] (\d+)\n  \(2 more, zero\)\n", said)[1])
        self.assertGreater(calls, 0)
        self.assertIn(f"map .bss:\n  [0] {calls}\n", said)
        self.assertIn("map gt_test_calls: of those that only the operating system's kernel uses, plain arrays alone can "
                      "be looked into from here\n", said)

    def test_no_room_for_shared_memory(self):
        """What the library says of a program that cannot be traced is not contradicted."""
        limited = ["sh", "-c", 'ulimit -f 20; exec "$@"', "sh"]
        twin = [sys.executable, str(TWINS / "gputrace-kernels")]
        for tool in ["./gputrace-kernels"], twin:
            done = start([*limited, *tool, "--device=sim", TARGET, "exits"])
            self.assertEqual((done.stdout, done.returncode), ("96 threads left by 4 ways\n", 125), done.stderr)
            self.assertRegex(done.stderr, r"^gputrace-kernels: process \d+ \(target\) could not be given its shared memory: "
                             r"File too large \(the limit of ulimit -f goes for it as well\)\n$")

    def test_sum_that_needs_more_than_64_bits(self):
        """Such as one of times."""
        with tempfile.NamedTemporaryFile(suffix=".bpf.o") as file:
            file.write(gputrace.compile_bpf("""
                struct {
                    __uint(type, GPUTRACE_MAP_TYPE_WARP_ARRAY);
                    __uint(max_entries, 1);
                    __type(key, __u32);
                    __type(value, __u64);
                } times SEC(".maps");

                SEC("cuda.warp/entry:exits")
                int on_entry(struct gputrace_gpu_ctx *ctx)
                {
                    __u32 zero = 0;
                    __u64 *time = bpf_map_lookup_elem(&times, &zero);

                    if (time)
                        *time = 1ULL << 63;
                    return 0;
                }
                """))
            file.flush()
            said = self.assert_alike(both("run", "--device=sim", file.name, TARGET, "exits")).stdout
        # 3 warps: 3 * 2^63
        self.assertRegex(said, r"\[0\] sum 27670116110564327424, 3 of \d+ not zero, least 0, most 9223372036854775808\n")

    def test_programs_without_a_place(self):
        """vecadd loads and stores, by a mad among others, and has no atomics; nothing has a foo."""
        with tempfile.NamedTemporaryFile(suffix=".bpf.o") as file:
            file.write(gputrace.compile_bpf("".join(
                f'SEC("{section}") int {name}(struct gputrace_gpu_ctx *ctx) {{ return 0; }}\n' for name, section in (
                    ("enter", "cuda/entry:vecadd"), ("add", "cuda/atomic:vecadd"), ("foo", "cuda/inst:foo@*"),
                    ("mad", "cuda/inst:mad@vecadd"), ("other", "cuda/load:other")))))
            file.flush()
            said = self.assert_alike(both("run", "--device=sim", file.name, TARGET, "vecadd", "1"))
            self.assertEqual(said.returncode, 0)
            self.assertEqual(re.findall("(?m)^gputrace-run: program .*", said.stderr), [
                "gputrace-run: program add (cuda/atomic:vecadd) never ran: it is at no place in the kernel that matches",
                "gputrace-run: program foo (cuda/inst:foo@*) never ran: it is at no place in any of the kernels that match",
                "gputrace-run: program other: no kernel matches 'other'"])

    def test_run_from_c(self):
        source = str(SOURCE / "examples/bpf/threads.bpf.c")
        done = start([sys.executable, str(TWINS / "gputrace-run"), "--device=sim", source, TARGET, "exits"])
        self.assertIn("map entered:\n  [0] 96\n", done.stdout)
        self.assertEqual(done.returncode, 0)

    def test_what_is_refused(self):
        """What the tools themselves say of options, and their exit statuses; all have the same for those they share."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"no program")
            file.flush()
            os.chmod(file.name, 0o644)
            for words in [[], ["--device=foo", "true"], ["--pid=x"], ["-p", "0"], ["-p", "-5"], ["-p", "99999999999"],
                          ["-p", ""], ["-p1", "true"], ["--copies", "true"], ["--device=sim", "-p", "1"],
                          ["no such command"], [file.name], ["/"], ["--agent=/no/agent", "--device=sim", "true"]]:
                self.assert_refused("record", words)
            for words in [[THREADS], [THREADS, "no such command"], [THREADS, file.name], ["--pid=x", THREADS],
                          ["no such object", "true"], [file.name, "true"], ["/", "true"]]:
                self.assert_refused("run", words)
        for words in [[], ["no such command"], ["--follow="], ["--follow=a", "true"], ["--follow=a", "-p", "1"],
                      ["--follow=a", "--agent=b"], ["--follow=a", "--device=sim"]]:
            self.assert_refused("kernels", words)
        for words in [["--all", "true"], ["--all", "-p", "1"], ["--all", "--device=sim"], ["--all", "--agent=b"],
                      ["--follow=a", "--all"], ["--follow=a", "--publish="], ["--follow=", "--no-api"],
                      ["--api=foo", "true"], ["--api=agent", "--all"], ["--no-api", "--all"],
                      ["--no-api", "--api=agent", "true"], ["--no-api", "--stacks", "true"], ["--output=-", "true"],
                      ["--output=", "--device=sim", "true"], ["--publish=", "--device=sim", "true"],
                      ["--functions=foo", "--device=sim", "true"], ["--stacks=0", "true"], ["--stacks=128", "true"],
                      ["--stacks=-1", "true"], ["--stacks=1025", "--unwind", "true"], ["--unwind=", "true"],
                      ["--unwind=61441", "true"], ["--unwind=-8", "true"]]:
            self.assert_refused("record", words)

    def assert_refused(self, tool, words):
        said = self.assert_alike(both(tool, *words))
        self.assertIn(said.returncode, (125, 126, 127), (tool, words))
        self.assertTrue(said.stderr.startswith(f"gputrace-{tool}: "), (tool, words, said.stderr))

    def test_two_things_at_once(self):
        """Nothing is said of what the tool at hand does not have."""
        for tool, words in ("run", [THREADS]), ("kernels", []), ("record", []):
            said = self.assert_alike(both(tool, "-p", "1", *words, "true"))
            self.assertEqual(said.stderr, f"gputrace-{tool}: a command and --pid do not go together: give one of them\n")

    def test_bad_options(self):
        """The sentences are getopt's and argparse's."""
        for words in ["--bad"], ["-x"], ["--device"], ["-p"], ["--quiet=1", "true"]:
            for tool in "run", "kernels", "record":
                c, python = both(tool, *words)
                self.assertEqual((c.returncode, python.returncode), (125, 125))
                for said in c.stderr, python.stderr:
                    self.assertTrue(said.endswith(f"Try 'gputrace-{tool} --help'.\n"), said)

    def test_help_names_the_same_options(self):
        for tool in "run", "kernels", "record":
            c, python = both(tool, "--help")
            self.assertEqual((c.returncode, python.returncode, c.stderr, python.stderr), (0, 0, "", ""))
            named = [set(re.findall(r"(?m)^  (?:-\w(?: \w+)?, )?(--[\w-]+)", said.stdout)) for said in (c, python)]
            self.assertEqual(*named)
            usages = [re.findall(r"(?m)^.*?(gputrace-\w+ \[OPTION\].*)$", said.stdout) for said in (c, python)]
            self.assertEqual(*usages)
            self.assertGreater(len(named[0]), 5)

    def test_ends_of_commands(self):
        for script, status in ("kill -9 $$", 137), ("exit 3", 3), ("exit 0", 125):
            for tool, words in ("run", [THREADS]), ("record", []):
                said = self.assert_alike(both(tool, "--device=sim", *words, "--", "sh", "-c", script))
                self.assertEqual(said.returncode, status)

    def test_run_from_c_that_is_not_there(self):
        done = start([sys.executable, str(TWINS / "gputrace-run"), "/no/such.c", "true"])
        self.assertEqual((done.returncode, done.stderr),
                         (125, "gputrace-run: cannot read /no/such.c: No such file or directory\n"))

    def test_kernels(self):
        said = self.assert_alike(both("kernels", "--device=sim", "--", TARGET, "reload", "7"))
        self.assertRegex(said.stdout, r" 7  PTX    bump\n")

    def test_record(self):
        # What the command says would come between the lines.
        c, python = both("record", "--no-api", "--device=sim", "--", "sh", "-c", f"exec {TARGET} vecadd 20 >/dev/null")
        self.assertEqual(alike(python.stderr), alike(c.stderr))
        self.assertIn("20 launches, 20 kernels on the GPU, 0 driver calls, 0 lost", python.stderr)
        self.assertEqual(self.kinds(python), self.kinds(c))

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_stacks_and_functions(self):
        # What the command says would come between the lines.
        c, python = both("record", "--device=sim", "--stacks=2", f"--functions={TARGET}:main",
                         f"--functions={TARGET}:run_vecadd", "--", "sh", "-c",
                         f"exec {TARGET} vecadd 2 >/dev/null")
        self.assertEqual(self.kinds(python), self.kinds(c))
        self.assertRegex(c.stdout, r"(?m)^ .* call .* main \(0x3, .*\) = 0$")
        self.assertRegex(c.stdout, r"(?m)^ .* call .* run_vecadd \(")
        self.assertRegex(c.stdout, r"(?m)^ {54}\S.*libc\S*[+:]")  # as far as its symbols are there
        self.assertRegex(c.stdout, r"(?m)^ {54}(main|add|run_vecadd) at \S*target\.c:\d+")

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_functions_of_the_driver(self):
        # The one that the command runs on, whichever others the loader would find.
        for said in both("record", "--device=sim", "--no-api", "--functions=libcuda.so.1:cuMemAlloc_v2", "--",
                         "examples/demo/vecadd", "-l", "1"):
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual(len(re.findall(r"(?m)^ .* call .* cuMemAlloc_v2 ", said.stdout)), 6, said.stdout)

    def test_where_options_end(self):
        # What the command is given is its own, also when it looks like an option of the tool.
        echo = ["sh", "-c", 'echo "$@"; exit 5', "sh", "-q", "--stacks", "-p", "7", "--"]
        for words in (["--stacks", *echo], ["--stacks=3", "--api=agent", "--", *echo], ["-q", "-o", "/dev/null", *echo],
                      ["-qo", "/dev/null", "--no-api", *echo], ["--func", "libc.so.6:none", *echo[:0], "true"]):
            with self.subTest(words):
                said = self.assert_alike(both("record", "--device=sim", *words))
                if words[-1] == "--":
                    self.assertEqual((said.stdout, said.returncode), ("-q --stacks -p 7 --\n", 5))
        for words in (["-p", "99999999", THREADS], [THREADS, "-p", "99999999"], [THREADS, "-p99999999", "--"]):
            with self.subTest(words):
                said = self.assert_alike(both("run", *words))
                self.assertEqual(said.returncode, 125)
                self.assertIn("99999999", said.stderr)
        for words in ([THREADS, "-a", "--", TARGET, "exits"], ["--", THREADS, TARGET, "exits"]):
            with self.subTest(words):
                said = self.assert_alike(both("run", "--device=sim", *words))
                self.assertIn("map entered:\n  [0] 96\n", said.stdout)

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_where_stacks_end(self):
        # The demo program has frame pointers; what called its main() need not.
        for said in both("record", "--device=sim", "--stacks", "--", "examples/demo/vecadd", "-l", "1"):
            lines = said.stdout.splitlines()
            launch = next(i for i, line in enumerate(lines) if " api " in line and "cuLaunchKernel" in line)
            self.assertRegex(lines[launch + 1], r"^ {54}start at \S*vecadd\.c:\d+( \(inlined\))?$")
            self.assertRegex(lines[launch + 2], r"^ {54}main at \S*vecadd\.c:\d+$")
        # The other one may be without; what is behind such a function is not shown.
        for said in both("record", "--device=sim", "--stacks", "--", TARGET, "vecadd", "2"):
            self.assertNotIn("the process has no code there", said.stdout)
            self.assertNotRegex(said.stdout, r"(?m)^ {54}\[unknown\].*\n {54}\S")

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_folded_stacks(self):
        with tempfile.NamedTemporaryFile(suffix=".folded") as file:
            for said in both("record", "--device=sim", "-o", file.name, TARGET, "vecadd", "20"):
                self.assertEqual(said.returncode, 0)
                lines = file.read().decode().splitlines()
                self.assertTrue(all(re.fullmatch(r"[^;]+(;[^;]+)* [1-9]\d*", line) for line in lines))
                self.assertTrue(any(re.match(r"target;.*(main|add|run_vecadd).*;cuLaunchKernel \d+$", line)
                                    for line in lines), lines)
                self.assertTrue(any(re.match(r"target;.*;cuLaunchKernel;vecadd \[GPU\] \d+$", line)
                                    for line in lines), lines)
                file.seek(0)

    def test_compressed_files(self):
        """As gzip(1) has them; a name that promises something else is refused before the command runs."""
        with tempfile.TemporaryDirectory() as folder:
            for said in both("record", "--device=sim", "--no-api", "-o", f"{folder}/t.json.gz", TARGET, "vecadd", "20"):
                self.assertEqual(said.returncode, 0, said.stderr)
                events = json.loads(subprocess.check_output(["gzip", "-dc", f"{folder}/t.json.gz"]))["traceEvents"]
                self.assertEqual(sum(event.get("cat") == "kernel" for event in events), 20)
            for said in both("record", "--device=sim", "--no-api", "-o", f"{folder}/t.folded.gz", TARGET, "vecadd", "20"):
                self.assertEqual(said.returncode, 0, said.stderr)
                lines = subprocess.check_output(["gzip", "-dc", f"{folder}/t.folded.gz"], text=True)
                self.assertRegex(lines, r"^target;vecadd \[GPU\] \d+\n$")
            for said in both("record", "--device=sim", "-o", f"{folder}/t.json.zst", "touch", f"{folder}/ran"):
                self.assertEqual(said.returncode, 125)
                self.assertIn("t.json.zst: a file is compressed here when its name ends in .gz, and not as .zst", said.stderr)
            self.assertEqual(sorted(os.listdir(folder)), ["t.folded.gz", "t.json.gz"])

    @unittest.skipIf(os.geteuid(), "uprobes need root")
    def test_every_program(self):
        """Of a program that runs already, of one that is started meanwhile, and of one with another libcuda."""
        driver = os.environ["GPUTRACE_SIM_DIR"]
        for tool in ["./gputrace-record"], [sys.executable, str(TWINS / "gputrace-record")]:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copy(f"{driver}/libcuda.so.1", folder)
                said = Path(folder, "said")
                before = self.start_live(driver)
                with said.open("w") as file:
                    recorder = subprocess.Popen([*tool, "--all"], stdout=file, stderr=subprocess.STDOUT)
                self.prod(before, said)
                after = subprocess.Popen([TARGET, "vecadd", "8"], env=dict(os.environ, LD_LIBRARY_PATH=driver),
                                         stdout=subprocess.DEVNULL)
                after.wait()
                other = self.start_live(folder)
                self.prod(other, said)
                for program in before, other:
                    program.communicate(".\n")
                recorder.terminate()
                self.assertEqual(recorder.wait(), 0, said.read_text())
                text = said.read_text()
                self.assertRegex(text, rf"{folder}/libcuda.so.1, which process {other.pid} has loaded, was not watched")
                # Other programs of this machine may be too fast for the ring, and then it says so.
                if " lost" not in text:
                    self.assertEqual(len(re.findall(rf" {after.pid}/\d+ +cuLaunchKernel", text)), 8, text)

    def test_table(self):
        """What kernels and copies took in all is what their events in the file of the same run add up to."""
        for tool in ["./gputrace-record"], [sys.executable, str(TWINS / "gputrace-record")]:
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/trace.json"
                said = start([*tool, "--device=sim", "--table", "--memcpy", "-o", path, "--", "examples/demo/vecadd"])
                self.assertEqual(said.returncode, 0, said.stderr)
                lines = said.stdout.splitlines()
                begin = next(i for i, line in enumerate(lines) if line.split()[:2] == ["TOTAL", "us"])
                with open(path, encoding="utf-8") as file:
                    events = json.load(file)["traceEvents"]
                runs = {}
                for event in events:
                    if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                        runs.setdefault(event["name"], []).append(round(1000 * event["dur"]))
                self.assertEqual({name: len(each) for name, each in runs.items()},
                                 {"vecadd": 8, "memcpy HtoD": 16, "memcpy DtoH": 8})
                whole = sum(map(sum, runs.values()))
                rows = sorted(runs.items(), key=lambda row: -sum(row[1]))
                self.assertEqual([line.split(None, 6) for line in lines[begin + 1:]], [
                    [f"{sum(each) / 1000:.3f}", f"{100 * sum(each) / whole:.2f}", f"{sum(each) // len(each) / 1000:.3f}",
                     f"{min(each) / 1000:.3f}", f"{max(each) / 1000:.3f}", str(len(each)), name] for name, each in rows])
        for said in both("record", "--all", "--table"):
            self.assertEqual(said.returncode, 125)
            self.assertIn("--table goes with a command or -p", said.stderr)

    def test_read_along(self):
        """What is published is what those who follow get, whichever twin does which."""
        tools = ["./gputrace-record"], [sys.executable, str(TWINS / "gputrace-record")]
        for publisher, follower in zip(tools, reversed(tools)):
            with tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/stream"
                program = self.start_live(os.environ["GPUTRACE_SIM_DIR"])
                one = subprocess.Popen([*publisher, f"--publish={path}", "-p", str(program.pid)], text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                while not os.path.exists(path):
                    self.assertIsNone(one.poll())
                    time.sleep(0.05)
                said = Path(folder, "said")
                with said.open("w") as file:
                    other = subprocess.Popen([*follower, f"--follow={path}"], stdout=file, stderr=subprocess.PIPE,
                                             text=True)
                lists = [subprocess.Popen([*command, f"--follow={path}"], stdout=subprocess.PIPE, text=True)
                         for command in (["./gputrace-kernels"], [sys.executable, str(TWINS / "gputrace-kernels")])]
                # The socket that is listened to, and one for each who has come.
                while Path("/proc/net/unix").read_text().count(path) < 4:
                    self.assertEqual([command.poll() for command in (one, other, *lists)], [None] * 4)
                    time.sleep(0.05)
                self.prod(program, said, r"kernel +{}/")
                program.communicate(".\n")
                out, one_said = one.communicate()
                _, other_said = other.communicate()
                self.assertEqual([one.returncode, other.returncode], [0, 0], one_said + other_said)
                self.assertIn(" 0 lost", other_said)
                # It came later; then it is the same to the end, but for times, which count from the first event.
                words = [line.split()[1:] for line in said.read_text().splitlines()[1:]]
                self.assertEqual([line.split()[1:] for line in out.splitlines()][-len(words):], words)
                lists = [command.communicate()[0] for command in lists]
                self.assertEqual(lists[0], lists[1])
                self.assertRegex(lists[0], rf" {program.pid} .* PTX +vecadd\n")

    @staticmethod
    def start_live(driver):
        program = subprocess.Popen([TARGET, "live", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env=dict(os.environ, LD_LIBRARY_PATH=driver))
        program.stdout.readline()
        return program

    @staticmethod
    def prod(program, said, pattern=r" {}/\d+ +cuLaunchKernel"):
        """Let the program make calls and run kernels until they are seen."""
        while not re.search(pattern.format(program.pid), said.read_text()):
            program.stdin.write("\n")
            program.stdin.flush()
            program.stdout.readline()
            time.sleep(0.05)

    @staticmethod
    def kinds(said):
        """The lines without their numbers, in an order of their own."""
        text = re.sub(r" error=\d+ns", "", re.sub(r"0x[0-9a-f]+", "N", said.stdout))
        return sorted(" ".join(re.sub(r"[\d.]+", "N", line).split()) for line in text.splitlines())

    def test_record_copies(self):
        """The one kernel is in a graph that is launched twice."""
        for said in both("record", "--no-api", "--memcpy", "--device=sim", "tests/e2e/copier", "captured"):
            self.assertEqual(said.returncode, 0)
            self.assertRegex(said.stdout, r"copy +\d+/\d+ +memcpy HtoD 43 bytes launch=\d+ device=0 stream=\d+ error=\d+ns\n")
            errors = [int(ns) for ns in re.findall(r"error=(\d+)ns\n", said.stdout)]
            self.assertEqual([int(us) * 1000 + int(ns) for us, ns in re.findall(r"clock error at most (\d+)\.(\d{3}) us\n", said.stderr)],
                             [max(errors)])
            self.assertIn("1 launches, 2 kernels on the GPU, 1 copies, 0 driver calls, 0 lost", said.stderr)

    def test_record_into_a_file(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            for said in both("record", "--no-api", "--device=sim", "-o", file.name, TARGET, "vecadd", "20"):
                self.assertEqual(said.returncode, 0)
                self.assertIn(f"wrote {file.name}", said.stderr)
                trace = json.load(file)["traceEvents"]
                self.assertEqual(sum(event.get("cat") == "kernel" for event in trace), 20)
                file.seek(0)

    def test_how_they_end(self):
        for words, status in ((["--", "no-such-command"], 127), (["--", "/"], 126), (["true"], 125),
                              (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                              (["--agent=/nonexistent.so", "true"], 125)):
            with self.subTest(words):
                self.assertEqual(self.assert_alike(both("kernels", "--device=sim", *words)).returncode, status)
        for tool in "record", "run", "kernels":
            for said in both(tool, "--no-such-option"):
                self.assertEqual(said.returncode, 125)
            self.assertIn(f"gputrace-{tool} (libgputrace) 0.", both(tool, "--version")[1].stdout)
        self.assertEqual(both("run", "/nonexistent.bpf.o", "true")[1].returncode, 125)
        for said in both("record", "--no-api", "--device=sim", "-o", "/dev/full", TARGET, "exits"):
            self.assertEqual(said.returncode, 125)

    def test_a_full_disk(self):
        for tool in "record", "kernels":
            for words in [f"./gputrace-{tool}"], [sys.executable, str(TWINS / f"gputrace-{tool}")]:
                with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                    said = subprocess.run([*words, "--device=sim", "--", TARGET, "exits"], stdout=full,
                                          stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
                    self.assertEqual(said.returncode, 125)
                    self.assertTrue(said.stderr.endswith("writing the output: No space left on device\n"), said.stderr)

    def test_what_would_do_nothing(self):
        for words, why in ((["--device=sim", "--all"], "--device=sim goes with a command"),
                           (["-o", "-", "true"], "--output is a file, not '-'"),
                           (["--no-api", "--stacks", "true"], "--no-api records none"),
                           (["--no-api", "--unwind=8192", "true"], "--no-api records none"),
                           (["--no-api", "--api=agent", "true"], "do not go together"),
                           (["--no-api", "--all"], "--no-api none"),
                           (["--api=agent", "--all"], "--api=agent goes with a command"),
                           (["--all", "--memcpy"], "nothing that the GPU does"),
                           (["--follow=/nonexistent", "--memcpy"], "the other records"),
                           (["--follow=/nonexistent", "--metrics"], "the other records"),
                           (["--metrics=0", "true"], "--metrics is a number from 1 to 60000, not '0'"),
                           (["--follow=/nonexistent", "--no-api"], "the other records")):
            with self.subTest(words):
                for said in both("record", *words):
                    self.assertEqual((said.returncode, said.stdout), (125, ""))
                    self.assertIn(why, said.stderr)


if __name__ == "__main__":
    main()
