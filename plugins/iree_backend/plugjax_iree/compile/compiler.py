"""StableHLO text to IREE bytecode: which flags, in which order, and in which process.

No one set of flags compiles everything well. Data tiling makes large contractions two to three times
faster, O2 makes softmax and reductions four times faster and fails on some contractions. So a
module starts with the flags that suit it, and every refusal steps down: tuned, with the operation that the compiler names compiled alone, plain,
unoptimised, and at last one operation at a time. A module with functions that IREE is to keep is tried so first, and with its functions inlined
if that is refused.
"""

import contextlib
import hashlib
import platform
from collections import deque
from collections.abc import Iterable
from functools import cache, partial
from importlib import metadata
from pathlib import Path

from plugjax_iree import workarounds
from plugjax_iree.compile import linking, tuning
from plugjax_iree.compile.pipeline import (
    CompileError,
    Diagnostic,
    compile_elsewhere,
    compile_here,
    must_run_elsewhere,
)
from plugjax_iree.compile.target import CompileTarget
from plugjax_iree.compile.tuning import Step
from plugjax_iree.mlir.kept_functions import inlined, keeps_functions
from plugjax_iree.workarounds import Stage

__all__ = [
    "CompileError",
    "CompileTarget",
    "Diagnostic",
    "compile_stablehlo",
    "compiler_fingerprint",
]

_ALWAYS = (
    "--iree-input-type=stablehlo",
    # float64 stays float64: the compiler's default would change the types of the exported functions.
    "--iree-input-demote-f64-to-f32=false",
)

# They take an eighth of the time of a large program.
_NO_SYMBOLS = "--iree-llvmcpu-debug-symbols=false"
# How many operations that the compiler names are compiled alone before none are fused.
_MOST_ALONE = 4


def compile_stablehlo(
    text: str,
    target: CompileTarget,
    *,
    subprocess: bool = True,
    apart: bool = False,
    phase: str = "",
    each_pass: bool = True,
    here: bool = False,
) -> bytes:
    """Compile a StableHLO module to an IREE module (the bytes of a ``.vmfb``).

    Safe to call from several threads, in forked processes, and to interrupt: the compiler runs in a helper process. A compiler that
    aborts is a `CompileError` of stage ``"crash"``, and the next set of flags gets its turn.

    Args:
        text: the module, in the generic or the pretty form.
        target: what to compile for.
        subprocess: ``False`` compiles in this process, which the compiler may then end; not in a process that was forked after the
            compiler was loaded, where it would hang.
        apart: fuse no operations.
        phase: give the text of the program after this phase of the compiler, ``"flow"`` for example, which has one function for each kernel.
        each_pass: the compiler verifies the program after each of its passes. If not, it does so after some phases, in three quarters of the
            time, and may compile what it would have refused to a module that computes something else; for callers that compare results. A
            compiler in this process verifies each pass.
        here: the module runs in this process only: it may call the process's libraries, and has no debug symbols, which compiles faster.

    Raises:
        CompileError: no set of flags compiled the module; of the first attempt, with a note on the
            others.
    """
    elsewhere = subprocess or must_run_elsewhere()
    # Executables that stay apart must be few.
    grouped = any(row.name == "grouped_kernels" for row in workarounds.active(Stage.KERNELS))
    process_flags = target.process_flags() if grouped else ()
    compile_with = (
        partial(compile_elsewhere, phase=phase, each_pass=each_pass, process_flags=process_flags)
        if elsewhere
        else partial(compile_here, phase=phase)
    )
    first_error: CompileError | None = None
    repairs = [flag for row in workarounds.active(Stage.FLAGS) for flag in row.function()(text)]
    fixed = (*_ALWAYS, *repairs, *target.flags(), *([_NO_SYMBOLS] if here else []))
    off = workarounds.switched_off()
    linked_with = linking.flags() if here else ()
    # Vulkan refuses to release what is counted; elsewhere some modules crash the compiler (`counted_memory`).
    counted = target.driver != "vulkan"
    if keeps_functions(text):
        first = next(iter(tuning.steps(text, target, linked_with)))
        if not apart:
            with contextlib.suppress(CompileError):
                return compile_with(
                    text, (*fixed, *first.tuning), apart=False, without=off, counted=counted
                )
        text = inlined(text)
    steps = deque(_attempts(tuning.steps(text, target, linked_with), apart))
    lines: tuple[int, ...] = ()
    while steps:
        step = steps.popleft()
        try:
            return compile_with(
                text, (*fixed, *step.tuning), apart=step.apart, without=off, counted=counted
            )
        except CompileError as error:
            if error.stage in ("flags", "parse"):
                raise  # Every step has the same text, and the same flags of the user.
            if first_error is None:
                first_error = error
            else:
                first_error.add_note(f"Nor with {step}.")
            if error.stage == "crash" and counted and workarounds.active(Stage.UNCOUNTED):
                counted = False
                steps.appendleft(step)
            alone = error.line and error.line not in lines and len(lines) < _MOST_ALONE
            if alone and step.apart is not True and workarounds.active(Stage.REFUSED):
                lines = (*lines, error.line)
                steps.appendleft(Step(step.tuning, lines))
    assert first_error is not None
    raise first_error


def _attempts(steps: Iterable[Step], apart: bool) -> list[Step]:
    """The steps to try: only those with operations apart if the caller wants that, none of them if the workaround is off."""
    last_resort = bool(workarounds.active(Stage.REFUSED))
    return [step for step in steps if (last_resort if step.apart else not (apart and last_resort))]


@cache
def compiler_fingerprint() -> tuple[str, ...]:
    """What, besides text and flags, decides the bytes that come out; for cache keys.

    Versions of compiler and runtime, a hash of this package's sources (workarounds change what is compiled), the machine, and a hash of
    the CPU's model and features, which ``host`` stands for. The compiler is not loaded.
    """
    versions = (f"{name}=={metadata.version(name)}" for name in _DISTRIBUTIONS)
    return (*versions, _sources_hash(), platform.system(), platform.machine(), _cpu_hash())


_DISTRIBUTIONS = ("iree-base-compiler", "iree-base-runtime")


def _sources_hash() -> str:
    """Of the version, and of the names and contents of all modules of this package."""
    folder = Path(__file__).parent.parent
    hashed = hashlib.sha256(metadata.version("plugjax-iree").encode())
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        hashed.update(f"\0{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        hashed.update(content)
    return hashed.hexdigest()[:16]


def _cpu_hash() -> str:
    described = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        first_core = cpuinfo.read_text().split("\n\n", 1)[0].splitlines()
        telling = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
        described = "\n".join(line for line in first_core if line.startswith(telling))
    return hashlib.sha256(described.encode()).hexdigest()[:16]
