"""``reduce`` and ``reduce_window`` against JAX."""

import functools

import jax
import numpy as np
import pytest
from jax import lax as jlax

import plugjax
from plugjax import lax
from plugjax.test_util import check_grads

X = np.random.default_rng(0).normal(size=(2, 5, 6)).astype(np.float32)
WINDOWS = {
    "valid": ((1, 2, 3), (1, 2, 1), "VALID", None, None),
    "same": ((1, 3, 3), (1, 2, 2), "SAME", None, None),
    "pads": ((2, 2, 1), None, ((1, 0), (0, 2), (-1, 1)), None, None),
    "dilations": ((1, 2, 2), (1, 1, 2), ((0, 0), (1, 1), (0, 0)), (1, 2, 1), (1, 1, 3)),
    "overlap": ((1, 3, 3), (1, 1, 1), "SAME_LOWER", None, None),
    "nothing fits": ((1, 7, 1), None, "VALID", None, None),
}
OPERATIONS = {
    "sum": lambda lax: (0.0, lax.add),
    "max": lambda lax: (-np.inf, lax.max),
    "min": lambda lax: (np.inf, lax.min),
    "product": lambda lax: (1.0, lambda a, b: a * b),
    "from one": lambda lax: (1.0, lax.add),
}


def windowed(lax, window, operation):
    init, f = OPERATIONS[operation](lax)
    size, strides, padding, base, spread = WINDOWS[window]
    return lambda x: lax.reduce_window(x, init, f, size, strides, padding, base, spread)


def close(found, wanted, rtol=1e-5):
    found, wanted = plugjax.tree.leaves(found), jax.tree.leaves(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("window", WINDOWS)
def test_values(window, operation, backend):
    ours, theirs = windowed(lax, window, operation), windowed(jlax, window, operation)
    close(plugjax.jit(ours)(X), theirs(X))


@pytest.mark.parametrize("operation", ["sum", "max", "min"])
@pytest.mark.parametrize("window", ["valid", "same", "overlap"])
def test_derivatives_and_batching(window, operation):
    ours, theirs = windowed(lax, window, operation), windowed(jlax, window, operation)
    weight = np.arange(theirs(X).size, dtype=np.float32).reshape(theirs(X).shape)

    def loss(f):
        return lambda x: (f(x) * weight).sum()

    with plugjax.default_device("numpy"):
        close(plugjax.grad(loss(ours))(X), jax.grad(loss(theirs))(X))
        close(plugjax.jvp(ours, (X,), (X,)), jax.jvp(theirs, (X,), (X,)))
        xs = np.stack([X, -X], 1)
        close(plugjax.vmap(ours, 1)(xs), jax.vmap(theirs, 1)(xs))
        found = plugjax.vmap(plugjax.grad(loss(ours)), 1)(xs)
        close(found, jax.vmap(jax.grad(loss(theirs)), 1)(xs))


@pytest.mark.parametrize("operation", ["sum", "max", "min", "product"])
@pytest.mark.parametrize("window", ["pads", "dilations"])
def test_derivatives_that_jax_does_not_have(window, operation):
    """Negative padding, and windows with holes, against differences."""
    with plugjax.default_device("numpy"), plugjax.enable_x64():
        f = windowed(lax, window, operation)
        check_grads(f, (X.astype(np.float64),), order=1, eps=1e-5)


@pytest.mark.parametrize("operation", ["sum", "max"])
def test_gradients_compiled(operation, backend):
    ours, theirs = windowed(lax, "same", operation), windowed(jlax, "same", operation)
    found = plugjax.jit(plugjax.grad(lambda x: (ours(x) ** 2).sum()))(X)
    close(found, jax.grad(lambda x: (theirs(x) ** 2).sum())(X))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "float16", "bfloat16"])
def test_dtypes(dtype):
    x = (4 * X).astype(jax.numpy.dtype(dtype))

    def of(lax, np_):
        kind = np_.dtype(dtype)
        low = False if dtype == "bool" else (-np.inf if kind.kind in "fV" else np.iinfo(kind).min)
        f = lax.bitwise_or if dtype == "bool" else lax.max
        return lambda x: lax.reduce_window(
            x, np_.asarray(low, kind), f, (1, 2, 2), (1, 1, 1), "SAME"
        )

    with plugjax.default_device("numpy"):
        close(of(lax, plugjax.numpy)(x), of(jlax, jax.numpy)(x))


def argmax(lax, reduce):
    def better(a, b):
        (x, i), (y, j) = a, b
        take = lax.gt(x, y)
        return lax.select(take, x, y), lax.select(take, i, j)

    return lambda x: reduce((x, lax.broadcasted_iota(np.int32, x.shape, 1)), (-np.inf, -1), better)


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2), ()])
def test_reduce_pairs_and_any_operation(axes, backend):
    def of(lax):
        def run(x):
            pairs = argmax(lax, lambda xs, init, f: lax.reduce(xs, init, f, axes))(x)
            return (
                pairs,
                lax.reduce(x, 1.0, lambda a, b: a * b, axes),
                lax.reduce(x, 0.0, lax.add, axes),
            )

        return run

    close(plugjax.jit(of(lax))(X), of(jlax)(X), 1e-4)


def test_reduce_has_derivatives_and_batches():
    def of(lax):
        return lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (1,))

    x = X[0]
    with plugjax.default_device("numpy"):
        close(plugjax.jvp(of(lax), (x,), (x,)), jax.jvp(of(jlax), (x,), (x,)))
        close(
            plugjax.grad(lambda x: of(lax)(x).sum())(x),
            jax.grad(lambda x: of(jlax)(x).sum())(x),
            1e-4,
        )
        close(plugjax.vmap(of(lax), 2)(X), jax.vmap(of(jlax), 2)(X), 1e-4)
        # JAX does not batch initial values.
        found = plugjax.vmap(lambda x, i: lax.reduce(x, i, lambda a, b: a * b, (0,)))(x, x[:, 0])
        np.testing.assert_allclose(found, x.prod(1) * x[:, 0], rtol=1e-4)


BAD = {
    "structure": lambda lax: lax.reduce((X, X), 0.0, lax.add, (0,)),
    "result": lambda lax: lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)),
    "nothing": lambda lax: lax.reduce((), (), lambda a, b: a, (0,)),
    "rank": lambda lax: lax.reduce_window(X, 0.0, lax.add, (2, 2), None, "SAME"),
    "window": lambda lax: lax.reduce_window(X, 0.0, lax.add, (1, 0, 1)),
    "padding": lambda lax: lax.reduce_window(X, 0.0, lax.add, (1, 1, 1), None, "FULL"),
    "window structure": lambda lax: lax.reduce_window((X, X), 0.0, lax.add, (1, 1, 1)),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_the_error_of_jax(case):
    with pytest.raises(Exception) as wanted:  # Any error of JAX.
        BAD[case](jlax)
    with pytest.raises(wanted.type):
        BAD[case](lax)


@pytest.mark.parametrize("name", ["add", "max", "mul"])
def test_derivatives_of_windows_larger_than_the_array_are_zero(name):
    init = {"add": 0.0, "max": -np.inf, "mul": 1.0}[name]

    def total(x):
        window = plugjax.lax.reduce_window(
            x, np.float32(init), getattr(plugjax.lax, name), (2, 5), (1, 1), "VALID"
        )
        return window.sum() + x.sum()

    np.testing.assert_array_equal(plugjax.grad(total)(np.ones((3, 2), np.float32)), np.ones((3, 2)))


@pytest.mark.parametrize("window", ["same", "pads", "dilations"])
def test_derivatives_of_a_general_reduction_do_not_see_the_padding(window):
    """The Euclidean norm has no derivative at 0, which is the initial value."""
    size, strides, padding, base, spread = WINDOWS[window]

    def lengths(package, x):
        np_ = package.numpy
        return package.lax.reduce_window(
            x,
            np.float32(0),
            lambda a, b: np_.sqrt(a * a + b * b),
            size,
            strides,
            padding,
            base,
            spread,
        )

    ours, theirs = (
        package.jvp(lambda x, p=package: lengths(p, x), (X,), (np.ones_like(X),))
        for package in (plugjax, jax)
    )
    close(ours, theirs)
    gradient = plugjax.grad(lambda x: plugjax.numpy.sum(lengths(plugjax, x)))(X)
    assert np.isfinite(gradient).all()
    assert np.isfinite(
        plugjax.jit(plugjax.grad(lambda x: plugjax.numpy.sum(lengths(plugjax, x))))(X)
    ).all()


@pytest.mark.spread(16)
@pytest.mark.parametrize("init", [0.0, 2.0, 5.0])
@pytest.mark.parametrize("operation", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("window", ["same", "pads", "dilations", "nothing fits", "valid"])
def test_each_window_begins_with_the_initial_value_and_padding_adds_nothing(
    window, operation, init, on_backend
):
    size, strides, padding, base, spread = WINDOWS[window]

    def program(lax):
        def reduced(x):
            f = getattr(lax, operation)
            return lax.reduce_window(x, init, f, size, strides, padding, base, spread)

        return reduced

    expected = jax.jit(program(jlax))(X)
    close(plugjax.jit(program(lax))(X), expected)
    close(program(lax)(X), expected)


@pytest.mark.parametrize(
    ("name", "init"), [("add", 0.0), ("max", -np.inf), ("min", np.inf), ("mul", 1.0)]
)
def test_public_functions_are_recognised_as_reductions(name, init):
    x = np.ones((4, 2), np.float32)
    for call in (
        lambda j, x: j.lax.reduce(x, init, getattr(j.lax, name), (0,)),
        lambda j, x: j.lax.reduce_window(x, init, getattr(j.lax, name), (2, 1), (1, 1), "VALID"),
    ):
        ours, theirs = (
            [eqn.primitive.name for eqn in j.make_jaxpr(functools.partial(call, j))(x).eqns]
            for j in (plugjax, jax)
        )
        assert ours[0] == theirs[0]
