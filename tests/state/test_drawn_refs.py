"""Drawn sequences of reads and writes of references under drawn transformations leave what they leave in JAX."""

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax

LIBRARIES = (plugjax, jax)


@st.composite
def indices(draw, shape):
    """An index that JAX's references take: integers, slices without steps backwards, arrays of integers, an ellipsis."""
    if draw(st.integers(0, 5)) == 0:
        return (Ellipsis,)
    parts = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "slice", "array"]))
        if kind == "int":
            parts.append(draw(st.integers(0, size - 1)))
        elif kind == "slice":
            start = draw(st.integers(0, size - 1))
            parts.append(slice(start, draw(st.integers(start + 1, size))))
        elif not any(isinstance(p, np.ndarray) for p in parts):
            parts.append(np.array(draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True)), np.int32))  # fmt: skip
    return tuple(parts) or (Ellipsis,)


@st.composite
def steps(draw, shape):
    """What is done, where, and with what: a number that the step's value is made of."""
    kind = draw(st.sampled_from(["set", "add", "swap", "addupdate", "view", "read"]))
    index = draw(indices(shape))
    return kind, index, draw(st.integers(-3, 3)), draw(st.booleans())


@st.composite
def programs(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    found = draw(st.lists(steps(shape), min_size=1, max_size=4))
    return shape, draw(st.sampled_from(["float32", "int32"])), found


def run(j, ref, x, found):
    """The steps on a reference; each value depends on ``x``, and the result on all that was read."""
    total = 0 * x
    for kind, index, number, whole in found:
        part = ref[index]
        value = (part * 0 + number + x).astype(part.dtype)
        if not whole:
            value = (value[:1] if value.ndim else value).sum().astype(part.dtype)
            value = value + j.numpy.zeros_like(part)
        if kind == "set":
            ref[index] = value
        elif kind == "add":
            ref[index] += value
        elif kind == "swap":
            total += j.ref.swap(ref, index, value).sum()
        elif kind == "addupdate":
            j.ref.addupdate(ref, index, value)
        elif kind == "view":
            # JAX has views of references that a program is staged for, alone.
            if j is jax:
                ref[index] = value
            else:
                ref.at[index][...] = value
        else:
            total += (part * (number + 1)).sum()
    return total


def plain(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    return run(j, ref, scalar(j, dtype), found), ref[...]


def jitted(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    f = j.jit(lambda ref, x: run(j, ref, x, found))
    return f(ref, scalar(j, dtype)), f(ref, scalar(j, dtype) + 1), ref[...]


def closed_over(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    return j.jit(lambda x: run(j, ref, x, found))(scalar(j, dtype)), ref[...]


def of_its_own(j, shape, dtype, found):
    def f(a, x):
        ref = j.new_ref(a)
        y = run(j, ref, x, found)
        return y, j.freeze(ref)

    return j.jit(f)(first(j, shape, dtype), scalar(j, dtype))


def scanned(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    body = lambda c, x: (c + run(j, ref, x, found), c)  # noqa: E731
    xs = j.numpy.arange(3).astype(dtype)
    return j.lax.scan(body, scalar(j, dtype) * 0, xs), ref[...]


def looped(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    body = lambda i, c: c + run(j, ref, i.astype(dtype), found)  # noqa: E731
    return j.lax.fori_loop(0, 2, body, scalar(j, dtype) * 0), ref[...]


def chosen(j, shape, dtype, found):
    ref = j.new_ref(first(j, shape, dtype))
    branch = lambda x: run(j, ref, x, found)  # noqa: E731
    y = j.lax.cond(scalar(j, dtype) > 0, branch, lambda x: x, scalar(j, dtype))
    return y, ref[...]


def differentiated(j, shape, dtype, found):
    def f(a, x):
        ref = j.new_ref(a)
        y = run(j, ref, x, found)
        return y + (ref[...] ** 2).sum()

    run_both = j.jit(j.value_and_grad(f, (0, 1)))
    return run_both(first(j, shape, "float32"), scalar(j, "float32"))


def pushed(j, shape, dtype, found):
    def f(a, x):
        ref = j.new_ref(a)
        return run(j, ref, x, found), ref[...]

    point = first(j, shape, "float32"), scalar(j, "float32")
    return j.jit(lambda x, t: j.jvp(f, x, t))(point, (point[0] + 1, point[1]))


def batched(j, shape, dtype, found):
    def f(a, x):
        ref = j.new_ref(a)
        return run(j, ref, x, found), ref[...]

    over = j.numpy.arange(3).astype(dtype)
    return j.jit(j.vmap(f, (None, 0)))(first(j, shape, dtype), over)


def first(j, shape, dtype):
    return j.numpy.arange(np.prod(shape)).reshape(shape).astype(dtype)


def scalar(j, dtype):
    return j.numpy.array(2, dtype)


FORMS = (
    plain, jitted, closed_over, of_its_own, scanned, looped, chosen, differentiated, pushed, batched,
)  # fmt: skip


def compare(form, program):
    ours, theirs = (j.tree.leaves(form(j, *program)) for j in LIBRARIES)
    for x, y in zip(ours, theirs, strict=True):
        assert (x.shape, str(x.dtype)) == (y.shape, str(y.dtype))
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


@pytest.mark.spread(4)
@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@given(program=programs())
def test_reads_and_writes(form, program):
    compare(form, program)


@pytest.mark.spread(16)
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("platform", ["xla", "iree"])
def test_on_other_backends(platform, seed):
    rng = np.random.default_rng(seed)
    places = [(Ellipsis,), (int(rng.integers(3)),), (slice(1, 3),), (slice(0, 2), 1), (np.array([2, 0], np.int32),)]  # fmt: skip
    kinds = ["set", "add", "swap", "addupdate", "view", "read"]
    found = [
        (kinds[rng.integers(6)], places[rng.integers(5)], int(rng.integers(-3, 4)), bool(rng.integers(2)))
        for _ in range(3)
    ]  # fmt: skip
    form = (jitted, scanned, of_its_own, chosen)[seed % 4]
    with plugjax.default_device(plugjax.devices(platform)[0]):
        compare(form, ((3, 2), "float32", found))
