# SPDX-License-Identifier: Apache-2.0
"""BPF C from Python."""
import os
import pathlib
import tempfile
import unittest.mock

from common import EventType, Run, gputrace, main, unittest

BLOCKS = """
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} blocks SEC(".maps");

SEC("cuda.cta/entry:vecadd")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	__u32 index = ctx->grid_dim[0] == 1 ? 1 : 0;
	__u64 *count = bpf_map_lookup_elem(&blocks, &index);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
"""


class Source(unittest.TestCase):
    def test_from_text_to_numbers(self):
        object = gputrace.bpf(BLOCKS)
        run = Run("vecadd", "16", object=object)
        grids = [kernel.grid[0] for kernel in run.of(EventType.KERNEL)]
        # 100000, 1000, 256 and 1 elements, four times each, 256 in a block
        self.assertEqual(sum(grids), 4 * (391 + 4 + 1 + 1))
        self.assertEqual(object["blocks"].snapshot(), {0: 4 * (391 + 4), 1: 8, 2: 0, 3: 0})

    def test_errors_show_the_line(self):
        with self.assertRaises(gputrace.CompileError) as caught:
            gputrace.bpf(BLOCKS.replace("&index);", "&indx);"), name="blocks.c")
        first = caught.exception.diagnostics[0]
        self.assertEqual((first.file, first.line, first.severity), ("blocks.c", 13, "error"))
        self.assertIn("'indx'", first.message)
        self.assertEqual(first.source, "\t__u64 *count = bpf_map_lookup_elem(&blocks, &indx);")
        self.assertEqual(first.source[first.column - 1:], "indx);")
        self.assertIn("bpf_map_lookup_elem(&blocks, &indx)", str(caught.exception))
        self.assertEqual(str(caught.exception).split("\n")[2].index("^"), 4 + first.column - 1)

    def test_own_headers_and_flags(self):
        text = "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n" \
               "#include <gputrace/bpf/gputrace_gpu.h>\nconst volatile int n SEC(\".rodata.n\") = NUMBER;\n" \
               "SEC(\"cuda/entry:*\") int f(void *ctx) { return n; }\n"
        object = gputrace.Object.from_bytes(gputrace.compile_bpf(text, flags=["-DNUMBER=33"]))
        self.assertEqual(object.program("f").compile_host(cache=False).run(), 33)
        with self.assertRaisesRegex(gputrace.CompileError, "NUMBER"):
            gputrace.bpf(text)

    def test_warnings_are_pythons(self):
        with self.assertWarnsRegex(UserWarning, "program.bpf.c:1:12: warning: unused function"):
            gputrace.compile_bpf("static int f(void) { return 0; }\n")

    def test_refusals_show_the_line(self):
        text = "SEC(\"cuda/entry:*\") int f(void *ctx)\n{\n\treturn *(__u64 *)(ctx + 4096);\n}\n"
        program = gputrace.bpf(text, name="tools/far.bpf.c").program("f")
        with self.assertRaisesRegex(gputrace.Error, r"\(tools/far\.bpf\.c:3 `return \*\(__u64 \*\)\(ctx \+ 4096\);`\)"):
            program.compile_ptx()

    def test_headers_of_the_working_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "number.h").write_text("#define NUMBER 34\n")
            before = os.getcwd()
            os.chdir(folder)
            try:
                object = gputrace.bpf('#include "number.h"\nSEC("cuda/entry:*") int f(void *ctx) { return NUMBER; }\n')
            finally:
                os.chdir(before)
        self.assertEqual(object.program("f").compile_host(cache=False).run(), 34)

    def test_lost_counts_are_warned_of(self):
        text = BLOCKS.replace("__sync_fetch_and_add(count, 1);", "*count += 1;").replace(
            "return 0;", "index = 3;\n\tcount = bpf_map_lookup_elem(&blocks, &index);\n\tif (count)\n\t\t*count = 7;\n\treturn 0;")
        with self.assertWarnsRegex(UserWarning, r"^program .*program\.bpf\.c:\d+ `\*count \+= 1;`\): threads that add to map blocks "):
            Run("vecadd", "1", object=gputrace.bpf(text))

    def test_without_clang(self):
        with unittest.mock.patch.dict(os.environ, {"CLANG": "no-such-clang"}):
            with self.assertRaisesRegex(gputrace.Error, "no-such-clang was not found"):
                gputrace.bpf(BLOCKS)


if __name__ == "__main__":
    main()
