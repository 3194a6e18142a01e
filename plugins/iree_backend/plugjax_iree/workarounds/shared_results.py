"""Results in the memory of arguments.

A compiled program may return an argument's buffer as its result, if it passes a value through or only changes its shape. Two arrays
then share memory, and a later call to which the first is donated would write over the second. Such results are copied, as XLA does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend.core import ClosedJaxpr, JaxprEqn, Literal
from plugjax.extend.execution import Storage, storage_of
from plugjax_iree.workarounds.foreign import is_foreign

Run = Callable[[Sequence[Any]], list[Any]]


def _shared(jaxpr: ClosedJaxpr) -> tuple[int, ...]:
    """Positions of results that may be an argument: no operation between the two computes."""
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
    """Whether results may share memory with operands, as far as the rules of the primitive tell."""
    found = storage_of(eqn)
    return (
        eqn.primitive.structured
        or found is None
        or Storage.MOVES in found
        or is_foreign(eqn.primitive)
    )


def apply(
    run: Run, jaxpr: ClosedJaxpr, donated: Sequence[int], copy: Callable[[Any, int], Any]
) -> Run:
    """The function with results of their own memory.

    Args:
        run: the compiled function.
        jaxpr: the program.
        donated: positions of arguments whose memory results may have.
        copy: a copy of the buffer of the result at a position.
    """
    results = _shared(jaxpr)
    if not results:
        return run

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
