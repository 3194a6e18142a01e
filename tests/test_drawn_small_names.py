"""The small names of the framework and of arrays, on drawn arrays: what JAX gives."""

import pickle

import jax
import jax.flatten_util
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax
from tests.drawn import DTYPES, arrays, outcome, same_error

# Of an array and a number: what the name gives, as something that can be compared.
NAMES = {
    "tobytes": lambda j, x, n: x.tobytes(),
    "bytes": lambda j, x, n: bytes(np.asarray(x).data),
    "byteswap": lambda j, x, n: np.asarray(x.byteswap()).tobytes(),
    "in": lambda j, x, n: n in x,
    "len": lambda j, x, n: len(x),
    "iter": lambda j, x, n: [y.shape for y in x],
    "format": lambda j, x, n: f"{x.reshape(-1)[:1].sum():{'' if x.dtype.kind in 'bV' else '>12'}}",
    "tolist": lambda j, x, n: x.tolist(),
    "item": lambda j, x, n: x.item(),
    "index": lambda j, x, n: range(10)[x],
    "bool": lambda j, x, n: bool(x),
    "int": lambda j, x, n: int(x),
    "pickle": lambda j, x, n: np.asarray(pickle.loads(pickle.dumps(x))).tobytes(),
    "is_ready": lambda j, x, n: j.block_until_ready(x).is_ready(),
    "nbytes": lambda j, x, n: (x.nbytes, x.itemsize, x.on_device_size_in_bytes()),
    "copy_to_host_async": lambda j, x, n: x.copy_to_host_async(),
    "is_deleted": lambda j, x, n: (x.is_deleted(), x.is_fully_addressable, x.is_fully_replicated),
    "weak": lambda j, x, n: (x + 1).weak_type,
    "struct": lambda j, x, n: _struct(j.ShapeDtypeStruct(x.shape, x.dtype)),
    "struct of": lambda j, x, n: _struct(j.ShapeDtypeStruct.like(x)) if hasattr(j.ShapeDtypeStruct, "like") else None,
    "struct update": lambda j, x, n: _struct(j.ShapeDtypeStruct(x.shape, x.dtype).update(shape=(n,))),
    "struct weak": lambda j, x, n: _struct(j.ShapeDtypeStruct(x.shape, x.dtype, weak_type=True)),
    "eval_shape": lambda j, x, n: _struct(j.eval_shape(lambda x: x.reshape(-1)[None], x)),
    "typeof": lambda j, x, n: j.typeof(x).str_short(),
    "float0": lambda j, x, n: str(np.zeros(x.shape, j.dtypes.float0).dtype),
    "canonicalize": lambda j, x, n: str(j.dtypes.canonicalize_dtype(x.dtype)),
    "result_type": lambda j, x, n: str(j.dtypes.result_type(x, 1.0)),
    "issubdtype": lambda j, x, n: (j.dtypes.issubdtype(x.dtype, np.integer), j.dtypes.issubdtype(x.dtype, np.inexact)),
    "scalar_type_of": lambda j, x, n: j.dtypes.scalar_type_of(x),
    "named_scope": lambda j, x, n: np.asarray(j.named_scope("a")(lambda: x + x)()).tobytes(),
    "device_put": lambda j, x, n: np.asarray(j.device_put({"a": x})["a"]).tobytes(),
    "tree": lambda j, x, n: j.tree.map(lambda y: y.ndim, {"b": (x, [x])}),
    "flatten_util": lambda j, x, n: j.flatten_util.ravel_pytree((x, x))[0].shape,
    "ensure_compile_time_eval": lambda j, x, n: _at_compile_time(j, x),
    "live_arrays": lambda j, x, n: any(y is x for y in j.live_arrays()),
}  # fmt: skip


def _struct(x):
    return x.shape, str(x.dtype), x.ndim, x.size, x.weak_type, str(x)


def _at_compile_time(j, x):
    with j.ensure_compile_time_eval():
        return x.shape, (x.sum() == x.sum()).item()


@pytest.mark.spread(12)
@pytest.mark.parametrize("name", NAMES)
@given(x=arrays(DTYPES), n=st.integers(0, 3))
def test_arrays(name, x, n):
    found, wanted = (
        outcome(lambda j=j: NAMES[name](j, j.numpy.asarray(x), n)) for j in (plugjax, jax)
    )
    if isinstance(wanted, Exception):
        assert same_error(found, wanted), f"{found!r} where JAX raises {wanted!r}"
    else:
        assert found == wanted or (found != found and wanted != wanted)


IMPLEMENTATIONS = ["threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32"]


@given(
    impl=st.sampled_from(IMPLEMENTATIONS),
    seed=st.integers(-(2**31), 2**31 - 1),
    shape=st.lists(st.integers(0, 4), max_size=2).map(tuple),
    dtype=st.sampled_from(["uint8", "uint16", "uint32"]),
    fold=st.integers(0, 2**31 - 1),
)
def test_keys(impl, seed, shape, dtype, fold):
    def bits(j):
        key = j.random.fold_in(j.random.key(seed, impl=impl), fold)
        first, second = j.random.split(key)
        batch = j.vmap(lambda k: j.random.bits(k, shape, dtype))(j.random.split(second, 2))
        data = j.random.key_data(first)
        return [np.asarray(y) for y in (j.random.bits(first, shape, dtype), batch, data)]

    found, wanted = (outcome(lambda j=j: bits(j)) for j in (plugjax, jax))
    if isinstance(wanted, Exception):
        assert same_error(found, wanted), f"{found!r} where JAX raises {wanted!r}"
        return
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y)


@given(
    names=st.lists(st.sampled_from(["numpy_rank_promotion", "numpy_dtype_promotion", "default_matmul_precision", "enable_x64"]), max_size=3),
    data=st.data(),
)  # fmt: skip
def test_contexts_of_options(names, data):
    """Contexts nest, and what is drawn inside gives the type or the error that it gives in JAX."""
    values = {
        "numpy_rank_promotion": ["allow", "raise"],
        "numpy_dtype_promotion": ["standard", "strict"],
        "default_matmul_precision": ["default", "highest"],
        "enable_x64": [True, False],
    }
    chosen = [(name, data.draw(st.sampled_from(values[name]))) for name in names]
    shapes = data.draw(st.sampled_from([((2, 3), (3,)), ((3,), (3,)), ((2, 3), (1, 3))]))
    dtypes = data.draw(st.sampled_from([("float32", "int32"), ("float32", "float32")]))

    def run(j, rest):
        if rest:
            name, value = rest[0]
            with getattr(j, name)(value):
                return run(j, rest[1:])
        x, y = (j.numpy.ones(s, d) for s, d in zip(shapes, dtypes, strict=True))
        return str((x + y).dtype), str(j.numpy.arange(3).dtype), str((x @ x.T).dtype)

    found, wanted = (outcome(lambda j=j: run(j, chosen)) for j in (plugjax, jax))
    if isinstance(wanted, Exception):
        assert same_error(found, wanted), f"{found!r} where JAX raises {wanted!r}"
    else:
        assert found == wanted
