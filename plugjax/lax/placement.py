"""Values moved to a device, or asked to be on one.

Both are identities that say where. Evaluated, they move; in a compiled program, which runs on one device, they do nothing.
Cotangents stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plugjax.core import pytree
from plugjax.core.array import as_array, device_put_p, transfer
from plugjax.core.aval import ShapedArray
from plugjax.core.device import Device, Placement, Sharding, SingleDeviceSharding
from plugjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from plugjax.core.primitive import Primitive
from plugjax.core.rules import RuleSet, abstract_eval, impl, lowering, unfold_rule
from plugjax.core.transforms.batching import Axis, batching_rule
from plugjax.core.transforms.jvp import jvp_rule
from plugjax.core.transforms.python_calls import ERASED
from plugjax.core.transforms.simplify import erase_rule
from plugjax.core.transforms.transpose import transpose_rule
from plugjax.core.vocabulary import Zero

rules = RuleSet(__name__)

sharding_constraint_p = Primitive("sharding_constraint", multiple_results=True, structured=True)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """``x``, which is to be spread over devices as ``shardings`` say.

    Args:
        x: pytree of arrays.
        shardings: a sharding, or a pytree of them that is a prefix of ``x``. There are those of one device.

    Raises:
        TypeError: a leaf is no sharding.
        ValueError: it is None, or ``shardings`` is no prefix of ``x``.

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


@rules.define(unfold_rule, device_put_p)
def _device_put(*values: Any, devices: tuple[Device | None, ...], **_: Any) -> list[Any]:
    return [
        as_array(x) if device is None else _moved(x, device.committed)
        for x, device in zip(values, devices, strict=True)
    ]


@rules.define(unfold_rule, sharding_constraint_p)
def _sharding_constraint(x: Any, *, sharding: SingleDeviceSharding) -> list[Any]:
    return [_moved(x, sharding.device.committed)]


def _moved(x: Any, placement: Placement) -> Any:
    return transfer(as_array(x), placement)


@rules.define(erase_rule, device_put_p, sharding_constraint_p)
def _erase(eqn: JaxprEqn) -> ClosedJaxpr:
    same = [Var(v.aval) for v in eqn.invars]
    return ClosedJaxpr(Jaxpr([], same, same, [], eqn.primitive.name))


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


for _kind in (impl, lowering):
    rules.absent(_kind, device_put_p, sharding_constraint_p, because=ERASED)
