"""Host kernels of primitives that a platform cannot lower, called from compiled code.

The hook ``plugjax_fallback_policy`` decides what happens, else ``config.fallback``. The backend writes the call to
Python. It gets the operands and a :class:`HostCall`, which it keeps with the executable.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plugjax.extend import registry
from plugjax.extend.core import JaxprEqn, Primitive, ShapedArray, Var, config
from plugjax.extend.errors import FallbackWarning, LoweringError
from plugjax.extend.rules import impl

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
class InPlace:
    """A call to Python that writes its results to memory which the backend gives.

    Attributes:
        run: takes the backend's own context or ``None``, the memory of the results, and that of the operands: NumPy arrays on a processor,
            else the backend's own buffers.
        aliases: pairs of an operand and the result in its memory.
        replayed: on a GPU, whether what it starts is recorded once and repeated.
    """

    run: Callable[[Any, Sequence[Any], Sequence[Any]], None]
    aliases: tuple[tuple[int, int], ...] = ()
    replayed: bool = False


@dataclass(frozen=True, eq=False)
class HostCall:
    """A Python function that compiled code calls.

    Attributes:
        kernel: takes NumPy arrays, gives a tuple of NumPy arrays.
        in_avals: avals of the operands.
        out_avals: exact avals of the results.
        name: for messages.
        effectful: whether it has side effects and must run even if its results are unused.
        cacheable: whether another process can make the same call; otherwise the program is not cached.
        in_place: the same call on the backend's memory, for backends that can make it.
    """

    kernel: Callable[..., tuple[np.ndarray[Any, Any], ...]]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    name: str
    effectful: bool = False
    cacheable: bool = True
    in_place: InPlace | None = None


class Token(Var):
    """A variable that orders effects: the first operand and result of ordered calls.

    Made by ``plugjax.stablehlo.ordering``.
    """

    __slots__ = ()


def host_call(eqn: JaxprEqn, platform: str) -> HostCall:
    """The host call of an equation without a lowering, if the policy allows it.

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
    """The host call of an equation, without asking the policy."""
    return called_from(eqn, _adapted(kernel, eqn))


def called_from(
    eqn: JaxprEqn,
    kernel: Callable[..., tuple[np.ndarray[Any, Any], ...]],
    *,
    cacheable: bool = True,
) -> HostCall:
    """The call of a function that computes an equation; tokens bypass the function."""
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
    """Policy for a primitive without a lowering: ``"error"``, ``"warn"`` or ``"silent"``."""
    chosen = registry.active().hook.plugjax_fallback_policy(primitive=primitive, platform=platform)
    return str(chosen or config.read("fallback"))


def _adapted(
    kernel: Callable[..., Any], eqn: JaxprEqn
) -> Callable[..., tuple[np.ndarray[Any, Any], ...]]:
    """A kernel as a function from arrays to a tuple of arrays; kernels may return scalars and lists."""
    params, many = eqn.params, eqn.primitive.multiple_results

    def call(*arrays: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        # Overflow and the like are not errors here. NumPy's setting is per thread, and the runtime
        # owns this thread.
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
