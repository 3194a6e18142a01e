"""Elementwise functions and promotion against JAX."""

import numpy as onp
import pytest

import plugjax
import plugjax.numpy as jnp

_rng = onp.random.RandomState(0)
F = _rng.randn(3, 4).astype(onp.float32)
G = _rng.randn(3, 4).astype(onp.float32)
V = _rng.randn(4).astype(onp.float32)
I = _rng.randint(-5, 6, (3, 4)).astype(onp.int32)  # Integers.
U = _rng.randint(0, 9, (3, 4)).astype(onp.uint8)
B = _rng.rand(3, 4) > 0.5
C = (F + 1j * F[::-1]).astype(onp.complex64)
H = F.astype(onp.float16)
P = onp.abs(F) + onp.float32(0.1)
N = onp.where(B, F, onp.float32(onp.nan))

UNARY = [
    "abs",
    "arcsin",
    "arcsinh",
    "arctan",
    "bitwise_count",
    "cbrt",
    "ceil",
    "conj",
    "cos",
    "deg2rad",
    "exp",
    "expm1",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log1p",
    "log2",
    "logical_not",
    "nan_to_num",
    "negative",
    "real",
    "reciprocal",
    "rint",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
BINARY = [
    "add",
    "arctan2",
    "copysign",
    "divide",
    "divmod",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "hypot",
    "less",
    "logaddexp",
    "logical_and",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "power",
    "remainder",
    "subtract",
]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("x", [F, I, B, P], ids="FIBP")
def test_unary(agree, name, x):
    agree(lambda np: getattr(np, name)(x))


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "pair", [(F, G), (F, I), (I, 2.5), (F, V), (3, F), (I, U), (H, F)], ids=str
)
def test_binary(agree, name, pair):
    agree(lambda np: getattr(np, name)(*pair))


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("pair", [(I, 2), (U, U), (B, B), (F, I)], ids=str)
def test_bits(agree, name, pair):
    agree(lambda np: getattr(np, name)(*pair))


@pytest.mark.parametrize(
    "expression",
    [
        lambda np: np.round(F, 2),
        lambda np: np.clip(I, -2.5),
        lambda np: np.power(F, 2),
        lambda np: np.power(I, -1),
        lambda np: np.angle(C),
        lambda np: np.modf(F),
        lambda np: np.ldexp(F, I),
        lambda np: np.frexp(F),
        lambda np: np.isclose(F, G, equal_nan=True),
        lambda np: np.array_equal(N, N, equal_nan=True),
        lambda np: np.where(B, F, 0),
        lambda np: np.where(B, 1, 2.0),
        lambda np: np.where(None, F, 0),
        lambda np: np.add([1], 2),
        lambda np: np.add(None, 2),
        lambda np: np.add("a", 2),
        lambda np: np.add(V, V[:3]),
        lambda np: np.add(F, V[:3]),
        lambda np: np.asarray(U) - 300,
        lambda np: np.asarray(I) * 2**40,
    ],
)
def test_cases(agree, expression):
    agree(expression)


def test_python_scalars_are_staged_as_literals():
    jaxpr = plugjax.make_jaxpr(lambda x: x * 2.0)(jnp.ones(4))
    assert str(jaxpr) == "{ lambda ; a:f32[4]. let b:f32[4] = mul a 2.0:f32[] in (b,) }"


def test_strict_promotion_refuses_mixed_dtypes():
    with plugjax.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="strict"):
        jnp.add(jnp.ones(2), jnp.arange(2))


def test_rank_promotion_can_be_refused():
    with plugjax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        jnp.add(jnp.ones((2, 2)), jnp.ones(2))


def test_promote_types(agree):
    names = ["bool", "int8", "int32", "int64", "uint32", "uint64", "bfloat16", "float32", "float64", "complex64"]  # fmt: skip

    def table(np):
        both = [getattr(np, name, name) for name in names] + [int, float, complex]
        return [str(np.promote_types(a, b)) for a in both for b in both]

    agree(table)
    with plugjax.enable_x64(True):
        assert str(jnp.promote_types("int8", "uint32")) == "int64"
