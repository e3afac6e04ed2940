#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the straight-line conformance kernels: each computes instructions of one
group on every thread's input words and stores each result in a column of its own.
The kernels that need more than that are written by hand, in the other files here.

usage: generate.py DIRECTORY"""
import os
import sys

REGS = {"b16": "b16", "b32": "b32", "b64": "b64", "f32": "f32", "f64": "f64", "p": "pred"}
WIDEN = {
    "b16": "cvt.u64.u16 %w, {0};", "b32": "cvt.u64.u32 %w, {0};", "b64": "mov.b64 %w, {0};",
    "f32": "mov.b32 %t, {0}; cvt.u64.u32 %w, %t;", "f64": "mov.b64 %w, {0};",
    "p": "selp.b64 %w, 1, 0, {0};",
}

HEAD = """.visible .entry {name}(.param .u64 in, .param .u64 out, .param .u32 n)
{{
	.reg .pred %out, %pa, %pb, %pc;
	.reg .b16 %a16, %b16, %c16, %d16;
	.reg .b32 %i, %n, %x, %y, %t, %a32, %b32, %c32, %d32;
	.reg .f32 %af, %bf, %cf;
	.reg .f64 %ag, %bg, %cg;
	.reg .b64 %in, %outp, %w, %a64, %b64, %c64, %d64;
{decls}
	mov.u32 %x, %ctaid.x;
	mov.u32 %y, %ntid.x;
	mov.u32 %t, %tid.x;
	mad.lo.u32 %i, %x, %y, %t;
	ld.param.u32 %n, [n];
	setp.ge.u32 %out, %i, %n;
	@%out ret;
	ld.param.u64 %in, [in];
	mul.wide.u32 %w, %i, 32;
	add.u64 %in, %in, %w;
	ld.global.u64 %a64, [%in];
	ld.global.u64 %b64, [%in+8];
	ld.global.u64 %c64, [%in+16];
	ld.global.u64 %d64, [%in+24];
	cvt.u32.u64 %a32, %a64; cvt.u32.u64 %b32, %b64; cvt.u32.u64 %c32, %c64; cvt.u32.u64 %d32, %d64;
	cvt.u16.u64 %a16, %a64; cvt.u16.u64 %b16, %b64; cvt.u16.u64 %c16, %c64; cvt.u16.u64 %d16, %d64;
	mov.b32 %af, %a32; mov.b32 %bf, %b32; mov.b32 %cf, %c32;
	mov.b64 %ag, %a64; mov.b64 %bg, %b64; mov.b64 %cg, %c64;
	setp.lt.s32 %pa, %a32, 0; setp.lt.s32 %pb, %b32, 0; setp.lt.s32 %pc, %c32, 0;
	ld.param.u64 %outp, [out];
	mul.wide.u32 %w, %i, {bytes};
	add.u64 %outp, %outp, %w;
"""

files = {}


def raw(file, name, inputs, outputs, body, extra="", module="", threads=320, block=64, directive=""):
    """a kernel that stores its results itself, %outp being its row"""
    head = HEAD.replace(".param .u32 n)\n", ".param .u32 n)\n" + directive)
    files[file] = (files.get(file, "") + module +
                   "//! kernel {} outputs={} threads={} block={} input={}\n".format(
                       name, outputs, threads, block, inputs) +
                   head.format(name=name, bytes=8 * outputs, decls=extra) + body + "\tret;\n}\n\n")


def kernel(file, name, inputs, items, setup="", extra="", module=""):
    """items: (register class of the result, instruction with %d, [column kind])"""
    decls = extra
    body = setup
    columns = []
    for j, item in enumerate(items):
        cls, text = item[0], item[1]
        reg = "%r{}".format(j)
        decls += "\t.reg .{} {};\n".format(REGS[cls], reg)
        body += "\t{{ {} }}\n".format(text.replace("%d,", reg + ",").replace("%d|", reg + "|")
                                      .replace("%d;", reg + ";"))
        body += "\t" + WIDEN[cls].format(reg) + "\n\tst.global.u64 [%outp+{}], %w;\n".format(8 * j)
        if len(item) > 2:
            columns.append("//! column {} {}\n".format(j, item[2]))
    text = module + "//! kernel {} outputs={} threads=320 block=64 input={}\n".format(name, len(items), inputs)
    text += "".join(columns)
    text += HEAD.format(name=name, bytes=8 * len(items), decls=decls) + body + "\tret;\n}\n\n"
    files[file] = files.get(file, "") + text


def each(types, *templates):
    """templates over types; T the type, 'R' the class, operands a b c by width"""
    out = []
    for t in types:
        bits = "".join(ch for ch in t if ch.isdigit())
        for cls, text in templates:
            out.append((cls.replace("B", "b" + bits), text.replace("T", t)
                        .replace("%A", "%a" + bits).replace("%B", "%b" + bits)
                        .replace("%C", "%c" + bits)))
    return out


I3 = ["u16", "s16", "u32", "s32", "u64", "s64"]
U3 = ["u16", "u32", "u64"]
B3 = ["b16", "b32", "b64"]

# --- integers
kernel("int", "int_add_sub", "int", each(U3, ("B", "add.T %d, %A, %B;"), ("B", "sub.T %d, %A, %B;"))
       + [("b32", "add.sat.s32 %d, %a32, %b32;"), ("b32", "sub.sat.s32 %d, %a32, %b32;")])
kernel("int", "int_mul_lo", "int", each(I3, ("B", "mul.lo.T %d, %A, %B;")))
kernel("int", "int_mul_hi", "int", each(I3, ("B", "mul.hi.T %d, %A, %B;")))
kernel("int", "int_mul_wide", "int", [("b32", "mul.wide.u16 %d, %a16, %b16;"),
       ("b32", "mul.wide.s16 %d, %a16, %b16;"), ("b64", "mul.wide.u32 %d, %a32, %b32;"),
       ("b64", "mul.wide.s32 %d, %a32, %b32;")])
kernel("int", "int_mad", "int", each(I3, ("B", "mad.lo.T %d, %A, %B, %C;"), ("B", "mad.hi.T %d, %A, %B, %C;"))
       + [("b32", "mad.wide.u16 %d, %a16, %b16, %c32;"), ("b32", "mad.wide.s16 %d, %a16, %b16, %c32;"),
          ("b64", "mad.wide.u32 %d, %a32, %b32, %c64;"), ("b64", "mad.wide.s32 %d, %a32, %b32, %c64;")])
kernel("int", "int_24", "int", [("b32", "%s.%s.%s %%d, %%a32, %%b32%s;" % (op, half, t, ", %c32" if op == "mad24" else ""))
       for op in ("mul24", "mad24") for half in ("lo", "hi") for t in ("u32", "s32")])
kernel("int", "int_sad", "int", each(I3, ("B", "sad.T %d, %A, %B, %C;")))
kernel("int", "int_div_rem", "int", each(U3, ("B", "div.T %d, %A, %B;"), ("B", "rem.T %d, %A, %B;"))
       + each(["s16", "s32", "s64"], ("B", "div.T %d, %A, %B;"), ("B", "rem.T %d, %A, %B;")),
       # never zero, never the most negative by -1
       setup="\tor.b64 %b64, %b64, 1; cvt.u32.u64 %b32, %b64; or.b32 %b32, %b32, 1;"
             " cvt.u16.u32 %b16, %b32;\n\tand.b64 %a64, %a64, 0xbfffffffbfffbfff;"
             " cvt.u32.u64 %a32, %a64; cvt.u16.u32 %a16, %a32;\n")
# without a defined result, but the hardware has one
kernel("int", "int_div_zero", "int", [("b" + t[1:], "%s.%s %%d, %%a%s, 0;" % (op, t, t[1:])) for op in ("div", "rem") for t in
       ("u32", "s32", "u64", "s64")] + [("b32", "div.s32 %d, 0x80000000, %m;"), ("b32", "rem.s32 %d, 0x80000000, %m;")],
       setup="\tor.b32 %m, %d32, -1;\n", extra="\t.reg .b32 %m;\n")
kernel("int", "int_min_max", "int", each(I3, ("B", "min.T %d, %A, %B;"), ("B", "max.T %d, %A, %B;")))
kernel("int", "int_abs_neg", "int", each(["s16", "s32", "s64"], ("B", "abs.T %d, %A;"), ("B", "neg.T %d, %A;")))
kernel("int", "int_pairs", "int", [("b32", "%s.%s %%d, %%a32, %%b32;" % (op, t)) for op in ("add", "min", "max")
       for t in ("u16x2", "s16x2")])
kernel("int", "int_dot", "int", [("b32", "dp4a.%s.%s %%d, %%a32, %%b32, %%c32;" % (x, y))
       for x in ("u32", "s32") for y in ("u32", "s32")] +
       [("b32", "dp2a.%s.%s.%s %%d, %%a32, %%b32, %%c32;" % (h, x, y)) for h in ("lo", "hi")
        for x in ("u32", "s32") for y in ("u32", "s32")])

# --- carry
kernel("carry", "carry_add", "int",
       [("b32", "add.cc.u32 %t, %a32, %b32; addc.u32 %d, %c32, %d32;"),
        ("b32", "add.cc.u32 %t, %a32, %b32; addc.cc.u32 %t, %c32, %d32; addc.u32 %d, %a32, %c32;"),
        ("b64", "add.cc.u64 %w, %a64, %b64; addc.u64 %d, %c64, %d64;"),
        ("b64", "add.cc.s64 %w, %a64, %b64; addc.cc.s64 %w, %c64, %d64; addc.s64 %d, 0, 0;")])
kernel("carry", "carry_sub", "int",
       [("b32", "sub.cc.u32 %t, %a32, %b32; subc.u32 %d, %c32, %d32;"),
        ("b32", "sub.cc.u32 %t, %a32, %b32; subc.cc.u32 %t, %c32, %d32; subc.u32 %d, %a32, %c32;"),
        ("b64", "sub.cc.u64 %w, %a64, %b64; subc.u64 %d, %c64, %d64;")])
kernel("carry", "carry_mad", "int",
       [("b32", "mad.lo.cc.u32 %t, %a32, %b32, %c32; madc.hi.u32 %d, %a32, %b32, %d32;"),
        ("b32", "mad.hi.cc.u32 %t, %a32, %b32, %c32; madc.lo.cc.u32 %t, %b32, %c32, %d32; addc.u32 %d, 0, 0;"),
        ("b32", "mad.lo.cc.s32 %t, %a32, %b32, %c32; madc.hi.cc.s32 %t, %a32, %b32, %d32; addc.u32 %d, %t, 0;"),
        ("b64", "mad.lo.cc.u64 %w, %a64, %b64, %c64; madc.hi.u64 %d, %a64, %b64, %d64;")])

# --- bits
kernel("bit", "bit_logic", "int", each(B3, ("B", "and.T %d, %A, %B;"), ("B", "or.T %d, %A, %B;"),
       ("B", "xor.T %d, %A, %B;"), ("B", "not.T %d, %A;"), ("B", "cnot.T %d, %A;")))
kernel("bit", "bit_shift", "int", each(B3, ("B", "shl.T %d, %A, %c32;")) + each(I3, ("B", "shr.T %d, %A, %c32;")),
       setup="\tand.b32 %c32, %d32, 127;\n")
kernel("bit", "bit_count", "int", [("b32", "popc.b32 %d, %a32;"), ("b32", "popc.b64 %d, %a64;"),
       ("b32", "clz.b32 %d, %a32;"), ("b32", "clz.b64 %d, %a64;"), ("b32", "brev.b32 %d, %a32;"),
       ("b64", "brev.b64 %d, %a64;")] +
       [("b32", "bfind%s.%s %%d, %%a%s;" % (s, t, t[1:])) for s in ("", ".shiftamt") for t in I3[2:]])
kernel("bit", "bit_field_extract", "int", each(I3[2:], ("B", "bfe.T %d, %A, %c32, %d32;")),
       setup="\tand.b32 %c32, %c32, 127; and.b32 %d32, %d32, 127;\n")
kernel("bit", "bit_field_insert", "int", each(["b32", "b64"], ("B", "bfi.T %d, %A, %B, %c32, %d32;")),
       setup="\tand.b32 %c32, %c32, 127; and.b32 %d32, %d32, 127;\n")
kernel("bit", "bit_permute", "int", [("b32", "prmt.b32%s %%d, %%a32, %%b32, %%c32;" % m) for m in
       ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")])
kernel("bit", "bit_lop3", "int", [("b32", "lop3.b32 %%d, %%a32, %%b32, %%c32, %d;" % n) for n in
       (0, 0x96, 0xe8, 0xca, 0x1b, 0x80, 0xfe, 255)])
kernel("bit", "bit_funnel", "int", [("b32", "shf.%s.%s.b32 %%d, %%a32, %%b32, %%c32;" % (d, m)) for d in "lr"
       for m in ("clamp", "wrap")], setup="\tand.b32 %c32, %c32, 63;\n")
kernel("bit", "bit_find_nth", "int", [("b32", "fns.b32 %d, %a32, %c32, %d32;")],
       setup="\tand.b32 %c32, %c32, 31; shr.s32 %d32, %d32, 28;\n")
kernel("bit", "bit_masks", "int", [("b32", "bmsk.%s.b32 %%d, %%c32, %%d32;" % m) for m in ("clamp", "wrap")] +
       [("b32", "szext.%s.%s %%d, %%a32, %%d32;" % (m, t)) for m in ("clamp", "wrap") for t in ("u32", "s32")],
       setup="\tand.b32 %c32, %c32, 63; and.b32 %d32, %d32, 63;\n")

VIDEO = ["%s%d.u32.%s.%s" % (op, n, t, t) for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for n in (2, 4)
         for t in ("u32", "s32")]
kernel("bit", "bit_video", "int", [("b32", "%s %%d, %%a32, %%b32, %%c32;" % v) for v in VIDEO] +
       [("b32", "%s.sat %%d, %%a32, %%b32, %%c32;" % v) for v in VIDEO[:8]] +
       [("b32", "vabsdiff4.u32.s32.u32.add %d, %a32, %b32, %c32;"), ("b32", "vset4.u32.u32.gt %d, %a32, %b32, %c32;"),
        ("b32", "vset2.s32.s32.le.add %d, %a32, %b32, %c32;")])

# --- comparisons and selection
CMPS = {"s": ["eq", "ne", "lt", "le", "gt", "ge"], "u": ["eq", "ne", "lo", "ls", "hi", "hs", "lt", "le", "gt", "ge"]}
kernel("compare", "compare_signed", "int", [("p", "setp.%s.%s %%d, %%a%s, %%b%s;" % (c, t, t[1:], t[1:]))
       for t in ("s16", "s32", "s64") for c in CMPS["s"]])
kernel("compare", "compare_unsigned", "int", [("p", "setp.%s.%s %%d, %%a%s, %%b%s;" % (c, t, t[1:], t[1:]))
       for t in ("u16", "u32", "u64") for c in CMPS["u"]])
FCMP = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
kernel("compare", "compare_f32", "f32", [("p", "setp.%s.f32 %%d, %%af, %%bf;" % c) for c in FCMP]
       + [("p", "setp.%s.ftz.f32 %%d, %%af, %%bf;" % c) for c in FCMP[:6]])
kernel("compare", "compare_f64", "f64", [("p", "setp.%s.f64 %%d, %%ag, %%bg;" % c) for c in FCMP])
kernel("compare", "compare_f16", "f16", [("p", "setp.%s.f16 %%d, %%a16, %%b16;" % c) for c in FCMP])
kernel("compare", "compare_combine", "int",
       [("p", "setp.lt.%s.s32 %%d, %%a32, %%b32, %s%%pc;" % (b, n)) for b in ("and", "or", "xor") for n in ("", "!")]
       + [("p", ".reg .pred %%q; setp.lt.%s.u32 %%q|%%d, %%a32, %%b32, %%pc;" % b) for b in ("and", "or", "xor")])
kernel("compare", "compare_set", "f32", [("b32", "set.lt.u32.f32 %d, %af, %bf;"), ("b32", "set.geu.s32.f32 %d, %af, %bf;"),
       ("f32", "set.ne.f32.f32 %d, %af, %bf;"), ("b32", "set.gt.u32.s32 %d, %a32, %b32;"),
       ("f32", "set.le.and.f32.u32 %d, %a32, %b32, %pc;")])
for t, kind in (("f16", "f16"), ("bf16", "bf16")):
    kernel("compare", "compare_set_" + t, kind, [("b32", "set.lt.u32.%s %%d, %%a16, %%b16;" % t),
           ("b16", "set.geu.%s.%s %%d, %%a16, %%b16;" % (t, t)), ("b32", "set.gt.%sx2.%sx2 %%d, %%a32, %%b32;" % (t, t)),
           ("b32", "set.neu.u32.%sx2 %%d, %%a32, %%b32;" % t),
           ("p", ".reg .pred %%q; setp.lt.%sx2 %%q|%%d, %%a32, %%b32;" % t), ("p", ".reg .pred %%q; setp.nan.%sx2 %%d|%%q, %%a32, %%b32;" % t)])
kernel("compare", "select", "int", [("b32", "selp.b32 %d, %a32, %b32, %pc;"), ("b64", "selp.b64 %d, %a64, %b64, !%pc;"),
       ("b16", "selp.b16 %d, %a16, %b16, %pc;"), ("b32", "slct.b32.s32 %d, %a32, %b32, %c32;"),
       ("b64", "slct.u64.s32 %d, %a64, %b64, %c32;"), ("f32", "slct.f32.f32 %d, %af, %bf, %cf;", "f32")])
kernel("compare", "predicates", "int", [("p", "%s.pred %%d, %%pa, %%pb;" % op) for op in ("and", "or", "xor")] +
       [("p", "not.pred %d, %pa;"), ("p", "mov.pred %d, %pc;"), ("b32", "mov.u32 %d, 5; @%pa mov.u32 %d, 7;"),
        ("b32", "mov.u32 %d, 5; @!%pb add.u32 %d, %d, %a32;")])

# --- single and double precision
RND = ["rn", "rz", "rm", "rp"]
for op, args in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
    ab = "%af, %bf" + (", %cf" if args == 3 else "")
    kernel("float", "f32_" + op, "f32", [("f32", "%s.%s.f32 %%d, %s;" % (op, r, ab), "f32") for r in RND]
           + [("f32", "%s.%s.ftz.f32 %%d, %s;" % (op, r, ab), "f32") for r in ("rn", "rz")]
           + [("f32", "%s.rn.sat.f32 %%d, %s;" % (op, ab), "f32")])
    ab = ab.replace("f", "g")
    kernel("double", "f64_" + op, "f64", [("f64", "%s.%s.f64 %%d, %s;" % (op, r, ab), "f64") for r in RND])
for op, ab in (("div", "%af, %bf"), ("rcp", "%af"), ("sqrt", "%af")):
    kernel("float", "f32_" + op, "f32", [("f32", "%s.%s.f32 %%d, %s;" % (op, r, ab), "f32") for r in RND]
           + [("f32", "%s.rn.ftz.f32 %%d, %s;" % (op, ab), "f32")])
    kernel("double", "f64_" + op, "f64", [("f64", "%s.%s.f64 %%d, %s;" % (op, r, ab.replace("f", "g")), "f64") for r in RND])
kernel("float", "f32_min_max", "f32", [("f32", "%s%s.f32 %%d, %%af, %%bf;" % (op, m), "f32") for op in ("min", "max")
       for m in ("", ".ftz", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs")])
kernel("double", "f64_min_max", "f64", [("f64", "%s.f64 %%d, %%ag, %%bg;" % op, "f64") for op in ("min", "max")])
kernel("float", "f32_sign", "f32", [("f32", "abs.f32 %d, %af;", "f32"), ("f32", "neg.f32 %d, %af;", "f32"),
       ("f32", "abs.ftz.f32 %d, %af;", "f32"), ("f32", "neg.ftz.f32 %d, %af;", "f32"),
       ("f32", "copysign.f32 %d, %af, %bf;", "f32")])
kernel("double", "f64_sign", "f64", [("f64", "abs.f64 %d, %ag;", "f64"), ("f64", "neg.f64 %d, %ag;", "f64"),
       ("f64", "copysign.f64 %d, %ag, %bg;", "f64")])
TESTS = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]
kernel("float", "f32_testp", "f32", [("p", "testp.%s.f32 %%d, %%af;" % t) for t in TESTS])
kernel("double", "f64_testp", "f64", [("p", "testp.%s.f64 %%d, %%ag;" % t) for t in TESTS])

# --- approximations, with the errors that the PTX definition states
kernel("approx", "approx_divide", "near", [("f32", "div.approx.f32 %d, %af, %bf;", "f32 rel=2e-7"),
       ("f32", "div.full.f32 %d, %af, %bf;", "f32 rel=2.4e-7"), ("f32", "rcp.approx.f32 %d, %af;", "f32 rel=1.2e-7"),
       ("f32", "div.approx.ftz.f32 %d, %af, %bf;", "f32 rel=2e-7")])
kernel("approx", "approx_root", "near", [("f32", "sqrt.approx.f32 %d, %af;", "f32 rel=1.2e-7"),
       ("f32", "rsqrt.approx.f32 %d, %af;", "f32 rel=1.3e-7"), ("f32", "sqrt.approx.ftz.f32 %d, %af;", "f32 rel=1.2e-7"),
       ("f64", "rsqrt.approx.f64 %d, %cg;", "f64 rel=1e-6"), ("f64", "rcp.approx.ftz.f64 %d, %cg;", "f64 rel=2e-6")],
       setup="\tcvt.f64.f32 %cg, %bf;\n")
kernel("approx", "approx_trig", "near", [("f32", "sin.approx.f32 %d, %af;", "f32 abs=5.2e-7"),
       ("f32", "cos.approx.f32 %d, %af;", "f32 abs=5.2e-7")],
       setup="\tmul.f32 %af, %af, 0f3f400000;\n")
kernel("approx", "approx_exp", "near", [("f32", "ex2.approx.f32 %d, %af;", "f32 rel=2.4e-7"),
       ("f32", "ex2.approx.ftz.f32 %d, %bf;", "f32 rel=2.4e-7"), ("f32", "lg2.approx.f32 %d, %af;", "f32 abs=2.4e-7 rel=2.4e-7"),
       ("f32", "tanh.approx.f32 %d, %af;", "f32 rel=5e-4")])

kernel("approx", "approx_corners", "f32",
       [("f32", "%s.approx%s.f32 %%d, %%af;" % (op, m), "f32 abs=3e-45 rel=1e-6") for op in ("rcp", "sqrt", "rsqrt", "ex2", "lg2")
        for m in ("", ".ftz")] + [("f32", "div.full%s.f32 %%d, %%af, %%bf;" % m, "f32 abs=3e-45 rel=1e-6") for m in ("", ".ftz")])

# --- half precision
for t, kind in (("f16", "f16"), ("bf16", "bf16")):
    three = [("b16", "%s.rn.%s %%d, %%a16, %%b16;" % (op, t), kind) for op in ("add", "sub", "mul")]
    kernel("half", "half_" + t, kind, three + [("b16", "fma.rn.%s %%d, %%a16, %%b16, %%c16;" % t, kind),
           ("b16", "fma.rn.relu.%s %%d, %%a16, %%b16, %%c16;" % t, kind)] +
           [("b16", "%s%s.%s %%d, %%a16, %%b16;" % (op, m, t), kind) for op in ("min", "max") for m in ("", ".NaN", ".xorsign.abs")] +
           [("b16", "abs.%s %%d, %%a16;" % t, kind), ("b16", "neg.%s %%d, %%a16;" % t, kind)])
    x2 = t + "x2"
    kernel("half", "half_" + x2, kind, [("b32", "%s.rn.%s %%d, %%a32, %%b32;" % (op, x2), kind + "x2") for op in ("add", "sub", "mul")]
           + [("b32", "fma.rn.%s %%d, %%a32, %%b32, %%c32;" % x2, kind + "x2"), ("b32", "min.%s %%d, %%a32, %%b32;" % x2, kind + "x2"),
              ("b32", "max.NaN.%s %%d, %%a32, %%b32;" % x2, kind + "x2"), ("b32", "neg.%s %%d, %%a32;" % x2, kind + "x2")])
kernel("half", "half_ftz_sat", "f16", [("b16", "%s.rn%s.f16 %%d, %%a16, %%b16;" % (op, m), "f16") for op in ("add", "sub", "mul")
       for m in (".ftz", ".sat", ".ftz.sat")] + [("b16", "fma.rn.ftz.f16 %d, %a16, %b16, %c16;", "f16"),
       ("b16", "fma.rn.sat.f16 %d, %a16, %b16, %c16;", "f16")])
kernel("half", "half_bfloat_functions", "near", [("b16", "ex2.approx.ftz.bf16 %d, %a16;", "bf16 rel=1.6e-2"),
       ("b16", "tanh.approx.bf16 %d, %a16;", "bf16 abs=1e-2"), ("b32", "ex2.approx.ftz.bf16x2 %d, %b32;", "bf16x2 rel=1.6e-2")],
       setup="\tshr.u32 %a32, %a32, 16; cvt.u16.u32 %a16, %a32; prmt.b32 %b32, %b32, %c32, 0x7632;\n")
kernel("half", "half_pairs_ftz", "f16", [("b32", "%s.rn.ftz.sat.f16x2 %%d, %%a32, %%b32;" % op, "f16x2") for op in ("add", "sub", "mul")] +
       [("b32", "fma.rn.ftz.sat.f16x2 %d, %a32, %b32, %c32;", "f16x2"), ("b32", "min.ftz.xorsign.abs.f16x2 %d, %a32, %b32;".replace("ftz.", ""), "f16x2"),
        ("p", "setp.lt.ftz.f16 %d, %a16, %b16;"), ("b16", "cvt.rni.f16.f16 %d, %a16;", "f16"), ("b16", "cvt.rzi.f16.f16 %d, %a16;", "f16")])
kernel("half", "half_functions", "near16", [("b16", "ex2.approx.f16 %d, %a16;", "f16 rel=2e-3"),
       ("b16", "tanh.approx.f16 %d, %a16;", "f16 abs=1e-3")])

# --- conversions
INT8 = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


def reg_of(t):
    n = t[1:]
    return "%a32" if n == "8" else "%a" + n


def cls_of(t):
    return {"8": "b32", "16": "b16", "32": "b32", "64": "b64"}[t[1:]]


def may_overflow(to, fr):
    """.sat is allowed only where a value may not fit"""
    if to[0] == fr[0]:
        return int(to[1:]) < int(fr[1:])
    return fr[0] == "s" or int(to[1:]) <= int(fr[1:])


for sat in ("", ".sat"):
    kernel("convert", "convert_int" + sat.replace(".", "_"), "int",
           [(cls_of(to), "cvt%s.%s.%s %%d, %s;" % (sat, to, fr, reg_of(fr))) for to in INT8 for fr in INT8
            if to != fr and (not sat or may_overflow(to, fr))])
kernel("convert", "convert_int_float", "int", [(f, "cvt.%s.%s.%s %%d, %%a%s;" % (r, t, i, i[1:]), t) for (f, t) in
       (("f32", "f32"), ("f64", "f64")) for i in I3 for r in RND])
kernel("convert", "convert_f32_int", "f32", [(cls_of(to), "cvt.%s.%s.f32 %%d, %%af;" % (r, to)) for to in I3
       for r in ("rni", "rzi", "rmi", "rpi")])
kernel("convert", "convert_f64_int", "f64", [(cls_of(to), "cvt.%s.%s.f64 %%d, %%ag;" % (r, to)) for to in I3[2:]
       for r in ("rni", "rzi", "rmi", "rpi")])
kernel("convert", "convert_float", "f64", [("f32", "cvt.%s.f32.f64 %%d, %%ag;" % r, "f32") for r in RND])
kernel("convert", "convert_widen", "f32", [("f64", "cvt.f64.f32 %d, %af;", "f64"), ("f64", "cvt.ftz.f64.f32 %d, %af;", "f64"),
       ("f32", "cvt.sat.f32.f32 %d, %af;", "f32"), ("f32", "cvt.ftz.f32.f32 %d, %af;", "f32")] +
       [("f32", "cvt.%s.f32.f32 %%d, %%af;" % r, "f32") for r in ("rni", "rzi", "rmi", "rpi")])
kernel("convert", "convert_round_f64", "f64", [("f64", "cvt.%s.f64.f64 %%d, %%ag;" % r, "f64") for r in ("rni", "rzi", "rmi", "rpi")])
kernel("convert", "convert_to_half", "f32", [("b16", "cvt.rn.f16.f32 %d, %af;", "f16"), ("b16", "cvt.rz.f16.f32 %d, %af;", "f16"),
       ("b16", "cvt.rn.bf16.f32 %d, %af;", "bf16"), ("b16", "cvt.rz.bf16.f32 %d, %af;", "bf16"),
       ("b32", "cvt.rn.f16x2.f32 %d, %af, %bf;", "f16x2"), ("b32", "cvt.rn.bf16x2.f32 %d, %af, %bf;", "bf16x2"),
       ("b32", "cvt.rn.relu.f16x2.f32 %d, %af, %bf;", "f16x2"), ("b16", "cvt.rn.relu.bf16.f32 %d, %af;", "bf16")])
kernel("convert", "convert_tf32", "f32", [("b32", "cvt.rna.tf32.f32 %d, %af;", "f32"), ("b32", "cvt.rn.tf32.f32 %d, %af;", "f32"),
       ("b32", "cvt.rz.tf32.f32 %d, %af;", "f32")])
kernel("convert", "convert_from_half", "f16", [("f32", "cvt.f32.f16 %d, %a16;", "f32"), ("f64", "cvt.f64.f16 %d, %a16;", "f64"),
       ("b32", "cvt.rni.s32.f16 %d, %a16;"), ("b32", "cvt.rzi.u32.f16 %d, %a16;"), ("b16", "cvt.rmi.s16.f16 %d, %a16;"),
       ("b16", "cvt.rpi.f16.f16 %d, %a16;", "f16")])
kernel("convert", "convert_from_bfloat", "bf16", [("f32", "cvt.f32.bf16 %d, %a16;", "f32")])
for t in ("e4m3x2", "e5m2x2"):
    kernel("convert", "convert_" + t, "f32", [("b16", "cvt.rn.satfinite.%s.f32 %%d, %%af, %%bf;" % t),
           ("b16", "cvt.rn.satfinite.relu.%s.f32 %%d, %%af, %%bf;" % t),
           ("b16", "cvt.rn.f16x2.f32 %%t, %%af, %%bf; cvt.rn.satfinite.%s.f16x2 %%d, %%t;" % t),
           ("b32", "cvt.rn.f16x2.%s %%d, %%a16;" % t, "f16x2")])
kernel("convert", "convert_int_half", "int", [("b16", "cvt.rn.f16.%s %%d, %%a%s;" % (t, t[1:]), "f16") for t in I3])

# --- moves
kernel("move", "move_pack", "int", [("b32", "mov.b32 %d, {%a16, %b16};"), ("b64", "mov.b64 %d, {%a32, %b32};"),
       ("b64", "mov.b64 %d, {%a16, %b16, %c16, %d16};"), ("b16", ".reg .b16 %q; mov.b32 {%q, %d16}, %a32; mov.b16 %d, %d16;"),
       ("b32", ".reg .b32 %q; mov.b64 {%t, %q}, %a64; mov.b32 %d, %t;"), ("b32", ".reg .b32 %q; mov.b64 {%q, %t}, %a64; mov.b32 %d, %t;")],
       )

# --- memory
ROW = "\tand.b32 %t, %i, 63; shl.b32 %t, %t, 5; cvt.u64.u32 %w, %t; mov.b64 %l, buffer; add.u64 %l, %l, %w;\n"
FILL = "".join("\tst.{0}.u64 [%l+{1}], %{2}64;\n".format("{0}", 8 * k, r) for k, r in enumerate("abcd"))
LOADS = [("b32", "ld.{0}.%s %%d, [%%l+%d];" % (t, off)) for t, off in
         (("u8", 1), ("s8", 3), ("u16", 2), ("s16", 6), ("b32", 4), ("u32", 8))] + [
    ("b64", "ld.{0}.s8 %d, [%l+7];"), ("b64", "ld.{0}.u16 %d, [%l+10];"), ("b64", "ld.{0}.s32 %d, [%l+12];"),
    ("b64", "ld.{0}.b64 %d, [%l+16];"), ("f32", "ld.{0}.f32 %d, [%l+20];"), ("f64", "ld.{0}.f64 %d, [%l+24];"),
    ("b32", "ld.{0}.v2.u32 {%t, %x}, [%l+8]; xor.b32 %d, %t, %x;"),
    ("b32", "ld.{0}.v4.u32 {%t, %x, %y, %n}, [%l+16]; xor.b32 %t, %t, %x; sub.u32 %y, %y, %n; add.u32 %d, %t, %y;"),
    ("b64", "ld.{0}.v2.u64 {%w, %v}, [%l]; sub.u64 %d, %w, %v;"),
    ("b16", "ld.{0}.v4.u16 {%a16, %b16, %c16, %d16}, [%l+8]; sub.u16 %a16, %a16, %b16; mul.lo.u16 %c16, %c16, 3;"
            " add.u16 %a16, %a16, %c16; xor.b16 %d, %a16, %d16;"),
    ("b32", "ld.{0}.v4.u8 {%a16, %b16, %c16, %d16}, [%l+4]; mov.b32 %t, {%a16, %b16}; mov.b32 %x, {%c16, %d16};"
            " mad.lo.u32 %d, %x, 5, %t;"),
    ("b32", "st.{0}.u8 [%l+1], %b32; st.{0}.u16 [%l+2], %c16; st.{0}.v2.u32 [%l+8], {%d32, %a32}; ld.{0}.u32 %t, [%l];"
            " ld.{0}.u32 %x, [%l+12]; xor.b32 %d, %t, %x;"),
    ("b32", "ld.volatile.{0}.u32 %d, [%l+4];"),
]


def loads(space):
    return [(c, t.replace("{0}", space)) for c, t in LOADS if space != "local" or "volatile" not in t]


for space in ("shared", "local"):
    kernel("memory", "memory_own_" + space, "int", loads(space), setup=ROW + FILL.replace("{0}", space),
           extra="\t.reg .b64 %%l, %%v;\n\t.%s .align 16 .b8 buffer[2048];\n" % space)
kernel("memory", "memory_global", "int", loads("global"),
       setup="\tmov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %t, %x, %y, %t;\n"
             "\tmul.wide.u32 %w, %t, 32; mov.b64 %l, memory_buffer; add.u64 %l, %l, %w;\n" + FILL.replace("{0}", "global"),
       extra="\t.reg .b64 %l, %v;\n", module=".global .align 16 .b8 memory_buffer[10240];\n\n")
kernel("memory", "memory_own_generic", "int", [(c, t.replace(".{0}", "")) for c, t in LOADS],
       setup=ROW + "\tcvta.shared.u64 %l, %l;\n" + FILL.replace(".{0}", ""),
       extra="\t.reg .b64 %l, %v;\n\t.shared .align 16 .b8 buffer[2048];\n")
kernel("memory", "memory_const", "int",
       [("b32", "ld.const.u32 %d, [%l];"), ("b32", "ld.const.s16 %d, [%l+2];"), ("b32", "ld.const.u8 %d, [constants+5];"),
        ("b64", "ld.const.u64 %d, [pointed+8];"), ("f32", "ld.const.f32 %d, [reals+4];"), ("f64", "ld.const.f64 %d, [reals64];"),
        ("b64", "cvta.const.u64 %w, %l; ld.u32 %t, [%w]; cvt.u64.u32 %d, %t;"),
        ("b32", "ld.global.u64 %w, [pointer]; cvta.to.global.u64 %w, %w; ld.global.u32 %d, [%w];"),
        ("b32", "ld.global.nc.v2.u32 {%t, %x}, [table+8]; sub.u32 %d, %t, %x;")],
       setup="\tand.b32 %t, %a32, 7; shl.b32 %t, %t, 2; cvt.u64.u32 %w, %t; mov.u64 %l, constants; add.u64 %l, %l, %w;\n",
       extra="\t.reg .b64 %l;\n",
       module=".const .align 8 .u32 constants[8] = {1, 0xffff8000, 3, 0x80000000, 5, 6, 7, -8};\n"
              ".const .u64 pointed[2] = {0x123456789abcdef0, 0xfedcba9876543210};\n"
              ".const .f32 reals[2] = {0f3f800000, -1.5};\n.const .f64 reals64[1] = {0d3fb999999999999a};\n"
              ".global .align 8 .u32 table[2][2] = {{10, 20}, {35, 40}};\n.global .u64 pointer = generic(table)+4;\n\n")
kernel("memory", "memory_spaces", "int",
       [("p", "cvta.shared.u64 %%w, %%s; isspacep.%s %%d, %%w;" % sp) for sp in ("shared", "global", "local")] +
       [("p", "cvta.local.u64 %%w, %%l; isspacep.%s %%d, %%w;" % sp) for sp in ("shared", "global", "local")] +
       [("p", "isspacep.%s %%d, %%in;" % sp) for sp in ("shared", "global", "local")] +
       [("b32", "cvta.local.u64 %w, %l; st.u32 [%w], %a32; ld.local.u32 %d, [%l];"),
        ("b32", "cvta.shared.u64 %w, %s; cvta.to.shared.u64 %w, %w; sub.u64 %w, %w, %s; cvt.u32.u64 %d, %w;")],
       setup="\tmov.u64 %s, here; mov.u64 %l, mine;\n",
       extra="\t.reg .b64 %l, %s;\n\t.shared .align 8 .b8 here[64];\n\t.local .align 8 .b8 mine[64];\n")
raw("memory", "memory_async_copy", "int", 2,
    "\tmov.u32 %t, %tid.x; shl.b32 %t, %t, 5; mov.u32 %x, tile; add.u32 %x, %x, %t;\n"
    "\tcp.async.ca.shared.global [%x], [%in], 16;\n\tcp.async.ca.shared.global [%x+16], [%in+16], 8, 4;\n"
    "\tcp.async.commit_group;\n\tcp.async.wait_group 0;\n"
    "\tld.shared.u64 %w, [%x+8]; st.global.u64 [%outp], %w;\n\tld.shared.u64 %w, [%x+16]; st.global.u64 [%outp+8], %w;\n",
    extra="\t.shared .align 16 .b8 tile[2048];\n")

# --- atomics: every block adds up in the row of its first thread
FIRST = ("\tmov.u32 %%t, %%tid.x; cvt.u64.u32 %%w, %%t; mul.lo.u64 %%w, %%w, %d; sub.u64 %%base, %%outp, %%w;\n")


def atomics(name, ops, inputs="int", space="global", setup=""):
    """(type, operation, register): all threads of a block on one word"""
    body = FIRST % (8 * len(ops)) + setup
    if space == "shared":
        body += "\tmov.u64 %s, cells;\n\tsetp.eq.u32 %out, %t, 0;\n"
        body += "".join("\t@%out st.shared.u64 [%s+{0}], 0;\n".format(8 * j) for j in range(len(ops)))
        body += "\tbar.sync 0;\n"
    for j, (t, op, reg) in enumerate(ops):
        at = "%s" if space == "shared" else "%base"
        body += "\tred.{}.{}.{} [{}+{}], {};\n".format(space, op, t, at, 8 * j, reg)
    if space == "shared":
        body += "\tbar.sync 0;\n" + "".join(
            "\tld.shared.u64 %w, [%s+{0}]; st.global.u64 [%outp+{0}], %w;\n".format(8 * j) for j in range(len(ops)))
    raw("atomic", name, inputs, len(ops), body,
        extra="\t.reg .b64 %base, %s;\n" + ("\t.shared .align 8 .b8 cells[%d];\n" % (8 * len(ops)) if space == "shared" else ""))


INT_ATOMS = [("u32", "add", "%a32"), ("u64", "add", "%a64"), ("s32", "min", "%a32"), ("s32", "max", "%a32"),
             ("u32", "max", "%b32"), ("u64", "max", "%c64"), ("s64", "min", "%b64"), ("s64", "max", "%b64"),
             ("b32", "or", "%m32"), ("b32", "xor", "%b32"), ("b64", "xor", "%c64"), ("b64", "or", "%m64")]
MASKS = "\tand.b32 %m32, %a32, 0x00ff00f0; mov.b64 %m64, {%m32, %m32};\n"
for space in ("global", "shared"):
    atomics("atomic_int_" + space, INT_ATOMS, space=space, setup="\t.reg .b32 %m32; .reg .b64 %m64;\n" + MASKS)
    # every thread adds the same small number: the order does not matter
    atomics("atomic_float_" + space, [("f32", "add", "0f3f000000"), ("f64", "add", "0d3fe0000000000000"),
            ("noftz.f16x2", "add", "%h"), ("noftz.bf16x2", "add", "%k")], space=space,
            setup="\t.reg .b32 %h, %k; mov.b32 %h, 0x38003c00; mov.b32 %k, 0x3f003f80;\n")
raw("atomic", "atomic_returns", "int", 6,
    FIRST % 48 + """	.reg .b32 %r0, %r1, %r2, %m;
	atom.global.inc.u32 %r0, [%base], 40;
	atom.global.add.u32 %r1, [%base+8], 3;
	// where each value came from is a matter of order; what came is not
	match.any.sync.b32 %m, %r0, 0xffffffff;
	popc.b32 %m, %m; cvt.u64.u32 %w, %m; st.global.u64 [%outp+16], %w;
	rem.u32 %r1, %r1, 3; cvt.u64.u32 %w, %r1; st.global.u64 [%outp+24], %w;
	mov.u32 %t, %tid.x; setp.ne.u32 %pa, %t, 0;
	bar.sync 0;
	@%pa ret;
	atom.global.exch.b32 %r0, [%base+8], 77;
	cvt.u64.u32 %w, %r0; st.global.u64 [%outp+32], %w;
	atom.global.cas.b32 %r1, [%base+8], 77, 99; atom.global.cas.b32 %r2, [%base+8], 77, 100;
	shl.b32 %r1, %r1, 8; add.u32 %r1, %r1, %r2; cvt.u64.u32 %w, %r1; st.global.u64 [%outp+40], %w;
	atom.global.dec.u32 %r0, [%base], 1000;
""", extra="\t.reg .b64 %base;\n")
# subnormals: what a sum in each memory makes of them
raw("atomic", "atomic_subnormals", "int", 3, FIRST % 24 + """	mov.u64 %s, cell; setp.eq.u32 %pa, %t, 0;
	@!%pa ret;
	st.shared.u32 [%s], 0x00400000; st.global.u32 [%base], 0x00400000; st.global.u32 [%base+8], 0x00c00000;
	red.shared.add.f32 [%s], 0f00100000; red.global.add.f32 [%base], 0f00100000; red.global.add.f32 [%base+8], 0f80800000;
	ld.shared.u32 %x, [%s]; cvt.u64.u32 %w, %x; st.global.u64 [%base+16], %w;
""", extra="\t.reg .b64 %base, %s;\n\t.shared .align 8 .b8 cell[8];\n")
raw("atomic", "atomic_exchanges", "int", 6, FIRST % 48 + """	setp.eq.u32 %pa, %t, 0;
	@!%pa ret;
	st.global.u64 [%outp], %a64; st.global.u64 [%outp+8], %b64; st.global.u64 [%outp+16], %c64;
	atom.global.exch.b64 %w, [%outp], %d64; st.global.u64 [%outp+24], %w;
	atom.global.cas.b64 %w, [%outp+8], %b64, %a64; st.global.u64 [%outp+32], %w;
	atom.global.cas.b64 %w, [%outp+8], %c64, %d64; st.global.u64 [%outp+40], %w;
	{ .reg .b16 %h, %k; cvt.u16.u64 %h, %c64; atom.global.cas.b16 %k, [%outp+16], %h, %a16; }
	{ .reg .b16 %h; mov.b16 %h, 0x3c00; red.global.add.noftz.f16 [%outp+18], %h; }
	{ .reg .b128 %q, %r; mov.b128 %q, {%a64, %b64}; mov.b128 %r, %q; mov.b128 {%w, %a64}, %r; atom.global.xor.b64 %w, [%outp+40], %a64; }
""", extra="\t.reg .b64 %base;\n")
raw("atomic", "atomic_spin_lock", "int", 1,
    FIRST % 8 + """	.reg .b32 %old, %count;
	mov.u64 %s, lock;
	setp.eq.u32 %pa, %t, 0;
	@%pa st.shared.u32 [%s], 0;
	@%pa st.shared.u32 [%s+4], 0;
	bar.sync 0;
AGAIN:
	atom.shared.cas.b32 %old, [%s], 0, 1;
	setp.ne.u32 %pb, %old, 0;
	@%pb bra AGAIN;
	ld.volatile.shared.u32 %count, [%s+4];
	add.u32 %count, %count, 1;
	st.volatile.shared.u32 [%s+4], %count;
	membar.cta;
	atom.shared.exch.b32 %old, [%s], 0;
	bar.sync 0;
	ld.shared.u32 %count, [%s+4]; cvt.u64.u32 %w, %count; st.global.u64 [%outp], %w;
""", extra="\t.reg .b64 %base, %s;\n\t.shared .align 8 .b8 lock[8];\n")

# --- lanes
C = {"up": "0", "down": "31", "bfly": "31", "idx": "31"}
kernel("warp", "warp_shuffle", "int",
       [("b32", "shfl.sync.%s.b32 %%d, %%a32, %s, %s, 0xffffffff;" % (m, b, C[m])) for m in C for b in ("1", "5", "%c32")] +
       [("p", "shfl.sync.%s.b32 %%t|%%d, %%a32, %%c32, %s, 0xffffffff;" % (m, C[m])) for m in C] +
       [("b32", "shfl.sync.up.b32 %d, %a32, 3, 0x1800, 0xffffffff;"), ("b32", "shfl.sync.down.b32 %d, %a32, 3, 0x181f, 0xffffffff;"),
        ("b32", "shfl.sync.bfly.b32 %d, %a32, 5, 0x1c1f, 0xffffffff;"), ("b32", "shfl.sync.idx.b32 %d, %a32, 2, 0x101f, 0xffffffff;")],
       setup="\tand.b32 %c32, %c32, 31;\n")
kernel("warp", "warp_vote", "int",
       [("p", "vote.sync.%s.pred %%d, %s, 0xffffffff;" % (m, p)) for m in ("all", "any", "uni") for p in ("%pa", "!%pa", "%pb", "%q")] +
       [("b32", "vote.sync.ballot.b32 %%d, %s, 0xffffffff;" % p) for p in ("%pa", "!%pb", "%q")],
       setup="\tsetp.eq.u32 %q, %i, %i;\n", extra="\t.reg .pred %q;\n")
kernel("warp", "warp_match", "int",
       [("b32", "match.any.sync.b32 %d, %c32, 0xffffffff;"), ("b32", "match.any.sync.b64 %d, %c64, 0xffffffff;"),
        ("b32", "match.all.sync.b32 %d, %c32, 0xffffffff;"), ("b32", "match.all.sync.b32 %d, 5, 0xffffffff;"),
        ("p", "match.all.sync.b32 %t|%d, %c32, 0xffffffff;"), ("p", "match.all.sync.b64 %t|%d, %e, 0xffffffff;")],
       setup="\tand.b32 %c32, %c32, 3; cvt.u64.u32 %c64, %c32; mov.u64 %e, 9;\n", extra="\t.reg .b64 %e;\n")
kernel("warp", "warp_reduce", "int",
       [("b32", "redux.sync.%s.%s %%d, %%a32, 0xffffffff;" % (op, t)) for t in ("u32", "s32") for op in ("add", "min", "max")] +
       [("b32", "redux.sync.%s.b32 %%d, %%a32, 0xffffffff;" % op) for op in ("and", "or", "xor")])
kernel("warp", "warp_masks", "int",
       [("b32", "mov.u32 %%d, %%%s;" % r) for r in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge")] +
       [("b32", "activemask.b32 %d;"), ("b32", ".reg .pred %q; elect.sync %d|%q, 0xffffffff;"),
        ("p", "elect.sync %t|%d, 0xfffffff0;".replace("0xfffffff0", "0xffffffff"))])
raw("warp", "warp_divergent", "int", 6, """	.reg .b32 %m, %r, %k;
	and.b32 %k, %a32, 3;
	mov.u32 %m, %laneid; and.b32 %k, %m, 3;
	setp.lt.u32 %pa, %k, 2;
	mov.u32 %r, 0;
	@!%pa bra OTHER;
	activemask.b32 %r;
	vote.sync.ballot.b32 %r, %pb, 0x33333333;
	shfl.sync.idx.b32 %t, %a32, 1, 31, 0x33333333;
	bra.uni JOIN;
OTHER:
	vote.sync.ballot.b32 %r, %pb, 0xcccccccc;
	shfl.sync.idx.b32 %t, %b32, 3, 31, 0xcccccccc;
JOIN:
	bar.warp.sync 0xffffffff;
	cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	cvt.u64.u32 %w, %t; st.global.u64 [%outp+8], %w;
	// groups of four lanes, each with a mask of its own
	mov.u32 %m, %laneid; and.b32 %m, %m, 28; mov.u32 %r, 15; shl.b32 %r, %r, %m;
	shfl.sync.bfly.b32 %t, %c32, 1, 0x1c1f, %r; cvt.u64.u32 %w, %t; st.global.u64 [%outp+16], %w;
	redux.sync.add.u32 %t, %b32, %r; cvt.u64.u32 %w, %t; st.global.u64 [%outp+24], %w;
	match.any.sync.b32 %t, %k, %r; cvt.u64.u32 %w, %t; st.global.u64 [%outp+32], %w;
	// lanes leave one by one; those that stay still meet
	mov.u32 %m, %laneid; setp.gt.u32 %pa, %m, 19;
	@%pa ret;
	vote.sync.ballot.b32 %r, %pc, 0x000fffff; cvt.u64.u32 %w, %r; st.global.u64 [%outp+40], %w;
""")

# --- blocks
raw("block", "block_exchange", "int", 2, """	.reg .b64 %s; .reg .b32 %r;
	mov.u32 %t, %tid.x; mul.wide.u32 %w, %t, 8; mov.u64 %s, words; add.u64 %s, %s, %w;
	st.shared.u64 [%s], %a64;
	bar.sync 0;
	xor.b32 %t, %t, 63; mul.wide.u32 %w, %t, 8; mov.u64 %s, words; add.u64 %s, %s, %w;
	ld.shared.u64 %w, [%s]; st.global.u64 [%outp], %w;
	barrier.sync 1, 64;
	mov.u32 %t, %tid.x; add.u32 %t, %t, 17; and.b32 %t, %t, 63; mul.wide.u32 %w, %t, 8; mov.u64 %s, words; add.u64 %s, %s, %w;
	atom.shared.xor.b64 %w, [%s], %b64;
	bar.sync 0;
	ld.shared.u64 %w, [%s]; st.global.u64 [%outp+8], %w;
""", extra="\t.shared .align 8 .b8 words[512];\n")
raw("block", "block_reduce", "int", 6, """	.reg .b32 %r; .reg .pred %q;
	bar.red.popc.u32 %r, 0, %pa; cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	bar.red.popc.u32 %r, 0, !%pb; cvt.u64.u32 %w, %r; st.global.u64 [%outp+8], %w;
	bar.red.and.pred %q, 1, %pa; selp.u64 %w, 1, 0, %q; st.global.u64 [%outp+16], %w;
	bar.red.or.pred %q, 1, %pa; selp.u64 %w, 1, 0, %q; st.global.u64 [%outp+24], %w;
	setp.eq.u32 %pc, %i, %i;
	bar.red.and.pred %q, 2, 128, %pc; selp.u64 %w, 1, 0, %q; st.global.u64 [%outp+32], %w;
	bar.red.or.pred %q, 2, !%pc; selp.u64 %w, 1, 0, %q; st.global.u64 [%outp+40], %w;
""", threads=256, block=128)
raw("block", "block_producers", "int", 1, """	.reg .b32 %r, %warp; .reg .b64 %s;
	// two warps put numbers in, two take them out, eight times
	mov.u32 %t, %tid.x; shr.u32 %warp, %t, 5; and.b32 %t, %t, 63; mul.wide.u32 %w, %t, 4; mov.u64 %s, box; add.u64 %s, %s, %w;
	mov.u32 %x, 0; mov.u32 %r, 0;
	setp.gt.u32 %pa, %warp, 1;
	@%pa bra TAKE;
PUT:
	bar.sync 2, 128;
	mad.lo.u32 %y, %x, 7, %a32; st.shared.u32 [%s], %y;
	membar.cta;
	bar.arrive 1, 128;
	add.u32 %x, %x, 1; setp.lt.u32 %pb, %x, 8;
	@%pb bra PUT;
	bra.uni END;
TAKE:
	bar.arrive 2, 128;
	bar.sync 1, 128;
	ld.shared.u32 %y, [%s]; mad.lo.u32 %r, %r, 31, %y;
	add.u32 %x, %x, 1; setp.lt.u32 %pb, %x, 8;
	@%pb bra TAKE;
END:
	cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
""", extra="\t.shared .align 4 .b8 box[256];\n", threads=256, block=128)
raw("block", "block_early_exit", "int", 1, """	.reg .b32 %r;
	mov.u32 %t, %tid.x; setp.ge.u32 %pa, %t, 40;
	@%pa ret;
	bar.red.popc.u32 %r, 0, %pb; cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	bar.sync 0;
""")

# --- clusters of two blocks
raw("block", "cluster_exchange", "int", 4, """	.reg .b32 %rank, %other, %addr; .reg .b64 %far;
	mov.u32 %rank, %cluster_ctarank; xor.b32 %other, %rank, 1;
	mov.u32 %t, %tid.x; shl.b32 %t, %t, 2; mov.u32 %addr, words; add.u32 %addr, %addr, %t;
	st.shared.u32 [%addr], %a32;
	barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
	mapa.shared::cluster.u32 %x, %addr, %other;
	ld.shared::cluster.u32 %y, [%x]; cvt.u64.u32 %w, %y; st.global.u64 [%outp], %w;
	mov.u64 %far, words; cvta.shared.u64 %far, %far; mapa.u64 %far, %far, %other; getctarank.u64 %y, %far;
	cvt.u64.u32 %w, %y; st.global.u64 [%outp+8], %w;
	barrier.cluster.arrive.release; barrier.cluster.wait.acquire;
	atom.shared::cluster.add.u32 %y, [%x], %b32;
	barrier.cluster.arrive; barrier.cluster.wait;
	ld.shared.u32 %y, [%addr]; cvt.u64.u32 %w, %y; st.global.u64 [%outp+16], %w;
	mov.u32 %x, %clusterid.x; mov.u32 %y, %nclusterid.x; mad.lo.u32 %x, %x, 100, %y; mov.u32 %y, %cluster_nctarank; mad.lo.u32 %x, %x, 100, %y;
	cvt.u64.u32 %w, %x; st.global.u64 [%outp+24], %w;
	barrier.cluster.arrive; barrier.cluster.wait;
""", extra="\t.shared .align 4 .b8 words[256];\n", threads=256, directive=".reqnctapercluster 2, 1, 1\n")

# --- control flow
raw("flow", "flow_loops", "int", 3, """	.reg .b32 %r, %k, %m;
	and.b32 %k, %a32, 31; mov.u32 %r, 0; mov.u32 %m, 0;
OUTER:
	setp.eq.u32 %pa, %k, 0;
	@%pa bra DONE;
	sub.u32 %k, %k, 1;
	and.b32 %x, %k, 7; mov.u32 %y, 0;
INNER:
	setp.ge.u32 %pb, %y, %x;
	@%pb bra OUT;
	add.u32 %y, %y, 1; mad.lo.u32 %r, %r, 33, %y;
	setp.eq.u32 %pc, %y, 5;
	@%pc bra OUT;
	bra INNER;
OUT:
	add.u32 %m, %m, %x;
	bra.uni OUTER;
DONE:
	cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	cvt.u64.u32 %w, %m; st.global.u64 [%outp+8], %w;
	activemask.b32 %r; bar.warp.sync 0xffffffff;
	vote.sync.ballot.b32 %r, %pa, 0xffffffff; cvt.u64.u32 %w, %r; st.global.u64 [%outp+16], %w;
""")
raw("flow", "flow_switch", "int", 2, """	.reg .b32 %r, %k;
	and.b32 %k, %a32, 3;
TARGETS: .branchtargets ZERO, ONE, TWO, ZERO;
	mov.u32 %r, 0;
	brx.idx %k, TARGETS;
ONE:
	add.u32 %r, %r, 10; bra.uni END;
TWO:
	add.u32 %r, %r, 20;
ZERO:
	add.u32 %r, %r, 1;
	@%pb bra END;
	add.u32 %r, %r, 100;
END:
	cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	{ .reg .b32 %r; mov.u32 %r, 4; { .reg .b64 %r; mov.u64 %r, 9; st.global.u64 [%outp+8], %r; } }
""")
FUNCS = """.visible .func (.param .b32 result) factorial(.param .b32 value)
{
	.reg .pred %p; .reg .b32 %v, %r;
	ld.param.u32 %v, [value];
	setp.lt.u32 %p, %v, 2;
	mov.u32 %r, 1;
	@%p bra END;
	{
	.param .b32 arg; .param .b32 ret0;
	sub.u32 %r, %v, 1;
	st.param.b32 [arg], %r;
	call.uni (ret0), factorial, (arg);
	ld.param.b32 %r, [ret0];
	}
	mul.lo.u32 %r, %r, %v;
END:
	st.param.b32 [result], %r;
	ret;
}

.visible .func (.param .align 8 .b8 result[24]) turn(.param .align 8 .b8 value[24], .param .b32 add)
{
	.reg .b64 %x, %y, %z; .reg .b32 %a;
	ld.param.u64 %x, [value]; ld.param.u64 %y, [value+8]; ld.param.u64 %z, [value+16]; ld.param.u32 %a, [add];
	st.param.u64 [result], %y; st.param.u64 [result+8], %z;
	cvt.u64.u32 %y, %a; add.u64 %x, %x, %y; st.param.u64 [result+16], %x;
	ret;
}

.visible .func (.param .b32 result) twice(.param .b32 value)
{
	.reg .b32 %v;
	ld.param.u32 %v, [value]; shl.b32 %v, %v, 1; st.param.b32 [result], %v;
	ret;
}

.visible .func (.param .b32 result) square(.param .b32 value)
{
	.reg .b32 %v;
	ld.param.u32 %v, [value]; mul.lo.u32 %v, %v, %v; st.param.b32 [result], %v;
	ret;
}

.visible .func (.reg .b32 result) plus(.reg .b32 left, .reg .b32 right)
{
	add.u32 result, left, right;
	ret;
}

.global .align 8 .u64 choices[2] = {twice, square};

"""
CALL = "	{{ .param .b32 arg; .param .b32 ret0; st.param.b32 [arg], {1}; call.uni (ret0), {0}, (arg); ld.param.b32 {2}, [ret0]; }}\n"
raw("flow", "flow_calls", "int", 6, "	.reg .b32 %r, %k; .reg .b64 %f, %g, %h;\n	and.b32 %k, %a32, 15;\n" +
    CALL.format("factorial", "%k", "%r") + "	cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;\n" + """	{
	.param .align 8 .b8 arg[24]; .param .b32 more; .param .align 8 .b8 ret0[24];
	st.param.u64 [arg], %a64; st.param.u64 [arg+8], %b64; st.param.u64 [arg+16], %c64; st.param.b32 [more], %d32;
	call.uni (ret0), turn, (arg, more);
	ld.param.u64 %f, [ret0]; ld.param.u64 %g, [ret0+8]; ld.param.u64 %h, [ret0+16];
	}
	st.global.u64 [%outp+8], %f; st.global.u64 [%outp+16], %g; st.global.u64 [%outp+24], %h;
	// a function chosen by each lane
	and.b32 %t, %b32, 1; mul.wide.u32 %w, %t, 8; mov.u64 %f, choices; add.u64 %f, %f, %w; ld.global.u64 %f, [%f];
	{
	.param .b32 arg; .param .b32 ret0;
	st.param.b32 [arg], %a32;
	PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);
	call (ret0), %f, (arg), PROTO;
	ld.param.b32 %r, [ret0];
	}
	cvt.u64.u32 %w, %r; st.global.u64 [%outp+32], %w;
	mov.u32 %r, 0;
	@%pc call (%r), plus, (%a32, 12);
	cvt.u64.u32 %w, %r; st.global.u64 [%outp+40], %w;
""", module=FUNCS)
raw("flow", "flow_exits", "int", 2, """	.reg .b32 %k;
	and.b32 %k, %a32, 7;
	setp.eq.u32 %pa, %k, 0;
	@%pa exit;
	st.global.u64 [%outp], %a64;
	setp.eq.u32 %pa, %k, 1;
	@%pa ret;
	setp.eq.u32 %pa, %k, 2;
	@!%pa bra GO;
	ret.uni;
GO:
	st.global.u64 [%outp+8], %b64;
""")

# --- barrier objects
raw("block", "block_mbarrier", "int", 3, """	.reg .b64 %s, %state; .reg .b32 %r, %phase; .reg .pred %q;
	mov.u32 %t, %tid.x; mov.u64 %s, object; setp.eq.u32 %q, %t, 0;
	@%q mbarrier.init.shared.b64 [%s], 64;
	@%q st.shared.u32 [%s+8], 0;
	bar.sync 0;
	red.shared.add.u32 [%s+8], 3;
	mbarrier.arrive.shared.b64 %state, [%s];
WAIT:
	mbarrier.test_wait.shared.b64 %q, [%s], %state;
	@!%q bra WAIT;
	ld.shared.u32 %r, [%s+8]; cvt.u64.u32 %w, %r; st.global.u64 [%outp], %w;
	bar.sync 0;
	red.shared.xor.b32 [%s+8], %a32;
	mbarrier.arrive.shared.b64 _, [%s];
AGAIN:
	mbarrier.try_wait.parity.shared.b64 %q, [%s], 1;
	@!%q bra AGAIN;
	ld.shared.u32 %r, [%s+8]; cvt.u64.u32 %w, %r; st.global.u64 [%outp+8], %w;
	mbarrier.test_wait.parity.shared.b64 %q, [%s], 0; selp.u64 %w, 1, 0, %q; st.global.u64 [%outp+16], %w;
""", extra="\t.shared .align 8 .b8 object[16];\n")

# --- matrices of a warp
TILE = """	mov.u32 %t, %tid.x; and.b32 %x, %t, 32; shl.b32 %x, %x, 5; mov.u32 %y, tile; add.u32 %x, %x, %y;
	and.b32 %t, %t, 31; shl.b32 %t, %t, 4; add.u32 %x, %x, %t;
	st.shared.u64 [%x], %a64; st.shared.u64 [%x+8], %c64;
	bar.warp.sync 0xffffffff;
"""
kernel("matrix", "matrix_load", "int",
       [("b32", "ldmatrix.sync.aligned.m8n8.x1%s.shared.b16 {%%t}, [%%x]; mov.b32 %%d, %%t;" % tr) for tr in ("", ".trans")] +
       [("b64", "ldmatrix.sync.aligned.m8n8.x2%s.shared.b16 {%%t, %%y}, [%%x]; mov.b64 %%d, {%%t, %%y};" % tr) for tr in ("", ".trans")] +
       [("b64", "ldmatrix.sync.aligned.m8n8.x4%s.shared.b16 {%%t, %%y, %%q, %%r}, [%%x]; mov.b64 %%w, {%%t, %%y};"
                " mov.b64 %%d, {%%q, %%r}; xor.b64 %%d, %%d, %%w;".replace("%%d, %%d, %%w", "%%d, %%e, %%w").replace("%%d, {%%q", "%%e, {%%q") % tr)
        for tr in ("", ".trans")] +
       [("b32", "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a32;")],
       setup=TILE, extra="\t.reg .b32 %q, %r; .reg .b64 %e;\n\t.shared .align 16 .b8 tile[2048];\n")
raw("matrix", "matrix_store", "int", 2, TILE + """
	stmatrix.sync.aligned.m8n8.x2.shared.b16 [%x], {%b32, %d32};
	bar.warp.sync 0xffffffff;
	ld.shared.u64 %w, [%x]; st.global.u64 [%outp], %w;
	bar.warp.sync 0xffffffff;
	stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%x], {%b32, %d32, %c32, %a32};
	bar.warp.sync 0xffffffff;
	ld.shared.u64 %w, [%x+8]; st.global.u64 [%outp+8], %w;
""", extra="\t.shared .align 16 .b8 tile[2048];\n")


def mma(name, inputs, shape, types, a, b, c, kind, setup=""):
    """one product; four results a lane, or two registers of pairs"""
    cls = "f32" if types[0] == "f32" else "b32"
    regs = 2 if types[0] == "f16" else 4
    names = ["%%m%d" % k for k in range(regs)]
    first = "mma.sync.aligned.%s.row.col.%s {%s}, {%s}, {%s}, {%s};" % (
        shape, ".".join(types), ", ".join(names), a, b, c)
    kernel("matrix", name, inputs, [(cls, (first if k == 0 else "") + " mov.b32 %%d, %s;" % names[k], kind) for k in range(regs)],
           setup=setup, extra="\t.reg .%s %s;\n\t.reg .b32 %%q, %%r;\n" % (cls, ", ".join(names)))


ZERO4 = "0f00000000, 0f3f800000, 0f00000000, 0fbf800000"
C4 = "%c0, %c1, %c2, %c3"
MIX = "\tshf.l.wrap.b32 %q, %a32, %b32, 16; shf.l.wrap.b32 %r, %c32, %d32, 16;\n"
FC = "\t.reg .f32 %c0, %c1, %c2, %c3; mov.f32 %c0, 0f00000000; mov.f32 %c1, 0f3f800000; mov.f32 %c2, 0f00000000; mov.f32 %c3, 0fbf800000;\n"
IC = "\t.reg .b32 %c0, %c1, %c2, %c3; mov.u32 %c0, 0; mov.u32 %c1, 1; mov.u32 %c2, %d32; mov.u32 %c3, -1;\n"
PAIR = "\tprmt.b32 %a32, %a32, %c32, 0x5410; prmt.b32 %b32, %b32, %d32, 0x5410;\n"
mma("matrix_f16_k8", "near16", "m16n8k8", ["f32", "f16", "f16", "f32"], "%a32, %b32", "%q", C4, "f32 abs=1e-3 rel=1e-4", PAIR + MIX + FC)
mma("matrix_f16_k16", "near16", "m16n8k16", ["f32", "f16", "f16", "f32"], "%a32, %b32, %q, %r", "%b32, %q", C4, "f32 abs=1e-3 rel=1e-4", PAIR + MIX + FC)
mma("matrix_f16_f16", "near16", "m16n8k16", ["f16", "f16", "f16", "f16"], "%a32, %b32, %q, %r", "%b32, %q", "%a32, %b32", "f16x2 abs=0.3 rel=5e-3", PAIR + MIX)
mma("matrix_bf16", "near", "m16n8k16", ["f32", "bf16", "bf16", "f32"], "%a32, %b32, %q, %r", "%b32, %q", C4, "f32 abs=1e-2 rel=1e-3",
    "\tprmt.b32 %a32, %a32, %c32, 0x7632; prmt.b32 %b32, %b32, %d32, 0x7632;\n\tmov.b32 %q, %b32; mov.b32 %r, %a32;\n" + FC)
mma("matrix_tf32_k4", "near", "m16n8k4", ["f32", "tf32", "tf32", "f32"], "%a32, %b32", "%c32", C4, "f32 abs=1e-3 rel=1e-4",
    "\tand.b32 %a32, %a32, 0xffffe000; and.b32 %b32, %b32, 0xffffe000; and.b32 %c32, %c32, 0xffffe000;\n" + FC)
mma("matrix_tf32_k8", "near", "m16n8k8", ["f32", "tf32", "tf32", "f32"], "%a32, %b32, %c32, %d32", "%c32, %a32", C4, "f32 abs=1e-3 rel=1e-4",
    "\tand.b32 %a32, %a32, 0xffffe000; and.b32 %b32, %b32, 0xffffe000; and.b32 %c32, %c32, 0xffffe000; and.b32 %d32, %d32, 0xffffe000;\n" + FC)
mma("matrix_s8_k16", "int", "m16n8k16", ["s32", "s8", "s8", "s32"], "%a32, %b32", "%d32", C4, "bits", IC)
mma("matrix_u8_k32", "int", "m16n8k32", ["s32", "u8", "s8", "s32"], "%a32, %b32, %q, %r", "%c32, %d32", C4, "bits", MIX + IC)

# --- special registers whose values do not depend on the device
SREGS = ["%s.%s" % (r, e) for r in ("tid", "ntid", "ctaid", "nctaid") for e in "xyz"] + ["laneid"]
kernel("special", "special_geometry", "int", [("b32", "mov.u32 %%d, %%%s;" % r) for r in SREGS] +
       [("b32", "mov.u32 %d, %dynamic_smem_size;"), ("b32", "mov.u32 %d, WARP_SZ;"),
        ("b32", "mad.lo.u32 %d, %ctaid.x, %ntid.x, %tid.x;".replace("%ctaid.x, %ntid.x, %tid.x", "%x, %y, %t")
         .join(["mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %t, %tid.x; ", ""]))])
kernel("special", "special_clocks", "int",
       [("p", "mov.u64 %w, %clock64; mov.u64 %v, %clock64; setp.ge.u64 %d, %v, %w;"),
        ("p", "mov.u64 %w, %globaltimer; mov.u64 %v, %globaltimer; setp.ge.u64 %d, %v, %w;"),
        ("p", "mov.u64 %w, %globaltimer; setp.ne.u64 %d, %w, 0;"),
        ("p", "mov.u32 %t, %smid; mov.u32 %x, %nsmid; setp.lt.u32 %d, %t, %x;"),
        ("p", "mov.u32 %t, %warpid; mov.u32 %x, %nwarpid; setp.lt.u32 %d, %t, %x;"),
        ("p", "mov.u32 %t, %clock; mov.u32 %x, %clock; sub.u32 %x, %x, %t; setp.ge.s32 %d, %x, 0;")],
       extra="\t.reg .b64 %v;\n")

for file, text in files.items():
    with open(os.path.join(sys.argv[1], file + ".ptx"), "w") as f:
        f.write("// SPDX-License-Identifier: Apache-2.0\n// Written by generate.py.\n"
                ".version 8.3\n.target sm_90\n.address_size 64\n\n" + text)
