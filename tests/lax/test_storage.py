"""What the primitives of lax say of the memory of their operands."""

import importlib
import pkgutil

import numpy as np
import pytest

import plugjax
import plugjax.lax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core import registry
from plugjax.execution.storage import Storage, storage, storage_of
from plugjax.extend.core import Primitive

X = np.ones((3, 1), np.float32)


def primitives():
    found = {}
    for module in pkgutil.walk_packages(plugjax.lax.__path__, "plugjax.lax."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Primitive):
                found[value] = value.name
    return found


def test_every_primitive_says_what_it_does_with_memory():
    """Calls and others that hold programs are looked into instead."""
    table = registry.table(storage)
    silent = [name for p, name in primitives().items() if p not in table and not p.structured]
    assert silent == []


def storages(f, *args):
    return [storage_of(eqn) for eqn in plugjax.make_jaxpr(f)(*args).jaxpr.eqns]


@pytest.mark.parametrize(
    ("f", "moves"),
    [
        (lambda x: x.T, True),
        (lambda x: x + 0, True),
        (lambda x: x + 1, False),
        (lambda x: jnp.sum(x, 1), True),
        (lambda x: jnp.sum(x, 0), False),
        (lambda x: lax.sort(x, dimension=1), True),
        (lambda x: lax.sort(x, dimension=0), True),
        (lambda x: lax.cumsum(x, 1), True),
        (jnp.sin, False),
    ],
)
def test_what_computes_nothing_may_give_its_operand(f, moves):
    assert any(Storage.MOVES in found for found in storages(f, X)) == moves


def test_an_unknown_primitive_says_nothing():
    assert storage_of(plugjax.make_jaxpr(jnp.sin)(X).jaxpr.eqns[0]) == Storage.LOCAL
    unknown = Primitive("unknown")
    assert registry.table(storage).get(unknown) is None
