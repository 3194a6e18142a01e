"""Programs of arrays drawn at random, each compiled as a whole, with NumPy as oracle.

What IREE merges depends on what surrounds an operation; no list of programs foresees it. `--hypothesis-profile=thorough` draws more.
"""

import numpy as np
import pytest
from hypothesis import settings

import plugjax
import plugjax.numpy as jnp
from plugjax import lax

PROGRAMS = settings().max_examples * 2
STEPS = 12
BEGINNINGS = [np.random.default_rng(1).normal(size=s).astype("f") for s in ((4, 4), (4,), (3, 4))]
# Choices depend on which side of it a number is: no number is as near to it as rounding errors are.
MIDDLE = 0.1234

OPERATIONS = []


class NothingFitsError(Exception):
    """No value has a shape for an operation."""


def operation(draw):
    """Register ``draw(rng, shapes)``, which gives a function of all values so far."""
    OPERATIONS.append(draw)
    return draw


def pick(rng, shapes, fits=lambda shape: True):
    """The position of a value, rather a late one."""
    found = [i for i, shape in enumerate(shapes) if fits(shape)]
    if not found:
        raise NothingFitsError
    weights = np.arange(1, len(found) + 1) ** 1.5
    return int(rng.choice(found, p=weights / weights.sum()))


def one_of(rng, functions):
    return functions[rng.integers(len(functions))]


def has_axes(shape):
    return len(shape) > 0


def axis_of(rng, shape):
    return int(rng.integers(len(shape)))


@operation
def unary(rng, shapes):
    i = pick(rng, shapes)
    f = one_of(rng, [jnp.sin, jnp.tanh, jnp.negative, lambda x: jnp.exp(-jnp.abs(x)), lambda x: x * 0.5,
                     lambda x: jnp.minimum(x * x, 9.0), lambda x: jnp.sqrt(1 + jnp.abs(x))])  # fmt: skip
    return lambda v: f(v[i])


@operation
def binary(rng, shapes):
    i = pick(rng, shapes)

    def fits(shape):
        sizes = zip(reversed(shape), reversed(shapes[i]), strict=False)
        return all(a == b or 1 in (a, b) for a, b in sizes)

    k = pick(rng, shapes, fits)
    f = one_of(rng, [jnp.add, jnp.subtract, jnp.multiply, jnp.maximum, lambda a, b: a / (1 + jnp.abs(b)),
                     lambda a, b: jnp.where(a > MIDDLE, a, b)])  # fmt: skip
    return lambda v: f(v[i], v[k])


OPERATIONS.append(binary)


@operation
def new_axis(rng, shapes):
    i = pick(rng, shapes, lambda s: len(s) < 3)
    axis = int(rng.integers(len(shapes[i]) + 1))
    return lambda v: jnp.expand_dims(v[i], axis)


OPERATIONS.append(new_axis)


@operation
def reduction(rng, shapes):
    i = pick(rng, shapes, has_axes)
    axis, keepdims = axis_of(rng, shapes[i]), bool(rng.integers(2))
    f = one_of(rng, [jnp.sum, jnp.max, jnp.min, jnp.mean])
    return lambda v: f(v[i], axis=axis, keepdims=keepdims)


OPERATIONS.append(reduction)


@operation
def along_an_axis(rng, shapes):
    i = pick(rng, shapes, has_axes)
    axis = axis_of(rng, shapes[i])
    f = one_of(rng, [jnp.cumsum, jnp.sort, jnp.flip, plugjax.nn.softmax,
                     lambda x, axis: jnp.argmax(jnp.round(x * 8), axis).astype(np.float32)])  # fmt: skip
    return lambda v: f(v[i], axis=axis)


@operation
def transposition(rng, shapes):
    i = pick(rng, shapes, lambda s: len(s) > 1)
    order = tuple(map(int, rng.permutation(len(shapes[i]))))
    return lambda v: jnp.transpose(v[i], order)


@operation
def reshaping(rng, shapes):
    i = pick(rng, shapes)
    size = int(np.prod(shapes[i]))
    shape = one_of(rng, [(size,), *((n, size // n) for n in (1, 2, 3, 4) if size % n == 0)])
    return lambda v: jnp.reshape(v[i], shape)


@operation
def part(rng, shapes):
    i = pick(rng, shapes, has_axes)
    axis = axis_of(rng, shapes[i])
    first = int(rng.integers(shapes[i][axis]))
    last, stride = int(rng.integers(first, shapes[i][axis])) + 1, int(rng.integers(1, 3))
    return lambda v: lax.slice_in_dim(v[i], first, last, stride, axis=axis)


@operation
def joining(rng, shapes):
    i = pick(rng, shapes, has_axes)
    axis = axis_of(rng, shapes[i])

    def rest(shape):
        return shape[:axis] + shape[axis + 1 :]

    k = pick(rng, shapes, lambda s: len(s) == len(shapes[i]) and rest(s) == rest(shapes[i]))
    return lambda v: jnp.concatenate([v[i], v[k]], axis)


@operation
def padding(rng, shapes):
    i = pick(rng, shapes, lambda s: len(s) > 0 and max(s) < 6)
    widths = [(0, 0)] * len(shapes[i])
    widths[axis_of(rng, shapes[i])] = one_of(rng, [(0, 1), (1, 0)])
    return lambda v: jnp.pad(v[i], widths, constant_values=0.5)


@operation
def product(rng, shapes):
    i = pick(rng, shapes, lambda s: len(s) in (1, 2))
    k = pick(rng, shapes, lambda s: len(s) in (1, 2) and s[0] == shapes[i][-1])
    return lambda v: jnp.tanh(v[i] @ v[k])


@operation
def outer(rng, shapes):
    i, k = (pick(rng, shapes, lambda s: len(s) == 1) for _ in range(2))
    return lambda v: jnp.outer(v[i], v[k])


@operation
def rows(rng, shapes):
    i = pick(rng, shapes, has_axes)
    places = rng.integers(0, shapes[i][0], 3)
    return lambda v: v[i][places]


@operation
def update(rng, shapes):
    i = pick(rng, shapes, has_axes)
    k = pick(rng, shapes, lambda s: s == shapes[i][1:])
    place, how = int(rng.integers(shapes[i][0])), one_of(rng, ["set", "add", "max"])
    return lambda v: getattr(v[i].at[place], how)(v[k])


@operation
def counter(rng, shapes):
    n = int(rng.integers(2, 5))
    return lambda v: jnp.arange(n, dtype=np.float32) * 0.3


@operation
def scan(rng, shapes):
    i = pick(rng, shapes, has_axes)
    k = pick(rng, shapes, lambda s: s == shapes[i][1:])
    step = one_of(rng, [lambda c, x: (jnp.sin(c + x), c), lambda c, x: (c * 0.5 + x, c * x),
                        lambda c, x: (jnp.maximum(c, x), c.sum() + x)])  # fmt: skip
    given = int(rng.integers(2))
    return lambda v: lax.scan(step, v[k], v[i])[given]


@operation
def loop(rng, shapes):
    i = pick(rng, shapes)
    k = pick(rng, shapes, lambda s: s == shapes[i])
    step = one_of(rng, [lambda n, c, x: c * 0.5 + x, lambda n, c, x: jnp.sin(c) + n,
                        lambda n, c, x: jnp.where(c > MIDDLE, c * 0.9, x)])  # fmt: skip
    return lambda v: lax.fori_loop(0, 3, lambda n, c: step(n, c, v[k]), v[i])


@operation
def unknown_loop(rng, shapes):
    i = pick(rng, shapes)

    def short(carry):
        return (carry[1] < 4) & (jnp.abs(carry[0]).sum() > MIDDLE)

    return lambda v: lax.while_loop(short, lambda c: (jnp.tanh(c[0]) * 0.9, c[1] + 1), (v[i], 0))[0]


@operation
def branch(rng, shapes):
    i, which = pick(rng, shapes), pick(rng, shapes)
    k = pick(rng, shapes, lambda s: s == shapes[i])
    return lambda v: lax.cond(
        v[which].sum() > MIDDLE, lambda a, b: a * 2 + b, lambda a, b: jnp.sin(b) - a, v[i], v[k]
    )


def drawn(seed):
    """Operations that fit one after another, and which values are given back."""
    rng = np.random.default_rng(seed)
    values = [jnp.asarray(x) for x in BEGINNINGS]
    steps = []
    while len(steps) < STEPS:
        try:
            step = one_of(rng, OPERATIONS)(rng, [x.shape for x in values])
        except NothingFitsError:
            continue
        value = step(values)
        if 0 < value.size <= 200 and value.ndim <= 3:
            steps.append(step)
            values.append(value)
    given = sorted({len(values) - 1, *map(int, rng.integers(3, len(values), 2))})
    return steps, given


def run(steps, given, *values):
    values = list(values)
    for step in steps:
        values.append(step(values))
    return [values[i] for i in given]


@pytest.mark.spread(8)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_values_are_those_of_numpy(seed):
    with plugjax.default_device("numpy"):
        steps, given = drawn(seed)
        expected = run(steps, given, *map(jnp.asarray, BEGINNINGS))
    with plugjax.default_device("iree"):
        found = plugjax.jit(lambda *values: run(steps, given, *values))(*BEGINNINGS)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-3, atol=3e-3)
