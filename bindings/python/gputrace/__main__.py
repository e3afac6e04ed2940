# SPDX-License-Identifier: Apache-2.0
"""python3 -m gputrace SCRIPT: run a Python script within gputrace.trace(), and print a table of its kernels."""
from __future__ import annotations

import argparse
import os
import runpy
import sys

from . import Error, range, trace

EXIT_TOOL = 125  # as the tools have it: we could not do our work


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m gputrace", description="Run a Python script, or a module with -m, in this process and print a "
        "table of the kernels that it ran on the GPU. The exit status is the script's.")
    parser.add_argument("-o", "--output", metavar="FILE.json", help="write a trace as well; open it at "
                        "https://ui.perfetto.dev")
    parser.add_argument("--api", action="store_true", help="have the driver's calls in that trace too")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for python3 -m")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    return parser.parse_args()


def run(options: argparse.Namespace) -> None:
    """As `python3 SCRIPT ARGUMENT...` does."""
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


def main() -> None:
    options = parse()
    made = trace(api=options.api)
    try:
        made.start()
    except Error as error:
        print(f"gputrace: {error}", file=sys.stderr)
        sys.exit(EXIT_TOOL)
    try:
        with range(os.path.basename(options.script)):
            run(options)
    finally:
        # Also of a script that failed or ended by sys.exit(), which is what goes on from here.
        made.stop()
        print("\n".join([str(made), *made.notes]), file=sys.stderr)
        if options.output:
            made.save(options.output)


if __name__ == "__main__":
    main()
