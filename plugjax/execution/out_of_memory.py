"""What is raised where there is no memory for a result."""

from __future__ import annotations

import math
from collections.abc import Iterator

from plugjax.core.aval import ShapedArray
from plugjax.core.errors import JaxRuntimeError
from plugjax.core.jaxpr import ClosedJaxpr, programs_in


def out_of_memory(error: MemoryError) -> JaxRuntimeError:
    """NumPy's error as JAX's."""
    return JaxRuntimeError(f"RESOURCE_EXHAUSTED: Out of memory on the host: {error}.")


def largest_value(program: ClosedJaxpr) -> str:
    """The largest value of a program, for an error: its type and its bytes."""
    avals = [*program.in_avals, *_computed(program)]
    sizes = [(math.prod(map(int, a.shape)) * a.dtype.itemsize, str(a)) for a in avals]
    size, aval = max(sizes, default=(0, "nothing"))
    return f"The largest value of the program is {aval}, {size:,} bytes."


def _computed(program: ClosedJaxpr) -> Iterator[ShapedArray]:
    for eqn in program.jaxpr.eqns:
        yield from (v.aval for v in eqn.outvars if isinstance(v.aval, ShapedArray))
        for inner in programs_in(eqn.params):
            yield from _computed(inner)
