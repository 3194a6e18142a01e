"""Programs in which IREE 3.13 merges operations with several users wrongly, unless it is told not to."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax_iree import workarounds
from plugjax_iree.compile import CompileTarget, compile_stablehlo
from plugjax_iree.workarounds import hoisted_constants

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 7, 3)).astype(np.float32)
Y = RNG.normal(size=(3, 7, 3)).astype(np.float32)
W = RNG.normal(size=(3, 3)).astype(np.float32)


def gathered_and_updated(x, y):
    """The gather reads one place of what the update needs all of."""
    total = jnp.sum(x[:, :, np.array([0, 0])], 2)[:, :, None]
    return (y + jnp.pad(total, ((0, 0), (0, 0), (2, 0)))) + x.at[:, :, 1].set(0.0)


def equal_results(x, y):
    """Two products that are the same, and what both are made of."""
    half = y * 0.5
    one, other = half * y, y * half
    return one + jnp.tensordot(x, W, 1), half, one, other


def transposed_indices(x, y):
    """The transposition would be merged into the reduction that finds them."""

    def three(x):
        return x * jnp.floor(x * 3).astype(np.int32), jnp.argmax(x), x.astype(np.int8)

    def along_a_last_axis(f):
        return lambda x: plugjax.vmap(f, -1, -1)(jnp.stack([x, x * 0.5], -1))

    return along_a_last_axis(along_a_last_axis(three))(x[0, 0])


def transposed_for_two_functions(x, y):
    """Both begin with the same operation, and IREE inlines them before it looks for such."""
    inner = plugjax.jit(lambda x, y: jnp.sin(x) * y)

    def twice(x):
        return inner(x, x * 2.0) + inner(x, 1.0)

    return plugjax.vmap(plugjax.hessian(twice), -1, -1)(jnp.stack([x[0, 0], y[0, 0]], -1))


def normalised(x, y):
    """Differences from the mean are read by a sum and by what scales them."""

    def scaled(x):
        d = x - x.mean(-1, keepdims=True)
        return d / jnp.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)

    value, pull = plugjax.vjp(scaled, x * y)
    return value, pull(y)


def equal_later(x, y):
    """Results that become equal once constants are folded into the kernel, before one that is not."""
    z = jnp.tanh(x) * y
    one = jnp.float32(1) + jnp.zeros_like(x)
    return z * one, z, z * y, jnp.where(one > 0, z, x), z + x


def partly_read(x, y):
    """Two users read parts of what a third needs all of, and a fourth reads it repeatedly."""
    z = jnp.sin(x) + y
    first, last = z[:1], z[:, :, np.array([0, 0, 0])]
    return first * 2.0, last + 1.0, z, jnp.broadcast_to(z[None], (2, *z.shape)) * y


def outer_products(x, y):
    """A reduction, and a product with a vector, are read along two axes of one result."""
    s, t = jnp.max(x, (0, 2)), x[:, :, 0] @ y[0, :, 0]
    return jnp.einsum("i,j->ij", s, s), jnp.einsum("i,j,k->ijk", t, t, t), t


def of_one_user_and_partly_read(x, y):
    """What reads a part has its operand from an operation without other users, which is merged into it."""
    z = jnp.tanh(x) * y
    return jnp.sin(z)[:, :, np.array([0, 0, 0])] + 1.0, (z * 2.0)[np.array([0, 0, 0])], z


def steps_of_adam(x, y):
    """Each average is a result, and read by what follows."""

    def step(carry, g):
        p, m, v = carry
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return (p - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v), jnp.sum(m * v)

    return lax.scan(step, (y, y * 0, y * 0), jnp.stack([x, x * y, x - y]))


PROGRAMS = [
    *(gathered_and_updated, equal_results, transposed_indices, transposed_for_two_functions),
    *(
        normalised,
        equal_later,
        partly_read,
        outer_products,
        of_one_user_and_partly_read,
        steps_of_adam,
    ),
]


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_are_those_of_numpy(function, agrees):
    agrees(function, X, Y, rtol=1e-5, atol=1e-5)


ZEROS = np.array([0, 0, 0])
READS = [
    lambda z: z,
    lambda z: z,
    lambda z: z[:, :, ZEROS],
    lambda z: z[ZEROS],
    lambda z: z[:, :1],
    lambda z: z.T,
    lambda z: jnp.flip(z, 1),
    lambda z: z.sum(1, keepdims=True),
    lambda z: z.at[:, 1].set(0.5),
]
STEPS = [
    lambda a, b: a * b,
    lambda a, b: b * a,
    lambda a, b: jnp.tanh(a) + b,
    lambda a, b: jnp.where(a > b, a, 0.5 * b),
]


def drawn(seed):
    """A program whose values are read whole and in part, by one operation or several, and are results or not."""
    draw = np.random.default_rng(seed)
    steps = [(*draw.integers(len(STEPS), size=1), *draw.integers(len(READS), size=2)) for _ in range(12)]  # fmt: skip
    places = [draw.integers(k + 2, size=2) for k in range(len(steps))]
    results = draw.choice(len(steps) + 2, size=6, replace=False)

    def program(x, y):
        values = [x, y]
        for (step, *reads), sources in zip(steps, places, strict=True):
            a, b = (READS[read](values[place]) for read, place in zip(reads, sources, strict=True))
            values.append(jnp.broadcast_to(STEPS[step](a, b), x.shape))
        return [values[i] for i in results]

    return program


@pytest.mark.spread(20)
@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs(seed, agrees):
    agrees(drawn(seed), X[:, :3], Y[:, :3], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("function", "count"), [(gathered_and_updated, 1), (normalised, 0)])
def test_only_a_user_that_reads_a_part_is_kept_apart(function, count, changes):
    with plugjax.default_device("iree"):
        text = plugjax.jit(function).lower(X, Y).as_text()
    compile_stablehlo(text, CompileTarget(), phase="flow")
    assert changes["partial_users"] == count


@pytest.mark.parametrize("switched_off", ["", "early_fusion"])
def test_an_update_whose_averages_are_results_is_one_kernel(switched_off):
    def step(p, m, v, g):
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return p - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v

    with plugjax.default_device("iree"):
        text = plugjax.jit(step).lower(Y, Y, Y, Y).as_text()
    with workarounds.without([switched_off] if switched_off else []):
        program = compile_stablehlo(text, CompileTarget(), phase="flow").decode()
    assert program.count("flow.executable private") == (3 if switched_off else 1)


@pytest.mark.parametrize(("size", "ahead"), [(64, False), (256, True)])
def test_expressions_of_large_constants_are_computed_ahead(size, ahead):
    weights = RNG.normal(size=(size, size)).astype(np.float32)
    with plugjax.default_device("iree"):
        text = plugjax.jit(lambda x: x @ (weights * 2)).lower(weights).as_text()
    assert (hoisted_constants.apply(text) == ()) is ahead
