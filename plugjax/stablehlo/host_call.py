"""Primitives that a platform cannot lower: their host kernel is called from compiled code.

What happens is decided by the hook ``plugjax_fallback_policy``, else by ``config.fallback``. The
backend says how a call to Python looks in its programs; it gets the operands and a
:class:`HostCall`, and keeps the latter with the executable.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.core import registry
from plugjax.core.aval import ShapedArray
from plugjax.core.config import config
from plugjax.core.errors import FallbackWarning, LoweringError
from plugjax.core.jaxpr import JaxprEqn, Var
from plugjax.core.primitive import Primitive
from plugjax.core.rules import impl

_ADVICE = """\
  * supply a lowering: @rules.define(lowering, {name}_p) over a function
    (ctx, *mlir_values, **params) -> MLIR value;
  * run it elsewhere: jit(..., device="numpy");
  * {last}."""
_ALLOW = (
    'let its host kernel run: plugjax.config.update("fallback", "warn"), '
    "or the hook plugjax_fallback_policy"
)
_KERNEL = "supply a host kernel: @rules.define(impl, {name}_p) over a function of NumPy arrays"


@dataclass(frozen=True, eq=False)
class HostCall:
    """A Python function that compiled code calls.

    Attributes:
        kernel: takes NumPy arrays, gives a tuple of NumPy arrays.
        in_avals: what it takes.
        out_avals: what it must give, exactly.
        name: for messages.
        effectful: whether it does more than compute its results, so that it must run even if nobody
            uses them.
        cacheable: whether another process can make the same call: a program that calls functions of
            this one alone is not kept.
    """

    kernel: Callable[..., tuple[np.ndarray[Any, Any], ...]]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    name: str
    effectful: bool = False
    cacheable: bool = True


class Token(Var):
    """A variable that puts effects in order, first among operands and results of ordered calls.

    Made by ``plugjax.stablehlo.ordering``.
    """

    __slots__ = ()


def host_call(eqn: JaxprEqn, platform: str) -> HostCall:
    """The host call for an equation without a lowering, if the policy allows it.

    Raises:
        LoweringError: there is no kernel, or the policy is ``"error"``.
    """
    primitive = eqn.primitive
    kernel = registry.table(impl).find(primitive)
    if kernel is None:
        raise LoweringError(_message(primitive, platform, "and no host kernel", _KERNEL))
    policy = fallback_policy(primitive, platform)
    if policy == "error":
        raise LoweringError(
            _message(primitive, platform, "and the fallback policy is 'error'", _ALLOW)
        )
    if policy == "warn":
        _warn_once(eqn, platform)
    return kernel_call(eqn, kernel)


def kernel_call(eqn: JaxprEqn, kernel: Callable[..., Any]) -> HostCall:
    """The call of a host kernel for an equation, with nothing asked."""
    return called_from(eqn, _adapted(kernel, eqn))


def called_from(
    eqn: JaxprEqn,
    kernel: Callable[..., tuple[np.ndarray[Any, Any], ...]],
    *,
    cacheable: bool = True,
) -> HostCall:
    """The call of a function that does an equation; a token goes past the function."""
    if eqn.outvars and type(eqn.outvars[0]) is Token:
        kernel = _past_token(kernel)
    return HostCall(
        kernel,
        tuple(v.aval for v in eqn.invars),
        tuple(v.aval for v in eqn.outvars),
        eqn.primitive.name,
        bool(eqn.effects),
        cacheable,
    )


def _past_token(
    kernel: Callable[..., tuple[np.ndarray[Any, Any], ...]],
) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    def call(
        token: np.ndarray[Any, Any], *arrays: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], ...]:
        return (np.array(token), *kernel(*arrays))

    return call


def fallback_policy(primitive: Primitive, platform: str) -> str:
    """What happens to a primitive without a lowering: ``"error"``, ``"warn"`` or ``"silent"``."""
    chosen = registry.active().hook.plugjax_fallback_policy(primitive=primitive, platform=platform)
    return str(chosen or config.read("fallback"))


def _adapted(
    kernel: Callable[..., Any], eqn: JaxprEqn
) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    """A kernel as a function from arrays to a tuple of arrays: it may give scalars, and lists."""
    params, many = eqn.params, eqn.primitive.multiple_results

    def call(*arrays: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        # Overflow and the like are values here; NumPy's setting is per thread, and this one is the
        # runtime's.
        with np.errstate(all="ignore"):
            results = kernel(*arrays, **params)
        return tuple(np.asarray(y) for y in (results if many else (results,)))

    return call


_warned: set[tuple[Primitive, str]] = set()


def _warn_once(eqn: JaxprEqn, platform: str) -> None:
    name = eqn.primitive.name
    if (eqn.primitive, platform) not in _warned:
        _warned.add((eqn.primitive, platform))
        place = f" (at {eqn.source})" if eqn.source else ""
        warnings.warn(
            f"primitive '{name}'{place} has no lowering on platform '{platform}': compiled code "
            'calls its host kernel. Silence this with plugjax.config.update("fallback", "silent").',
            FallbackWarning,
            stacklevel=2,
        )


def _message(primitive: Primitive, platform: str, why: str, last: str) -> str:
    name = primitive.name
    advice = _ADVICE.format(name=name, last=last.format(name=name))
    return f"primitive '{name}' has no lowering on platform '{platform}', {why}. One of:\n{advice}"


def described(avals: Sequence[ShapedArray]) -> str:
    """Avals for a message."""
    return ", ".join(aval.str_short() for aval in avals)
