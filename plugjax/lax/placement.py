"""Placement of values on devices.

Both primitives are identities. Evaluated eagerly, they move values; in a compiled program, which runs on one device,
they do nothing. Cotangents stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from plugjax.extend import pytree
from plugjax.extend.core import (
    Device,
    Placement,
    Primitive,
    ShapedArray,
    Sharding,
    SingleDeviceSharding,
    Tracer,
    Zero,
    as_array,
    device_put_p,
    transfer,
)
from plugjax.extend.rules import (
    RuleSet,
    abstract_eval,
    batching_rule,
    expand_rule,
    jvp_rule,
    transpose_rule,
)
from plugjax.extend.transforms import Axis

rules = RuleSet(__name__)

sharding_constraint_p = Primitive("sharding_constraint", multiple_results=True, structured=True)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """``x`` with the given shardings.

    Args:
        x: pytree of arrays.
        shardings: a sharding, or a pytree of them that is a prefix of ``x``. Only shardings on one device exist.

    Raises:
        TypeError: a leaf is not a sharding.
        ValueError: a leaf is None, or ``shardings`` is not a prefix of ``x``.

    Example:
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax import lax
        >>> lax.with_sharding_constraint(jnp.arange(2), jnp.ones(2).sharding)
        Array([0, 1], dtype=int32)
    """
    leaves, tree = pytree.flatten(x)
    for sharding in pytree.leaves(shardings):
        if not isinstance(sharding, Sharding):
            raise TypeError(f"with_sharding_constraint: expected a sharding, got {sharding!r}.")
    wanted = pytree.broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    for sharding in wanted:
        if sharding is None:
            raise ValueError(
                "with_sharding_constraint: a sharding is None. Give one for each array."
            )
    values = [as_array(v, "with_sharding_constraint") for v in leaves]
    placed = [
        sharding_constraint_p.bind(v, sharding=s)[0] for v, s in zip(values, wanted, strict=True)
    ]
    return pytree.unflatten(tree, placed)


@rules.define(abstract_eval, device_put_p, sharding_constraint_p)
def _avals(*avals: ShapedArray, **_: Any) -> list[ShapedArray]:
    return list(avals)


@rules.define(expand_rule, device_put_p)
def _device_put(*, devices: tuple[Device | None, ...], **_: Any) -> Callable[..., list[Any]]:
    return lambda *values: [
        x if device is None else _moved(x, device.committed)
        for x, device in zip(values, devices, strict=True)
    ]


@rules.define(expand_rule, sharding_constraint_p)
def _sharding_constraint(*, sharding: SingleDeviceSharding) -> Callable[[Any], list[Any]]:
    return lambda x: [_moved(x, sharding.device.committed)]


def _moved(x: Any, placement: Placement) -> Any:
    """The array elsewhere; a value of a program stays where the program runs."""
    return x if isinstance(x, Tracer) else transfer(as_array(x), placement)


def _identity(primitive: Primitive) -> None:
    @rules.define(jvp_rule, primitive)
    def _jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        outs = primitive.bind(*primals, **params)
        if any(type(t) is Zero for t in tangents):
            return outs, list(tangents)
        return outs, primitive.bind(*tangents, **params)

    @rules.define(batching_rule, primitive)
    def _batching(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        return primitive.bind(*args, **params), list(dims)


_identity(device_put_p)
_identity(sharding_constraint_p)


@rules.define(transpose_rule, device_put_p, sharding_constraint_p)
def _transpose(bars: Sequence[Any], *operands: Any, **_: Any) -> list[Any]:
    return list(bars)
