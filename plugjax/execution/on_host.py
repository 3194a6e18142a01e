"""Programs that the host runs in the place of a backend, on arrays of that backend's devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plugjax.core import registry
from plugjax.core.array import Array
from plugjax.core.aval import ShapedArray
from plugjax.core.backend import get_backend
from plugjax.core.device import Placement
from plugjax.core.jaxpr import ClosedJaxpr
from plugjax.execution.compile import Compiled

# The backend whose programs run on host values.
_HOST = "numpy"

Call = Callable[[Sequence[Array]], list[Array]]


def can_run_on_host(placement: Placement) -> bool:
    """Whether the host sees the memory at a placement of another backend, and has a backend of its own."""
    device = placement.device
    return (
        not placement.several
        and device.host_visible
        and not device.backend.compiles_only
        and placement.backend.name != _HOST
        and _HOST in registry.active().backends()
    )


def host_call(
    name: str, program: ClosedJaxpr, placement: Placement, out_avals: Sequence[ShapedArray]
) -> Call:
    """A function that runs a program on the host; its results are arrays at the placement, whose values the host has.

    Args:
        name: of the program.
        program: what the host runs; passes may have changed whether a result is weakly typed.
        placement: where the arguments are.
        out_avals: of the results.

    Raises:
        MissingRuleError: a primitive has no host kernel.
    """
    host = Compiled(program, get_backend(_HOST).devices()[0].uncommitted, {"name": name})
    return Compiled.of(host.jaxpr, host.executable, host.leading, list(out_avals), placement).call
