# SPDX-License-Identifier: Apache-2.0
"""Programs: what they are, compiling, running on this machine."""
import errno

from common import TARGET, THREADS, gputrace, main, unittest
from gputrace import Granularity, Point, VerifierLog
from test_map import EXIT, instruction

NOTHING = instruction(0xb7, dst=0) + EXIT  # r0 = 0


class Programs(unittest.TestCase):
    def test_what_an_object_holds(self):
        with gputrace.Object.open("examples/bpf/kernel-count.bpf.o") as object:
            program = object.programs["count_warp"]
            self.assertEqual((program.name, program.section), ("count_warp", "cuda.warp/entry:*"))
            self.assertIs(program.point, Point.ENTRY)
            self.assertIs(program.granularity, Granularity.WARP)
            self.assertEqual(program.pattern, "*")
            self.assertIsNone(program.opcode)
            with self.assertRaises(KeyError):
                object.program("other")

    def test_ptx(self):
        with gputrace.Object.open(THREADS) as object:
            image = object.program("on_entry").compile_ptx(optimize=3, cache=False)
            self.assertIn("add.u64", image.ptx)
            with self.assertRaises(gputrace.Error) as caught:
                image.run()
            self.assertEqual(caught.exception.errno, errno.EINVAL)

    def test_log(self):
        with gputrace.Object.open(THREADS) as object:
            program = object.program("on_entry")
            program.compile_ptx(verifier_log=VerifierLog.STATES)
            self.assertRegex(program.log, r"(?m)^0: .*r1=context")
            for level in VerifierLog.REFUSALS, VerifierLog.WARNINGS:
                program.compile_ptx(verifier_log=level)
                self.assertNotIn("r1=context", program.log)

    def test_kernels_that_have_it(self):
        """vecadd has one load instruction at least, and no atomics."""
        object, other = gputrace.Object.empty(), gputrace.Object.empty()
        sections = {"first": "cuda/entry:*", "load": "cuda/load:vecadd", "atomic": "cuda/atomic:vecadd", "second": "cuda/exit:*"}
        for name, section in sections.items():
            object.add_program(name, section, NOTHING)
        stranger, early = (other.add_program(name, "cuda/entry:*", NOTHING) for name in ("stranger", "early"))
        with gputrace.Target.spawn([TARGET, "vecadd", "1"], device=gputrace.Device.SIM) as target:
            # Its number is another's in the end, but it is in no kernel.
            target.attach(early).detach()
            link = target.attach(object)
            reader = target.reader()
            target.resume()
            for _ in reader:
                pass
            names = {name: [kernel.name for kernel in target.kernels(program)] for name, program in object.programs.items()}
            everything = [kernel.name for kernel in target.kernels()]
            self.assertGreater(len(everything), 1)
            self.assertEqual(names, {"first": everything, "load": ["vecadd"], "atomic": [], "second": everything})
            self.assertEqual(target.kernels(stranger) + target.kernels(early), [])
            link.detach()
            self.assertEqual([kernel.name for kernel in target.kernels(object.programs["load"])], ["vecadd"])

    def test_fields_of_the_context(self):
        object = gputrace.Object.empty()
        context = gputrace.gpu_context(launch_id=11, kernel_id=12, thread=(1, 2, 3), block=(4, 5, 6),
                                       block_dim=(7, 8, 9), grid_dim=(10, 13, 14))
        self.assertEqual(len(context), 80)
        for opcode, offset, value in ((0x79, 0, 11), (0x61, 8, 12), (0x61, 32, 1), (0x61, 40, 3),
                                      (0x61, 44, 4), (0x61, 56, 7), (0x61, 68, 10), (0x61, 76, 14)):
            program = object.add_program(f"at_{offset}", "cuda/entry:*",
                                         instruction(opcode, dst=0, src=1, offset=offset) + EXIT)
            image = program.compile_host(cache=False)
            self.assertIsNone(image.ptx)
            self.assertEqual(image.run(context), value)

    def test_the_verifier_refuses(self):
        # r0 is never written
        program = gputrace.Object.empty().add_program("nothing", "cuda/entry:*", EXIT)
        with self.assertRaises(gputrace.Error) as caught:
            program.compile_ptx(cache=False)
        self.assertEqual(caught.exception.errno, errno.EACCES)
        self.assertIn("nothing", caught.exception.sentence)
        self.assertNotEqual(program.log, "")

    def test_whole_instructions_only(self):
        with self.assertRaises(ValueError):
            gputrace.Object.empty().add_program("half", "cuda/entry:*", EXIT[:4])
        with self.assertRaises(gputrace.Error):
            gputrace.Object.empty().add_program("none", "cuda/entry:*", b"")


if __name__ == "__main__":
    main()
