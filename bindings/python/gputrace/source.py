# SPDX-License-Identifier: Apache-2.0
"""BPF programs from C text."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import warnings
from dataclasses import dataclass
from errno import EINVAL, ENOENT
from typing import List, Optional, Sequence

from ._cffi import lib
from ._library import sure_text
from .ctx import Context
from .error import Error
from .object import Object

HEADER = "gputrace/bpf/gputrace_gpu.h"
PRELUDE = ["linux/bpf.h", "bpf/bpf_helpers.h", HEADER]
CLANGS = ["clang", "clang-19", "clang-21", "clang-20", "clang-18", "clang-17", "clang-16"]


@dataclass(frozen=True)
class Diagnostic:
    """What clang said about one place."""

    file: str
    line: int  #: from 1
    column: int  #: from 1
    severity: str  #: "error", "fatal error", "warning" or "note"
    message: str
    source: str  #: the line itself, "" when it is not in the text given

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"
        if not self.source:
            return where
        # Tabs stay, so that the mark is below its column however wide they are.
        space = "".join("\t" if c == "\t" else " " for c in self.source[:self.column - 1])
        return f"{where}\n    {self.source}\n    {space}^"


class CompileError(Error):
    """clang refused a program; diagnostics say where."""

    def __init__(self, errno: int, sentence: str, vendor_code: int = 0,
                 diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(errno, sentence, vendor_code)
        self.diagnostics = list(diagnostics)


def find_clang() -> str:
    """$CLANG, or the first that PATH has."""
    wanted = os.environ.get("CLANG")
    for name in [wanted] if wanted else CLANGS:
        path = shutil.which(name)
        if path:
            return path
    raise Error(ENOENT, f"{wanted or 'clang'} was not found: it compiles BPF programs (Debian: clang-19)")


def include_folder() -> str:
    """The folder of the header for BPF authors: $GPUTRACE_INCLUDE_DIR, the one we were built with, pkg-config's."""
    folders = [os.environ.get("GPUTRACE_INCLUDE_DIR", ""),
               sure_text(lib.gputrace_python_includedir), _pkg_config()]
    for folder in folders:
        if folder and (pathlib.Path(folder) / HEADER).exists():
            return folder
    raise Error(ENOENT, f"<{HEADER}> was not found: install libgputrace's headers or set GPUTRACE_INCLUDE_DIR")


def _pkg_config() -> str:
    try:
        return subprocess.run(["pkg-config", "--variable=includedir", "gputrace"], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _diagnostics(output: str, path: pathlib.Path, name: str, lines: List[str]) -> List[Diagnostic]:
    found = []
    pattern = r"^(.*?):(\d+):(\d+): (fatal error|error|warning|note): (.*)$"
    for file, line, column, severity, message in re.findall(pattern, output, flags=re.MULTILINE):
        number = int(line)
        ours = file == str(path)
        source = lines[number - 1] if ours and 0 < number <= len(lines) else ""
        found.append(Diagnostic(name if ours else file, number, int(column), severity, message, source))
    return found


def compile_bpf(source: str, *, name: str = "program.bpf.c", flags: Sequence[str] = ()) -> bytes:
    """Compile BPF C with clang; the bytes of the object file.

    The headers that every program needs are included first, unless the text
    includes <gputrace/bpf/gputrace_gpu.h> itself.  flags are added to clang's
    own.  CompileError shows the lines that are wrong, numbered as in source;
    clang's warnings become Python's.
    """
    command = [find_clang(), "-target", "bpf", "-O2", "-g", "-Wall", "-fno-color-diagnostics",
               "-fno-caret-diagnostics", "-I" + include_folder(), "-iquote", os.getcwd()]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        command += ["-idirafter", f"/usr/include/{multiarch}"]
    if HEADER not in source:
        command += [word for header in PRELUDE for word in ("-include", header)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.bpf.c"
        output = path.with_suffix(".o")
        path.write_text(source)
        # The object file has the lines with it, and calls their file `name`.
        command += ["-gdwarf-5", "-gembed-source", f"-fdebug-prefix-map={path}={name}"]
        done = subprocess.run([*command, *flags, "-c", str(path), "-o", str(output)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = _diagnostics(done.stdout, path, name, source.split("\n"))
        if done.returncode:
            raise CompileError(EINVAL, "\n".join(map(str, found)) or done.stdout.strip(), 0, found)
        for one in found:
            warnings.warn(str(one), stacklevel=2)
        return output.read_bytes()


def bpf(source: str, *, name: str = "program.bpf.c", flags: Sequence[str] = (),
        ctx: Optional[Context] = None) -> Object:
    """Compile BPF C with clang (see compile_bpf()) and open what comes of it."""
    return Object.from_bytes(compile_bpf(source, name=name, flags=flags), name, ctx=ctx)
