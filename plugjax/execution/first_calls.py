"""Eager operations that a backend must compile, and that the host could run: the host runs the first calls.

Operations on random keys have programs in place of host kernels. A compilation takes 0.1 to 1 s, as long as the host takes for a
thousand small operations; most shapes that a program draws come a few times only.
"""

from __future__ import annotations

from collections.abc import Sequence

from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import Primitive
from plugjax.execution.compile import Compiled
from plugjax.execution.on_host import Call, can_run_on_host, host_call

# Elements that the host computes in the time of one call's overhead, and of one compilation.
_CALL, _COMPILATION = 1 << 12, 1 << 22


def first_on_host(primitive: Primitive, program: ClosedJaxpr, placement: Placement) -> Call | None:
    """A function that runs a program of one equation: on the host first, compiled for its placement after many calls.

    ``None`` if the host should not run it: it is large, the device's memory is not the host's, or ``eager`` says so.
    """
    avals: tuple[ShapedArray, ...] = (*program.in_avals, *program.out_avals)
    mode = config.read("eager")
    calls = _COMPILATION // (_CALL + sum(a.size for a in avals))
    if primitive.structured or mode == "compile" or (mode != "host" and not calls):
        return None
    if not can_run_on_host(placement) or not placement.backend.runs_on_host(
        placement.sharding.devices[0], primitive, program.in_avals, program.out_avals
    ):
        return None
    run = host_call(primitive.name, program, placement, program.out_avals)
    if mode == "host":
        return run
    left = calls

    def call(arrays: Sequence[Array]) -> list[Array]:
        nonlocal run, left
        left -= 1
        if left == 0:
            run = Compiled(program, placement, {"name": primitive.name}).call
        return run(arrays)

    return call
