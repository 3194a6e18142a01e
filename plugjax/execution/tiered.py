"""Programs that the host computes while a backend compiles them.

The first calls need not wait for the compiler. Each call of that time runs the program on the host, in a thread of its own; as soon as
the compiled program is there, it runs instead, and what the host has not finished is given up. The results of the two agree as those of
two backends do, not bit by bit. A program with effects is never run so, as it might run twice; nor is one that takes over the memory
of its arguments.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Sequence

from plugjax.core.array import Array
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.errors import FallbackWarning, MissingRuleError
from plugjax.core.jaxpr import ClosedJaxpr, programs_in
from plugjax.execution.compile import Compiled, passed_for
from plugjax.execution.ending import before_threads_are_waited_for
from plugjax.execution.jobs import Job
from plugjax.execution.on_host import Call, can_run_on_host, host_call
from plugjax.execution.threads import settings_of_this_thread

_compilations: weakref.WeakSet[Job[Compiled]] = weakref.WeakSet()
_thread = threading.local()


def in_background() -> bool:
    """Whether this thread compiles a program that the host runs meanwhile: others who compile should not wait for it."""
    return getattr(_thread, "in_background", False)


class Tiered:
    """A program that is being compiled, and that runs all the same.

    Attributes:
        call: as of `Compiled`.
        single, ending: ``None``: fast paths of compiled programs.
    """

    single = ending = None

    def __init__(self, name: str, on_host: Call, compile_now: Callable[[], Compiled]) -> None:
        self._name, self._on_host, self._compile_now = name, on_host, compile_now
        self._settings = settings_of_this_thread()
        self._compiled: Call | None = None
        self._changed = threading.Condition()
        self._compilation = self._begin()

    def call(self, arrays: Sequence[Array]) -> list[Array]:
        """Run on arrays at the placement."""
        if self._compiled is not None:
            return self._compiled(arrays)
        compilation = self._compilation
        if compilation.has_ended:
            return self._finished(compilation)(arrays)
        if not compilation.is_running:  # It was begun before this process was forked.
            compilation = self._compilation = self._begin()
        settings = settings_of_this_thread()

        def compute() -> list[Array]:
            with settings():
                return self._on_host(arrays)

        job = Job(compute, f"host's {self._name}", self._tell)
        try:
            with self._changed:
                self._changed.wait_for(lambda: job.has_ended or compilation.has_ended)
        finally:
            if not job.has_ended:
                job.give_up()
        return job.result() if job.has_ended else self._finished(compilation)(arrays)

    def _begin(self) -> Job[Compiled]:
        def compiled() -> Compiled:
            _thread.in_background = True
            with self._settings():
                return self._compile_now()

        job = Job(compiled, f"compilation of {self._name}", self._tell)
        _compilations.add(job)
        return job

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _finished(self, compilation: Job[Compiled]) -> Call:
        self._compiled = compilation.result().call
        return self._compiled


def tiered(
    name: str,
    jaxpr: ClosedJaxpr,
    placement: Placement,
    wanted: bool | None,
    compile_now: Callable[[], Compiled],
) -> Tiered | None:
    """Begin to compile a program, and run it on the host meanwhile; ``None`` if it is to be waited for.

    Args:
        name: of the function.
        jaxpr: the program.
        placement: where it will run.
        wanted: what ``jit(tiered=)`` says; ``None`` leaves it to the option.
        compile_now: compiles it.
    """
    # Without the plugin that declares it, the option is off.
    mode = getattr(config, "tiered", "off") if wanted is None else "on" if wanted else "off"
    if mode == "off" or jaxpr.jaxpr.effects or not can_run_on_host(placement):
        return None
    backend = placement.backend
    count, policy = _count(jaxpr), config.read("fallback")
    if mode == "auto" and (count <= backend.patience or policy == "error"):
        return None
    try:
        # What depends on the device is that of the compiled program.
        passed = passed_for(jaxpr, placement.device)
        on_host = host_call(name, passed, placement, jaxpr.out_avals)
    except MissingRuleError:
        return None
    if mode == "auto" and policy == "warn":
        warnings.warn(
            f"NumPy computes '{name}' ({count:,} equations) until {backend.name} has compiled it. Wait for the compiler instead with "
            'jit(tiered=False) or plugjax.config.update("tiered", "off").',
            FallbackWarning,
            stacklevel=2,
        )
    return Tiered(name, on_host, compile_now)


def _count(jaxpr: ClosedJaxpr) -> int:
    return sum(1 + sum(map(_count, programs_in(eqn.params))) for eqn in jaxpr.eqns)


def _end_compilations() -> None:
    # A thread within a compiler must not outlive the interpreter. A backend that compiles in another process has stopped that by now.
    for job in list(_compilations):
        job.end()


before_threads_are_waited_for(_end_compilations)
