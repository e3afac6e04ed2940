/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conformance/wrap.h"

void wrap_header(FILE *out)
{
	fputs(".version 7.0\n.target sm_75\n.address_size 64\n", out);
}

void wrap_kernel(FILE *out, unsigned number, const char *function)
{
	fprintf(out,
		".visible .entry run%u(.param .b64 memory, .param .b32 size, .param .b64 result)\n"
		"{\n"
		"\t.reg .b64 %%memory, %%result, %%none;\n"
		"\t.reg .b32 %%size, %%zero;\n"
		"\tld.param.b64 %%memory, [memory];\n"
		"\tld.param.b32 %%size, [size];\n"
		"\tld.param.b64 %%result, [result];\n"
		"\tmov.b64 %%none, 0;\n"
		"\tmov.b32 %%zero, 0;\n"
		"\t{\n"
		"\t.param .b64 p0, p1, p2, p4, p5;\n"
		"\t.param .b32 p3, p6, p7;\n"
		"\tst.param.b64 [p0], %%none;\n"
		"\tst.param.b64 [p1], %%none;\n"
		"\tst.param.b64 [p2], %%none;\n"
		"\tst.param.b32 [p3], %%zero;\n"
		"\tst.param.b64 [p4], %%result;\n"
		"\tst.param.b64 [p5], %%memory;\n"
		"\tst.param.b32 [p6], %%size;\n"
		"\tst.param.b32 [p7], %%zero;\n"
		"\tcall %s, (p0, p1, p2, p3, p4, p5, p6, p7);\n"
		"\t}\n"
		"\tret;\n"
		"}\n",
		number, function);
}
