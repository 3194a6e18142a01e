"""Shapes, joining, splitting, repeating and padding against JAX."""

import numpy as onp
import pytest

import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
G = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
T = _rng.randn(2, 3, 4).astype(onp.float32)
I = _rng.randint(-5, 6, (3, 4)).astype(onp.int32)  # Integers.


@pytest.mark.parametrize("shape", [(4, 3), (-1,), (2, -1), 12, (5, -1), (7,), (-1, -1)], ids=str)
def test_reshape(agree, shape):
    agree(lambda np: np.asarray(F).reshape(shape))


@pytest.mark.parametrize(
    "name", ["concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"]
)
@pytest.mark.parametrize("arrays", [[F, G], [F, I], [V, V]], ids=["same", "mixed", "vectors"])
def test_joining(agree, name, arrays):
    agree(lambda np: getattr(np, name)(arrays))


@pytest.mark.parametrize(
    "mode",
    [
        "constant",
        "edge",
        "reflect",
        "symmetric",
        "wrap",
        "mean",
        "maximum",
        "minimum",
        "linear_ramp",
    ],
)
@pytest.mark.parametrize("width", [1, (1, 2), ((1, 0), (0, 2))], ids=str)
def test_pad(agree, mode, width):
    agree(lambda np: np.pad(F, width, mode=mode))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.transpose(T, (1, 2, 0)),
        lambda np: np.moveaxis(T, (0, 1), (2, 0)),
        lambda np: np.expand_dims(F, (0, 2)),
        lambda np: np.squeeze(F, 0),
        lambda np: np.broadcast_to(F[:, :1], (2, 3, 4)),
        lambda np: np.broadcast_to(V, (3, 3)),
        lambda np: np.broadcast_shapes((3, 1), (4,)),
        lambda np: np.concatenate([F, V], axis=None),
        lambda np: np.stack([]),
        lambda np: np.block([[F, G], [G, F]]),
        lambda np: np.split(V, 2),
        lambda np: np.split(V, 3),
        lambda np: np.array_split(V, 3),
        lambda np: np.split(V, [1, 3]),
        lambda np: np.tile(F, (1, 2, 3)),
        lambda np: np.repeat(F, 3, axis=0),
        lambda np: np.repeat(F, onp.array([1, 0, 2]), axis=0, total_repeat_length=5),
        lambda np: np.roll(F, (1, 2), (0, 1)),
        lambda np: np.rot90(F, 3),
        lambda np: np.flip(T, (0, 2)),
        lambda np: np.diff(F, 2),
        lambda np: np.diff(F, axis=0, prepend=0, append=1.0),
        lambda np: np.pad(F, ((1, 1), (2, 2)), constant_values=((1, 2), (3, 4))),
        lambda np: np.asarray(F).view(np.int32),
        lambda np: np.unstack(F, axis=1),
    ],
)
def test_cases(agree, expression):
    agree(expression)


VIEWED = ["uint8", "int16", "float16", "float32", "int32", "complex64"]


@pytest.mark.parametrize("dtype", VIEWED)
@pytest.mark.parametrize("shape", [(), (3,), (2, 4), (0,), (8,)])
def test_views_have_the_bits_of_numpy_s(shape, dtype):
    x = (onp.arange(onp.prod(shape, dtype=int)).reshape(shape) + 1).astype(dtype)
    for wanted in VIEWED:
        try:
            expected = x.view(wanted)
        except ValueError:
            with pytest.raises(ValueError, match="view"):
                jnp.asarray(x).view(wanted)
            continue
        found = onp.asarray(jnp.asarray(x).view(wanted))
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.tobytes() == expected.tobytes()
