"""The op table on a Vulkan device: values and derivatives of every row, in programs of some rows each, against NumPy."""

import numpy as np
import pytest

import plugjax
from plugjax.testing import OPS, operands

found = [d for d in plugjax.devices("iree") if d.kind == "vulkan"]
pytestmark = pytest.mark.skipif(
    not found, reason="no Vulkan device: apt-get install mesa-vulkan-drivers libvulkan1"
)
# What IREE refuses there by name: NumPy runs it by default. Everything else is right.
REFUSED = {"scaled_dot": "spirv.Bitcast"}
# Its value is the device's own.
BY_PLATFORM = {"cond by platform"}
CHUNK = 12


def floating(values, wrt):
    return wrt if wrt is not None else [i for i, x in enumerate(values) if x.dtype.kind == "f"]  # fmt: skip


def waves(x):
    """Values that differ, in an array's type."""
    x = np.asarray(x)
    return (np.cos(np.arange(x.size)).reshape(x.shape) + 1.5).astype(x.dtype)


def derivative(op):
    """The row's pullback, or its tangents where it has none, as a function of all operands."""

    def program(*values):
        wrt = floating(values, op.wrt)

        def function(*chosen):
            full = list(values)
            for i, x in zip(wrt, chosen, strict=True):
                full[i] = x
            return [y for y in plugjax.tree.leaves(op.function(*full)) if y.dtype.kind in "fc"]

        point = [values[i] for i in wrt]
        if not op.reverse:
            tangents = [waves(np.zeros(x.shape, x.dtype)) for x in point]
            return plugjax.jvp(function, point, tangents)[1]
        ys, pullback = plugjax.vjp(function, *point)
        return pullback([waves(np.zeros(y.shape, y.dtype)) for y in ys])

    return program


def chunks(rows):
    kept = [op for op in rows if op.name not in BY_PLATFORM | set(REFUSED)]
    parts = [kept[i : i + CHUNK] for i in range(0, len(kept), CHUNK)]
    return pytest.mark.parametrize("rows", parts, ids=lambda part: f"{part[0].name}..{part[-1].name}")  # fmt: skip


def compare(rows, functions, rtol):
    samples = [[np.asarray(x) for x in operands(op)] for op in rows]

    def program(samples):
        return [f(*xs) for f, xs in zip(functions, samples, strict=True)]

    with (
        plugjax.config.override("verify", "off"),
        plugjax.config.override("fallback", "error"),
        plugjax.default_device(found[0]),
    ):
        compiled = plugjax.jit(program, tiered=False)
        # A call does not use the memory of the one before.
        compiled([[np.zeros_like(x) for x in xs] for xs in samples])
        results = compiled(samples)
    with plugjax.default_device("numpy"):
        expected = program(plugjax.tree.map(plugjax.numpy.asarray, samples))
    for op, ours, theirs in zip(rows, results, expected, strict=True):
        for a, b in zip(plugjax.tree.leaves(ours), plugjax.tree.leaves(theirs), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype), op.name
            if b.dtype.kind in "biu":
                np.testing.assert_array_equal(a, b, err_msg=op.name)
            else:
                tolerance = max(rtol, op.rtol)
                wide = np.complex128 if b.dtype.kind == "c" else np.float64
                np.testing.assert_allclose(a.astype(wide), b.astype(wide), tolerance, tolerance, err_msg=op.name)  # fmt: skip


@pytest.mark.spread(12)
@chunks(OPS)
def test_values(rows):
    compare(rows, [op.function for op in rows], 1e-5)


@pytest.mark.spread(12)
@chunks([op for op in OPS if op.order])
def test_derivatives(rows):
    compare(rows, [derivative(op) for op in rows], 2e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_named(name):
    op = next(op for op in OPS if op.name == name)
    with pytest.raises(RuntimeError, match=REFUSED[name]):
        compare([op], [op.function], 1e-5)
