"""Methods and properties of arrays with drawn arguments."""

import jax.numpy
import numpy as np
import pytest
from hypothesis import given, strategies as st

import plugjax.numpy
from tests.drawn import DTYPES, agree, arrays, axes_of

# For an array: an axis, an axis or several or none, and the options keepdims, initial, where.
REDUCTIONS = {
    name: lambda x, axis, options, name=name: getattr(x, name)(axis, **options)
    for name in ["sum", "prod", "max", "min", "all", "any", "mean", "var", "std", "ptp"]
}
WITH_INITIAL = ("sum", "prod", "max", "min")


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name, data):
    x = data.draw(arrays(DTYPES))
    options = {}
    if data.draw(st.booleans()):
        options["keepdims"] = data.draw(st.booleans())
    if name in WITH_INITIAL and data.draw(st.booleans()):
        options["initial"] = data.draw(st.sampled_from([0, 2, 1.5]))
    if name != "ptp" and data.draw(st.booleans()):
        options["where"] = data.draw(arrays(["bool"], st.just(x.shape)))
    if name in ("sum", "prod", "mean") and data.draw(st.booleans()):
        options["dtype"] = data.draw(st.sampled_from(["int32", "float32", "float16", "complex64"]))
    axis = data.draw(axes_of(x.ndim))
    agree(lambda n, _, x: REDUCTIONS[name](n.asarray(x), axis, options), None, x)


METHODS = {
    "argmax": lambda n, x, a, b: x.argmax(a),
    "argmin": lambda n, x, a, b: x.argmin(a, keepdims=True),
    "argsort": lambda n, x, a, b: x.argsort(a),
    "argpartition": lambda n, x, a, b: n.zeros_like(x.argpartition(0, a)),
    "sort": lambda n, x, a, b: x.sort(a, descending=True),
    "astype": lambda n, x, a, b: x.astype("float16"),
    "astype to int": lambda n, x, a, b: n.real(x).astype(int),
    "clip": lambda n, x, a, b: n.real(x).clip(-1, 2),
    "choose": lambda n, x, a, b: n.abs(x).astype(int).choose([n.asarray(1), n.asarray(2)], mode="clip"),
    "compress": lambda n, x, a, b: x.compress(np.array([True, False]), a, size=1),
    "conj": lambda n, x, a, b: (x.conj(), x.conjugate()),
    "copy": lambda n, x, a, b: x.copy(),
    "cumsum": lambda n, x, a, b: x.cumsum(a),
    "cumprod": lambda n, x, a, b: x.cumprod(a, dtype="float32"),
    "diagonal": lambda n, x, a, b: x.diagonal(1, a, b),
    "trace": lambda n, x, a, b: x.trace(0, a, b),
    "dot": lambda n, x, a, b: x.dot(x),
    "flatten": lambda n, x, a, b: (x.flatten(), x.ravel()),
    "item": lambda n, x, a, b: n.asarray(x.size and x.ndim),
    "nonzero": lambda n, x, a, b: x.nonzero(size=3, fill_value=7),
    "real": lambda n, x, a, b: (x.real, x.imag),
    "repeat": lambda n, x, a, b: x.repeat(2, a),
    "reshape": lambda n, x, a, b: (x.reshape(-1), x.reshape((1, *x.shape)), x.reshape(1, x.size)),
    "round": lambda n, x, a, b: x.round(1),
    "searchsorted": lambda n, x, a, b: x.ravel().searchsorted(x),
    "squeeze": lambda n, x, a, b: (x.squeeze(), x.squeeze(a)),
    "swapaxes": lambda n, x, a, b: x.swapaxes(a, b),
    "take": lambda n, x, a, b: x.take(np.array([0, -1]), a),
    "transpose": lambda n, x, a, b: (x.T, x.transpose(), x.transpose(*range(x.ndim)[::-1])),
    "mT": lambda n, x, a, b: x.mT,
    "view": lambda n, x, a, b: x.view("uint8"),
    "view of the same size": lambda n, x, a, b: x.view({1: "int8", 2: "uint16", 4: "int32", 8: "complex64"}[x.dtype.itemsize]),
    "sizes": lambda n, x, a, b: n.asarray([x.ndim, x.size, x.nbytes, x.itemsize]),
    "operators": lambda n, x, a, b: (x == x, x != 1, +x, abs(x), x * 2, 2 + x),
    "iteration": lambda n, x, a, b: [*x],
    "length": lambda n, x, a, b: n.asarray(len(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
@given(data=st.data())
def test_methods(name, data):
    x = data.draw(arrays(DTYPES))
    a, b = (data.draw(axes_of(x.ndim, several=False)) for _ in range(2))
    agree(lambda n, _, x: METHODS[name](n, n.asarray(x), a, b), None, x)


def test_every_public_attribute_is_there():
    theirs = {n for n in dir(jax.numpy.ones(2)) if not n.startswith("_")}
    # For several devices or processes, jaxlib's class, or memory layouts.
    apart = {
        "byteswap", "clone", "copy_to_host_async", "is_ready", "on_device_size_in_bytes", "platform", "unsafe_buffer_pointer",
        "addressable_data", "addressable_shards", "format", "global_shards", "device_buffer", "device_buffers", "traceback",
    }  # fmt: skip
    ours = {n for n in dir(plugjax.numpy.ones(2)) if not n.startswith("_")}
    assert theirs - ours <= apart
