"""One run of the compiler: text and flags in, bytecode or diagnostics out.

`compile_here` calls the library in this process. `compile_elsewhere` asks a helper process to do so: a compiler that
aborts, or cannot run at all (its thread pool does not survive a fork), costs an exception and no more.
"""

import ctypes
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from plugjax_iree import (
    compile_process,
    constant_chains,
    constant_reductions,
    equal_copies,
    first_carries,
    invariant_carries,
    late_readers,
    native,
    one_by_one,
    paired_reductions,
    sliced_vectors,
    special_constants,
    unread_carries,
    unsigned_products,
)
from plugjax_iree.registers import separate_repeated_references

# Before IREE's own passes, one after the other. Of two equal operations on one transposition, each in a function of its own, IREE 3.13 sees
# that they are one only when it is too late: its conversion of StableHLO fails on a transposition that one operation reads ("failed to
# legalize unresolved source materialization"), because an earlier pass has moved all such transpositions away.
INLINING, MERGING = "inline", "cse"
# What is repaired between them.
EARLY_REPAIRS: dict[str, Callable[[Any], object]] = {
    "equal_copies": equal_copies.number,
}
# What is repaired in the StableHLO program after them, before IREE's own phases, in this order, and in its last form after them.
REPAIRS: dict[str, Callable[[Any], object]] = {
    "special_constants": special_constants.compute_late,
    "constant_chains": constant_chains.cut,
    "constant_reductions": constant_reductions.keep_computed,
    "paired_reductions": paired_reductions.keep_apart,
    "unsigned_products": unsigned_products.keep_apart,
    "sliced_vectors": sliced_vectors.keep_apart,
    "first_carries": first_carries.guard,
    "invariant_carries": invariant_carries.keep_in_loop,
    "unread_carries": unread_carries.read_in_body,
    "late_readers": late_readers.drop_copies,
}
LATE_REPAIRS: dict[str, Callable[[Any], object]] = {
    "registers": separate_repeated_references,
}

SEVERITIES = ("note", "warning", "error", "remark")
_LOCATION = re.compile(r"source\.mlir:(\d+):(\d+)")
_LONGEST_EXCERPT = 300
_FORKED = {"after_compiler": False}


class Diagnostic(NamedTuple):
    """One message of the compiler; `severity` is one of `SEVERITIES`."""

    severity: str
    message: str


class CompileError(RuntimeError):
    """IREE did not compile a module.

    Attributes:
        stage: ``"flags"``, ``"parse"``, ``"compile"``, ``"output"``, or ``"crash"`` when the
            compiling process died.
        diagnostics: all messages of the compiler, in order.
    """

    def __init__(self, stage: str, diagnostics: Sequence[Diagnostic], text: str = "") -> None:
        self.stage = stage
        self.diagnostics = tuple(diagnostics)
        super().__init__(f"IREE could not compile the module (stage: {stage}).\n" + self._say(text))

    def __reduce__(self) -> tuple[Callable[..., "CompileError"], tuple[object, ...]]:
        return _rebuild, (str(self), self.stage, self.diagnostics)

    def _say(self, text: str) -> str:
        errors = [d.message for d in self.diagnostics if d.severity == "error"]
        if not errors:
            return "The compiler gave no reason."
        first = errors[0].strip().splitlines()[0]
        found = _LOCATION.search(errors[0])
        lines = text.splitlines()
        if not found or int(found[1]) > len(lines):
            return _shorten(first)
        number = int(found[1])
        return f"{_shorten(first)}\n{number:>6} | {_shorten(lines[number - 1].strip())}"


def _rebuild(message: str, stage: str, diagnostics: tuple[Diagnostic, ...]) -> CompileError:
    error = CompileError(stage, diagnostics)
    error.args = (message,)
    return error


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 4] + " ..."


def must_run_elsewhere() -> bool:
    """Whether compiling here would hang: a fork of a process that had the compiler loaded."""
    return _FORKED["after_compiler"]


def _note_fork() -> None:
    if _library.cache_info().currsize:
        _FORKED["after_compiler"] = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


# void callback(severity, message, length, user_data)
_DiagnosticCallback = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)


@cache
def _library() -> Callable[..., None]:
    """Loads the compiler; returns the C function that installs a diagnostic callback.

    The Python binding only offers to print diagnostics; the C interface hands them over.
    """
    enable = native.compiler()._dylib.ireeCompilerInvocationEnableCallbackDiagnostics
    enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _DiagnosticCallback, ctypes.c_void_p]
    enable.restype = None
    return enable  # type: ignore[no-any-return]


def compile_here(
    text: str, flags: Sequence[str], *, apart: bool = False, without: Sequence[str] = ()
) -> bytes:
    """Compiles `text` in this process; several threads may do so at once.

    Args:
        text: the module.
        flags: of the session.
        apart: merge no operations.
        without: names of repairs to leave out.

    Raises:
        CompileError: the compiler refused the flags or the module.
    """
    enable_diagnostics = _library()
    api = native.compiler()
    diagnostics: list[Diagnostic] = []

    def collect(severity: int, message: int, length: int, _user_data: object) -> None:
        said = ctypes.string_at(message, length).decode("utf-8", "replace")
        diagnostics.append(Diagnostic(SEVERITIES[severity], said))

    callback = _DiagnosticCallback(collect)
    session = api.Session()
    try:
        try:
            session.set_flags(*flags)
        except ValueError as error:
            raise CompileError("flags", [Diagnostic("error", _one_line(error))]) from None
        invocation = session.invocation()
        enable_diagnostics(invocation._inv_p, 0, callback, None)
        source = api.Source.wrap_buffer(session, text.encode() + b"\0")
        if not invocation.parse_source(source):
            raise CompileError("parse", diagnostics, text)
        if not invocation.execute_text_pass_pipeline(INLINING):
            raise CompileError("compile", diagnostics, text)
        _repair(EARLY_REPAIRS, invocation, without)
        if not invocation.execute_text_pass_pipeline(MERGING):
            raise CompileError("compile", diagnostics, text)
        _repair(REPAIRS, invocation, without)
        if apart:
            one_by_one.keep_apart(invocation._inv_p)
        if not invocation.execute():
            raise CompileError("compile", diagnostics, text)
        _repair(LATE_REPAIRS, invocation, without)
        output = api.Output.open_membuffer()
        try:
            invocation.output_vm_bytecode(output)
        except ValueError as error:
            diagnostics.append(Diagnostic("error", _one_line(error)))
            raise CompileError("output", diagnostics, text) from None
        return bytes(output.map_memory())
    finally:
        session.close()


def _repair(
    repairs: Mapping[str, Callable[[Any], object]], invocation: Any, without: Sequence[str]
) -> None:
    for name, repair in repairs.items():
        if name not in without:
            repair(invocation._inv_p)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def compile_elsewhere(
    text: str, flags: Sequence[str], *, apart: bool = False, without: Sequence[str] = ()
) -> bytes:
    """Compiles `text` in a helper process; arguments as of `compile_here`.

    Raises:
        CompileError: as `compile_here`; the stage is ``"crash"`` if the process died.
    """
    options = {"apart": apart, "without": list(without)}
    try:
        failure, bytecode = compile_process.compile_in_helper(text, flags, options)
    except compile_process.HelperDiedError as crash:
        raise CompileError("crash", [Diagnostic("error", str(crash))]) from None
    if failure:
        raise CompileError(failure["stage"], [Diagnostic(*d) for d in failure["diagnostics"]], text)
    return bytecode
