"""The array API standard 2024.12: names, parameters, dtypes, the inspection functions, and values against NumPy's namespace.

NumPy's main namespace implements the standard, with 64-bit types by default as the standard's own; so the oracle is asked
with ``enable_x64``. Shapes, dtypes and axes are drawn by hypothesis.
"""

import inspect
import operator

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
import plugjax.numpy as jnp

FUNCTIONS = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "broadcast_arrays",
    "broadcast_to",
    "can_cast",
    "ceil",
    "clip",
    "concat",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "expand_dims",
    "expm1",
    "eye",
    "finfo",
    "flip",
    "floor",
    "floor_divide",
    "from_dlpack",
    "full",
    "full_like",
    "greater",
    "greater_equal",
    "hypot",
    "iinfo",
    "imag",
    "isdtype",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "moveaxis",
    "multiply",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]
LINALG = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
FFT = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
METHODS = [
    "__abs__",
    "__add__",
    "__and__",
    "__array_namespace__",
    "__bool__",
    "__complex__",
    "__dlpack__",
    "__dlpack_device__",
    "__eq__",
    "__float__",
    "__floordiv__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__index__",
    "__int__",
    "__invert__",
    "__le__",
    "__lshift__",
    "__lt__",
    "__matmul__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__neg__",
    "__or__",
    "__pos__",
    "__pow__",
    "__rshift__",
    "__setitem__",
    "__sub__",
    "__truediv__",
    "__xor__",
    "to_device",
    "T",
    "device",
    "dtype",
    "mT",
    "ndim",
    "shape",
    "size",
]


@pytest.fixture(autouse=True)
def x64():
    with plugjax.enable_x64(True):
        yield


def test_everything_is_there():
    for names, namespace in (
        (FUNCTIONS + CONSTANTS + DTYPES, jnp),
        (LINALG, jnp.linalg),
        (FFT, jnp.fft),
    ):
        assert not [n for n in names if not hasattr(namespace, n)]
    x = jnp.ones((2, 2))
    assert not [n for n in METHODS if not hasattr(x, n)]
    assert x.__array_namespace__() is jnp
    for version in ("2021.12", "2024.12"):
        assert x.__array_namespace__(api_version=version) is jnp
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="1066.10")


# Parameters that are named in the standard, and not in NumPy.
KEYWORDS = {
    "arange": ["start", "stop", "step", "dtype", "device"],
    "asarray": ["dtype", "device", "copy"],
    "astype": ["copy", "device"],
    "clip": ["min", "max"],
    "cumulative_sum": ["axis", "dtype", "include_initial"],
    "cumulative_prod": ["axis", "dtype", "include_initial"],
    "eye": ["k", "dtype", "device"],
    "full": ["dtype", "device"],
    "linspace": ["endpoint", "dtype", "device"],
    "ones": ["dtype", "device"],
    "reshape": ["copy"],
    "searchsorted": ["side", "sorter"],
    "std": ["axis", "correction", "keepdims"],
    "take_along_axis": ["axis"],
    "tile": [],
    "unstack": ["axis"],
    "var": ["axis", "correction", "keepdims"],
    "vecdot": ["axis"],
    "zeros_like": ["dtype", "device"],
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_parameters(name):
    parameters = inspect.signature(getattr(jnp, name)).parameters
    assert not [k for k in KEYWORDS[name] if k not in parameters]


def test_the_namespace_tells_of_itself():
    info = jnp.__array_namespace_info__()
    theirs = jax.numpy.__array_namespace_info__()
    assert info.capabilities() == theirs.capabilities()
    assert info.default_device() is None or info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == jnp.float64
    assert info.default_dtypes()["complex floating"] == jnp.complex128
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {
        "bool",
        "complex64",
        "complex128",
    }
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="quaternion")


KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


@pytest.mark.parametrize("kind", KINDS)
def test_isdtype(kind):
    for name in DTYPES:
        dtype = jnp.dtype(name)
        assert jnp.isdtype(dtype, kind) == (name in KINDS[kind])
        assert jnp.isdtype(dtype, (kind, dtype))
        assert not jnp.isdtype(dtype, ())
    with pytest.raises((ValueError, TypeError)):
        jnp.isdtype(jnp.dtype("int8"), "no kind")


def test_promotion_is_the_standard_s():
    """Promotion agrees with the standard where it defines a result; Python scalars adopt the dtype within their kind."""
    same = [KINDS["signed integer"], KINDS["unsigned integer"], KINDS["real floating"]]
    for group in same:
        for i, a in enumerate(group):
            for b in group[i:]:
                assert jnp.result_type(jnp.dtype(a), jnp.dtype(b)) == jnp.dtype(b)
    mixed = {("int8", "uint8"): "int16", ("int32", "uint8"): "int32", ("int16", "uint32"): "int64"}
    mixed |= {("float64", "complex64"): "complex128", ("float32", "complex64"): "complex64"}
    for (a, b), c in mixed.items():
        assert jnp.result_type(jnp.dtype(a), jnp.dtype(b)) == jnp.dtype(c)
    for name in KINDS["numeric"]:
        x = jnp.ones(2, name)
        assert (x + 1).dtype == x.dtype
        assert (1 * x).dtype == x.dtype
    assert (jnp.ones(2, "float32") + 1.5).dtype == jnp.float32
    assert (jnp.ones(2, "float32") * 1j).dtype == jnp.complex64


def test_devices_by_name_and_dlpack():
    x = jnp.arange(6, dtype="float32").reshape(2, 3)
    for device in jnp.__array_namespace_info__().devices():
        there = jnp.asarray(x, device=device)
        assert there.device == device
        assert jnp.zeros(3, device=device).device == device
        assert x.to_device(device).device == device
    assert jnp.zeros(2, device="xla").device == plugjax.devices("xla")[0]
    np.testing.assert_array_equal(np.from_dlpack(x), x)
    np.testing.assert_array_equal(jnp.from_dlpack(np.arange(3)), [0, 1, 2])
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1


HOST_VALUES = {
    "a slice": lambda: jnp.arange(6)[::2],
    "backwards": lambda: jnp.arange(6)[::-1],
    "an element": lambda: jnp.arange(3)[1],
    "a result": lambda: plugjax.jit(lambda: jnp.arange(3))(),
    "an argument": lambda: jnp.asarray(np.arange(3)),
    "nothing": lambda: jnp.ones((0, 3)),
    "bools": lambda: jnp.arange(4)[::2] > 1,
}


@pytest.mark.parametrize("name", HOST_VALUES)
def test_dlpack_before_and_since_version_1(name, on_backend):
    class Old:
        """A consumer that does not know of versions."""

        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **_):
            return self.x.__dlpack__()

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

    x = HOST_VALUES[name]()
    for exporter in (x, Old(x)):
        np.testing.assert_array_equal(np.from_dlpack(exporter), x)
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    shared = np.from_dlpack(Old(x))
    address = np.asarray(x).__array_interface__["data"][0]
    assert shared.size == 0 or shared.__array_interface__["data"][0] == address


ZEROS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan, 3.0]


@pytest.mark.spread(8)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name", ["floor_divide", "remainder", "fmod", "divide", "copysign", "atan2"]
)
def test_signs_of_zero_are_those_of_jax(name, dtype, on_backend):
    a, b = (v.ravel().astype(dtype) for v in np.meshgrid(ZEROS, ZEROS))
    with jax.enable_x64(True):
        expected = np.asarray(getattr(jax.numpy, name)(a, b))
    for found in (getattr(jnp, name)(a, b), plugjax.jit(getattr(jnp, name))(a, b)):
        np.testing.assert_allclose(found, expected, rtol=1e-3)
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(found)[zero], np.signbit(expected)[zero])


LIMITS = {"int8": 100, "uint8": 100}


@st.composite
def arrays(draw, dtypes, shape=None, low=None):
    """Small integers, so that sums are exact in every dtype, or fractions of them."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(0, 3), max_size=3).map(tuple)) if shape is None else shape
    kind = np.dtype(dtype).kind
    low = (0 if kind in "bu" else -5) if low is None else low
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(low, 5), min_size=count, max_size=count))
    x = np.array(values, np.float64).reshape(shape)
    if kind in "fc":
        x = x + 0.25
    if kind == "c":
        x = x + 1j * (x[::-1] if shape else x)
    return x.astype(dtype)


def close(found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            close(a, b)
        return
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    single = expected.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if single else 1e-12, atol=1e-6)


NUMBERS = DTYPES[1:]
REAL = DTYPES[1:11]
INTEGERS = DTYPES[1:9]
FLOATS = ["float32", "float64", "complex64", "complex128"]
ELEMENTWISE = {
    **dict.fromkeys(["abs", "negative", "positive", "sign", "square", "conj"], NUMBERS),
    **dict.fromkeys(
        [
            "exp",
            "expm1",
            "sin",
            "sinh",
            "cos",
            "cosh",
            "tan",
            "tanh",
            "sqrt",
            "reciprocal",
            "asinh",
            "atan",
        ],
        FLOATS,
    ),
    **dict.fromkeys(["ceil", "floor", "trunc", "round"], REAL),
    **dict.fromkeys(["isfinite", "isinf", "isnan"], NUMBERS),
    "real": ["complex64", "complex128"],
    "imag": ["complex64", "complex128"],
    "bitwise_invert": [*INTEGERS, "bool"],
    "logical_not": ["bool"],
    "signbit": ["float32", "float64"],
}
BINARY = {
    **dict.fromkeys(["add", "multiply", "subtract", "equal", "not_equal"], NUMBERS),
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal", "maximum", "minimum"], REAL),
    **{
        key: ["float32", "float64"]
        for key in ["hypot", "atan2", "copysign", "logaddexp", "nextafter"]
    },
    **{key: [*INTEGERS, "bool"] for key in ["bitwise_and", "bitwise_or", "bitwise_xor"]},
    **{key: ["bool"] for key in ["logical_and", "logical_or", "logical_xor"]},
    "divide": FLOATS,
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@given(data=st.data())
def test_elementwise(name, data):
    x = data.draw(arrays(ELEMENTWISE[name]))
    with np.errstate(all="ignore"):
        close(getattr(jnp, name)(jnp.asarray(x)), getattr(np, name)(x))


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary_functions_broadcast(name, data):
    x = data.draw(arrays(BINARY[name]))
    shape = tuple(
        data.draw(st.sampled_from([d, 1])) for d in x.shape[data.draw(st.integers(0, x.ndim)) :]
    )
    y = data.draw(arrays([x.dtype.name], shape))
    with np.errstate(all="ignore"):
        close(getattr(jnp, name)(jnp.asarray(x), jnp.asarray(y)), getattr(np, name)(x, y))
        close(getattr(jnp, name)(jnp.asarray(y), jnp.asarray(x)), getattr(np, name)(y, x))


OPERATORS = {
    "floordiv": (operator.floordiv, REAL, 1),
    "mod": (operator.mod, REAL, 1),
    "pow": (operator.pow, ["float32", "float64", "uint8", "int32"], 0),
    "lshift": (operator.lshift, INTEGERS, 0),
    "rshift": (operator.rshift, INTEGERS, 0),
    "matmul": (operator.matmul, NUMBERS, None),
    "xor": (operator.xor, [*INTEGERS, "bool"], None),
}


@pytest.mark.parametrize("name", OPERATORS)
@given(data=st.data())
def test_operators(name, data):
    apply, dtypes, low = OPERATORS[name]
    x = data.draw(arrays(dtypes, (2, 2)))
    y = data.draw(arrays([x.dtype.name], (2, 2), low))
    with np.errstate(all="ignore"):
        close(apply(jnp.asarray(x), jnp.asarray(y)), apply(x, y))


REDUCTIONS = {
    "sum": NUMBERS,
    "prod": ["int32", "uint32", "float32", "float64", "complex128"],
    "max": REAL,
    "min": REAL,
    "mean": ["float32", "float64", "complex64"],
    "std": ["float32", "float64"],
    "var": ["float32", "float64"],
    "any": DTYPES,
    "all": DTYPES,
    "count_nonzero": DTYPES,
}


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    x = data.draw(arrays(REDUCTIONS[name], shape))
    axes = st.one_of(
        st.none(),
        st.integers(-x.ndim, x.ndim - 1),
        st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1).map(tuple),
    )
    options = {"axis": data.draw(axes), "keepdims": data.draw(st.booleans())}
    if name in ("sum", "prod", "max", "min") and x.dtype.kind not in "biu":
        options.pop("keepdims")
    close(getattr(jnp, name)(jnp.asarray(x), **options), getattr(np, name)(x, **options))


ALONG = {
    "argmax": lambda xp, x, a: xp.argmax(x, axis=a),
    "argmin": lambda xp, x, a: xp.argmin(x, axis=a, keepdims=True),
    "argsort": lambda xp, x, a: xp.argsort(x, axis=a, stable=True),
    "sort": lambda xp, x, a: xp.sort(x, axis=a),
    "cumulative_sum": lambda xp, x, a: xp.cumulative_sum(x, axis=a, include_initial=True),
    # As in JAX, products of small integers keep their dtype.
    "cumulative_prod": lambda xp, x, a: xp.astype(xp.cumulative_prod(x, axis=a), xp.float64),
    "diff": lambda xp, x, a: xp.diff(x, axis=a),
    "flip": lambda xp, x, a: xp.flip(x, axis=a),
    "roll": lambda xp, x, a: xp.roll(x, 2, axis=a),
    "repeat": lambda xp, x, a: xp.repeat(x, 2, axis=a),
    "take": lambda xp, x, a: xp.take(x, xp.asarray([0, 0]), axis=a),
    "take_along_axis": lambda xp, x, a: xp.take_along_axis(x, xp.argsort(x, axis=a), axis=a),
    "expand_dims": lambda xp, x, a: xp.expand_dims(x, axis=a),
    "concat": lambda xp, x, a: xp.concat([x, x], axis=a),
    "stack": lambda xp, x, a: xp.stack([x, x], axis=a),
    "unstack": lambda xp, x, a: list(xp.unstack(x, axis=a)),
    "moveaxis": lambda xp, x, a: xp.moveaxis(x, a, 0),
    "vecdot": lambda xp, x, a: xp.vecdot(x, x, axis=a),
    "vector_norm": lambda xp, x, a: xp.linalg.vector_norm(xp.astype(x, xp.float64), axis=a),
    "tensordot": lambda xp, x, a: xp.tensordot(x, x, axes=[[a], [a]]),
    "fft": lambda xp, x, a: xp.fft.fft(xp.astype(x, xp.complex128), axis=a),
}


@pytest.mark.parametrize("name", ALONG)
@given(data=st.data())
def test_along_an_axis(name, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    x = data.draw(arrays(["int32", "float32", "float64"], shape))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    close(ALONG[name](jnp, jnp.asarray(x), axis), ALONG[name](np, x, axis))


SHAPES = {
    "reshape": lambda xp, x: xp.reshape(x, (-1,), copy=True),
    "permute_dims": lambda xp, x: xp.permute_dims(x, tuple(reversed(range(x.ndim)))),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, *x.shape)),
    "tile": lambda xp, x: xp.tile(x, (2, 1)),
    "tril": lambda xp, x: xp.tril(xp.expand_dims(x, axis=0), k=-1) if x.ndim else x,
    "where": lambda xp, x: xp.where(x > 0, x, xp.zeros_like(x)),
    "clip": lambda xp, x: xp.clip(x, 1, 3),
    "squeeze": lambda xp, x: xp.squeeze(xp.expand_dims(x, axis=0), axis=0),
    "nonzero": lambda xp, x: list(xp.nonzero(x)) if x.ndim else [],
    "unique_counts": lambda xp, x: list(xp.unique_counts(x)),
    "unique_inverse": lambda xp, x: list(xp.unique_inverse(x)),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "eye": lambda xp, x: xp.eye(3, 4, k=1, dtype=x.dtype),
    "meshgrid": lambda xp, x: list(xp.meshgrid(xp.reshape(x, (-1,)), xp.arange(2), indexing="ij")),
    "astype": lambda xp, x: xp.astype(x, xp.complex64),
    # As in JAX, indices are int32.
    "searchsorted": lambda xp, x: xp.astype(
        xp.searchsorted(xp.asarray([0.0, 1, 2]), xp.astype(x, xp.float64)), xp.int32
    ),
}


@pytest.mark.parametrize("name", SHAPES)
@given(x=arrays(["int32", "int64", "float32", "float64"]))
def test_shapes_and_choices(name, x):
    close(SHAPES[name](jnp, jnp.asarray(x)), SHAPES[name](np, x))


MATRICES = {
    "cholesky": lambda xp, a: xp.linalg.cholesky(a),
    "det": lambda xp, a: xp.linalg.det(a),
    "inv": lambda xp, a: xp.linalg.inv(a),
    "eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a),
    "svdvals": lambda xp, a: xp.linalg.svdvals(a),
    "matrix_norm": lambda xp, a: xp.linalg.matrix_norm(a, ord="nuc"),
    "matrix_rank": lambda xp, a: xp.astype(xp.linalg.matrix_rank(a), xp.int64),
    "pinv": lambda xp, a: xp.linalg.pinv(a),
    "slogdet": lambda xp, a: list(xp.linalg.slogdet(a)),
    "solve": lambda xp, a: xp.linalg.solve(a, xp.ones(3, dtype=a.dtype)),
    "trace": lambda xp, a: xp.linalg.trace(a, offset=1),
    "cross": lambda xp, a: xp.linalg.cross(a, xp.flip(a, axis=0)),
    "outer": lambda xp, a: xp.linalg.outer(a[0], a[1]),
    "matrix_power": lambda xp, a: xp.linalg.matrix_power(a, -2),
}


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", MATRICES)
def test_linear_algebra(name, dtype):
    rows = np.array([[4, 1, 0], [1, 3, 1], [0, 1, 2]], dtype)
    if dtype == "complex128":
        rows = rows + 0.5j * (np.triu(rows, 1) - np.tril(rows, -1))
    close(MATRICES[name](jnp, jnp.asarray(rows)), MATRICES[name](np, rows))
