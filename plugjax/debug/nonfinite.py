"""Search for nans and infinities: ``jax_debug_nans`` and ``jax_debug_infs``.

While one of the options is on, calls of programs are instrumented: outputs are checked, and a program whose output
holds a nan (or inf) is replayed equation by equation to find the first equation that produces one. The options are part
of ``config.fingerprint``, so instrumented and bare calls have different keys, and there is no cost while they are off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from plugjax.extend import dtypes
from plugjax.extend.core import Array, ClosedJaxpr, JaxprEqn, config, state, user_source
from plugjax.extend.transforms import BatchStep, batch_axes, dce, enclosing, replay


def checked(
    call: Callable[[Sequence[Array]], Any], program: Callable[[], ClosedJaxpr]
) -> Callable[[Sequence[Array]], Any]:
    """``call`` with a check of its outputs.

    Args:
        call: from arrays to an array or a list of arrays.
        program: returns the program that ``call`` runs, for the replay.

    Returns:
        A function that raises ``FloatingPointError`` if an output violates the options that are on when ``checked`` is
        called.
    """
    bad = _Criterion(config.read("debug_nans"), config.read("debug_infs"))

    def run(arrays: Sequence[Array]) -> Any:
        outs = call(arrays)
        found = outs if isinstance(outs, list) else [outs]
        if any(bad(out) is not None for out in found):
            # Dead equations are not compiled, and cannot be the cause.
            jaxpr = dce(program())
            with config.override("debug_nans", False), config.override("debug_infs", False):
                _find(jaxpr, arrays, bad)
            raise FloatingPointError(
                f"invalid value encountered in {jaxpr.jaxpr.debug_name}, but not when it was run again equation by "
                "equation: the compiled program differs, for example by fused or reordered operations."
            )
        return outs

    return run


class _Criterion:
    """A mask of the bad elements of an array; ``None`` if there are none."""

    def __init__(self, nans: bool, infs: bool) -> None:
        self.nans = nans
        self.infs = infs

    def __call__(self, x: Any) -> np.ndarray[Any, Any] | None:
        dtype = x.dtype
        if dtypes.is_extended(dtype) or not dtypes.is_inexact(dtype):
            return None
        host = np.asarray(x)
        if self.nans and self.infs:
            mask = ~np.isfinite(host)
        else:
            mask = np.isnan(host) if self.nans else np.isinf(host)
        return mask if mask.any() else None


def _find(jaxpr: ClosedJaxpr, args: Sequence[Array], bad: _Criterion) -> None:
    around = enclosing()

    def observe(
        eqn: JaxprEqn, operands: list[Any], results: list[Any], within: tuple[str, ...]
    ) -> None:
        for result in results:
            mask = bad(result)
            if mask is not None:
                raise FloatingPointError(_words(eqn, operands, result, mask, around, within, bad))

    # The equation of an eager primitive has no source; staged equations have one while the options are on.
    eqns = jaxpr.jaxpr.eqns
    is_eager = len(eqns) == 1 and eqns[0].source is None
    replay(jaxpr, args, observe, () if is_eager else (f"jit({jaxpr.jaxpr.debug_name})",))


def _words(
    eqn: JaxprEqn,
    operands: list[Any],
    result: Any,
    mask: np.ndarray[Any, Any],
    around: tuple[Any, ...],
    within: tuple[str, ...],
    bad: _Criterion,
) -> str:
    host = np.asarray(result)
    index = tuple(int(i) for i in np.argwhere(mask)[0])
    kind = "nan" if np.isnan(host[index]) else "inf"
    place = f", the first at index {index}" if index else ""
    lines = [
        f"invalid value ({kind}) encountered in {eqn.primitive.name}: {int(mask.sum())} of {mask.size} elements of "
        f"{result.aval.str_short()} are {kind}{place}."
    ]
    source = eqn.source or state.source or user_source()
    if source is not None:
        lines.append(f"  at: {source}")
    noted = source.within if source is not None else ()
    # The source of an inner equation tells how it was batched. The scope around the program applies
    # to the whole, and may be the same vmap.
    near, far = (noted, around) if noted or within else (around, ())
    axes = batch_axes(near, eqn.primitive, result.shape)
    own = {step.axis for step in near if isinstance(step, BatchStep)}
    steps = [
        f"vmap of {step.axis.size}" if isinstance(step, BatchStep) else step
        for step in far
        if not (isinstance(step, BatchStep) and step.axis in own)
    ]
    steps += within
    steps += [
        _batch_words(step, axes[i], result, index) if i in axes else step
        for i, step in enumerate(near)
    ]
    if source is not None:
        steps += source.scopes
    if steps:
        lines.append(f"  within: {' > '.join(steps)}")
    already = []
    for number, x in enumerate(operands):
        lines.append(f"  operand {number}: {_range(x)}")
        if bad(x if type(x) is Array else np.asarray(x)) is not None:
            already.append(str(number))
    if already:
        lines.append(f"  Not made here: operand {', '.join(already)} held such values already.")
    return "\n".join(lines)


def _batch_words(step: BatchStep, axis: int | None, result: Any, index: tuple[int, ...]) -> str:
    size = step.axis.size
    if axis is not None:
        return f"vmap, batch index {index[axis]} of {size}"
    # The rule does not tell: it is one of the axes of this size.
    axes = [i for i, d in enumerate(result.shape) if d == size]
    if not (step.mapped and axes):
        return f"vmap of {size}"
    places = " or ".join(f"{index[i]} (if its axis is {i})" for i in axes)
    return f"vmap, batch index {places} of {size}"


def _range(x: Any) -> str:
    host = np.asarray(x) if type(x) is not Array or not dtypes.is_extended(x.dtype) else None
    name = x.aval.str_short() if type(x) is Array else f"{host.dtype.name}[]"  # type: ignore[union-attr]  # a scalar
    if host is None or host.dtype.kind == "b" or not host.size:
        return name
    if not dtypes.is_inexact(host.dtype):
        return f"{name}, min {host.min()}, max {host.max()}"
    finite = host[np.isfinite(host)]
    count = host.size - finite.size
    if not finite.size:
        return f"{name}, none of {host.size} elements finite"
    if finite.dtype.kind == "c":
        finite = np.abs(finite)
        name += ", absolute values"
    return f"{name}, min {finite.min()}, max {finite.max()}, {count} not finite"
