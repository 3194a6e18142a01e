"""Drawn programs over sizes that are not known: JAX runs what plugjax exports, plugjax runs what JAX exports, with JAX's types."""

import jax
import jax.export
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
import tests.drawn
from plugjax import export

LIBRARIES = {"plugjax": (plugjax, export), "jax": (jax, jax.export)}

# From an array with the axes (b, n), or what steps before made of it.
STEPS = {
    "sin": lambda np_, lax, x: np_.sin(x),
    "stretch": lambda np_, lax, x: x * np_.arange(x.shape[-1]),
    "transpose": lambda np_, lax, x: x.T,
    "flatten": lambda np_, lax, x: x.reshape(-1),
    "two rows": lambda np_, lax, x: np_.stack([x, x + 1]).reshape(2 * x.shape[0], *x.shape[1:]),
    "mean": lambda np_, lax, x: x - x.mean(0),
    "sum": lambda np_, lax, x: np_.sum(x, axis=-1, keepdims=True) / x.shape[-1],
    "cumsum": lambda np_, lax, x: np_.cumsum(x, axis=0),
    "concatenate": lambda np_, lax, x: np_.concatenate([x, x[:1]]),
    "pad": lambda np_, lax, x: np_.pad(x, 1),
    "slice": lambda np_, lax, x: x[1:],
    "last": lambda np_, lax, x: x[-1:],
    "reverse": lambda np_, lax, x: x[::-1],
    "dot": lambda np_, lax, x: np_.dot(x, x.T),
    "softmax": lambda np_, lax, x: np_.exp(x - x.max(-1, keepdims=True)),
    "where": lambda np_, lax, x: np_.where(x > 0, x, -1),
    "sort": lambda np_, lax, x: np_.sort(x, axis=-1),
    "argmax": lambda np_, lax, x: x + np_.argmax(x, axis=0),
    "take": lambda np_, lax, x: x[np_.zeros(2, int)],
    "set": lambda np_, lax, x: x.at[0].set(2),
    "size": lambda np_, lax, x: x * np_.asarray(x.shape[0]),
    "ones": lambda np_, lax, x: x + np_.ones(x.shape),
    "scan": lambda np_, lax, x: lax.scan(lambda c, y: (c + y, c), x[0], x)[1],
    "loop": lambda np_, lax, x: lax.fori_loop(0, x.shape[0], lambda i, c: c + i, x),
    "cond": lambda np_, lax, x: lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x),
    "dynamic_slice": lambda np_, lax, x: lax.dynamic_slice_in_dim(x, 0, 1),
    "tile": lambda np_, lax, x: np_.tile(x, 2),
    "expand": lambda np_, lax, x: x[None] + x[:, None],
    "outer": lambda np_, lax, x: np_.einsum("...i,...j->...ij", x, x),
}  # fmt: skip


def exported(name, steps, dtype):
    library, module = LIBRARIES[name]

    def f(x):
        for step in steps:
            x = STEPS[step](library.numpy, library.lax, x)
        return x

    shape = module.symbolic_shape("b, n", constraints=["b >= 2", "n >= 2"])
    found = module.export(library.jit(f), platforms=["cpu"])(library.ShapeDtypeStruct(shape, dtype))
    return found.serialize(), [a.str_short() for a in found.out_avals]


@st.composite
def programs(draw):
    steps = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3))
    return (
        steps,
        draw(st.sampled_from(["float32", "int32"])),
        draw(st.sampled_from([(2, 3), (4, 2)])),
    )


def compare(program, device):
    steps, dtype, shape = program
    theirs = tests.drawn.outcome(lambda: exported("jax", steps, dtype))
    ours = tests.drawn.outcome(lambda: exported("plugjax", steps, dtype))
    if isinstance(theirs, Exception):
        assert tests.drawn.same_error(ours, theirs), f"{ours!r} where JAX raises {theirs!r}"
        return
    assert not isinstance(ours, Exception), ours
    assert ours[1] == theirs[1]
    x = np.random.default_rng(0).integers(-3, 4, shape).astype(dtype)
    wanted = jax.export.deserialize(bytearray(theirs[0])).call(x)
    found = jax.export.deserialize(bytearray(ours[0])).call(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    with plugjax.default_device(plugjax.devices(device)[0]):
        for artifact in (ours[0], theirs[0]):
            again = export.deserialize(artifact).call(x)
            np.testing.assert_allclose(np.asarray(again), wanted, rtol=1e-4, atol=1e-4)


@given(program=programs())
def test_programs_pass_between_the_libraries(program):
    compare(program, "xla")


@pytest.mark.spread(12)
@pytest.mark.parametrize("step", sorted(STEPS))
def test_each_step(step):
    compare(([step], "float32", (3, 2)), "numpy")


@pytest.mark.parametrize("step", ["softmax", "scan"])
def test_on_iree(step):
    compare(([step], "float32", (2, 3)), "iree")
