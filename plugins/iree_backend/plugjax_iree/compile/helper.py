"""The helper process of `plugjax_iree.compile.process`: reads requests, compiles, answers, until its standard input ends.

It runs alone (``python -I -S helper.py FOLDER_OF_THIS_PACKAGE FOLDER_OF_IREE FLAG...``), so it says itself where packages are. The flags are those
that the compiler takes for a process, not for a session.
"""

import contextlib
import os
import queue
import sys
import threading
import types
from typing import Any

_PARENTS = ("iree", "iree.compiler", "iree.compiler.api")


def _prepare(package: str, compiler: str) -> None:
    """Make this package and the binding of the compiler importable, without the packages around the binding.

    Importing ``iree.compiler`` loads NumPy and MLIR's Python bindings, which are not needed here and take 0.15 s.
    """
    sys.path[:0] = [package, compiler]
    for name in _PARENTS:
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(compiler, *name.split("."))]
        sys.modules[name] = module


def _limit_memory() -> None:
    """Limit this process to half of the machine's memory: on some programs the compiler would take all of it."""
    # Windows lacks the module.
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415

        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY or soft > half:
            resource.setrlimit(resource.RLIMIT_AS, (half, hard))


def main() -> None:
    """Serve requests; the end of the input ends the process, even during a compilation."""
    _prepare(*sys.argv[1:3])
    _limit_memory()
    # Importable only after `_prepare`.
    from plugjax_iree import native  # noqa: PLC0415
    from plugjax_iree.compile.pipeline import CompileError, compile_here  # noqa: PLC0415
    from plugjax_iree.compile.process import receive, send  # noqa: PLC0415

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output of the compiler must not be read as an answer.
    native.set_process_flags(*sys.argv[3:])
    requests: queue.SimpleQueue[tuple[dict[str, Any], bytes]] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                requests.put(receive(sys.stdin.buffer))
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        header, body = requests.get()
        try:
            bytecode = compile_here(body.decode(), header["flags"], **header["options"])
        except CompileError as error:
            send(answers, {"stage": error.stage, "diagnostics": error.diagnostics}, b"")
        else:
            send(answers, {}, bytecode)


if __name__ == "__main__":
    main()
