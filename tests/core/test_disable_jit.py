"""disable_jit: the user's functions run as plain Python on concrete values; cached operators stay right."""

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.core import Array
from plugjax.transforms.batching import BatchTracer

X = np.arange(4, dtype="f")

LOOPS = {
    "scan": lambda j, x: j.lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x),
    "reverse": lambda j, x: j.lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x, reverse=True),
    "pytrees": lambda j, x: j.lax.scan(
        lambda c, a: ((c[0] + a["u"], c[1]), {"y": c[0], "n": None}),
        (x[0], 1),
        {"u": x, "v": x},
    ),
    "no ys": lambda j, x: j.lax.scan(lambda c, a: (c + a, None), x[0], x),
    "no xs": lambda j, x: j.lax.scan(lambda c, _: (c + 1, c), 0, None, length=3),
    "vectors": lambda j, x: j.lax.scan(
        lambda c, a: (c + a, a * 2), j.numpy.zeros(2), x.reshape(2, 2)
    ),
    "while": lambda j, x: j.lax.while_loop(
        lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, x)
    ),
    "fori": lambda j, x: j.lax.fori_loop(1, 4, lambda i, c: c * i, x),
    "cond": lambda j, x: j.lax.cond(x[1] > 0, lambda y: y + 1, lambda y: y, x),
    "switch": lambda j, x: j.lax.switch(7, [lambda y: y, lambda y: -y], x),
    "map": lambda j, x: j.lax.map(lambda a: a * a, x),
    "grad": lambda j, x: j.grad(
        lambda x: j.lax.scan(lambda c, a: (c * j.numpy.sin(a), None), 1.0, x)[0]
    )(x),
    "vmap": lambda j, x: j.vmap(
        lambda s: j.lax.scan(lambda c, a: (c + s * a, c), 0.0, np.ones(3, "f"))
    )(x),
    "vmap over xs": lambda j, x: j.vmap(lambda row: j.lax.scan(lambda c, a: (c + a, c), 0.0, row))(
        x.reshape(2, 2)
    ),
    "keys": lambda j, x: j.lax.scan(
        lambda c, k: (c, j.random.uniform(k)), 0.0, j.random.split(j.random.key(0), 3)
    )[1],
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", LOOPS)
def test_same_as_compiled_jax(name, on_backend):
    with plugjax.disable_jit():
        found = LOOPS[name](plugjax, jnp.asarray(X))
    expected = LOOPS[name](jax, jax.numpy.asarray(X))
    for a, b in zip(plugjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
        assert a.dtype == jax.numpy.asarray(b).dtype
        assert isinstance(a, plugjax.Array)


@pytest.mark.parametrize("name", ["scan", "while", "fori", "cond", "map"])
def test_the_body_sees_concrete_arrays(name):
    seen = []

    def hook(*values):
        seen.extend(values)
        return values[0]

    body = {
        "scan": lambda: lax.scan(lambda c, a: (hook(c, a), None), 0.0, X),
        "while": lambda: lax.while_loop(lambda c: c < 3, lambda c: hook(c) + 1, 0),
        "fori": lambda: lax.fori_loop(0, 3, lambda i, c: hook(c, i), 0.0),
        "cond": lambda: lax.cond(True, hook, lambda c: c, jnp.ones(2)),
        "map": lambda: lax.map(hook, X),
    }
    with plugjax.disable_jit():
        body[name]()
    assert seen
    assert all(type(x) is Array for x in seen)
    assert all(repr(x).startswith("Array(") for x in seen)


def test_under_vmap_and_grad_a_debugger_sees_values():
    seen = []

    def body(c, a):
        seen.append((repr(c * a), c, a))
        return c + a * a, None

    with plugjax.disable_jit():
        plugjax.vmap(lambda x: lax.scan(body, x, np.ones(1, "f"))[0])(jnp.arange(3.0))
        text, c, _ = seen.pop()
        assert type(c) is BatchTracer
        assert text == (
            "BatchTracer<float32[], batch axis 0 of size 3>: Array([0., 1., 2.], dtype=float32)"
        )
        assert c.val.tolist() == [0, 1, 2]
        plugjax.grad(lambda x: lax.scan(body, 0.0, x)[0])(jnp.arange(1.0, 3.0))
        _, _, a = seen.pop()
        assert float(a.primal) == 2


def test_zero_length_is_refused_as_in_jax():
    for j in (jax, plugjax):
        with j.disable_jit(), pytest.raises(ValueError, match="zero-length scan"):
            j.lax.scan(lambda c, x: (c, x), 0.0, np.zeros(0, "f"))


OPERANDS = {
    "float": np.array([1.5, -2.0], "f"),
    "int": np.array([3, -4], "i4"),
    "uint8": np.array([3, 250], "u1"),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j, -1j], "c8"),
    "bfloat16": jax.numpy.array([1.5, 2], "bfloat16"),
    "scalar": np.float32(2.5),
    "int scalar": np.int32(7),
    "matrix": np.ones((2, 2), "f"),
}
OPERATORS = [
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__rtruediv__", "__lt__", "__ge__", "__eq__",
    "__ne__", "__and__", "__xor__", "__matmul__",
]  # fmt: skip


def _outcome(j, name, x, y):
    try:
        out = getattr(x, name)(y)
    except Exception as error:
        return type(error).__mro__[-3]
    return out


def _same(found, expected):
    if isinstance(expected, jax.Array):
        assert found.dtype == expected.dtype
        assert found.aval.weak_type == expected.aval.weak_type
        found, expected = (np.asarray(v).astype("complex64") for v in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        assert (found is NotImplemented) == (expected is NotImplemented)


@pytest.mark.spread(8)
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_cached_operator_gives_what_the_first_call_gave(operator):
    others = [*OPERANDS.values(), 300, 2, -3, 0.5, 1j, True, 1e30]
    for row, value in enumerate(OPERANDS.values()):
        x = jnp.asarray(np.asarray(value))
        expected_x = jax.numpy.asarray(value)
        # A spread third of the pairs for each operator: JAX takes a minute to compile all of them.
        for other in others[(row + OPERATORS.index(operator)) % 3 :: 3]:
            array = not isinstance(other, (int, float, complex)) or isinstance(other, np.generic)
            y = jnp.asarray(np.asarray(other)) if array else other
            expected_y = jax.numpy.asarray(other) if array else other
            expected = _outcome(jax, operator, expected_x, expected_y)
            for _ in range(3):
                _same(_outcome(plugjax, operator, x, y), expected)


@pytest.mark.parametrize("operator", ["__neg__", "__abs__", "__invert__"])
def test_a_cached_unary_operator(operator):
    for value in OPERANDS.values():
        expected = _same_unary(jax.numpy.asarray(value), operator)
        for _ in range(3):
            _same(_same_unary(jnp.asarray(np.asarray(value)), operator), expected)


def _same_unary(x, operator):
    try:
        return getattr(x, operator)()
    except TypeError:
        return NotImplemented


def test_an_operator_on_one_array_twice_is_not_taken_for_one_on_two():
    x, y = jnp.asarray([1.0, 2.0]), jnp.asarray([5.0, 7.0])
    assert (x + x).tolist() == [2, 4]
    assert (x + y).tolist() == [6, 9]
    assert (x - x).tolist() == [0, 0]
    assert (x - y).tolist() == [-4, -5]


def test_scalars_in_cached_programs_are_told_apart():
    x = jnp.asarray([1.0, 2.0])
    for number in (2.0, 3.0, 3.0, 0.0, -0.0, 2, True):
        found = x * number
        np.testing.assert_array_equal(np.asarray(found), np.float32([1, 2]) * np.float32(number))
        assert np.signbit(found[0]) == np.signbit(np.float32(number))
    small = jnp.asarray([200], "uint8")
    assert [(small - n).tolist() for n in (300, 1, 300, 1)] == [[156], [199], [156], [199]]
    big = jnp.asarray([1])
    assert (big + 1).tolist() == [2]
    with pytest.raises(OverflowError):
        big + 2**40


def test_rank_promotion_warns_each_time():
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with plugjax.numpy_rank_promotion("warn"):
        for _ in range(3):
            with pytest.warns(UserWarning, match="rank promotion"):
                x + y


def test_operators_follow_the_configuration():
    x = jnp.arange(3)
    assert (x + 1).dtype == "int32"
    with plugjax.numpy_dtype_promotion("strict"), pytest.raises(Exception, match="strict"):
        x + jnp.ones(3)
    assert (x + jnp.ones(3)).dtype == "float32"
    with plugjax.enable_x64(True):
        assert (jnp.arange(3) * 0.5).dtype == "float64"


@pytest.mark.parametrize("call", [lambda f: f(jnp.ones(3)), lambda f: f({"x": jnp.ones(3)}), lambda f: f(1.0)], ids=["array", "tree", "number"])  # fmt: skip
def test_a_function_that_was_compiled_runs_as_python(call):
    calls = []
    f = plugjax.jit(lambda x: calls.append(1) or x)
    for _ in range(3):
        call(f)
    assert len(calls) == 1
    with plugjax.disable_jit():
        call(f)
        call(f)
    call(f)
    assert len(calls) == 3
