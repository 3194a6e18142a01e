"""Long lowerings that a program needs many times become functions that IREE keeps; values are those of NumPy."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.extend.random import threefry2x32_p
from plugjax_iree.compile import compiler, program
from plugjax_iree.mlir.kept_functions import inlined, keeps_functions


@pytest.fixture
def texts(monkeypatch):
    """What the compiler gets."""
    found, compile_stablehlo = [], program.compile_stablehlo

    def recorded(text, *args, **kwargs):
        found.append(text)
        return compile_stablehlo(text, *args, **kwargs)

    monkeypatch.setattr(program, "compile_stablehlo", recorded)
    with plugjax.config.override("enable_compilation_cache", False):
        yield found


X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def sines(x):
    y = x
    for _ in range(24):
        y = jnp.sin(y) + x
    return y, jnp.sin(x)


def arguments_and_results(x):
    """Calls of what comes from outside, of constants and of one another; some of their results go out."""
    first, second = jnp.cos(x), jnp.cos(jnp.ones_like(x))
    y = first
    for _ in range(24):
        y = jnp.cos(y)
    return first, second, y, jnp.cos(x.T.reshape(x.shape)), -0.0 * jnp.cos(y)


def in_loops(x):
    def body(i, y):
        for _ in range(12):
            y = jnp.sin(y)
        return y + i

    y = lax.fori_loop(0, 3, body, x)
    for _ in range(12):
        y = lax.cond(y[0, 0] > 0, jnp.sin, lambda y: jnp.sin(-y), y)
    return y, lax.scan(lambda c, a: (jnp.sin(c) + a, c), y[0], y)[1]


def draws(x):
    key, total = plugjax.random.key(0), 0
    for i in range(10):
        total += plugjax.random.normal(plugjax.random.fold_in(key, i), x.shape) * x
    return total


def of_complex_numbers(x):
    y = x + 1j
    for _ in range(10):
        y = jnp.exp(y) / (jnp.abs(jnp.exp(y)) + 1)
    return y


def differentiated(x):
    def f(x):
        for _ in range(22):
            x = jnp.sin(x) * 1.5
        return x.sum()

    return plugjax.value_and_grad(f)(x)


def repeated_operands(x):
    """Calls with operands in common, and calls with others."""
    draw, words = threefry2x32_p.bind, lax.bitcast_convert_type(jnp.tile(x, (2, 1)), jnp.uint32)
    x, y = words[:, 0][:6].repeat(2), words[:, 1][:6].repeat(2)

    def either(number, a, b, c, d):
        def one(a, b, c, d):
            return draw(a, b, c, d)[0]

        def other(a, b, c, d):
            return draw(b, b, c, d)[0]

        return lax.cond(a[0] > b[0] + np.uint32(number), one, other, a, b, c, d)

    found = [either(0, x, x, y, x), *(either(i, x, x, x, x) for i in (2, 3, 4))]
    return [*found, draw(x, x, x, x)[0], draw(y, x, y, x)[0]]


PROGRAMS = (
    sines, arguments_and_results, in_loops, draws, of_complex_numbers, differentiated, repeated_operands,
)  # fmt: skip


def values(function, device):
    with plugjax.default_device(plugjax.devices(device)[0]):
        return [np.asarray(y) for y in plugjax.tree.leaves(plugjax.jit(function)(X))]


@pytest.mark.spread(3)
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_those_of_numpy(function, texts):
    found = values(function, "iree")
    assert keeps_functions(texts[-1])
    for x, y in zip(found, values(function, "numpy"), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


def test_signs_of_zeros_and_what_is_not_finite_pass(texts):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-40], np.float32)

    def f(x):
        return [jnp.sin(x * s) for s in np.arange(1, 30, dtype=np.float32)]

    with plugjax.default_device(plugjax.devices("iree")[0]):
        found = np.stack([np.asarray(y) for y in plugjax.jit(f)(x)])
    assert keeps_functions(texts[-1])
    with plugjax.default_device(plugjax.devices("numpy")[0]):
        wanted = np.stack([np.asarray(y) for y in plugjax.jit(f)(x)])
    np.testing.assert_array_equal(np.signbit(found[:, :2]), np.signbit(wanted[:, :2]))
    np.testing.assert_allclose(found[:, :6], wanted[:, :6], rtol=1e-6)


def test_short_programs_and_short_lowerings_stay_as_they_are(texts):
    values(lambda x: jnp.sin(jnp.sin(jnp.sin(x))), "iree")
    assert not keeps_functions(texts[-1])

    def many(x):
        for _ in range(60):
            x = jnp.tanh(x)
        return x

    values(many, "iree")
    assert not keeps_functions(texts[-1])


def test_a_refused_module_is_compiled_with_its_functions_inlined(texts, monkeypatch):
    attempts, compile_elsewhere = [], compiler.compile_elsewhere

    def refusing(text, *args, **kwargs):
        attempts.append(keeps_functions(text))
        if attempts[-1]:
            raise compiler.CompileError("crash", [])
        return compile_elsewhere(text, *args, **kwargs)

    monkeypatch.setattr(compiler, "compile_elsewhere", refusing)
    found = values(lambda x: sines(x), "iree")
    assert keeps_functions(texts[-1])
    assert attempts == [True, False]
    assert not keeps_functions(inlined(texts[-1]))
    assert "no_inline" not in inlined(texts[-1])
    for x, y in zip(found, values(sines, "numpy"), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6)


def test_a_long_program_has_one_function_for_each_type(texts):
    def f(x):
        for _ in range(30):
            x = jnp.sin(x) + jnp.sin(x[:1])
        return x

    values(f, "iree")
    text = texts[-1]
    assert text.count("}) {noinline} : ") == 2
    assert text.count("stablehlo.round_nearest_even") == 2


@pytest.mark.parametrize(("shape", "kept"), [((4, 3), True), ((400, 300), False)])
def test_large_arrays_are_computed_in_place(shape, kept):
    with plugjax.default_device("iree"):
        text = plugjax.jit(sines).lower(plugjax.ShapeDtypeStruct(shape, np.float32)).as_text()
    assert ("noinline" in text) == kept
