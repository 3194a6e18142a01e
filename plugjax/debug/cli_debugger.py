"""A debugger on the command line, for the values of a traced program.

It shows the frames that led to the breakpoint, with the run-time values of their variables. It reads and writes any
pair of text streams, so that a program can drive it.
"""

from __future__ import annotations

import cmd
import pprint
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import IO, Any

from plugjax.debug.frames import DebuggerFrame


class CliDebugger(cmd.Cmd):
    """Commands over frames; a line that is not a command is evaluated as an expression.

    Args:
        frames: innermost first.
        thread_id: of the thread that reached the breakpoint, ``None`` for the main thread.
        stdin: where commands come from; ``sys.stdin`` if left out.
        stdout: where answers go; ``sys.stdout`` if left out.
        completekey: the key that completes names.
    """

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(
        self,
        frames: Sequence[DebuggerFrame],
        thread_id: int | None = None,
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        completekey: str = "tab",
    ) -> None:
        super().__init__(completekey, stdin, stdout)
        self.use_rawinput = stdin is None
        self.frames = list(frames)
        self.frame_index = 0
        self.thread_id = thread_id

    def run(self) -> None:
        """Read commands until one of them continues the program."""
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                self._say("--KeyboardInterrupt--")

    def emptyline(self) -> bool:
        """Do nothing: an empty line must not repeat a command."""
        return False

    def default(self, line: str) -> None:
        """Evaluate an expression."""
        if line == "EOF":
            self.do_quit("")
        self._show(line, repr)

    def do_p(self, arg: str) -> None:
        """Evaluate an expression and print its value: p EXPRESSION."""
        self._show(arg, repr)

    def do_pp(self, arg: str) -> None:
        """Evaluate an expression and print its value on several lines: pp EXPRESSION."""
        self._show(arg, pprint.pformat)

    def do_args(self, _: str) -> None:
        """List the variables of the frame with their values: a(rgs)."""
        for name, value in self._frame.locals.items():
            try:
                self._say(f"{name} = {value!r}")
            except Exception as error:
                self._say(f"{name} = *** {type(error).__name__}: {error}")

    def do_up(self, _: str) -> None:
        """Go to the frame that called this one: u(p)."""
        if self.frame_index == len(self.frames) - 1:
            self._say("At topmost frame.")
        else:
            self.frame_index += 1
        self._context(2)

    def do_down(self, _: str) -> None:
        """Go to the frame that this one called: d(own)."""
        if self.frame_index == 0:
            self._say("At bottommost frame.")
        else:
            self.frame_index -= 1
        self._context(2)

    def do_list(self, _: str) -> None:
        """Show the source around the line of this frame: l(ist)."""
        self._context(5)

    def do_where(self, _: str) -> None:
        """Show all frames, the innermost last: w(here), bt."""
        self._say("Traceback:")
        for frame in reversed(self.frames):
            self._say(f'  File "{frame.filename}", line {frame.lineno}')
            known = frame.offset is not None
            self._say(f"    {frame.source[frame.offset or 0].strip() if known else '<no source>'}")

    def do_continue(self, _: str) -> bool:
        """Continue the program: c(ontinue)."""
        return True

    def do_quit(self, _: str) -> None:
        """End the program: q(uit), exit."""
        sys.exit(0)

    do_a = do_args
    do_u = do_up
    do_d = do_down
    do_l = do_list
    do_w = do_bt = do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_quit

    @property
    def _frame(self) -> DebuggerFrame:
        return self.frames[self.frame_index]

    def _say(self, text: str) -> None:
        self.stdout.write(text + "\n")

    def _show(self, expression: str, text: Callable[[Any], str]) -> None:
        frame = self._frame
        try:
            # One scope, so that comprehensions see the frame's variables.
            self._say(text(eval(expression, {**frame.globals, **frame.locals})))
        except Exception as error:
            self._say(f"*** {traceback.format_exception_only(error)[-1].strip()}")

    def _context(self, around: int) -> None:
        frame = self._frame
        self._say(f"> {frame.filename}({frame.lineno})")
        if frame.offset is None:
            return
        start = max(frame.offset - around, 0)
        for number, line in enumerate(frame.source[start : frame.offset + around + 1], start):
            self._say(f"{'->' if number == frame.offset else '  '}  {line}")
