"""`plugjax.nn` and its initializers on drawn operands and options: JAX's types and errors, values of NumPy and SciPy."""

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given, strategies as st

from tests.drawn import DTYPES, agree, arrays, axes_of, operands

erf = scipy.special.erf
expit = scipy.special.expit
SOFT = lambda x: np.logaddexp(x, 0)  # noqa: E731

# Functions of one array, and their references.
ACTIVATIONS = {
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "identity": lambda x: x,
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "log1mexp": lambda x: np.log(-np.expm1(-x)),
    "log_sigmoid": lambda x: -SOFT(-x),
    "mish": lambda x: x * np.tanh(SOFT(x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "soft_sign": lambda x: x / (1 + abs(x)),
    "softplus": SOFT,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "swish": lambda x: x * expit(x),
    "tanh": np.tanh,
}
OPTIONS = {
    "celu": lambda nn, x, p: nn.celu(x, p),
    "elu": lambda nn, x, p: nn.elu(x, p),
    "leaky_relu": lambda nn, x, p: nn.leaky_relu(x, p),
    "squareplus": lambda nn, x, p: nn.squareplus(x, p),
    "gelu": lambda nn, x, p: nn.gelu(x, approximate=False),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@given(data=st.data())
def test_activations(name, data):
    low = 0.1 if name == "log1mexp" else -3
    x = data.draw(operands(DTYPES, low=low))
    known = x.dtype.name in ("float32", "float16", "bfloat16")
    agree(lambda _, j, x: getattr(j.nn, name)(x), ACTIVATIONS[name] if known else None, x, tolerance=4)  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
@given(data=st.data())
def test_options_of_activations(name, data):
    x = data.draw(operands(DTYPES))
    p = data.draw(operands(["float32", "float16", "int32"], st.sampled_from([(), x.shape]), 0.5, 2))
    agree(lambda _, j, x, p: OPTIONS[name](j.nn, x, p), None, x, p)


@given(data=st.data())
def test_glu(data):
    x = data.draw(operands(DTYPES))
    axis = data.draw(axes_of(x.ndim, several=False))
    # JAX asserts that the size is even.
    assume(not -x.ndim <= axis < x.ndim or x.shape[axis] % 2 == 0)

    def oracle(x):
        a, b = np.split(x, 2, axis)
        return a * expit(b)

    known = x.dtype == "float32" and -x.ndim <= axis < x.ndim and x.shape[axis] % 2 == 0
    agree(lambda _, j, x: j.nn.glu(x, axis), oracle if known else None, x)


def masked(f, where, fill):
    return f if where is None else lambda x, **options: f(np.where(where, x, fill), **options)


@st.composite
def wheres(draw, x):
    """Nothing, or a mask that keeps some elements."""
    if draw(st.booleans()):
        return None
    # JAX lets a mask stretch the array.
    wrong = [(5,)] if x.shape[-1:] not in ((), (1,)) else []
    return draw(arrays(["bool"], st.sampled_from([x.shape, x.shape, (), x.shape[1:], *wrong])))


NORMALIZED = {
    "softmax": scipy.special.softmax,
    "log_softmax": scipy.special.log_softmax,
}


@pytest.mark.parametrize("name", NORMALIZED)
@given(data=st.data())
def test_softmax(name, data):
    x = data.draw(operands(DTYPES))
    axis, where = data.draw(axes_of(x.ndim)), data.draw(wheres(x))
    known = where is None and x.size and x.dtype.kind != "c"
    args = () if where is None else (where,)
    agree(
        lambda _, j, x, *w: getattr(j.nn, name)(x, axis, *w),
        (lambda x: NORMALIZED[name](x, axis=axis)) if known else None,
        x,
        *args,
        tolerance=2,
    )


@given(data=st.data())
def test_logsumexp(data):
    x = data.draw(operands(DTYPES))
    axis, where = data.draw(axes_of(x.ndim)), data.draw(wheres(x))
    options = {"axis": axis, "keepdims": data.draw(st.booleans()), "return_sign": data.draw(st.booleans())}  # fmt: skip
    b = data.draw(st.sampled_from([None, None, "of its shape"]))
    b = None if b is None else data.draw(operands(["float32", "int32", "complex64"], st.just(x.shape)))  # fmt: skip
    args = [a for a in (b, where) if a is not None]

    def call(_, j, x, *rest):
        rest = list(rest)
        given = {}
        if b is not None:
            given["b"] = rest.pop(0)
        if where is not None:
            given["where"] = rest.pop(0)
        return j.nn.logsumexp(x, **options, **given)

    agree(call, None, x, *args)
    del options["return_sign"]
    known = x.size and x.dtype != bool
    agree(
        lambda _, j, x: j.nn.logsumexp(x, **options),
        (lambda x: scipy.special.logsumexp(x, **options)) if known else None,
        x,
    )
    agree(
        lambda _, j, x: j.nn.logmeanexp(x, **options),
        (lambda x: np.log(np.mean(np.exp(x), **options))) if known and x.dtype.kind != "c" else None,
        x,
        tolerance=4,
    )  # fmt: skip


@given(data=st.data())
def test_standardize(data):
    x = data.draw(operands(DTYPES))
    axis, where = data.draw(axes_of(x.ndim)), data.draw(wheres(x))
    args = () if where is None else (where,)

    def call(_, j, x, *w):
        return j.nn.standardize(x, axis, where=w[0] if w else None)

    def oracle(x):
        variance = np.var(x, axis, keepdims=True)
        return (x - np.mean(x, axis, keepdims=True)) / np.sqrt(variance + 1e-5)

    # The variance of equal elements is only rounding.
    known = where is None and x.size and x.dtype == "float32"
    known = known and (np.var(x, axis) > 1e-2).all() if known and all_axes(x, axis) else None
    agree(call, oracle if known else None, x, *args, tolerance=50)


def all_axes(x, axis):
    """Whether all axes exist."""
    axes = () if axis is None else (axis,) if isinstance(axis, int) else axis
    return all(-x.ndim <= d < x.ndim for d in axes)


@given(data=st.data())
def test_one_hot(data):
    x = data.draw(operands(DTYPES, low=-1, high=4))
    count, axis = data.draw(st.integers(-1, 4)), data.draw(st.integers(-x.ndim - 2, x.ndim + 1))
    dtype = data.draw(st.sampled_from([None, None, *DTYPES, float, int]))

    def oracle(x):
        shape = [1] * (x.ndim + 1)
        shape[axis] = count
        return np.expand_dims(x, axis) == np.arange(count).reshape(shape)

    agree(
        lambda _, j, x: j.nn.one_hot(x, count, dtype=dtype, axis=axis),
        oracle if x.dtype.kind in "iu" else None,
        x,
    )


@given(data=st.data())
def test_attention(data):
    batch, targets, sources = data.draw(st.sampled_from([(), (2,), (3,)])), *(data.draw(st.integers(1, 4)) for _ in range(2))  # fmt: skip
    kv_heads, groups, size = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))  # fmt: skip
    heads = kv_heads * groups
    dtype = data.draw(st.sampled_from(["float32", "float32", "float16", "bfloat16", "int32"]))
    shapes = [(*batch, targets, heads, size), *[(*batch, sources, kv_heads, size)] * 2]
    wrong = data.draw(st.integers(0, 12))
    if wrong < 3:
        # JAX adds axes to operands of too low rank.
        shapes[wrong] = data.draw(st.sampled_from([(*shapes[wrong][:-1], 5), (4, *shapes[wrong])]))  # fmt: skip
    q, k, v = (data.draw(operands([dtype if data.draw(st.integers(0, 20)) else "float32"], st.just(s))) for s in shapes)  # fmt: skip
    options, extra = {}, {}
    full = (*(batch or (1,)), heads, targets, sources)
    some = tuple(n if data.draw(st.booleans()) else 1 for n in full)
    if data.draw(st.booleans()):
        extra["bias"] = data.draw(arrays([dtype], st.just(some)))
    if data.draw(st.booleans()):
        extra["mask"] = data.draw(arrays(["bool"] * 9 + ["float32"], st.just(some)))
    if batch and data.draw(st.integers(0, 2)) == 0:
        extra["query_seq_lengths"] = data.draw(arrays(["int32"], st.just(batch), 0, 4))
        extra["key_value_seq_lengths"] = data.draw(arrays(["int32"], st.just(batch), 0, 4))
    options["is_causal"] = data.draw(st.booleans())
    options["scale"] = data.draw(st.sampled_from([None, None, 0.5]))
    options["local_window_size"] = data.draw(st.sampled_from([None, None, 1, (1, 2), (0, 0)]))
    options["implementation"] = data.draw(st.sampled_from([None, None, "xla", "nonsense"]))

    def call(_, j, q, k, v, *rest):
        given = dict(zip(extra, rest, strict=True))
        return j.nn.dot_product_attention(q, k, v, **given, **options)

    def oracle(q, k, v, *rest):
        given = dict(zip(extra, rest, strict=True))
        k, v = (np.repeat(x, groups, -2) for x in (k, v))
        scores = np.einsum("...thd,...shd->...hts", q, k) * (options["scale"] or size**-0.5)
        scores = scores + given.get("bias", 0)
        allowed = np.ones(scores.shape if batch else full, bool)
        allowed &= given.get("mask", True)
        t, s = np.arange(targets)[:, None], np.arange(sources)
        if options["is_causal"]:
            allowed &= s <= t
        if options["local_window_size"] is not None:
            window = options["local_window_size"]
            left, right = window if isinstance(window, tuple) else (window, window)
            allowed &= (s >= t - left) & (s <= t + right)
        scores = np.where(allowed, scores, -1e30)
        out = np.einsum("...hts,...shd->...thd", scipy.special.softmax(scores, -1), v)
        return out.reshape((*shapes[0][:-1], size))

    known = wrong > 2 and dtype == "float32" and "query_seq_lengths" not in extra
    agree(call, oracle if known else None, q, k, v, *extra.values(), tolerance=10)


# Initializers -------------------------------------------------------------------------------------

INITIALIZERS = {
    "zeros": lambda i, o: i.zeros,
    "ones": lambda i, o: i.ones,
    "constant": lambda i, o: i.constant(0.5),
    "uniform": lambda i, o: i.uniform(),
    "normal": lambda i, o: i.normal(),
    "truncated_normal": lambda i, o: i.truncated_normal(),
    "variance_scaling": lambda i, o: i.variance_scaling(o["scale"], o["mode"], o["kind"], o["in"], o["out"], o["batch"]),
    "glorot_uniform": lambda i, o: i.glorot_uniform(o["in"], o["out"], o["batch"]),
    "glorot_normal": lambda i, o: i.glorot_normal(o["in"], o["out"], o["batch"]),
    "lecun_uniform": lambda i, o: i.lecun_uniform(o["in"], o["out"], o["batch"]),
    "lecun_normal": lambda i, o: i.lecun_normal(o["in"], o["out"], o["batch"]),
    "he_uniform": lambda i, o: i.he_uniform(o["in"], o["out"], o["batch"]),
    "he_normal": lambda i, o: i.he_normal(o["in"], o["out"], o["batch"]),
    "orthogonal": lambda i, o: i.orthogonal(2.0, o["out"]),
    "delta_orthogonal": lambda i, o: i.delta_orthogonal(2.0, o["out"]),
}  # fmt: skip


@pytest.mark.parametrize("name", INITIALIZERS)
@given(data=st.data())
def test_initializers(name, data):
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 3, 4, 0]), max_size=4)))
    axes = st.one_of(st.integers(-4, 3), st.lists(st.integers(-3, 2), max_size=2))
    o = {
        "in": data.draw(st.one_of(st.just(-2), axes)),
        "out": data.draw(st.one_of(st.just(-1), axes)),
        "batch": data.draw(st.one_of(st.just(()), st.just(()), axes)),
        "scale": data.draw(st.sampled_from([1.0, 2, 0.5])),
        "mode": data.draw(st.sampled_from(["fan_in", "fan_out", "fan_avg", "fan_geo_avg", "fan"])),
        "kind": data.draw(st.sampled_from(["normal", "truncated_normal", "uniform", "nonsense"])),
    }
    if name.endswith("orthogonal"):
        o["out"] = data.draw(st.integers(-4, 3))
    dtype = data.draw(st.sampled_from([None, "float32", "float32", "float16", "bfloat16", "complex64", "int32", "bool"]))  # fmt: skip
    args = () if dtype is None else (dtype,)
    agree(
        lambda _, j: INITIALIZERS[name](j.nn.initializers, o)(j.random.key(0), shape, *args), None
    )
