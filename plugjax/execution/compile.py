"""From a jaxpr to something that runs on arrays: passes, constants, the backend, and the wrapping of results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.array import Array, from_host, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.device import Backend, Device, Executable, Placement, Sharding
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from plugjax.meshes.propagation import tell_one_sharding
from plugjax.transforms.dce import dce
from plugjax.transforms.discharge import discharge
from plugjax.transforms.jaxpr_check import check_jaxpr
from plugjax.transforms.named_axes import axes_inside
from plugjax.transforms.physical import physicalize
from plugjax.transforms.simplify import simplify
from plugjax.transforms.spread_types import without_spreads

# Constants above this number of bytes are passed as arguments: as literals they would be printed, parsed and hashed.
EMBED_LIMIT = 256


def run_passes(jaxpr: ClosedJaxpr, platform: str, hardware: str | None = None) -> ClosedJaxpr:
    """The program after physical rewriting, the standard passes, and those of plugins.

    Args:
        jaxpr: the program.
        platform: the backend that it is compiled for.
        hardware: what will run it; ``None`` if that is not known yet.
    """
    checking = config.read("enable_checks")
    passes: list[Callable[[ClosedJaxpr], ClosedJaxpr]] = [
        without_spreads,
        discharge,
        physicalize,
        # Twice: what a call stands for may depend on what is read of it, and calls that are inlined leave dead code.
        dce,
        simplify,
        dce,
    ]
    found = registry.active().hook.plugjax_jaxpr_passes(platform=platform, hardware=hardware)
    for extra in found:
        passes.extend(extra)
    for each in passes:
        jaxpr = each(jaxpr)
        if checking:
            check_jaxpr(jaxpr)
    return jaxpr


def hoist_constants(jaxpr: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """Make large constants leading arguments; returns the program and their values."""
    inner = jaxpr.jaxpr
    hoisted: list[tuple[Var, Any]] = []
    kept: list[tuple[Var, Any]] = []
    for var, value in zip(inner.constvars, jaxpr.consts, strict=True):
        small = var.aval.size * var.aval.dtype.itemsize <= EMBED_LIMIT
        (kept if small else hoisted).append((var, value))
    if not hoisted:
        return jaxpr, []
    program = Jaxpr(
        [v for v, _ in kept],
        [*(v for v, _ in hoisted), *inner.invars],
        inner.outvars,
        inner.eqns,
        inner.debug_name,
    )
    return ClosedJaxpr(program, [value for _, value in kept]), [value for _, value in hoisted]


def prepare(
    jaxpr: ClosedJaxpr, device: Device, options: Mapping[str, Any]
) -> tuple[ClosedJaxpr, list[Any], Mapping[str, Any]]:
    """What a backend gets: the program after the passes, the constants that lead its arguments, and the options for it."""
    passed = passed_for(jaxpr, device)
    if device.backend.compiles_only:
        return passed, [], options
    program, constants = hoist_constants(passed)
    if constants and options.get("donated"):
        options = {**options, "donated": tuple(i + len(constants) for i in options["donated"])}
    return program, constants, options


def passed_for(jaxpr: ClosedJaxpr, device: Device, platforms: Sequence[str] = ()) -> ClosedJaxpr:
    """The program after the passes for a device, or for other hardware of its backend."""
    wanted = platforms or (device.hardware,)
    # What programs over an abstract mesh stand for depends on who compiles them.
    with axes_inside(jaxpr), config.override("default_device", device):
        return run_passes(jaxpr, device.backend.name, wanted[0] if len(wanted) == 1 else None)


Call = Callable[[Sequence[Array]], list[Array]]


class Compiled:
    """A program compiled for a placement.

    Attributes:
        jaxpr: the program as the backend got it.
        executable: what the backend made of it.
        call: runs it on a sequence of Arrays at the placement, and gives a list of Arrays.
        leading: constants that are passed as arguments before those of the call.
        out_avals: avals of the results.
        ending: like ``single`` for a program whose only argument is donated: it ends the array. ``None`` for others.
        single: like ``call``, giving the one result itself; ``None`` where there is no such fast path.
    """

    __slots__ = (
        "call",
        "ending",
        "executable",
        "jaxpr",
        "leading",
        "out_avals",
        "placement",
        "single",
    )

    def __init__(
        self, jaxpr: ClosedJaxpr, placement: Placement, options: Mapping[str, Any]
    ) -> None:
        hoisted, constants, options = prepare(jaxpr, placement.device, options)
        tell_one_sharding(hoisted, placement.sharding)
        with axes_inside(jaxpr):
            executable: Executable = registry.active().hook.plugjax_compile(
                jaxpr=hoisted, device=placement.device, options=options
            )
        leading = [transfer(as_constant(value, placement), placement) for value in constants]
        self._settle(hoisted, executable, leading, jaxpr.out_avals, placement)

    @classmethod
    def of(
        cls,
        jaxpr: ClosedJaxpr,
        executable: Executable,
        leading: list[Array],
        out_avals: list[Any],
        placement: Placement,
    ) -> Compiled:
        """What was compiled before, by its attributes."""
        made: Compiled = object.__new__(cls)
        made._settle(jaxpr, executable, leading, out_avals, placement)
        return made

    def _settle(
        self,
        jaxpr: ClosedJaxpr,
        executable: Executable,
        leading: list[Array],
        out_avals: list[Any],
        placement: Placement,
    ) -> None:
        self.jaxpr, self.placement = jaxpr, placement
        self.executable, self.leading, self.out_avals = executable, leading, out_avals
        self.single: Callable[[Sequence[Array]], Array] | None = None
        self.ending: Callable[[Sequence[Array]], Array] | None = None
        if len(out_avals) == 1 and not leading:
            if executable.donated and len(self.jaxpr.in_avals) == 1:
                self.ending = make_ending(executable, out_avals[0], placement)
            single = self.single = make_single(executable, out_avals[0], placement)
            self.call = lambda arrays: [single(arrays)]
        else:
            self.call = _make_call(executable, leading, out_avals, placement)

    @property
    def placements(self) -> list[Placement]:
        """Where the arguments must be."""
        return [self.placement] * (len(self.jaxpr.in_avals) - len(self.leading))

    @property
    def result_shardings(self) -> list[Sharding]:
        """How the results are spread."""
        return [self.placement.sharding] * len(self.out_avals)


def as_constant(value: Any, placement: Placement) -> Array:
    """A constant of a program as an Array."""
    if type(value) is Array:
        return value
    host = np.asarray(value)
    return from_host(host, placement=placement)


def make_single(
    executable: Executable, out_aval: Any, placement: Placement
) -> Callable[[Sequence[Array]], Array]:
    """The fast path of compiled code: no constants, one result."""
    run, donated = executable.run, sorted(executable.donated)
    if executable.host:

        def single_host(arrays: Sequence[Array]) -> Array:
            values = [x._host if x._host is not None else x._fetch() for x in arrays]
            return Array(out_aval, placement, run(values)[0])

        return single_host

    def single(arrays: Sequence[Array]) -> Array:
        if len(arrays) == 1:
            x = arrays[0]
            buffers = [x._buffer if x._buffer is not None else x._resident()]
        else:
            buffers = [x._buffer if x._buffer is not None else x._resident() for x in arrays]
        for i in donated:
            if arrays[i]._host is not None or sys.getrefcount(buffers[i]) > OWNERS:
                buffers[i] = _copy(arrays[i])
        return Array(out_aval, placement, None, run(buffers)[0])

    return single


def make_ending(
    executable: Executable, out_aval: Any, placement: Placement
) -> Callable[[Sequence[Array]], Array]:
    """The fast path of a program whose only argument is donated."""
    run = executable.run

    def ending(arrays: Sequence[Array]) -> Array:
        x = arrays[0]
        buffers = [x._buffer if x._buffer is not None else x._resident()]
        if x._host is not None or sys.getrefcount(buffers[0]) > OWNERS:
            buffers = [_copy(x)]
        found = run(buffers)[0]
        x._host = x._buffer = None
        return Array(out_aval, placement, None, found)

    return ending


def _make_call(
    executable: Executable, leading: list[Array], out_avals: list[Any], placement: Placement
) -> Call:
    """The hot path of compiled code: unwrap, run, wrap."""
    run = executable.run
    if executable.host:
        fixed = [x._fetch() for x in leading]

        def call_host(arrays: Sequence[Array]) -> list[Array]:
            values = [x._host if x._host is not None else x._fetch() for x in arrays]
            results = run(fixed + values if fixed else values)
            return [Array(a, placement, v) for a, v in zip(out_avals, results, strict=True)]

        return call_host
    resident = [x._resident() for x in leading]
    donated = sorted(i - len(resident) for i in executable.donated)

    def call(arrays: Sequence[Array]) -> list[Array]:
        buffers = [x._buffer if x._buffer is not None else x._resident() for x in arrays]
        if donated:
            copied_donations(arrays, buffers, donated)
        return on_buffers(out_avals, placement, run(resident + buffers if resident else buffers))

    return call


def copied_donations(arrays: Sequence[Array], buffers: list[Any], donated: Sequence[int]) -> None:
    """Put copies in place of donated buffers that must not be written over."""
    for i in donated:
        if arrays[i]._host is not None or sys.getrefcount(buffers[i]) > OWNERS:
            buffers[i] = _copy(arrays[i])


# An array, a list and the call hold a buffer. A buffer that has more owners, or of which a NumPy view was made, must not be
# written over: its memory may still be read.
OWNERS = 3


def _copy(array: Array) -> Any:
    """A buffer with the values of a donated array whose own memory must stay."""
    fresh = np.array(array._fetch())
    # Not given away: a backend that takes the memory over may not be allowed to write all of it.
    fresh.setflags(write=False)
    return array._placement.backend.put(fresh, array._placement.device)


def on_buffers(
    avals: Sequence[ShapedArray], placement: Placement, buffers: Sequence[Any]
) -> list[Array]:
    """Arrays over buffers. They are made without the call of their constructor, which takes a fifth of the time."""
    new = object.__new__
    arrays = []
    for aval, buffer in zip(avals, buffers, strict=True):
        array = new(Array)
        array.aval, array._placement, array._host, array._buffer = aval, placement, None, buffer
        arrays.append(array)
    return arrays


def lowered_text(
    jaxpr: ClosedJaxpr, backend: Backend, options: Mapping[str, Any], dialect: str | None = None
) -> str:
    """The program in a form that a backend's compiler takes."""
    program = passed_for(jaxpr, backend.devices()[0], options.get("platforms", ()))
    with axes_inside(jaxpr):
        return backend.lower(program, options, dialect or backend.dialects[0])
