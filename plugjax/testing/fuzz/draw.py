"""Program number ``k`` of a seed, reproducible independently of other programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import plugjax
from plugjax.testing.fuzz import (  # noqa: F401  Importing a family registers its rules.
    steps_control,
    steps_elementwise,
    steps_products,
    steps_reductions,
    steps_structure,
    steps_transforms,
)
from plugjax.testing.fuzz.program import TRANSFORMS, Aval, Program, reads
from plugjax.testing.fuzz.scope import RefusedError, Scope, Shared


def draw_program(
    seed: int,
    number: int,
    x64: bool = False,
    steps: tuple[int, int] = (3, 12),
    transformed: bool = False,
) -> Program:
    """Draw a program.

    If the framework refuses to trace a step, the program is that step alone.

    Args:
        seed: of the generator of all programs.
        number: of the program under this seed.
        x64: 64-bit dtypes too.
        steps: the least and the largest number of steps.
        transformed: three of four programs have a gradient, and all a batch, beside their results.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
    shared = Shared(rng, special=bool(rng.random() < 0.3), x64=x64)
    scope = Scope(shared, [], [])
    if transformed and scope.chance(0.75):
        scope.reversible = scope.differentiated = True
    with plugjax.enable_x64(x64), plugjax.default_device("numpy"):
        for _ in range(int(rng.integers(1, 4))):
            scope.input(Aval(scope.dtype(), scope.shape()))
        try:
            scope.grow(int(rng.integers(steps[0], steps[1] + 1)))
        except RefusedError as error:
            return _alone(error, shared)
    made = [r for step in scope.steps for r in step.results]
    if not scope.chance(0.5):
        read = {r for step in scope.steps for r in reads(step)}
        made = [r for r in made if r not in read or scope.chance(0.1)]
    program = trimmed(Program(shared.inputs, scope.steps, made, shared.avals, x64))
    if not transformed:
        return program
    wanted = [name for name in TRANSFORMS if name != "gradient" or scope.reversible]
    return replace(program, transforms=tuple(n for n in wanted if n in program.possible))


def _alone(error: RefusedError, shared: Shared) -> Program:
    step = error.step
    scope = Scope(shared, [], [])
    known = {x.number for x in shared.inputs}
    renamed = {}
    for number in sorted(reads(step) - known):
        renamed[number] = scope.input(shared.avals[number])
    for x in shared.inputs:
        # Parameters of the enclosing function become inputs with the same numbers.
        for old, new in renamed.items():
            if x.number == new:
                x.number = old
    return trimmed(Program(shared.inputs, [step], step.results, shared.avals, shared.x64))


def trimmed(program: Program) -> Program:
    """The program without steps and inputs that no result needs."""
    needed = set(program.results)
    steps = []
    for step in reversed(program.steps):
        if needed & set(step.results):
            steps.append(step)
            needed |= reads(step)
    inputs = [x for x in program.inputs if x.number in needed]
    steps.reverse()
    return replace(program, inputs=inputs, steps=steps)
