"""One run of the compiler: text and flags in, bytecode or diagnostics out.

`compile_here` calls the library in this process, and walks the table of workarounds. `compile_elsewhere` asks a helper process to do so: a compiler that
aborts, or cannot run at all (its thread pool does not survive a fork), costs an exception and no more.
"""

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from plugjax_iree import native, workarounds
from plugjax_iree.compile import process
from plugjax_iree.mlir import borrowed, printed, program_text
from plugjax_iree.mlir.kernels import exports
from plugjax_iree.workarounds import Stage, Workaround

SEVERITIES = ("note", "warning", "error", "remark")
_LOOP = "stablehlo.while"
_LOCATION = re.compile(r"source\.mlir:(\d+):(\d+)")
_LONGEST_EXCERPT = 300
# Phases before those that divide the program into kernels.
_WHOLE = (b"input", b"abi", b"preprocessing", b"global-optimization")
# The first of those, which groups the operations of kernels.
_GROUPED = b"dispatch-creation"
# The compiler does so next, too.
_FUSE_ONE_USER = "util.func(iree-dispatch-creation-elementwise-op-fusion,canonicalize,cse)"
# Phases after that, after which a program is verified: those that schedule kernels, and translate them for the device.
_SCHEDULED, _SOURCES = b"stream", b"executable-sources"
_CONFIGURED = b"executable-configurations"
_TRANSLATED = b"executable-targets"
# How a kernel takes a buffer; and how many buffers the runtime takes.
_BUFFER, _MOST_BUFFERS = "#hal.pipeline.binding", 32
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

    @property
    def line(self) -> int:
        """The line of the module that the compiler names first; 0 if it names none."""
        errors = (d.message for d in self.diagnostics if d.severity == "error")
        found = _LOCATION.search(next(errors, ""))
        return int(found[1]) if found else 0

    def _say(self, text: str) -> str:
        errors = [d.message for d in self.diagnostics if d.severity == "error"]
        if not errors:
            return "The compiler gave no reason."
        first = errors[0].strip().splitlines()[0]
        lines = text.splitlines()
        if not 0 < self.line <= len(lines):
            return _shorten(first)
        return f"{_shorten(first)}\n{self.line:>6} | {_shorten(lines[self.line - 1].strip())}"


def _rebuild(message: str, stage: str, diagnostics: tuple[Diagnostic, ...]) -> CompileError:
    error = CompileError(stage, diagnostics)
    error.args = (message,)
    return error


def _shorten(line: str) -> str:
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 4] + " ..."


def must_run_elsewhere() -> bool:
    """Whether compiling here would hang: a fork of a process that had the compiler loaded."""
    return _FORKED["after_compiler"]


def _record_fork() -> None:
    if _library.cache_info().currsize:
        _FORKED["after_compiler"] = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_record_fork)


# void callback(severity, message, length, user_data)
_DiagnosticCallback = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)


@cache
def _library() -> Callable[..., None]:
    """Load the compiler; returns the C function that installs a diagnostic callback.

    The Python binding only offers to print diagnostics; the C interface hands them over.
    """
    enable = native.compiler()._dylib.ireeCompilerInvocationEnableCallbackDiagnostics
    enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _DiagnosticCallback, ctypes.c_void_p]
    enable.restype = None
    return enable


def compile_here(
    text: str,
    flags: Sequence[str],
    *,
    apart: bool | Sequence[int] = False,
    without: Sequence[str] = (),
    phase: str = "",
    each_pass: bool = True,
    counted: bool = True,
) -> bytes:
    """Compile `text` in this process; several threads may do so at once.

    Args:
        text: the module.
        flags: of the session.
        apart: fuse no operations, or not those that are written at some lines of the text.
        without: names of workarounds to leave out.
        phase: give the text of the program after this phase of the compiler instead of the compiled module.
        each_pass: verify the program after each of the compiler's passes. Otherwise it is verified after some phases, in three quarters of
            the time, and a program that a pass made malformed may end the process.
        counted: IREE counts the users of memory while it schedules kernels (`counted_memory` in the table of workarounds).

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
        with workarounds.without(without):
            loops = _LOOP in text and apart is not True and bool(workarounds.active(Stage.LINALG))
            with borrowed(invocation._inv_p) as (mlir, _):
                mlir.verify_each_pass(invocation._inv_p, each_pass)
            succeeded = _prepare(invocation, apart, loops) and _run(
                invocation, phase.encode(), each_pass, counted
            )
        if not succeeded:
            raise CompileError("compile", diagnostics, text)
        if phase:
            with borrowed(invocation._inv_p) as (mlir, module):
                return program_text(mlir, module).encode()
        output = api.Output.open_membuffer()
        try:
            invocation.output_vm_bytecode(output)
        except ValueError as error:
            diagnostics.append(Diagnostic("error", _one_line(error)))
            raise CompileError("output", diagnostics, text) from None
        return bytes(output.map_memory())
    finally:
        session.close()


def _prepare(invocation: Any, apart: bool | Sequence[int], loops: bool) -> bool:
    """The workarounds before the compiler's own phases, and in the first of them; whether all succeeded."""
    return bool(
        _work_around(invocation, Stage.INLINED)
        # The compiler eliminates equal operations later; the workarounds below must see the result.
        and _run_passes(invocation, "cse")
        and _work_around(invocation, Stage.STABLEHLO)
        and (not apart or _keep_apart(invocation, apart))
        and _work_around(invocation, Stage.STRUCTURED)
        and (not loops or _in_linalg(invocation))
    )


def _run(invocation: Any, phase: bytes, each_pass: bool, counted: bool) -> bool:
    """The compiler's phases, up to one if one is wanted, and the workarounds between them; whether all succeeded."""
    if phase in _WHOLE:
        return _run_up_to(invocation, phase)
    if not _fuse(invocation):
        return False
    if phase == _GROUPED:
        return _run_up_to(invocation, phase)
    return _divide(invocation) and _finish(invocation, phase, each_pass, counted)


def _fuse(invocation: Any) -> bool:
    """Optimise the whole program, fuse operations with one user, and the workarounds there; whether all succeeded."""
    optimised = _run_up_to(invocation, b"global-optimization")
    fused = optimised and _run_passes(invocation, _FUSE_ONE_USER)
    return fused and _work_around(invocation, Stage.FUSION)


def _divide(invocation: Any) -> bool:
    """Divide the program into kernels, and the workarounds there; whether all succeeded."""
    divided = _run_up_to(invocation, b"flow") and _is_well_formed(invocation)
    return divided and _work_around(invocation, Stage.FLOW)


def _finish(invocation: Any, phase: bytes, each_pass: bool, counted: bool) -> bool:
    """The phases that are left, up to one if one is wanted, and the workarounds before and after them; whether all succeeded."""
    if phase == b"flow":
        return True
    if not _work_around(invocation, Stage.KERNELS):
        return False
    if not _schedule(invocation, counted):
        return False
    if phase in (_SCHEDULED, _SOURCES):
        return phase == _SCHEDULED or _run_up_to(invocation, phase)
    configured = (
        (each_pass or (_is_well_formed(invocation) and _run_verified(invocation, [_SOURCES])))
        and _run_up_to(invocation, _CONFIGURED)
        and _can_be_called(invocation)
        and _work_around(invocation, Stage.CONFIGURED)
    )
    if not configured or phase == _CONFIGURED:
        return configured
    if not (
        _run_verified(invocation, [_TRANSLATED]) and _work_around(invocation, Stage.TRANSLATED)
    ):
        return False
    if phase:
        return phase == _TRANSLATED or _run_up_to(invocation, phase)
    return bool(invocation.execute() and _work_around(invocation, Stage.BYTECODE))


def _schedule(invocation: Any, counted: bool) -> bool:
    """Schedule kernels, with the workarounds if memory is not counted or IREE gives up; whether that succeeded."""
    instead = () if counted else workarounds.active(Stage.UNCOUNTED)
    if instead:
        succeeded = all(_run_passes(invocation, row.passes) for row in instead)
    else:
        succeeded = _run_up_to(invocation, _SCHEDULED)
    if not succeeded:
        unsettled = workarounds.active(Stage.UNSETTLED)
        succeeded = any(
            rewrite(row, invocation) and _run_passes(invocation, row.passes) for row in unsettled
        )
    if not succeeded:
        return False
    _go_on_from(invocation, _SCHEDULED)
    return _work_around(invocation, Stage.SCHEDULED)


def _run_verified(invocation: Any, phases: Sequence[bytes]) -> bool:
    """Run the phases up to some, after each of which the program is verified; whether all succeeded."""
    return all(_run_up_to(invocation, name) and _is_well_formed(invocation) for name in phases)


def _can_be_called(invocation: Any) -> bool:
    """Whether the runtime calls all kernels.

    Raises:
        CompileError: it does not, which the compiler does not tell.
    """
    with borrowed(invocation._inv_p) as (mlir, module):
        most = max(
            (printed(mlir, o, b"layout").count(_BUFFER) for o in exports(mlir, module)), default=0
        )
    if most > _MOST_BUFFERS:
        reason = f"a kernel takes {most} buffers, and the runtime calls none with more than {_MOST_BUFFERS}"
        raise CompileError("compile", [Diagnostic("error", reason)])
    return True


def _is_well_formed(invocation: Any) -> bool:
    """Whether the program is, between two phases; what is not is told as the compiler tells it."""
    with borrowed(invocation._inv_p) as (mlir, module):
        return mlir.is_well_formed(module)


def _keep_apart(invocation: Any, apart: bool | Sequence[int]) -> bool:
    """Fuse no operations, or not those at some lines; whether there are any at those."""
    lines = () if isinstance(apart, bool) else apart
    changes = [rewrite(row, invocation, lines) for row in workarounds.active(Stage.REFUSED)]
    return apart is True or any(changes)


def _in_linalg(invocation: Any) -> bool:
    """Run the phases up to the one that makes a program of ``linalg``, and the workarounds there."""
    return _run_up_to(invocation, b"input") and _work_around(invocation, Stage.LINALG)


def _run_up_to(invocation: Any, phase: bytes) -> bool:
    """Run the phases up to one; the next execution goes on from there."""
    handle = invocation._inv_p
    with borrowed(handle) as (mlir, _):
        mlir.stop_at(handle, phase)
    if not invocation.execute():
        return False
    _go_on_from(invocation, phase)
    return True


def _go_on_from(invocation: Any, phase: bytes) -> None:
    """Let the next execution begin after a phase."""
    handle = invocation._inv_p
    with borrowed(handle) as (mlir, _):
        mlir.go_on_from(handle, phase)
        mlir.stop_at(handle, b"end")


def _work_around(invocation: Any, *stages: Stage) -> bool:
    """Run the workarounds of some stages, in the order of the table; whether all passes of MLIR succeeded."""
    for row in workarounds.active(*stages):
        if not row.passes:
            rewrite(row, invocation)
        elif not _run_passes(invocation, row.passes):
            return False
    return True


def _run_passes(invocation: Any, passes: str) -> bool:
    return bool(invocation.execute_text_pass_pipeline(passes))


def rewrite(row: Workaround, invocation: Any, *options: Any) -> int:
    """Rewrite the program of an invocation by a workaround, between two phases; returns the number of changes."""
    with borrowed(invocation._inv_p) as (mlir, module):
        changes: int = row.function()(mlir, module, *options)
        return changes


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def compile_elsewhere(
    text: str,
    flags: Sequence[str],
    *,
    apart: bool | Sequence[int] = False,
    without: Sequence[str] = (),
    phase: str = "",
    each_pass: bool = True,
    counted: bool = True,
    process_flags: tuple[str, ...] = (),
) -> bytes:
    """Compile `text` in a helper process that the compiler has ``process_flags`` in; other arguments as of `compile_here`.

    Raises:
        CompileError: as `compile_here`; the stage is ``"crash"`` if the process died.
    """
    options = {
        "apart": apart,
        "without": list(without),
        "phase": phase,
        "each_pass": each_pass,
        "counted": counted,
    }
    try:
        failure, bytecode = process.compile_in_helper(text, flags, options, process_flags)
    except process.HelperDiedError as crash:
        raise CompileError("crash", [Diagnostic("error", str(crash))]) from None
    if failure:
        raise CompileError(failure["stage"], [Diagnostic(*d) for d in failure["diagnostics"]], text)
    return bytecode
