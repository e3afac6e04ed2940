# SPDX-License-Identifier: Apache-2.0
"""What the example tools have in common: options, starting the command, following it to its end."""
import argparse
import errno
import os
import re
import signal
import sys
import time

import gputrace
from gputrace import Device, EventType

# Exit statuses of a tool that could not do its work, as env(1) and timeout(1) have them.
EXIT_TOOL = 125
EXIT_CANNOT_RUN = 126
EXIT_NOT_FOUND = 127

TAKEN_AT_ONCE = 64  # events
BURST_S = 1


class Parser(argparse.ArgumentParser):
    """Options as all tools have them, then a command.

    Read as getopt_long() does for the tools in C: options end where the command begins, and a value that
    may be missing is only what stands behind "=".
    """

    def __init__(self, name, usages, description, operands=()):
        """usages: what stands behind the name; operands: what stands before the command, and options may follow."""
        self.valued = set()
        super().__init__(prog=name, usage="\n       ".join(f"{name} {usage}" for usage in usages),
                         description=description, add_help=False,
                         epilog="The exit status is the command's (128 + n if signal n ended it); 125 if the tool could "
                         "do nothing, 126 if the command cannot be run, 127 if it does not exist.")
        self.add_argument("--device", metavar="gpu|sim", default="gpu",
                          help="the real GPU (default), or the software device of libgputrace")
        self.add_argument("--agent", metavar="PATH", help="use this libgputrace-agent.so")
        self.add_argument("-p", "--pid", help="trace this process, which runs already, until it ends or until Ctrl-C or "
                          "SIGTERM; it goes on as it was")
        self.add_argument("--copies", action="store_true", help="with --pid: also look into kernels loaded before, "
                          "by copies of them")
        self.add_argument("-q", "--quiet", action="store_true", help="errors only")
        self.add_argument("-h", "--help", action="help", help="this text")
        self.add_argument("-V", "--version", action="version", help="the library's version",
                          version=f"{name} (libgputrace) {gputrace.version()}")
        self.operands = operands
        for operand in operands:
            self.add_argument(operand, nargs="?", help=argparse.SUPPRESS)
        self.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)

    def add_argument(self, *names, **how):
        action = super().add_argument(*names, **how)
        if action.nargs is None:
            self.valued.update(action.option_strings)
        return action

    def wants_next(self, word):
        """Is the next word the value of this one?"""
        if word.startswith("--"):
            return "=" not in word and any(option.startswith(word) for option in self.valued)
        values = [i for i in range(1, len(word)) if "-" + word[i] in self.valued]
        return values[:1] == [len(word) - 1]

    def parse(self):
        options, operands, rest = [], [], sys.argv[1:]
        while rest:
            missing = len(self.operands) - len(operands)
            if rest[0] == "--":
                operands += rest[1:1 + missing]
                del rest[:1 + missing]
                break
            if rest[0].startswith("-"):
                word = rest.pop(0)
                options += [word, rest.pop(0)] if rest and self.wants_next(word) else [word]
            elif missing:
                operands.append(rest.pop(0))
            else:
                break
        parsed = self.parse_args(options + operands)
        parsed.command = rest
        if parsed.device not in ("gpu", "sim"):
            self.fail(f"--device is 'gpu' or 'sim', not '{parsed.device}'")
        if parsed.pid is not None:
            parsed.pid = self.integer(parsed.pid, 2**31 - 1) or \
                self.fail(f"--pid is the number of a process, not '{parsed.pid}'")
        return parsed

    @staticmethod
    def integer(text, most):
        """A number from 1 to this one; else None."""
        return int(text) if re.fullmatch(r"\s*\+?[0-9]{1,18}", text, re.ASCII) and 1 <= int(text) <= most else None

    def number(self, option, text, most):
        return self.integer(text, most) or self.fail(f"{option} is a number from 1 to {most}, not '{text}'")

    def fail(self, message):
        """What was given makes no sense, and it is said why."""
        self.exit(EXIT_TOOL, f"{self.prog}: {printable(message)}\n")

    def error(self, message):
        self.exit(EXIT_TOOL, f"{self.prog}: {printable(message)}\nTry '{self.prog} --help'.\n")


class Tool:
    """A tool at work on a command."""

    at_work = None  # the one, once there are events

    def __init__(self, name, options, command):
        self.name = name
        self.options = options
        self.command = command
        self.status = 0
        self.everything = getattr(options, "everything", False)  # every process, by the operating system's kernel alone
        self.follow = getattr(options, "follow", None)  # the stream that another process publishes there
        self.running = self.everything or options.pid or self.follow is not None
        self.target = None
        self.reader = None  # once there are events
        self.enough = False  # of what runs already
        level = gputrace.LogLevel.ERROR if options.quiet else gputrace.LogLevel.WARNING
        self.error_told = False
        self.ctx = gputrace.Context(self.log, level)
        # The command writes to the same place: whole lines only.
        sys.stdout.reconfigure(line_buffering=True)

    def warn(self, text):
        sys.stdout.flush()
        print(f"{self.name}:", "\n".join(printable(line) for line in str(text).split("\n")), file=sys.stderr)

    def note(self, event):
        """A note of the stream, for the user."""
        if event.type is EventType.NOTE and not self.options.quiet:
            self.warn(printable(event.text))

    def fail(self, text):
        self.warn(text)
        sys.exit(EXIT_TOOL)

    def check(self):
        """One thing is traced.  What was not given is not spoken of: a tool may not have it."""
        given = [name for name, is_given in (("a command", self.command), ("--pid", self.options.pid),
                                             ("--all", self.everything), ("--follow", self.follow is not None)) if is_given]
        if len(given) > 1:
            self.fail(f"{given[0]} and {given[1]} do not go together: give one of them")
        if self.options.copies and not self.options.pid:
            self.fail("--copies goes with --pid")
        if self.options.agent is not None and (self.everything or self.follow is not None):
            self.fail("--agent goes with a command or --pid: no agent is put into anything here")
        if self.options.device == "sim" and self.running:
            self.fail("--device=sim goes with a command: what runs already has its driver")

    def spawn(self):
        """Prepare the command, which then waits, or what runs already; None: others do.  Exits if it cannot be."""
        self.check()
        if self.running:
            if self.follow is not None:
                return None
            self.target = gputrace.Target.watch(ctx=self.ctx) if self.everything else \
                gputrace.Target.of_process(self.options.pid, copies=self.options.copies, agent=self.options.agent,
                                           ctx=self.ctx)
            return self.target
        if not self.command:
            self.warn(f"no command given\nTry '{self.name} --help'.")
            sys.exit(EXIT_TOOL)
        device = Device.SIM if self.options.device == "sim" else Device.REAL
        try:
            self.target = gputrace.Target.spawn(self.command, device=device, agent=self.options.agent, ctx=self.ctx)
        except gputrace.Error as error:
            self.warn(error)
            # An error may also be about the agent; what is about the command begins with its name.
            if not str(error).startswith(self.command[0] + ":"):
                sys.exit(EXIT_TOOL)
            sys.exit(EXIT_NOT_FOUND if error.errno == errno.ENOENT else EXIT_CANNOT_RUN)
        return self.target

    def events(self, symbolizer=None, publish=None, metrics=None):
        """Let the command run; its events until it has ended.  Signals sent to us go to it."""
        self.reader = reader = self.target.reader(symbolizer=symbolizer) if self.target else \
            gputrace.Reader.connect(self.follow, symbolizer=symbolizer)
        if metrics is not None:
            reader.add_metrics(period=metrics)
        if publish is not None:
            reader.publish(publish)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # writing fails instead, see end_unread()
        Tool.at_work = self
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2:
            signal.signal(number, self.stop if self.running else self.pass_on)
        if self.target:
            self.target.resume()
        if self.options.pid and not self.options.quiet:
            self.warn(f"process {self.options.pid} is traced now, until it ends or until Ctrl-C")
        yield from self.until_end(reader)
        if not self.running:
            status = self.target.wait()
            self.status = status if status >= 0 else 128 - status

    def until_end(self, reader):
        while not reader.ended:
            reader.wait(0.05)
            taken, begin = 0, time.monotonic()
            while (event := reader.next_event()) is not None:
                yield event
                taken += 1
                # In a burst printing takes longer than it takes the program to fill its rings, so what is in these
                # is taken in between; for ever it would fill the memory.  Another's stream has room of its own.
                if taken % TAKEN_AT_ONCE == 0 and self.target and not self.enough and time.monotonic() < begin + BURST_S:
                    reader.wait(0)
            if self.enough and not self.target:
                return
            if self.enough:
                self.enough = False
                self.let_go()

    def let_go(self):
        """What was recorded is still read."""
        try:
            self.target.detach()
        except gputrace.Error as error:
            self.warn(error)

    def end_unread(self):
        """Nobody reads on, as behind head(1): the command goes on untraced, and how it ends is how the tool ends."""
        if not self.target:
            return 0
        if self.running:
            self.let_go()
            return 0
        status, pid = self.target.poll(), self.target.pid
        self.target.close()
        if status is None:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status if status >= 0 else 128 - status

    def stop(self, *_):
        self.enough = True

    def pass_on(self, number, _):
        # The terminal sends its signals to the command as well.
        if number in (signal.SIGINT, signal.SIGQUIT) and sys.stdin.isatty():
            return
        if self.target.poll() is None:
            os.kill(self.target.pid, number)

    def log(self, level, text):
        self.error_told |= level <= gputrace.LogLevel.ERROR
        self.warn(text)

    def finish(self, did_something):
        """The exit status; did_something false: nothing could be traced."""
        if not self.target:
            return 0 if did_something else EXIT_TOOL
        if not self.everything and not self.error_told and not self.target.agents:
            self.warn("the command did not use CUDA" if self.options.device == "sim" else
                      "the command did not use CUDA, or found no driver (libcuda.so.1) or no GPU; "
                      "--device=sim runs it on the software device")
        self.target.close()
        # A command that failed says more than we can.
        return self.status if self.status or did_something else EXIT_TOOL


def printable(text):
    """What a program says, without what a terminal would obey."""
    return gputrace.escape(text or "")


def microseconds(ns):
    """Nanoseconds as "12.345"."""
    return f"{ns // 1000}.{ns % 1000:03}"


def main(tool):
    """Run a tool's function; what fails is said in a sentence."""
    # Until a tool has something to do about them.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        sys.exit(tool())
    except gputrace.Error as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        sys.exit(EXIT_TOOL)
    except OSError as error:
        # What is still in the buffer would fail again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE and Tool.at_work:
            sys.exit(Tool.at_work.end_unread())
        print(f"{os.path.basename(sys.argv[0])}: writing the output: {error.strerror}", file=sys.stderr)
        sys.exit(EXIT_TOOL)
