"""Programs under transformations and their compositions, with JAX as the oracle, on every backend."""

from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jax_jnp
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.transforms.simplify import simplify

RNG = np.random.default_rng(3)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


# Programs, written once and run with plugjax and with JAX. j, np_, lax_ are the library, its numpy
# and its lax.
def polynomial(j, np_, lax_):
    return lambda x: np_.sum(3.0 * x**3 - 2.0 * x + 1.0)


def trigonometric(j, np_, lax_):
    return lambda x: np_.sum(np_.sin(x) * np_.cos(2.0 * x) + np_.tanh(x))


def softmax_entropy(j, np_, lax_):
    def f(x):
        z = x - np_.max(x)
        p = np_.exp(z) / np_.sum(np_.exp(z))
        return -np_.sum(p * np_.log(p))

    return f


def perceptron(j, np_, lax_):
    w = np.linspace(-1, 1, 20).astype(np.float32).reshape(5, 4)
    return lambda x: np_.sum(np_.tanh(x @ w) ** 2)


def indexing(j, np_, lax_):
    return lambda x: (
        x[0] * x[-1] + np_.sum(x[1:3] ** 2) + np_.sum(x[::2]) + np_.sum(x[np.array([0, 0, 2])] ** 2)
    )


def updates(j, np_, lax_):
    return lambda x: np_.sum(x.at[1].set(x[0] * 2.0).at[np.array([0, 0])].add(x[2]) ** 2)


def reshaping(j, np_, lax_):
    def f(x):
        y = np_.concatenate([x, x[::-1]]).reshape(2, 5)
        return np_.sum(y.T @ y) + np_.sum(np_.stack([x, x * 2.0], axis=1) ** 2)

    return f


def where(j, np_, lax_):
    return lambda x: np_.sum(np_.where(x > 0.0, x**2, np_.exp(x)))


def extrema(j, np_, lax_):
    return lambda x: np_.max(x) - np_.min(x) + np_.sum(np_.maximum(x, 0.3))


def inner_jit(j, np_, lax_):
    g = j.jit(lambda x, y: np_.sin(x) * y)
    return lambda x: np_.sum(g(x, x * 2.0) + g(x, 1.0))


def inner_grad(j, np_, lax_):
    g = j.grad(lambda t: np_.sum(t**3))
    return lambda x: np_.sum(g(x) * x)


def inner_vmap(j, np_, lax_):
    return lambda x: np_.sum(j.vmap(lambda a, b: np_.sin(a) * b, in_axes=(0, None))(x, x[0]))


def inner_jvp(j, np_, lax_):
    def f(x):
        y, dy = j.jvp(np_.sin, (x,), (x * 2.0,))
        return np_.sum(y * dy)

    return f


def cond(j, np_, lax_):
    def f(x):
        y = lax_.cond(np_.sum(x) > 0.0, lambda a: np_.sin(a), lambda a: a**2 * 3.0, x)
        return np_.sum(y)

    return f


def switch(j, np_, lax_):
    def f(x):
        index = (x[0] > 0.0).astype(np.int32) + (x[1] > 0.0).astype(np.int32)
        return np_.sum(lax_.switch(index, [np_.sin, np_.cos, lambda a: a * 5.0], x))

    return f


def scan(j, np_, lax_):
    w = np.linspace(0.1, 0.6, 6).astype(np.float32)

    def f(x):
        def step(c, a):
            c = np_.tanh(c * a + x[0])
            return c, c * x

        c, ys = lax_.scan(step, x[1], w)
        return c + np_.sum(ys)

    return f


def scan_reverse(j, np_, lax_):
    def f(x):
        c, ys = lax_.scan(lambda c, a: (c * 0.5 + a, np_.sin(c)), 0.0, x, reverse=True)
        return c * np_.sum(ys)

    return f


def nested_scan(j, np_, lax_):
    def f(x):
        def outer(c, a):
            d, _ = lax_.scan(lambda d, b: (np_.sin(d) * b + a, None), c, x)
            return d, d

        c, ys = lax_.scan(outer, 0.5, x)
        return c + np_.sum(ys)

    return f


def recurrent_network(j, np_, lax_):
    w = np.linspace(-0.5, 0.5, 16).astype(np.float32).reshape(4, 4)

    def f(x):
        def cell(h, a):
            h = np_.tanh(h @ w + a)
            return h, np_.sum(h)

        h, losses = lax_.scan(cell, np_.zeros(4), x)
        return np_.sum(h) + np_.mean(losses)

    return f


def fori(j, np_, lax_):
    return lambda x: np_.sum(lax_.fori_loop(0, 4, lambda i, c: np_.sin(c) + i * x, x))


def mapped(j, np_, lax_):
    return lambda x: np_.sum(lax_.map(lambda a: a * np_.exp(a), x))


def closure(j, np_, lax_):
    def f(x):
        scale = np_.sum(x)
        return np_.sum(j.jit(lambda a: a * scale)(x))

    return f


def stop_gradient(j, np_, lax_):
    return lambda x: np_.sum(x * lax_.stop_gradient(x) + np_.sin(x))


def power(j, np_, lax_):
    return lambda x: np_.sum((np_.abs(x) + 0.5) ** (x * 0.5))


def normalised(j, np_, lax_):
    return lambda x: np_.sum(
        (x - np_.mean(x)) / np_.sqrt(np_.var(x) + 1e-3) * np.arange(5, dtype=np.float32)
    )


def einsum(j, np_, lax_):
    return lambda x: np_.sum(np_.einsum("i,j->ij", x, np_.sin(x)) ** 2)


def cumulative(j, np_, lax_):
    return lambda x: np_.sum(np_.cumsum(x) * np_.sort(x))


def logsumexp(j, np_, lax_):
    return lambda x: j.nn.logsumexp(x * 3.0)


def activations(j, np_, lax_):
    nn = j.nn
    return lambda x: np_.sum(nn.relu(x) + nn.sigmoid(x) * nn.softplus(x) + nn.gelu(x) + nn.silu(x))


VECTOR = normal(5)
SCALAR_PROGRAMS = [
    polynomial, trigonometric, softmax_entropy, perceptron, indexing, updates, reshaping, where, extrema, inner_jit,
    inner_grad, inner_vmap, inner_jvp, cond, switch, scan, scan_reverse, nested_scan, fori, mapped, closure,
    stop_gradient, power, normalised, einsum, cumulative, logsumexp, activations,
]  # fmt: skip
COMPOSITIONS = {
    "value": lambda j, f: f,
    "grad": lambda j, f: j.grad(f),
    "jit grad": lambda j, f: j.jit(j.grad(f)),
    "grad jit": lambda j, f: j.grad(j.jit(f)),
    "jvp": lambda j, f: lambda x: j.jvp(f, (x,), (x * 0.5,)),
    "vmap": lambda j, f: lambda x: j.vmap(f)(x[None] * np.array([[1.0], [0.5], [-1.0]], np.float32)),
    "vmap grad": lambda j, f: lambda x: j.vmap(j.grad(f))(x[None] * np.array([[1.0], [0.5]], np.float32)),
    "jit vmap grad": lambda j, f: j.jit(lambda x: j.vmap(j.grad(f), in_axes=1)(x[:, None] * np.array([1.0, 0.5], np.float32))),
    "hessian": lambda j, f: j.hessian(f),
    "jacrev grad": lambda j, f: j.jit(j.jacrev(j.grad(f))),
    "linearize": lambda j, f: lambda x: j.linearize(f, x)[1](x * 0.5),
    "vjp": lambda j, f: lambda x: j.vjp(f, x)[1](np.float32(2.0)),
    "grad grad": lambda j, f: j.grad(lambda x: j.grad(f)(x).sum()),
}  # fmt: skip


def compare(found, expected, rtol=2e-4, atol=2e-5):
    ours, theirs = plugjax.tree.leaves(found), jax.tree.leaves(expected)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        b = np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = max(1.0, float(np.max(np.abs(b), initial=0)))
        np.testing.assert_allclose(np.asarray(a), b, rtol=rtol, atol=atol * scale)


# The oracle's speed does not matter: JAX compiles several functions at once, without optimisation.
UNOPTIMISED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def oracle(functions, *args):
    """Values of several functions of JAX, compiled as one program."""
    together = jax.jit(lambda *xs: [f(*xs) for f in functions])
    return together.lower(*args).compile(compiler_options=UNOPTIMISED)(*args)


@pytest.mark.spread(16)
@pytest.mark.parametrize("program", SCALAR_PROGRAMS, ids=lambda p: p.__name__)
def test_every_composition(program):
    theirs, ours = program(jax, jax_jnp, jax.lax), program(plugjax, jnp, lax)
    everything = oracle([t(jax, theirs) for t in COMPOSITIONS.values()], jax_jnp.asarray(VECTOR))
    for (composition, transform), expected in zip(COMPOSITIONS.items(), everything, strict=True):
        try:
            compare(transform(plugjax, ours)(jnp.asarray(VECTOR)), expected)
        except Exception as error:
            error.add_note(f"in the composition: {composition}")
            raise


@pytest.mark.spread(4)
@pytest.mark.parametrize("compiler", ["xla", "iree"])
@pytest.mark.parametrize("composition", ["jit grad", "jit vmap grad"])
def test_compositions_on_compiling_backends(composition, compiler):
    """Many programs in one compiled module per backend, which keeps IREE's compilation time in bounds."""
    transform = COMPOSITIONS[composition]
    expected = _gradients(composition)
    chunk = 7
    for start in range(0, len(SCALAR_PROGRAMS), chunk):
        programs = SCALAR_PROGRAMS[start : start + chunk]
        with plugjax.default_device(compiler):
            together = plugjax.jit(
                lambda x, ps=programs: [transform(plugjax, p(plugjax, jnp, lax))(x) for p in ps]
            )
            compare(together(jnp.asarray(VECTOR)), expected[start : start + chunk])


@cache
def _gradients(composition):
    transform = COMPOSITIONS[composition]
    functions = [transform(jax, p(jax, jax_jnp, jax.lax)) for p in SCALAR_PROGRAMS]
    return oracle(functions, jax_jnp.asarray(VECTOR))


def test_recurrent_network_on_every_backend(on_backend):
    x = normal(7, 4)
    expected = jax.jit(jax.value_and_grad(recurrent_network(jax, jax_jnp, jax.lax)))(x)
    found = plugjax.jit(plugjax.value_and_grad(recurrent_network(plugjax, jnp, lax)))(
        jnp.asarray(x)
    )
    compare(found, expected)
    batched = plugjax.jit(plugjax.vmap(plugjax.grad(recurrent_network(plugjax, jnp, lax))))
    compare(
        batched(jnp.stack([x, x * 0.5])),
        jax.vmap(jax.grad(recurrent_network(jax, jax_jnp, jax.lax)))(np.stack([x, x * 0.5])),
    )


WHILE_INPUT = np.array([0.5, 1.0, 2.0], np.float32)
WHILE = {
    "plain": lambda j, np_, lax_: lambda x: lax_.while_loop(lambda c: np_.sum(c) < 50.0, lambda c: c * 2.0 + 1.0, x),
    "counter": lambda j, np_, lax_: lambda x: lax_.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, np_.sin(s[1]) + x), (0, x))[1],
    "dynamic fori": lambda j, np_, lax_: lambda x: lax_.fori_loop(0, (x[0] * 0 + 3).astype(np.int32), lambda i, c: c * 1.5, x),
}  # fmt: skip


@cache
def _while_oracle(name):
    f = WHILE[name](jax, jax_jnp, jax.lax)
    functions = (
        f,
        lambda x: jax.jvp(f, (x,), (x,)),
        lambda x: jax.vmap(f)(_many(jax_jnp, x)),
        jax.jacfwd(f),
    )
    return oracle(functions, WHILE_INPUT)


def _many(np_, x):
    return np_.stack([x, x * 3])


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", WHILE)
def test_while_loops(name, on_backend):
    x, ours = WHILE_INPUT, WHILE[name](plugjax, jnp, lax)
    plain, forward, batched, jacobian = _while_oracle(name)
    compare(plugjax.jit(ours)(x), plain)
    compare(plugjax.jvp(ours, (x,), (x,)), forward)
    compare(plugjax.jit(plugjax.vmap(ours))(_many(np, x)), batched)
    compare(plugjax.jacfwd(ours)(x), jacobian)


@pytest.mark.parametrize(
    "make",
    [
        lambda j, np_, lax_: lambda x: x * 2.0 + np_.zeros(3),
        lambda j, np_, lax_: lambda x: j.jit(lambda y: np_.sin(y) * x)(x),
        lambda j, np_, lax_: lambda x: lax_.while_loop(lambda c: c[0] < 1, lambda c: c + 1.0, x),
        lambda j, np_, lax_: lambda x: lax_.cond(x[0] > 1, lambda y: y, lambda y: y * 2.0, x),
        lambda j, np_, lax_: lambda x: (x @ x, np_.sum(x), np_.max(x), x[1:], x[0], x.astype(np.int32), x**2, x**2.5),
        lambda j, np_, lax_: lambda x: (np_.exp(x), np_.log(x), -x, np_.concatenate([x, x]), np_.broadcast_to(x, (2, 3))),
    ],
)  # fmt: skip
def test_jaxprs_have_the_equations_of_jax(make):
    x = np.ones(3, np.float32)
    ours = plugjax.make_jaxpr(make(plugjax, jnp, lax))(x)
    theirs = jax.make_jaxpr(make(jax, jax_jnp, jax.lax))(x)
    assert [e.primitive.name for e in ours.eqns] == [e.primitive.name for e in theirs.eqns]
    assert [a.str_short() for a in ours.in_avals] == [a.str_short() for a in theirs.in_avals]
    assert [a.str_short() for a in ours.out_avals] == [a.str_short() for a in theirs.out_avals]


@pytest.mark.parametrize(
    "make",
    [
        lambda np_, lax_: lambda x: np_.sin(x) * 2.0 + np_.zeros(3),
        lambda np_, lax_: (
            lambda x: (x[1:], x[0], x.astype(np.int32), x**2, np_.concatenate([x, x]))
        ),
        lambda np_, lax_: lambda x: lax_.while_loop(lambda c: c[0] < 1, lambda c: c + 1, x),
        lambda np_, lax_: lambda x: lax_.cond(x[0] > 1, lambda y: y, lambda y: y * 2, x),
        lambda np_, lax_: lambda x: lax_.scan(lambda c, a: (c + a, c * a), np.float32(0), x),
    ],
    ids=["elementwise", "structural", "while", "cond", "scan"],
)
def test_jaxprs_print_as_in_jax(make):
    x = np.ones(3, np.float32)
    ours = plugjax.make_jaxpr(make(jnp, lax))(x)
    assert str(ours) == str(jax.make_jaxpr(make(jax_jnp, jax.lax))(x))


def test_pytrees_everywhere():
    def loss(params, batch):
        x, y = batch
        return jnp.mean((x @ params["w"] + params["b"][0] - y) ** 2), {"aux": x}

    params = {"w": jnp.asarray(normal(3)), "b": [jnp.zeros(()), None]}
    batch = (jnp.asarray(normal(4, 3)), jnp.asarray(normal(4)))
    (_, aux), gradient = plugjax.jit(plugjax.value_and_grad(loss, has_aux=True))(params, batch)
    assert set(gradient) == {"w", "b"}
    assert gradient["b"][1] is None
    assert aux["aux"].shape == (4, 3)
    per_example = plugjax.vmap(plugjax.grad(loss, has_aux=True), in_axes=(None, 0))(params, batch)
    np.testing.assert_allclose(per_example[0]["w"].mean(0), gradient["w"], rtol=1e-5)


def test_vmap_axes():
    x, y = normal(2, 3, 4), normal(3)
    for in_axes, out_axes in [((1, 0), 0), ((1, 0), 2), ((1, None), 1), ((-2, 0), -1)]:
        ours = plugjax.vmap(lambda a, b: a * jnp.sum(b), in_axes, out_axes)(x, y)
        theirs = jax.vmap(lambda a, b: a * jax_jnp.sum(b), in_axes, out_axes)(x, y)
        compare(ours, theirs)
    tree = {"a": x, "b": (y, y)}
    axes = ({"a": 1, "b": None},)
    compare(
        plugjax.vmap(lambda t: t["a"].sum() + t["b"][0], axes)(tree),
        jax.vmap(lambda t: t["a"].sum() + t["b"][0], axes)(tree),
    )


def test_static_arguments_by_number_and_name():
    traces = []

    def power(x, n, *, mode):
        traces.append((n, mode))
        return x**n if mode == "power" else x * n

    f = plugjax.jit(power, static_argnums=1, static_argnames="mode")
    assert float(f(2.0, 3, mode="power")) == 8
    assert float(f(3.0, 3, mode="power")) == 27
    assert float(f(2.0, n=3, mode="times")) == 6
    assert float(f(2.0, 3.0, mode="power")) == 8
    assert traces == [(3, "power"), (3, "times"), (3.0, "power")]


def test_compiled_once_per_signature():
    traces = []
    f = plugjax.jit(lambda x: traces.append(1) or x * 2)
    for x in (1.0, 2.0, np.float32(1), np.ones(3, np.float32), np.zeros(3, np.float32)):
        f(x)
    assert len(traces) == 3
    plugjax.clear_caches()
    f(1.0)
    assert len(traces) == 4


def test_lower_and_compile(on_backend):
    def f(x):
        return jnp.sin(x) + 1

    struct = plugjax.ShapeDtypeStruct((3,), np.float32)
    lowered = plugjax.jit(f).lower(struct)
    text = lowered.as_text()
    assert ("stablehlo." in text) == (on_backend != "numpy")
    compiled = lowered.compile()
    assert isinstance(compiled.as_text(), str)
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_allclose(compiled(x), np.sin(x) + 1, rtol=1e-5)
    with pytest.raises(TypeError, match=r"float32\[3\].*float32\[4\]"):
        compiled(np.ones(4, np.float32))


def test_donation(on_backend):
    f = plugjax.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x = jnp.asarray(normal(64))
    seen = np.asarray(x)
    before = seen.copy()
    y = jnp.ones(64)
    out = f(x, y)
    assert x.is_deleted()
    assert not y.is_deleted()
    np.testing.assert_array_equal(seen, before)  # A NumPy view in use does not change.
    np.testing.assert_allclose(out, before * 2 + 1, rtol=1e-6)
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, y)


def test_three_backends_in_one_program():
    x = plugjax.device_put(np.arange(4, dtype=np.float32), "numpy")
    y = plugjax.jit(jnp.sin, device="xla")(x)
    z = plugjax.jit(lambda a: a * 2)(plugjax.device_put(y, "iree"))
    assert [str(a.device) for a in (x, y, z)] == ["numpy:0", "xla:cpu:0", "iree:local:0"]
    np.testing.assert_allclose(
        plugjax.device_put(z, "numpy") + x, 2 * np.sin(np.arange(4)) + np.arange(4), rtol=1e-5
    )


def test_uncommitted_arrays_follow_committed_ones():
    x = plugjax.device_put(np.ones(3, np.float32), "xla")
    y = x + jnp.ones(3)
    assert str(y.device) == "xla:cpu:0"
    assert y.committed
    assert not jnp.ones(3).committed


def test_disable_jit_runs_python_on_concrete_arrays():
    seen = []

    def step(c, x):
        seen.append(float(c))
        return c + x, c

    with plugjax.disable_jit():
        total, _ = plugjax.jit(lambda xs: lax.scan(step, 0.0, xs))(jnp.arange(3.0))
        assert float(lax.while_loop(lambda c: c < 5, lambda c: c + float(c), 1.0)) == 8
        assert float(lax.fori_loop(0, 3, lambda i, c: c + int(i), 0)) == 3
        assert float(plugjax.grad(lambda x: lax.cond(x > 1, jnp.sin, jnp.cos, x))(0.5)) < 0
    assert seen == [0.0, 0.0, 1.0]
    assert float(total) == 3


def test_linear_transpose():
    m = normal(3, 4)
    f = plugjax.linear_transpose(lambda x: m @ x, jnp.zeros(4))
    y = normal(3)
    np.testing.assert_allclose(f(jnp.asarray(y))[0], m.T @ y, rtol=1e-5)


def test_integer_arguments():
    def f(x, n):
        return jnp.sum(x) * n

    value, pull = plugjax.vjp(f, jnp.ones(3), 2)
    assert float(value) == 6
    x_bar, n_bar = pull(np.float32(1))
    assert n_bar.dtype == plugjax.core.dtypes.float0
    np.testing.assert_allclose(x_bar, [2, 2, 2])
    gradient = plugjax.grad(lambda n, x: x * n, allow_int=True)(3, 2.0)
    assert gradient.dtype == plugjax.core.dtypes.float0


def test_cost_of_nested_scan_gradients_is_linear_in_depth():
    """The number of equations traced for a gradient grows with the depth, not exponentially."""

    def nest(depth):
        def f(x):
            if depth == 0:
                return jnp.sin(x) * x
            c, _ = lax.scan(lambda c, _: (nest(depth - 1)(c), None), x, None, length=2)
            return c

        return f

    def count(jaxpr):
        from plugjax.extend.core import programs_in

        return sum(1 + sum(count(s.jaxpr) for s in programs_in(e.params)) for e in jaxpr.eqns)

    sizes = [count(plugjax.make_jaxpr(plugjax.grad(nest(d)))(1.0).jaxpr) for d in (1, 2, 3, 4)]
    steps = [b - a for a, b in pairwise(sizes)]
    assert max(steps) <= 2 * min(steps) + 10, sizes


def test_constants_are_folded_where_every_backend_agrees():
    program = plugjax.make_jaxpr(lambda x: x * (jnp.float32(2) + 3.0) + jnp.sin(jnp.float32(1)))(
        1.0
    )
    simple = simplify(program)
    assert [e.primitive.name for e in simple.eqns] == ["mul", "sin", "add"]
    assert float(plugjax.jit(lambda x: x * (jnp.float32(2) + 3.0))(2.0)) == 10
    assert float(plugjax.jit(lambda: jnp.float32(2) * 4.0)()) == 8


def test_objects_whose_names_are_no_strings():
    class Odd:
        """As wrappers are that hand on attributes which an object lacks."""

        def __init__(self):
            self.__qualname__ = None

        def __call__(self, x):
            return x * 3.0

    mesh, spec = plugjax.make_mesh((1,), ("i",)), plugjax.P()
    for transform in (
        plugjax.jit,
        plugjax.grad,
        plugjax.value_and_grad,
        plugjax.checkpoint,
        plugjax.jacfwd,
        plugjax.make_jaxpr,
        lambda f: plugjax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec),
    ):
        transform(Odd())(2.0)
    assert plugjax.vmap(Odd())(plugjax.numpy.ones(2)).shape == (2,)
    assert plugjax.pmap(Odd())(plugjax.numpy.ones((1, 2))).shape == (1, 2)
