"""Shrink a failing program: fewer transformations of the whole, fewer results, fewer steps, shorter bodies, plain values.

A step is cut by replacing it with an input of the same value. So the failing step is found alone, or with the context
that it needs.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from plugjax.testing.fuzz.draw import trimmed
from plugjax.testing.fuzz.program import Aval, Body, Input, Program, Step

Fails = Callable[[Program], bool]
Values = Callable[[Program], dict[int, list[str]]]


def shrink(
    program: Program,
    fails: Fails,
    values: Values,
    trials: int = 120,
    seconds: float = 120,
) -> Program:
    """A smaller program that fails as well.

    ``fails`` says whether a candidate still fails; ``values`` gives the oracle's values outside bodies. At most
    ``trials`` candidates are tried, for at most ``seconds``.
    """
    end = time.monotonic() + seconds
    best, tried = program, 0
    seen = {best.to_json()}
    progress = True
    while progress:
        progress = False
        known = values(best)
        for found in _candidates(best, known):
            candidate = _possible(found)
            text = candidate.to_json()
            if text in seen:
                continue
            seen.add(text)
            if tried >= trials or time.monotonic() > end:
                return best
            tried += 1
            if fails(candidate):
                best, progress = candidate, True
                break
    return best


def _possible(program: Program) -> Program:
    """The program without transformations that it no longer has arguments or results for."""
    kept = tuple(name for name in program.transforms if name in program.possible)
    return replace(program, transforms=kept or ("forward",))


def _candidates(program: Program, known: dict[int, list[str]]) -> Iterator[Program]:
    """Smaller programs, the smallest first."""
    yield from _untransformed(program)
    if len(program.results) > 1:
        for r in program.results:
            yield trimmed(replace(program, results=[r]))
    for step in program.steps[:-1]:
        yield trimmed(replace(program, results=list(step.results)))
    last = next((s for s in program.steps if set(s.results) & set(program.results)), None)
    if last is not None and len(program.steps) > 1:
        yield _cut(program, [s for s in program.steps if s is not last], known)
    yield from _parts_cut(program, known)
    yield from _lifted(program, known)
    yield from _inner(program)
    yield from _plainer(program)


def _untransformed(program: Program) -> Iterator[Program]:
    """Programs with fewer transformations of the whole."""
    for name in program.transforms:
        if len(program.transforms) > 1:
            yield replace(program, transforms=(name,))


def _value_of(program: Program, number: int, known: dict[int, list[str]]) -> Input | None:
    aval = program.avals.get(number)
    if aval is None:
        return None
    return Input(number, replace(aval, weak=False), known.get(number) or _plain(aval))


def _cut(program: Program, steps: list[Step], known: dict[int, list[str]]) -> Program:
    """The program with inputs in place of steps."""
    inputs = list(program.inputs)
    kept = [s for s in program.steps if all(s is not cut for cut in steps)]
    for step in steps:
        for r in step.results:
            value = _value_of(program, r, known)
            if value is None:
                return program
            inputs.append(value)
    return trimmed(replace(program, inputs=inputs, steps=kept))


def _parts_cut(program: Program, known: dict[int, list[str]]) -> Iterator[Program]:
    """Programs without a half of the steps, a quarter, and so on down to one step."""
    size = len(program.steps) // 2
    while size:
        for first in range(0, len(program.steps), size):
            part = program.steps[first : first + size]
            if len(part) < len(program.steps):
                yield _cut(program, part, known)
        size //= 2


def _lifted(program: Program, known: dict[int, list[str]]) -> Iterator[Program]:
    """Programs that are one body of a step, run once."""
    for k, step in enumerate(program.steps):
        for body in step.bodies:
            inputs = list(program.inputs)
            for p in body.parameters:
                value = _value_of(program, p, _operand_of_type(program, step, p, known))
                if value is not None:
                    inputs.append(value)
            steps = [*program.steps[:k], *body.steps]
            yield trimmed(replace(program, inputs=inputs, steps=steps, results=list(body.results)))


def _operand_of_type(
    program: Program, step: Step, parameter: int, known: dict[int, list[str]]
) -> dict[int, list[str]]:
    """The literals of an operand that has a parameter's type, under the parameter's number."""
    given = {x.number: x.values for x in program.inputs} | known
    for i in step.operands:
        if program.avals.get(i) == program.avals[parameter] and i in given:
            return {parameter: given[i]}
    return {}


def _bodies(steps: list[Step]) -> Iterator[Body]:
    for step in steps:
        for body in step.bodies:
            yield body
            yield from _bodies(body.steps)


def _inner(program: Program) -> Iterator[Program]:
    """Programs with one step less in a body, or with a parameter in place of a body's result."""
    for i, body in enumerate(_bodies(program.steps)):
        for place, result in enumerate(body.results):
            for p in body.parameters:
                if p != result and program.avals[p] == program.avals.get(result):
                    smaller = copy.deepcopy(program)
                    chosen = list(_bodies(smaller.steps))[i]
                    chosen.results[place] = p
                    _trim_body(chosen)
                    yield trimmed(smaller)
        for k in reversed(range(len(body.steps))):
            smaller = copy.deepcopy(program)
            chosen = list(_bodies(smaller.steps))[i]
            cut = chosen.steps.pop(k)
            inputs = [_value_of(program, r, {}) for r in cut.results]
            if all(x is not None for x in inputs):
                smaller.inputs.extend(x for x in inputs if x is not None)
                _trim_body(chosen)
                yield trimmed(smaller)


def _trim_body(body: Body) -> None:
    whole = Program([], body.steps, body.results, {})
    body.steps = trimmed(whole).steps


def _plainer(program: Program) -> Iterator[Program]:
    """Programs with plainer inputs, and with arguments in place of constants."""
    if any(x.constant for x in program.inputs):
        yield replace(program, inputs=[replace(x, constant=False) for x in program.inputs])
    for i, x in enumerate(program.inputs):
        if x.constant:
            yield _with_input(program, i, replace(x, constant=False))
        for values in (_plain(x.aval), _ones(x.aval), _rounded(x)):
            if values != x.values and not (values == _ones(x.aval) and x.values == _plain(x.aval)):
                yield _with_input(program, i, replace(x, values=values))


def _with_input(program: Program, place: int, value: Input) -> Program:
    inputs = list(program.inputs)
    inputs[place] = value
    return replace(program, inputs=inputs)


def _plain(aval: Aval) -> list[str]:
    return [{"b": "False", "c": "complex(0.0, 0.0)", "f": "0.0"}.get(aval.kind, "0")] * aval.size


def _ones(aval: Aval) -> list[str]:
    return [{"b": "True", "c": "complex(1.0, 0.0)", "f": "1.0"}.get(aval.kind, "1")] * aval.size


def _rounded(x: Input) -> list[str]:
    """Integers near the finite values."""
    if x.aval.kind != "f":
        return x.values
    return [repr(float(round(float(v)))) if abs(float(v)) < 1e6 else v for v in x.values]
