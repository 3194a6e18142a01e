"""The primitive, its avals, and the user's function.

``carry, y = f(carry, x)`` for each slice x of xs; the y are stacked. The primitive holds the body as a program
``(constants, carry, slices) -> (carry, ys)``. Constants are what the body closes over; they do not change from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plugjax.extend import (
    ClosedJaxpr,
    Jaxpr,
    Primitive,
    RuleSet,
    ShapedArray,
    abstract_eval,
    as_array,
    memoise,
    pytree,
    stage,
)
from plugjax.extend.transforms import open_constants

rules = RuleSet(__name__)

recurrence_p = Primitive("recurrence", multiple_results=True, structured=True)


@dataclass(frozen=True)
class Loop:
    """The parameters of the primitive.

    Attributes:
        jaxpr: the body.
        length: number of steps.
        reverse: whether the last slice comes first; each y keeps the index of its x.
        num_consts: number of constants.
        num_carry: number of arrays in the carry.
    """

    jaxpr: ClosedJaxpr
    length: int
    reverse: bool
    num_consts: int
    num_carry: int

    def bind(self, operands: Sequence[Any]) -> list[Any]:
        """Run the loop: the last carry, and the stacked ys."""
        found: list[Any] = recurrence_p.bind(*operands, **vars(self))
        return found

    def parts(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """What belongs to the constants, to the carry and to the xs."""
        split = self.num_consts + self.num_carry
        return operands[: self.num_consts], operands[self.num_consts : split], operands[split:]


def recurrence(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, reverse: bool = False
) -> tuple[Any, Any]:
    """Carry a value along the leading axis of ``xs``, and stack what the steps give.

    Args:
        f: ``(carry, x) -> (carry, y)`` of pytrees; the carry keeps its structure, shapes and dtypes.
        init: pytree: the first carry.
        xs: pytree of arrays ``[length, ...]``, one at least.
        reverse: whether to go from the last slice to the first.

    Returns:
        The last carry, and the ys, a pytree of arrays ``[length, ...]``.

    Raises:
        TypeError: ``f`` changes the type of the carry.
        ValueError: the leading axes of ``xs`` differ in size.
    """
    init_leaves, carry_tree = pytree.flatten(init)
    xs_leaves, xs_tree = pytree.flatten(xs)
    carry = [as_array(x, "recurrence") for x in init_leaves]
    slices = [as_array(x, "recurrence") for x in xs_leaves]
    lengths = {x.shape[0] for x in slices}
    if len(lengths) != 1:
        raise ValueError(f"recurrence: leading axes of xs need one size, got {sorted(lengths)}.")
    trees = []

    def flat(*args: Any) -> list[Any]:
        state = pytree.unflatten(carry_tree, args[: len(carry)])
        found = f(state, pytree.unflatten(xs_tree, args[len(carry) :]))
        trees[:] = [pytree.structure(part) for part in found]
        return [as_array(y, "recurrence") for y in pytree.leaves(found)]

    carry_avals = [x.aval.strip_weak_type() for x in carry]
    x_avals = [x.aval.update(shape=x.aval.shape[1:]) for x in slices]
    body, consts = open_constants(stage(flat, [*carry_avals, *x_avals], "recurrence"))
    found_avals = [a.strip_weak_type() for a in body.out_avals[: len(carry)]]
    if trees[0] != carry_tree or found_avals != carry_avals:
        expected, got = ([a.str_short() for a in avals] for avals in (carry_avals, found_avals))
        raise TypeError(
            f"recurrence: the body takes the carry {carry_tree} of {expected} and returns {trees[0]} of {got}. "
            "Return it with the same structure, shapes and dtypes."
        )
    loop = Loop(body, lengths.pop(), reverse, len(consts), len(carry))
    outs = loop.bind([*consts, *carry, *slices])
    return (
        pytree.unflatten(carry_tree, outs[: len(carry)]),
        pytree.unflatten(trees[1], outs[len(carry) :]),
    )


@rules.define(abstract_eval, recurrence_p)
def _recurrence_avals(*_: ShapedArray, **params: Any) -> list[ShapedArray]:
    loop = Loop(**params)
    avals = [a.strip_weak_type() for a in loop.jaxpr.out_avals]
    ys = avals[loop.num_carry :]
    return [*avals[: loop.num_carry], *(y.update(shape=(loop.length, *y.shape)) for y in ys)]


def fixpoint(start: Sequence[bool], step: Callable[[Sequence[bool]], Sequence[bool]]) -> list[bool]:
    """The least flags of the carry above ``start`` that the body preserves."""
    flags = list(start)
    while (found := [a or b for a, b in zip(flags, step(flags), strict=True)]) != flags:
        flags = found
    return flags


def rearranged(
    program: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int], given: Sequence[int] = ()
) -> ClosedJaxpr:
    """A program with its inputs and outputs in another order.

    Args:
        program: the program.
        inputs: for each new input, which one it is.
        outputs: for each new output, which one it is.
        given: inputs that are further outputs.
    """

    def make() -> ClosedJaxpr:
        inner = program.jaxpr
        outvars = [*(inner.outvars[i] for i in outputs), *(inner.invars[i] for i in given)]
        invars = [inner.invars[i] for i in inputs]
        changed = Jaxpr(inner.constvars, invars, outvars, inner.eqns, inner.debug_name)
        return ClosedJaxpr(changed, program.consts)

    key = ("rearranged", tuple(inputs), tuple(outputs), tuple(given))
    made: ClosedJaxpr = memoise(program, key, make)
    return made
