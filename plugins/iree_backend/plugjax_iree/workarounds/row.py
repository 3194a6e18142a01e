"""A row of the table of workarounds: a defect, the stage at which it is worked around, and a program that shows it."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """Where a workaround acts; in this order."""

    DONATION = "donation"
    """On the pairs of donated arguments and results that share memory: ``(jaxpr, donated) -> pairs``."""
    PROGRAM = "program"
    """On the jaxpr: ``(jaxpr, donated) -> jaxpr``."""
    LOWERING = "lowering"
    """In lowering rules, which ask `plugjax_iree.workarounds.is_on`."""
    INLINED = "inlined StableHLO"
    """On the StableHLO program once functions are inlined: ``(mlir, module) -> changes``."""
    STABLEHLO = "StableHLO"
    """After that, before IREE's own passes: ``(mlir, module) -> changes``, or passes of MLIR."""
    STRUCTURED = "structured control flow"
    """After that, and after `REFUSED`: passes of MLIR, after which loops and branches are those of ``scf``."""
    FLAGS = "flags"
    """Flags of the compiler for a module: ``(text) -> flags``."""
    LINALG = "linalg"
    """On the program once IREE has made it one of ``linalg`` and ``scf``: ``(mlir, module) -> changes``."""
    FUSION = "fusion"
    """Once IREE has optimised the whole program and fused operations with one user: ``(mlir, module) -> changes``, or passes of MLIR."""
    FLOW = "flow"
    """On the program once IREE has divided it into kernels: ``(mlir, module) -> changes``."""
    KERNELS = "kernels"
    """After that, before IREE schedules and translates kernels; not if the program is wanted as it is before: ``(mlir, module) -> changes``."""
    UNCOUNTED = "memory without counts"
    """If the compiler crashed on the module before, or a device refuses what is counted: passes of MLIR that schedule kernels."""
    UNSETTLED = "unsettled schedule"
    """If IREE gave up while it scheduled kernels: ``(mlir, module) -> whether it can go on``, and the passes of MLIR that are left."""
    SCHEDULED = "scheduled kernels"
    """Once IREE has scheduled kernels: ``(mlir, module) -> changes``."""
    CONFIGURED = "configured kernels"
    """Once IREE has chosen how each kernel is translated: ``(mlir, module) -> changes``."""
    TRANSLATED = "translated kernels"
    """Once IREE has translated each kernel for the device: ``(mlir, module) -> changes``."""
    BYTECODE = "bytecode"
    """On the program of IREE's virtual machine, before its bytecode is written: ``(mlir, module) -> changes``."""
    REFUSED = "after a refusal"
    """On the StableHLO program, as the last step, if IREE refused it: ``(mlir, module, lines) -> changes``; the operations that it named are written at some lines, or none are given."""
    RESULTS = "results"
    """On the compiled function: ``(function, jaxpr, donated, copy) -> function``."""


class Effect(StrEnum):
    """What happens to a row's program without the workaround."""

    WRONG = "wrong"
    REFUSED = "refused"
    CRASH = "crash"
    SLOW = "slow"
    UNSEEN = "unseen"


@dataclass(frozen=True)
class Workaround:
    """One defect of IREE's compiler and its workaround.

    Attributes:
        name: for ``PLUGJAX_IREE_WITHOUT``.
        stage: where it acts.
        defect: what IREE does, in one sentence.
        without: what happens to ``program`` if it is switched off.
        program: source of a function ``program`` of float32 arrays ``[4, 4]`` that shows the defect. It sees ``jnp``, ``lax``, ``np``
            and ``plugjax``.
        test: file and function of a test that is right with it and not without: of the plugin's tests, or with folders from the root.
        version: of IREE, in which the defect was last seen.
        arguments: how many arguments ``program`` takes.
        donated: positions of arguments that are donated.
        options: compile options of ``program``.
        beside: workarounds that are off in both states, since they hide the difference; of refusals, `one_by_one` always is.
        because: why ``program`` shows no difference, if ``without`` is ``UNSEEN``.
        passes: passes of MLIR that are the workaround.
        place: ``module:function`` within this package if it is not ``NAME:apply``; of a lowering, the module within `plugjax_iree`.
    """

    name: str
    stage: Stage
    defect: str
    without: Effect
    program: str
    test: str
    version: str = "3.13.0"
    arguments: int = 1
    donated: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    beside: tuple[str, ...] = ()
    because: str = ""
    passes: str = ""
    place: str = ""

    def function(self) -> Callable[..., Any]:
        """What the stage calls; its module is loaded now."""
        module = importlib.import_module(f"plugjax_iree.workarounds.{self.name}")
        found: Callable[..., Any] = module.apply
        return found

    @property
    def where(self) -> str:
        """Its module within `plugjax_iree`."""
        return self.place or f"workarounds/{self.name}.py"
