"""plugjax.test_util accepts and rejects what jax.test_util does."""

from functools import partial

import jax
import jax.test_util as theirs
import numpy as np
import pytest

import plugjax
from plugjax import test_util as ours

X = np.array([0.3, -0.7], "f")


def _wrong(j, factor):
    """sin with a derivative that is wrong by a factor."""
    value = j.numpy.sin
    return lambda x: value(x), lambda p, t: (value(p[0]), factor * j.numpy.cos(p[0]) * t[0])


RIGHT = {
    "vector": (lambda j: j.numpy.sin, (X,)),
    "scalar": (lambda j: lambda x: x**3, (1.5,)),
    "pytree": (
        lambda j: lambda p, y: {"a": j.numpy.exp(p["w"]) * y, "b": y * p["w"]},
        ({"w": X}, 2.0),
    ),
    "complex": (lambda j: lambda z: z * z, (np.array([0.3 + 0.2j], "complex64"),)),
    "integer input": (lambda j: lambda x, n: x * n, (X, np.array([2, 3]))),
    "scan": (lambda j: lambda x: j.lax.scan(lambda c, a: (c * a, c), 1.0, x)[0], (X,)),
}


@pytest.mark.spread(2)
@pytest.mark.parametrize("mode", ["fwd", "rev", "lin"])
@pytest.mark.parametrize("name", RIGHT)
def test_accepts_right_derivatives(name, mode):
    function, args = RIGHT[name]
    order = 1 if name == "integer input" else 2
    tolerance = {"atol": 2e-2, "rtol": 2e-2, "eps": 1e-2}
    if name != "integer input":
        theirs.check_grads(function(jax), args, order, modes=(mode,), **tolerance)
    ours.check_grads(function(plugjax), args, order, modes=(mode,), **tolerance)


@pytest.mark.parametrize(("j", "module"), [(jax, theirs), (plugjax, ours)])
@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (1.2, False)])
def test_jvp_and_vjp(j, module, factor, accepted):
    function, f_jvp = _wrong(j, factor)

    def f_vjp(x):
        return function(x), lambda bar: (factor * j.numpy.cos(x) * bar,)

    for check in (
        partial(module.check_jvp, function, f_jvp),
        partial(module.check_vjp, function, f_vjp),
    ):
        if accepted:
            check((X,), atol=1e-2, rtol=1e-2, eps=1e-2)
        else:
            with pytest.raises(AssertionError):
                check((X,), atol=1e-2, rtol=1e-2, eps=1e-2)


def test_a_wrong_dtype_is_rejected():
    with pytest.raises(AssertionError, match="dtypes"):
        ours.check_jvp(lambda x: x, lambda p, t: (p[0], t[0].astype("float16")), (X,))


def test_tolerance_by_dtype():
    with pytest.raises(AssertionError):
        ours.check_grads(plugjax.numpy.sin, (X,), 1, atol={np.float32: 1e-9}, rtol=1e-9)
