"""Results in the memory of arguments.

A compiled program may give an argument's buffer back as its result: where it passes a value through, or only changes its shape.
Two arrays then share memory, and a later call that the first one is donated to would write over the second. Such results
are copied, as XLA does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.core import ClosedJaxpr, Literal
from plugjax.core.jaxpr import JaxprEqn
from plugjax_iree.foreign import is_foreign

# What computes nothing, as far as its values go, or may be found to: the greater of equal ones, what is negated twice.
_MOVES = frozenset(
    {
        "and",
        "bitcast_convert_type",
        "broadcast_in_dim",
        "clamp",
        "complex",
        "concatenate",
        "conj",
        "convert_element_type",
        "copy",
        "dynamic_slice",
        "imag",
        "max",
        "min",
        "neg",
        "not",
        "optimization_barrier",
        "or",
        "pad",
        "real",
        "reduce_precision",
        "reshape",
        "rev",
        "select_n",
        "slice",
        "squeeze",
        "stage",
        "stop_gradient",
        "transpose",
    }
)

# Operands that change nothing.
_NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "mul": 1, "div": 1, "pow": 1}

Run = Callable[[Sequence[Any]], list[Any]]


def shared_results(jaxpr: ClosedJaxpr) -> tuple[int, ...]:
    """Positions of results that may be an argument: no operation that computes stands between."""
    passed: set[Any] = set(jaxpr.jaxpr.invars)
    for eqn in jaxpr.jaxpr.eqns:
        if passes_through(eqn) and any(
            v in passed for v in eqn.invars if not isinstance(v, Literal)
        ):
            passed.update(eqn.outvars)
    return tuple(
        i for i, v in enumerate(jaxpr.jaxpr.outvars) if not isinstance(v, Literal) and v in passed
    )


def passes_through(eqn: JaxprEqn) -> bool:
    """Whether results may be in the memory of operands, as far as the operation tells."""
    primitive = eqn.primitive
    return (
        primitive.structured
        or primitive.name in _MOVES
        or _is_neutral(eqn)
        or is_foreign(primitive)
    )


def _is_neutral(eqn: JaxprEqn) -> bool:
    """Whether an operand is a literal that changes nothing, which the compiler may know."""
    neutral = _NEUTRAL.get(eqn.primitive.name)
    return neutral is not None and any(
        isinstance(v, Literal) and np.asarray(v.val) == neutral for v in eqn.invars
    )


def unshared(
    run: Run, results: tuple[int, ...], donated: Sequence[int], copy: Callable[[Any, int], Any]
) -> Run:
    """The function with results of their own memory.

    Args:
        run: the compiled function.
        results: positions to look at.
        donated: positions of arguments whose memory results may have.
        copy: a copy of the buffer of the result at a position.
    """

    def call(buffers: Sequence[Any]) -> list[Any]:
        outs = run(buffers)
        given = [x.get_buffer() for i, x in enumerate(buffers) if i not in donated]
        for i in results:
            memory = outs[i].get_buffer()
            if any(memory == x for x in given):
                outs[i] = copy(outs[i], i)
            given.append(memory)
        return outs

    return call
