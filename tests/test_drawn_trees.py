"""Pytrees, dtypes, images and segments on drawn values: JAX's results for the same tree, and the same errors."""

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple

import jax
import jax.dtypes
import jax.flatten_util
import jax.image
import jax.ops
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import plugjax
import plugjax.dtypes
import plugjax.flatten_util
import plugjax.image
import plugjax.ops
from tests.drawn import DTYPES, agree, arrays, operands, outcome, same_error

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Layer:
    weight: object
    name: str = "a"


for library in (plugjax, jax):
    library.tree_util.register_dataclass(Layer, data_fields=["weight"], meta_fields=["name"])

LEAVES = st.one_of(st.none(), st.integers(0, 9), st.just("leaf"), st.floats(0, 1))


def containers(children):
    some = st.lists(children, max_size=3)
    return st.one_of(
        some,
        some.map(tuple),
        st.tuples(children, children).map(lambda t: Pair(*t)),
        st.dictionaries(st.sampled_from("abc"), children, max_size=3),
        st.dictionaries(st.integers(0, 3), children, max_size=3),
        st.dictionaries(st.sampled_from("abc"), children, max_size=3).map(OrderedDict),
        st.dictionaries(st.sampled_from("abc"), children, max_size=3).map(lambda d: defaultdict(list, d)),
        st.tuples(children, st.sampled_from("ab")).map(lambda t: Layer(*t)),
    )  # fmt: skip


TREES = st.recursive(LEAVES, containers, max_leaves=8)
NUMBERS = st.recursive(st.integers(0, 9), containers, max_leaves=8)


def same(call, *trees):
    """The same result, as text unless it is a Python tree, or the same error."""
    ours, theirs = (outcome(lambda j=j: call(j)) for j in (plugjax, jax))
    if isinstance(theirs, Exception):
        assert same_error(ours, theirs), (ours, theirs)
    elif isinstance(ours, Exception):
        raise AssertionError(f"raises where JAX gives {theirs}") from ours
    else:
        assert ours == theirs, (ours, theirs)


USES = {
    "leaves": lambda j, a, b: j.tree.leaves(a),
    "leaves with None": lambda j, a, b: j.tree.leaves(a, is_leaf=lambda x: x is None),
    "counts": lambda j, a, b: (lambda t: (t.num_leaves, t.num_nodes))(j.tree.structure(a)),
    "equal structures": lambda j, a, b: j.tree.structure(a) == j.tree.structure(b),
    "there and back": lambda j, a, b: j.tree.unflatten(j.tree.structure(a), j.tree.leaves(a)),
    "too many leaves": lambda j, a, b: j.tree.unflatten(j.tree.structure(a), [*j.tree.leaves(a), 1]),
    "leaves of another": lambda j, a, b: j.tree.unflatten(j.tree.structure(a), j.tree.leaves(b)),
    "map": lambda j, a, b: j.tree.map(lambda x: (x, 1), a),
    "map of two": lambda j, a, b: j.tree.map(lambda x, y: [x, y], a, b),
    "map of itself": lambda j, a, b: j.tree.map(lambda x, y: [x, y], a, a),
    "map with a test": lambda j, a, b: j.tree.map(repr, a, is_leaf=lambda x: isinstance(x, tuple)),
    "reduce": lambda j, a, b: j.tree.reduce(lambda x, y: (x, y), a),
    "reduce from": lambda j, a, b: j.tree.reduce(lambda x, y: (x, y), a, 0),
    "all": lambda j, a, b: j.tree.all(a),
    "paths": lambda j, a, b: [j.tree_util.keystr(p) for p, _ in j.tree.leaves_with_path(a)],
    "simple paths": lambda j, a, b: [j.tree_util.keystr(p, simple=True, separator="/") for p, _ in j.tree.leaves_with_path(a)],
    "map with paths": lambda j, a, b: j.tree.map_with_path(lambda p, x: (j.tree_util.keystr(p), x), a),
    "broadcast": lambda j, a, b: j.tree.broadcast(a, b),
    "broadcast of a leaf": lambda j, a, b: j.tree.broadcast(1, b),
    "transpose": lambda j, a, b: j.tree.transpose(j.tree.structure(a), j.tree.structure([0, 0]), j.tree.map(lambda x: [x, x], a)),
    "transpose of another": lambda j, a, b: j.tree.transpose(j.tree.structure(a), None, b),
    "children": lambda j, a, b: [c.num_leaves for c in j.tree.structure(a).children()],
    "composed": lambda j, a, b: j.tree.structure(a).compose(j.tree.structure(b)).num_leaves,
    "treedef_tuple": lambda j, a, b: j.tree_util.treedef_tuple([j.tree.structure(a), j.tree.structure(b)]).num_nodes,
    "all_leaves": lambda j, a, b: j.tree_util.all_leaves(a if isinstance(a, list) else [a]),
    "treedef_is_leaf": lambda j, a, b: j.tree_util.treedef_is_leaf(j.tree.structure(a)),
    "flatten_one_level": lambda j, a, b: list(j.tree_util.tree_flatten(a)[0]),
}  # fmt: skip


# Functions of two trees; here dicts of different types fit together, as in optree; in JAX they do
# not.
TOGETHER = {"map of two", "broadcast", "leaves of another", "transpose of another"}


@pytest.mark.parametrize("name", USES)
@given(a=TREES, b=TREES)
def test_trees(name, a, b):
    assume(
        name not in TOGETHER
        or not any(word in repr((a, b)) for word in ("OrderedDict", "defaultdict"))
    )
    # JAX cannot transpose trees without leaves.
    assume(name != "transpose" or jax.tree.leaves(a))
    same(lambda j: USES[name](j, a, b))


@given(data=st.data())
def test_ravel_pytree(data):
    """Mixed dtypes, which the inverse restores."""
    dtypes = DTYPES if data.draw(st.booleans()) else ["float32", "int32"]
    xs = [data.draw(operands(dtypes)) for _ in range(data.draw(st.integers(0, 3)))]
    agree(lambda _, j, *xs: j.flatten_util.ravel_pytree({"a": list(xs), "b": (None, 2.5)})[0], None, *xs)  # fmt: skip

    def back(_, j, *xs):
        flat, unravel = j.flatten_util.ravel_pytree(list(xs))
        return unravel(flat)

    agree(back, lambda *xs: list(xs), *xs)


# dtypes -------------------------------------------------------------------------------------------

KINDS = ["integer", "floating", "inexact", "number", "signedinteger", "unsignedinteger", "complexfloating", "generic"]  # fmt: skip
NAMES = st.sampled_from([*DTYPES, "int64", "float64", "complex128", "uint64", int, float, complex, bool, "float8_e4m3fn", "int4", "nonsense"])  # fmt: skip


@given(data=st.data())
def test_dtypes(data):
    a, b = data.draw(NAMES), data.draw(NAMES)
    x = data.draw(operands(DTYPES))
    kind = getattr(np, data.draw(st.sampled_from(KINDS)))
    same(lambda j: str(j.dtypes.canonicalize_dtype(a)))
    same(lambda j: j.dtypes.issubdtype(a, b))
    same(lambda j: j.dtypes.issubdtype(a, kind))
    same(lambda j: str(j.dtypes.result_type(a, b)))
    same(lambda j: str(j.numpy.promote_types(a, b)))
    same(lambda j: j.dtypes.itemsize_bits(a))
    same(lambda j: j.numpy.isdtype(np.dtype(a), "integral"))
    agree(lambda n, j, x: n.zeros(2, j.dtypes.result_type(x, 2.5)), None, x)
    agree(lambda n, j, x: n.zeros(2, j.dtypes.result_type(x, a)), None, x)


# Segments -----------------------------------------------------------------------------------------

SEGMENTS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize("name", SEGMENTS)
@given(data=st.data())
def test_segments(name, data):
    x = data.draw(operands(DTYPES, st.lists(st.integers(1, 4), max_size=3).map(tuple)))
    count = data.draw(st.sampled_from([1, 3, 5, 5, -1]))
    ids = data.draw(arrays(["int32"] * 5 + ["uint8", "float32"], st.sampled_from([x.shape[:1], x.shape[:1], x.shape[:2], (3,)]), -1, 4))  # fmt: skip
    mode = data.draw(st.sampled_from([None, None, "drop", "clip", "fill", "nonsense"]))
    # Of two errors, either may be raised.
    assume(mode != "nonsense" or x.dtype != bool)
    options = {"num_segments": count, "indices_are_sorted": False, "mode": mode}

    def oracle(x, ids):
        ids = ids.astype(int)
        depth = ids.ndim
        dtype = x.dtype
        start = {"sum": 0, "prod": 1}.get(name)
        if start is None:
            limits = np.iinfo(dtype) if dtype.kind in "iu" else None
            low, high = (limits.min, limits.max) if limits else (-np.inf, np.inf)
            start = low if name == "max" else high
        out = np.full((count, *x.shape[depth:]), start, dtype)
        for at in np.ndindex(*ids.shape):
            i = int(ids[at])
            i = i if mode != "clip" else min(max(i, 0), count - 1)
            if 0 <= i < count:
                out[i] = SEGMENTS[name](out[i], x[at])
        return out

    known = count > 0 and ids.dtype.kind in "iu" and ids.shape == x.shape[:1] and x.dtype.name in ("int32", "float32", "int16")  # fmt: skip
    # A negative segment id counts from the end.
    known = known and (ids >= 0).all() if known else False
    agree(
        lambda _, j, x, ids: getattr(j.ops, f"segment_{name}")(x, ids, **options),
        oracle if known and x.ndim else None,
        x,
        ids,
        tolerance=4,
    )


# Images -------------------------------------------------------------------------------------------

METHODS = ["nearest", "linear", "bilinear", "triangle", "cubic", "bicubic", "lanczos3", "lanczos5", "nonsense"]  # fmt: skip


@given(data=st.data())
def test_resize(data):
    x = data.draw(operands(DTYPES, st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)))
    shape = [data.draw(st.sampled_from([n, n, 1, 2, 5])) for n in x.shape]
    if data.draw(st.integers(0, 12)) == 0:
        shape.append(2)
    method, antialias = data.draw(st.sampled_from(METHODS)), data.draw(st.booleans())
    agree(lambda _, j, x: j.image.resize(x, shape, method, antialias), None, x)

    def nearest(x):
        places = [np.floor((np.arange(m) + 0.5) * n / m).astype(int) for n, m in zip(x.shape, shape, strict=True)]  # fmt: skip
        return x[np.ix_(*places)]

    if len(shape) == x.ndim:
        agree(lambda _, j, x: j.image.resize(x, shape, "nearest"), nearest, x)


@given(data=st.data())
def test_scale_and_translate(data):
    x = data.draw(operands(["float32", "float32", "float16", "bfloat16", "int32", "complex64"], st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)))  # fmt: skip
    axes = data.draw(st.lists(st.integers(-x.ndim, x.ndim - 1), max_size=x.ndim))
    count = len(axes) if data.draw(st.integers(0, 9)) else len(axes) + 1
    shape = list(x.shape)
    for d in axes:
        shape[d] = data.draw(st.integers(1, 5))
    assume(count == len(axes))  # JAX asserts.
    dtypes = ["float32", "float32", "float16", "int32"]
    scale, translation = (data.draw(arrays(dtypes, st.just((count,)), 1, 3)) for _ in range(2))
    method = data.draw(st.sampled_from(METHODS))
    agree(
        lambda _, j, x, s, t: j.image.scale_and_translate(x, shape, axes, s, t, method),
        None,
        x,
        scale,
        translation,
    )
