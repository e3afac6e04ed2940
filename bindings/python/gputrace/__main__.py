# SPDX-License-Identifier: Apache-2.0
"""python3 -m gputrace SCRIPT: run a Python script within gputrace.trace(), and print a table of its kernels."""
from __future__ import annotations

import argparse
import importlib.util
import os
import runpy
import sys
from types import TracebackType
from typing import Optional, Type

from . import Error, Trace, range, trace
from .writer import check_name

EXIT_TOOL = 125  # as the tools have it: we could not do our work


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m gputrace", description="Run a Python script, or a module with -m, in this process and print a "
        "table of the kernels that it ran on the GPU. The exit status is the script's; 125 if nothing could be traced, or "
        "the trace not be written, and the script did not fail.")
    parser.add_argument("-o", "--output", metavar="FILE.json", help="write a trace as well; open it at "
                        "https://ui.perfetto.dev; FILE.json.gz is compressed")
    parser.add_argument("--api", action="store_true", help="have the driver's calls in that trace too")
    parser.add_argument("--memcpy", action="store_true", help="have copies and memsets in that trace too")
    parser.add_argument("--metrics", action="store_true", help="have metrics of the GPUs in that trace too, ten times a second")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module, as for python3 -m")
    parser.add_argument("script", metavar="SCRIPT")
    arguments = parser.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER)
    arguments.required = False  # Pythons before 3.12 take it for required
    options = parser.parse_args()
    if options.output:
        try:
            check_name(options.output)
        except ValueError as error:
            parser.error(str(error))
    return options


def find(options: argparse.Namespace) -> None:
    """End as `python3 SCRIPT` does when there is no such script."""
    try:
        if options.module:
            if importlib.util.find_spec(options.script) is None:
                raise ModuleNotFoundError(f"No module named {options.script}")
        else:
            os.stat(options.script)
    except ModuleNotFoundError as error:
        print(f"gputrace: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"gputrace: can't open file '{options.script}': {error.strerror}", file=sys.stderr)
        sys.exit(2)


def run(options: argparse.Namespace) -> None:
    """As `python3 SCRIPT ARGUMENT...` does."""
    sys.argv = [options.script, *options.arguments]
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


def show(kind: Type[BaseException], error: BaseException, frames: Optional[TracebackType]) -> None:
    """An excepthook: a script's traceback begins in the script."""
    ours = {run.__code__.co_filename, runpy.run_path.__code__.co_filename}
    while frames is not None and frames.tb_frame.f_code.co_filename in ours:
        frames = frames.tb_next
    sys.__excepthook__(kind, error.with_traceback(frames), frames)


def run_to_end(options: argparse.Namespace) -> None:
    """What is to come may still make another exit status of a script's 0."""
    try:
        run(options)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


def cannot_write(path: str, error: OSError) -> bool:
    print(f"gputrace: writing {path}: {error.strerror}", file=sys.stderr)
    return False


def save(path: str, made: Trace) -> bool:
    try:
        made.save(path)
    except OSError as error:
        return cannot_write(path, error)
    return True


def run_traced(options: argparse.Namespace, made: Trace) -> bool:
    """False: the trace was not written."""
    done = True
    try:
        with range(os.path.basename(options.script)):
            run_to_end(options)
    finally:
        # Also of a script that failed, which is what goes on from here.
        made.stop()
        print("\n".join([str(made), *made.notes]), file=sys.stderr)
        if options.output:
            done = save(options.output, made)
    return done


def run_into_file(options: argparse.Namespace, made: Trace) -> bool:
    """Whether it can be written is found out before the script runs, perhaps for hours, and goes to another folder."""
    options.output = os.path.abspath(options.output)
    try:
        file = open(options.output, "ab")
    except OSError as error:
        made.stop()
        return cannot_write(options.output, error)
    with file:
        return run_traced(options, made)


def main() -> None:
    options = parse()
    find(options)
    sys.excepthook = show
    made = trace(api=options.api, memcpy=options.memcpy, metrics=options.metrics)
    reason = None
    try:
        made.start()
    except Error as error:
        reason = str(error)
    if reason is not None:
        print(f"gputrace: the script runs without a trace: {reason}", file=sys.stderr)
        run_to_end(options)
        done = False
    elif options.output:
        done = run_into_file(options, made)
    else:
        done = run_traced(options, made)
    if not done:
        sys.exit(EXIT_TOOL)


if __name__ == "__main__":
    main()
