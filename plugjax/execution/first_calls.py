"""Eager operations that a backend must compile, and that the host could run: the host runs the first calls.

Operations on random keys have programs in place of host kernels. A compilation takes 0.1 to 1 s, as long as the host takes for a
thousand small operations; most shapes that a program draws come a few times only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugjax.core import registry
from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import get_backend
from plugjax.core.config import config
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.core.primitive import Primitive
from plugjax.execution.compile import Compiled

# The backend whose programs run on host values.
_HOST = "numpy"
# Elements that the host computes in the time of one call's overhead, and of one compilation.
_CALL, _COMPILATION = 1 << 12, 1 << 22

Call = Callable[[Sequence[Array]], list[Array]]


def first_on_host(primitive: Primitive, program: ClosedJaxpr, placement: Placement) -> Call | None:
    """A function that runs a program of one equation: on the host first, compiled for its placement after many calls.

    ``None`` if the host should not run it: it is large, the device's memory is not the host's, or ``eager`` says so.
    """
    avals: tuple[ShapedArray, ...] = (*program.in_avals, *program.out_avals)
    mode = config.read("eager")
    calls = _COMPILATION // (_CALL + sum(a.size for a in avals))
    if primitive.structured or mode == "compile" or (mode != "host" and not calls):
        return None
    if placement.backend.name == _HOST or _HOST not in registry.active().backends():
        return None
    if not placement.backend.runs_on_host(
        placement.sharding.devices[0], primitive, program.in_avals, program.out_avals
    ):
        return None
    options = {"name": primitive.name}
    host = Compiled(program, get_backend(_HOST).devices()[0].uncommitted, options)
    # The results are arrays at the placement, whose values the host has.
    run: Call = Compiled.of(
        host.jaxpr, host.executable, host.leading, host.out_avals, placement
    ).call
    if mode == "host":
        return run
    left = calls

    def call(arrays: Sequence[Array]) -> list[Array]:
        nonlocal run, left
        left -= 1
        if left == 0:
            run = Compiled(program, placement, options).call
        return run(arrays)

    return call
