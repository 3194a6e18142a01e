"""Primitives that another plugin lowers may alias or overwrite operands; arrays stay as they are."""

import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core import registry
from plugjax.extend.core import Primitive
from plugjax.extend.rules import RuleSet, abstract_eval, hookimpl, impl, lowering
from plugjax.stablehlo import mlir

rules = RuleSet("somebody.else")
itself_p = Primitive("itself")
first_set_p = Primitive("first_set")
rules.define(abstract_eval, itself_p, first_set_p)(lambda x: x)
rules.define(impl, itself_p)(lambda x: x)


@rules.define(impl, first_set_p)
def _first_set(x):
    y = np.array(x)
    y[0] = 7
    return y


rules.define(lowering, itself_p)(lambda ctx, x: x)


@rules.define(lowering, first_set_p)
def _lowered(ctx, x):
    (aval,) = ctx.avals_in
    seven = mlir.constant(np.full(1, 7, aval.dtype))
    return mlir.value(
        "stablehlo.dynamic_update_slice", aval, [x, seven, mlir.constant(np.int32(0))]
    )


class Plugin:
    @staticmethod
    @hookimpl
    def plugjax_rules():
        return [rules]


@pytest.fixture(autouse=True)
def loaded():
    extended = registry.active().extended(Plugin())
    with registry.use(extended), plugjax.default_device("iree"):
        yield


X = np.arange(4, dtype=np.float32)


def computed():
    """The array, in the device's memory alone."""
    return plugjax.jit(lambda x: x * 2)(X / 2)


def test_donating_the_result_leaves_the_argument():
    x = computed()
    y = plugjax.jit(itself_p.bind)(x)
    plugjax.jit(lambda y: y.at[1].set(9.0), donate_argnums=0)(y)
    np.testing.assert_array_equal(x, X)


def test_an_update_from_outside_leaves_the_argument():
    x = computed()
    np.testing.assert_array_equal(plugjax.jit(first_set_p.bind)(x), [7, 1, 2, 3])
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("dtype", [np.float32, np.uint32])
def test_an_update_from_outside_leaves_what_others_read(dtype):
    def program(x):
        y = x * 2
        return first_set_p.bind(y), jnp.pad(y, 1), first_set_p.bind(y[:2]), y

    x = X.astype(dtype)
    found = plugjax.jit(program)(x)
    for y, z in zip(found, [[7, 2, 4, 6], [0, 0, 2, 4, 6, 0], [7, 2], [0, 2, 4, 6]], strict=True):
        np.testing.assert_array_equal(y, z)


def test_inner_functions_and_loops():
    def program(x):
        inner = plugjax.jit(lambda v: itself_p.bind(first_set_p.bind(v)))
        looped = plugjax.lax.fori_loop(0, 2, lambda i, c: first_set_p.bind(c) + 1, x)
        return inner(x), looped, x

    x = computed()
    one, two, same = plugjax.jit(program)(x)
    np.testing.assert_array_equal(one, [7, 1, 2, 3])
    np.testing.assert_array_equal(two, [8, 3, 4, 5])
    np.testing.assert_array_equal(same, X)
    np.testing.assert_array_equal(x, X)
