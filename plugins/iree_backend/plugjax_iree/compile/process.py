"""Processes that run IREE's compiler for this one.

The compiler ends its process on some programs, hangs in a forked child, and cannot be interrupted. So it runs in a helper process,
which takes one request after the other: a crash costs one request, Ctrl-C returns at once, and this process never loads the compiler
(180 MB). A helper starts in 0.05 s, as it loads neither NumPy nor IREE's Python packages.

A request and its answer are a header in JSON and a body in bytes. The helper ends when its standard input does.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from plugjax_iree import native

_LENGTHS = struct.Struct("<QQ")
_HELPER = Path(__file__).with_name("helper.py")


# Of a `SystemExit`: it ends a thread without a word, and is printed where the main thread ends.
_ENDED = "IREE compiles nothing any more: the interpreter ends."


class HelperDiedError(RuntimeError):
    """The helper died; the message has the reason and its last words."""


class Helper:
    """A process that waits for requests.

    Args:
        flags: of the compiler in that process.
    """

    def __init__(self, flags: Sequence[str] = ()) -> None:
        self.flags = tuple(flags)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the helper is
        places = [str(_HELPER.parent.parent.parent), _compiler_folder()]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_HELPER), *places, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # A Ctrl-C in the terminal interrupts this process alone.
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return self._process.poll() is None

    def ask(self, header: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Send one request and return the answer.

        Raises:
            HelperDiedError: the helper died.
        """
        self._errors.seek(0)
        self._errors.truncate()
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            send(requests, header, body)
            return receive(answers)
        except (EOFError, BrokenPipeError):
            self._process.wait()
            last_words = self._last_words()
            self.stop()
            raise HelperDiedError(last_words) from None
        except BaseException:
            self.stop()
            raise

    def kill(self) -> None:
        """Kill the process from another thread than the one that asks, which stops it then."""
        self._process.kill()

    def stop(self) -> None:
        """Kill the process, also in the middle of a request."""
        self._process.kill()
        self._process.wait()
        self._close()

    def disown(self) -> None:
        """Close the streams of a helper that the parent of a forked process started, and leave it running."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                assert stream is not None
                stream.close()
            except BrokenPipeError:
                pass  # The helper died before it had read the whole request.

    def _last_words(self) -> str:
        code = self._process.returncode
        known = {int(s): s.name for s in signal.Signals}
        end = f"died of {known.get(-code, -code)}" if code < 0 else f"exited with status {code}"
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        # A crash ends in a stack dump; the reason stands before it.
        reasons = [line for line in said if line.strip() and not _is_dump(line)]
        return f"the compiling process {end}" + (f": {reasons[0]}" if reasons else "")


def _is_dump(line: str) -> bool:
    return line.startswith(("Stack dump", " #", "Please report issues"))


class _Pool:
    """Idle helpers, the last one used first."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._idle: list[Helper] = []
        self._busy: set[Helper] = set()
        self._closed = False
        self._lock = threading.Lock()
        # Programs that someone waits for do not wait for those that the host runs meanwhile.
        count = os.cpu_count() or 1
        self._places = threading.BoundedSemaphore(max(2, count))
        self._background_places = threading.BoundedSemaphore(max(1, count - 1))

    def ask(
        self, header: dict[str, Any], body: bytes, flags: tuple[str, ...]
    ) -> tuple[dict[str, Any], bytes]:
        """One request to an idle helper with some flags, or to a new one."""
        with self._background_places if _thread.in_background else self._places:
            helper = self._take(flags)
            try:
                answer = helper.ask(header, body)  # A helper that raises has been stopped.
            except HelperDiedError:
                if self._closed:
                    raise SystemExit(_ENDED) from None
                raise
            finally:
                with self._lock:
                    self._busy.discard(helper)
            with self._lock:
                self._idle.append(helper)
            return answer

    def _take(self, flags: tuple[str, ...]) -> Helper:
        while True:
            with self._lock:
                # This module may be loaded so late that nothing calls `close`.
                if self._closed or not threading.main_thread().is_alive():
                    raise SystemExit(_ENDED)
                idle = [i for i, helper in enumerate(self._idle) if helper.flags == flags]
                helper = self._idle.pop(idle[-1]) if idle else Helper(flags)
                if helper.is_alive:
                    self._busy.add(helper)
                    return helper
            helper.stop()

    def close(self) -> None:
        """Stop all helpers, as the interpreter ends; a thread that waits for one ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        for helper in idle:
            helper.stop()
        for helper in busy:
            helper.kill()

    def restart_after_fork(self) -> None:
        """Drop the helpers in a forked child: they are the parent's."""
        for helper in self._idle:
            helper.disown()
        # The locks too: a thread of the parent may have held one.
        self._reset()


class _Thread(threading.local):
    """What a thread says of its requests."""

    in_background = False


_thread = _Thread()


@contextmanager
def background(wanted: bool) -> Iterator[None]:
    """Within the context no one waits for what this thread compiles, if ``wanted``: others need not wait for it.

    The caller says so, because a helper loads this module without the framework, which knows it.
    """
    before, _thread.in_background = _thread.in_background, wanted
    try:
        yield
    finally:
        _thread.in_background = before


_pool = _Pool()
atexit.register(_pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.restart_after_fork)


def compile_in_helper(
    text: str, flags: Sequence[str], options: dict[str, Any], process_flags: tuple[str, ...] = ()
) -> tuple[dict[str, Any], bytes]:
    """Compile a module in a helper.

    Args:
        text: the module.
        flags: of the compiler's session.
        options: further arguments of `plugjax_iree.compile.pipeline.compile_here`, as JSON can say them.
        process_flags: of the compiler's process.

    Returns:
        What the helper answered: ``{}`` and the bytecode, or the stage and the diagnostics of a failure.

    Raises:
        HelperDiedError: the helper died.
    """
    return _pool.ask({"flags": list(flags), "options": options}, text.encode(), process_flags)


def send(stream: IO[bytes], header: dict[str, Any], body: bytes) -> None:
    """Write a message."""
    head = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(head), len(body)) + head)
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read a message.

    Raises:
        EOFError: the other side is gone.
    """
    head_length, body_length = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    return json.loads(_exactly(stream, head_length)), _exactly(stream, body_length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def _compiler_folder() -> str:
    """The folder that ``iree.compiler`` lies in."""
    package = native.compiler_package()
    if package is None:
        raise ModuleNotFoundError("iree.compiler is not installed: pip install plugjax-iree")
    return str(package.parent.parent)
