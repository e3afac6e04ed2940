# SPDX-License-Identifier: Apache-2.0
"""Makes the extension module gputrace._cffi, or only its C source for make(1)."""
import argparse
import os
import pathlib
import subprocess
import sys

import cffi

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cdef  # noqa: E402


def builder(include, **how):
    ffi = cffi.FFI()
    for text in cdef.of_headers(include):
        ffi.cdef(text)
    ffi.set_source("gputrace._cffi", cdef.SOURCE, **how)
    return ffi


def pkg_config(*options):
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), *options, "gputrace"]
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"libgputrace is not installed where {command[0]} looks ({error}): install it first, or set PKG_CONFIG_PATH "
                 "to its lib/pkgconfig")


def installed():
    """Against the installed library."""
    include = pkg_config("--variable=includedir")
    libdir = pkg_config("--variable=libdir")
    # Not a folder that the loader searches anyhow: the module remembers it.
    elsewhere = not libdir.startswith(("/usr/lib", "/lib"))
    return builder(include, libraries=["gputrace"], include_dirs=[include], library_dirs=[libdir],
                   runtime_library_dirs=[libdir] if elsewhere else [],
                   define_macros=[("GPUTRACE_PYTHON_INCLUDEDIR", f'"{include}"')])


def main():
    parser = argparse.ArgumentParser(description="Write the C source of gputrace._cffi.")
    parser.add_argument("--include", required=True, help="folder that holds gputrace/gputrace.h")
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    builder(arguments.include).emit_c_code(str(arguments.output))


if __name__ == "__main__":
    main()
