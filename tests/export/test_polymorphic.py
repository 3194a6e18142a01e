"""Artifacts of JAX whose sizes are expressions."""

import jax
import jax.numpy as jax_np
import numpy as np
import pytest
from jax import export as jax_export

import plugjax
from plugjax import export
from plugjax.export import flat_tables, writing

F32 = np.float32


def theirs(function, *specs, vjp_order=0):
    scope = jax_export.SymbolicScope()
    args = [jax.ShapeDtypeStruct(jax_export.symbolic_shape(s, scope=scope), F32) for s in specs]
    return jax_export.export(jax.jit(function))(*args).serialize(vjp_order=vjp_order)


def several(x, y):
    size = x.shape[0]
    return (
        jax_np.reshape(x, (-1,)),
        jax_np.sum(x) / size,
        jax_np.arange(size),
        x @ y,
        jax_np.concatenate([x, y.T]),
    )


LOADED = export.deserialize(theirs(several, "2*b, n", "n, b"))


# JAX refuses to export it, so its bytes are made here: no size gives `n`.
_FIELDS = writing._fields(export.deserialize(theirs(lambda x: x, "n")), 0)
_SQUARE = {"kind": 0, "shape": ["n*n"], "dtype": 10, "memory_space": 1}
SQUARE = export.deserialize(flat_tables.write("Exported", {**_FIELDS, "unique_avals": [_SQUARE]}))


def arguments(b, n):
    return np.arange(2 * b * n, dtype=F32).reshape(2 * b, n), np.ones((n, b), F32)


def test_avals_are_those_of_jax():
    wanted = jax_export.deserialize(theirs(several, "2*b, n", "n, b"))
    assert [a.str_short() for a in LOADED.in_avals] == [a.str_short() for a in wanted.in_avals]
    assert [a.str_short() for a in LOADED.out_avals] == [a.str_short() for a in wanted.out_avals]
    assert LOADED.uses_global_constants
    again = jax_export.deserialize(LOADED.serialize())
    assert [a.str_short() for a in again.out_avals] == [a.str_short() for a in wanted.out_avals]


@pytest.mark.parametrize("device", ["numpy", "xla", "iree"])
def test_calls_with_several_sizes(device):
    with plugjax.default_device(device):
        for b, n in ((1, 3), (4, 2)) if device != "iree" else ((2, 3),):
            for found, wanted in zip(
                LOADED.call(*arguments(b, n)), several(*arguments(b, n)), strict=True
            ):
                assert found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_calls_are_staged():
    found = plugjax.jit(lambda x, y: LOADED.call(x * 2, y)[3])(*arguments(3, 2))
    np.testing.assert_allclose(
        found, several(arguments(3, 2)[0] * 2, arguments(3, 2)[1])[3], rtol=1e-6
    )


@pytest.mark.parametrize("device", ["numpy", "xla"])
def test_derivatives_with_several_sizes(device):
    def f(x):
        return jax_np.sum(jax_np.sin(x) * x.shape[0])

    loaded = export.deserialize(theirs(f, "n", vjp_order=1))
    with plugjax.default_device(device):
        for n in (2, 5):
            x = np.linspace(0, 1, n, dtype=F32)
            np.testing.assert_allclose(plugjax.grad(loaded.call)(x), jax.grad(f)(x), rtol=1e-5)


def test_shapes_that_do_not_fit():
    x, y = arguments(2, 3)
    with pytest.raises(ValueError, match="Division had remainder 1 for dimension variable 'b'"):
        LOADED.call(x[:3], y)
    with pytest.raises(ValueError, match="do not match the polymorphic shapes specification"):
        LOADED.call(x, y[:2])
    with pytest.raises(ValueError, match="Expected value >= 1"):
        LOADED.call(x[:0], y[:, :0])
    with pytest.raises(ValueError, match="Rank mismatch"):
        LOADED.call(x[0], y)
    fixed = export.deserialize(theirs(lambda x: x + 1, "n, 3"))
    with pytest.raises(ValueError, match=r"Shape mismatch for args\[0\]\.shape\[1\]"):
        fixed.call(np.ones((2, 4), F32))
    with pytest.raises(ValueError, match="Cannot solve for values of dimension variables"):
        SQUARE.call(np.ones(4, F32))


def test_specs_are_those_of_jax():
    args = ({"a": np.ones((2, 3), F32)}, np.ones((4,), np.int32))
    for specs in ("b, ...", None, ({"a": "b, _"}, None), [None, "2*n"]):
        if specs == "b, ...":
            found = export.symbolic_args_specs(args[0], specs)
            wanted = jax_export.symbolic_args_specs(args[0], specs)
        else:
            found, wanted = (
                export.symbolic_args_specs(args, specs),
                jax_export.symbolic_args_specs(args, specs),
            )
        described = [(str(x.shape), x.dtype) for x in plugjax.tree.leaves(found)]
        assert described == [(str(x.shape), x.dtype) for x in jax.tree.leaves(wanted)]
