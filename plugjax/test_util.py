"""Checks of derivatives against finite differences: ``jax.test_util``.

A derivative is compared in one random direction, so that a check costs two evaluations however large the arguments are:
the jvp with the central difference along it, the vjp with the jvp through the inner product ``<y_bar, Jv> = <J^T y_bar, v>``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from plugjax.core import dtypes, pytree
from plugjax.core.array import aval_of
from plugjax.core.config import config
from plugjax.extend.transforms import publish
from plugjax.transforms.grad import jvp, linearize, vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]

EPS = 1e-4

_TOLERANCES = {
    "float16": 1e-2, "float32": 2e-3, "float64": 1e-5, "complex64": 1e-3, "complex128": 1e-5,
}  # fmt: skip
# bfloat16 and the 8-bit floats.
_COARSE = 1e-1

Tolerance = float | dict[Any, float] | None


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check derivatives of all orders up to ``order`` against finite differences.

    Args:
        f: function of arrays.
        args: point of the check.
        order: highest order of derivatives.
        modes: which of ``"fwd"`` (jvp), ``"rev"`` (vjp), ``"lin"`` (linearize) to check.
        atol: absolute tolerance, or a dict of them by dtype; chosen by dtype by default.
        rtol: relative tolerance, likewise.
        eps: step of the finite differences.

    Raises:
        AssertionError: derivatives do not match.

    Example:
        >>> import plugjax.numpy as jnp
        >>> from plugjax.test_util import check_grads
        >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    step = eps or EPS

    def check(f: Callable[..., Any], args: tuple[Any, ...], order: int, words: str) -> None:
        tail = f" of {words}" if words else ""
        if "fwd" in modes:
            check_jvp(f, partial(jvp, f), args, atol, rtol, step, f"JVP{tail}")
            if order > 1:
                check(partial(jvp, f), (args, args), order - 1, f"JVP{tail}")
        if "rev" in modes:
            check_vjp(f, partial(vjp, f), args, atol, rtol, step, f"VJP{tail}")
            if order > 1:
                check(partial(_pull_back_output, f), args, order - 1, f"VJP{tail}")
        if "lin" in modes:
            check_jvp(f, partial(_linearized, f), args, atol, rtol, step, f"LIN{tail}")
            if order > 1:
                check(partial(_linearized, f), (args, args), order - 1, f"LIN{tail}")

    check(f, tuple(args), order, "")


def _pull_back_output(f: Callable[..., Any], *args: Any) -> Any:
    out, pull = vjp(f, *args)
    return pull(out)


def _linearized(f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    out, push = linearize(f, *primals)
    return out, push(*tangents)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., tuple[Any, Any]],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Check a forward derivative against the central difference in a random direction.

    Args:
        f: the function.
        f_jvp: ``(primals, tangents) -> (out, out_dot)``, usually ``partial(plugjax.jvp, f)``.
        args: where to check it.
        atol: absolute tolerance.
        rtol: relative tolerance.
        eps: step of the difference.
        err_msg: prefix of messages.

    Raises:
        AssertionError: values, dtypes or derivatives do not match.

    Example:
        >>> from functools import partial
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.test_util import check_jvp
        >>> check_jvp(jnp.sin, partial(plugjax.jvp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    direction = _random_like(np.random.RandomState(0), args)
    out, out_dot = f_jvp(args, direction)
    expected = f(*args)
    _same_dtypes(out, out_dot, err_msg)
    _same_dtypes(out, expected, err_msg)
    _close(out, expected, atol, rtol, f"{err_msg} primal".strip())
    _close(out_dot, _difference(f, args, direction, eps), atol, rtol, f"{err_msg} tangent".strip())


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Any], Any]]],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = EPS,
    err_msg: str = "",
) -> None:
    """Check a reverse derivative: its inner product with a direction against the central difference along it.

    Args:
        f: the function.
        f_vjp: ``(*args) -> (out, pull)``, usually ``partial(plugjax.vjp, f)``.
        args: where to check it.
        atol: absolute tolerance.
        rtol: relative tolerance.
        eps: step of the difference.
        err_msg: prefix of messages.

    Raises:
        AssertionError: values or derivatives do not match.

    Example:
        >>> from functools import partial
        >>> import plugjax, plugjax.numpy as jnp
        >>> from plugjax.test_util import check_vjp
        >>> check_vjp(jnp.sin, partial(plugjax.vjp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    rng = np.random.RandomState(0)
    out, pull = f_vjp(*args)
    _close(out, f(*args), atol, rtol, f"{err_msg} primal".strip())
    direction = _random_like(rng, args)
    out_dot = _difference(f, args, direction, eps)
    out_bar = _random_like(rng, out)
    # The pairing is complex linear in both arguments; an inner product conjugates one.
    args_bar = pytree.tree_map(_conjugate, pull(pytree.tree_map(_conjugate, out_bar)))
    _close(
        _inner(direction, args_bar),
        _inner(out_dot, out_bar),
        atol,
        rtol,
        f"{err_msg} cotangent projection".strip(),
    )


def _conjugate(x: Any) -> Any:
    return np.conj(x) if _dtype(x).kind == "c" else x


def _dtype(x: Any) -> Any:
    return aval_of(x).dtype


def _random_like(rng: np.random.RandomState, tree: Any) -> Any:
    def draw(x: Any) -> Any:
        aval = aval_of(x)
        if not dtypes.is_inexact(aval.dtype):
            return np.zeros(aval.shape, dtypes.float0)
        value = np.asarray(rng.randn(*aval.shape))
        if aval.dtype.kind == "c":
            value = value + 1j * rng.randn(*aval.shape)
        value = np.asarray(value, aval.dtype)
        # The tangent of a Python scalar is a Python scalar too: its weak type counts.
        return value.item() if isinstance(x, (float, complex)) else value

    return pytree.tree_map(draw, tree)


def _difference(f: Callable[..., Any], args: Any, direction: Any, eps: float) -> Any:
    def shifted(step: float) -> Any:
        def move(x: Any, t: Any) -> Any:
            dtype = _dtype(x)
            if not dtypes.is_inexact(dtype):
                return x
            moved = np.asarray(np.asarray(x) + np.asarray(t) * step, dtype)
            return moved.item() if isinstance(x, (float, complex)) else moved

        return f(*pytree.tree_map(move, args, direction))

    def slope(above: Any, below: Any) -> Any:
        above, below = np.asarray(above), np.asarray(below)
        if not dtypes.is_inexact(above.dtype):
            return np.zeros(above.shape, dtypes.float0)
        # Both sides at the same infinity do not differ.
        with np.errstate(invalid="ignore"):
            change = np.where(above == below, np.zeros((), above.dtype), above - below)
        return np.asarray(change * (0.5 / eps), above.dtype)

    return pytree.tree_map(slope, shifted(eps), shifted(-eps))


def _inner(xs: Any, ys: Any) -> Any:
    total: Any = 0.0
    for x, y in zip(pytree.leaves(xs), pytree.leaves(ys), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype == dtypes.float0 or y.dtype == dtypes.float0:
            continue
        total = np.asarray(total + np.real(np.vdot(x, y)), np.real(y).dtype)
    return total


def _tolerance(dtype: Any, given: Tolerance) -> float:
    default = _TOLERANCES.get(np.dtype(dtype).name, _COARSE if dtypes.is_inexact(dtype) else 0.0)
    if given is None:
        return default
    if isinstance(given, dict):
        return {np.dtype(k): v for k, v in given.items()}.get(np.dtype(dtype), default)
    return given


def _close(found: Any, expected: Any, atol: Tolerance, rtol: Tolerance, words: str) -> None:
    def compare(a: Any, b: Any) -> None:
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{words}: shapes {a.shape} and {b.shape} differ"
        if a.dtype == dtypes.float0 or b.dtype == dtypes.float0:
            assert a.dtype == b.dtype, f"{words}: dtypes {a.dtype} and {b.dtype} differ"
            return
        absolute, relative = (
            max(_tolerance(a.dtype, t), _tolerance(b.dtype, t)) * a.size for t in (atol, rtol)
        )
        wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        np.testing.assert_allclose(
            a.astype(wide), b.astype(wide), atol=absolute, rtol=relative, err_msg=words
        )

    pytree.tree_map(compare, found, expected)


def _same_dtypes(found: Any, expected: Any, words: str) -> None:
    def compare(a: Any, b: Any) -> None:
        x, y = _dtype(a), _dtype(b)
        if not config.enable_x64:
            x, y = dtypes.canonicalize(x), dtypes.canonicalize(y)
        if dtypes.float0 not in (x, y):
            assert x == y, f"{words}: dtypes {x} and {y} differ"

    pytree.tree_map(compare, found, expected)


publish(globals(), __all__)
