"""Warm calls with trees: a wrong expectation of their structure changes nothing."""

from collections import OrderedDict, defaultdict, namedtuple

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax.core import pytree
from plugjax.execution.jit.leaf_reader import argument_reader

Pair, Twin = namedtuple("Pair", "a b"), namedtuple("Twin", "a b")
Swapped = namedtuple("Swapped", "a b")
plugjax.tree_util.register_pytree_node(
    Swapped, lambda x: ((x.b, x.a), None), lambda _, children: Swapped(*children[::-1])
)
A, B, C = (jnp.arange(3.0) + i for i in range(3))
TREES = [
    {"b": A, "a": B},
    {"a": B, "b": A},
    {"a": B, "c": A},
    {"a": B},
    {"a": [B, C], "b": A},
    {"a": (B, C), "b": A},
    {"a": None, "b": A},
    {"a": {}, "b": A},
    OrderedDict(b=A, a=B),
    Pair(A, B),
    Pair({"x": A}, [B, C]),
    Twin(A, B),
    Swapped(A, B),
    (A, B),
    [A, B],
    [A, [B]],
    [(A,), B],
    {1: A, 0: B},
    {0: A, 1: {"x": B, "y": [C, None, ()]}},
    {2: {"x": B}},
    A,
    {(0, "k"): A, (0, "j"): B},
    {"a": np.float32(2.0), "b": A},
    {"a": 2.0, "b": A},
]  # fmt: skip


class Box:
    """A container of a program's own, with a name beside its children."""

    def __init__(self, name, *items):
        self.name, self.items = name, items


plugjax.tree_util.register_pytree_node(
    Box, lambda box: (iter(box.items), box.name), lambda name, items: Box(name, *items)
)
TREES += [
    Box("a", A, B),
    Box("a", A),
    Box("b", A, B),
    Box("a", A, {"x": B}),
    [Box("a", None, A), B],
]


def total(tree):
    """The value depends on the position of each leaf."""
    return sum((i + 1) * (x * x) for i, x in enumerate(plugjax.tree.leaves(tree)))


@pytest.mark.parametrize("first", range(len(TREES)))
def test_any_structure_after_any_other(first):
    f = plugjax.jit(total)
    for tree in TREES:
        for _ in range(3):
            np.testing.assert_array_equal(f(TREES[first]), total(TREES[first]))
        for _ in range(3):
            np.testing.assert_array_equal(f(tree), total(tree))


def test_the_second_call_reads_without_flattening(monkeypatch):
    f = plugjax.jit(total)
    tree = {"a": [A, Pair(B, None)], "b": C}
    f(tree), f(tree)
    monkeypatch.setattr(pytree, "flatten", None)
    np.testing.assert_array_equal(f({"b": A, "a": [C, Pair(C, None)]}), total([C, C, A]))


def test_what_a_container_holds_beside_its_children_is_looked_at():
    f = plugjax.jit(lambda box: (len(box.name) + total(box), box))
    for name in ["a", "a", "a", "bb", "bb", "a", "bb"]:
        value, box = f(Box(name, A, Pair(B, C)))
        assert box.name == name
        np.testing.assert_array_equal(value, len(name) + total([A, B, C]))
    read = argument_reader(pytree.structure(((Box("a", 0, 0),), {})))
    assert read((Box("a", 1, 2),), {}) == ([1, 2], ())
    for wrong in (Box("b", 1, 2), Box("a", 1), Box("a", 1, 2, 3), (1, 2)):
        with pytest.raises(LookupError):
            read((wrong,), {})


def test_under_transformations():
    f = plugjax.jit(lambda t: total(t).sum())
    tree = {"a": A, "b": [B, C]}
    f(tree), f(tree)
    found = plugjax.grad(f)(tree)
    np.testing.assert_array_equal(found["b"][1], 6 * C)
    found = plugjax.vmap(plugjax.jit(total))({"a": A, "b": [B, C]})
    np.testing.assert_array_equal(found, total([A, B, C]))
    f(tree)


def test_donated_trees_end(on_backend):
    step = plugjax.jit(lambda t, x: {k: v + x for k, v in t.items()}, donate_argnums=0)
    tree = {"a": jnp.ones(3), "b": jnp.ones(3)}
    for i in range(4):
        before, tree = tree, step(tree, jnp.float32(i))
        assert before["a"].is_deleted()
    np.testing.assert_array_equal(tree["b"], np.full(3, 7.0))


def test_other_dtypes_configurations_and_devices():
    f = plugjax.jit(total)
    tree = {"a": A, "b": B}
    for _ in range(3):
        f(tree)
    assert f({"a": jnp.arange(3), "b": jnp.arange(3)}).dtype == jnp.int32
    assert f({"a": jnp.ones((2, 2)), "b": B[:2]}).shape == (2, 2)
    with plugjax.config.override("enable_x64", True):
        assert f({"a": jnp.arange(3.0, dtype="float64"), "b": B}).dtype == "float64"
    moved = plugjax.device_put(tree, plugjax.devices("xla")[0])
    for _ in range(3):
        assert f(moved).devices() == {plugjax.devices("xla")[0]}
    plugjax.clear_caches()
    np.testing.assert_array_equal(f(tree), total(tree))


def test_clear_cache_drops_the_guess():
    calls = []
    f = plugjax.jit(lambda t: calls.append(1) or total(t))
    for _ in range(3):
        f({"a": A})
    f.clear_cache()
    f({"a": A})
    assert len(calls) == 2


@pytest.mark.parametrize("tree", [{(0,): 0}, {"a": OrderedDict(b=0)}], ids=str)
def test_structures_that_only_the_library_takes_apart(tree):
    assert argument_reader(pytree.structure(((tree,), {}))) is None
    assert argument_reader(pytree.structure(((), {"key": tree}))) is None


@pytest.mark.parametrize("wrong", [{"a": 1}, {"a": [1, 2], "c": 2}, {"a": [1], "b": 2}, {"a": (1, 2), "b": 3}, [1, 2], None])  # fmt: skip
def test_another_structure_is_refused(wrong):
    read = argument_reader(pytree.structure((({"a": [0, 0], "b": 0},), {})))
    assert read(({"b": 3, "a": [1, 2]},), {}) == ([1, 2, 3], ())
    with pytest.raises(LookupError):
        read((wrong,), {})


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1, 2), {"y": 3}), ((1, "s", 2), {}), ((1, "s", 2), {"y": 3, "z": 4}), ((1, "s", 2), {"z": 4})]
)  # fmt: skip
def test_other_positions_and_names_are_refused(args, kwargs):
    read = argument_reader(pytree.structure(((0, 0), {"y": 0})), [1])
    assert read((1, "s", 2), {"y": 3}) == ([1, 2, 3], (str, "s"))
    with pytest.raises(LookupError):
        read(args, kwargs)


def test_static_values_by_name():
    read = argument_reader(pytree.structure(((0,), {"y": [0, 0]})), [0], ["n", "mode"])
    found = read((5, 1), {"mode": "same", "n": True, "y": [2, 3]})
    assert found == ([1, 2, 3], (int, 5, bool, True, str, "same"))


CALLS = [
    (1.5, 2, {"n": 3}),
    (A, 2, {"n": 3}),
    (np.arange(3, dtype="f"), 2, {"n": 3}),
    (np.arange(4, dtype="f"), 2, {"n": 3}),
    (np.arange(3), 2, {"n": 3}),
    (A, 2.0, {"n": 3}),
    (A, True, {"n": True}),
    (A, np.float32(2), {"n": 1}),
    (A, B, {"n": 2}),
]


@pytest.mark.spread(6)
@pytest.mark.parametrize("first", range(len(CALLS)))
def test_any_kind_of_argument_after_any_other(first, on_backend):
    def scaled(x, y, n=1):
        return x * y + type(n)(n)

    f = plugjax.jit(scaled, static_argnames="n")
    for x, y, kwargs in CALLS:
        for args, names in ((CALLS[first][:2], CALLS[first][2]), ((x, y), kwargs)) * 3:
            found = f(*args, **names)
            expected = scaled(*map(jnp.asarray, args), **names)
            np.testing.assert_array_equal(found, expected)


def test_a_static_argument_without_a_hash_is_refused_at_every_call():
    f = plugjax.jit(lambda x, n: x * n, static_argnums=1)
    for _ in range(3):
        np.testing.assert_array_equal(f(A, 2), 2 * A)
        with pytest.raises(ValueError, match="Non-hashable static arguments"):
            f(A, [2])


ORDERS = [{"b": 1, "a": 2.0}, {"a": 2.0, "b": 1}, defaultdict(int, b=1, a=2.0), {"b": {2: 1, 1: 2.0}}]  # fmt: skip


@pytest.mark.parametrize("first", ORDERS)
def test_functions_see_dicts_in_the_order_of_their_keys(first):
    """Whichever dict the function was traced for: equal structures share a program."""

    def function(tree, **named):
        return list(tree.values()), list(named.values()), {"z": tree, "y": named}

    ours, theirs = plugjax.jit(function), jax.jit(function)
    for tree in (first, *ORDERS, first):
        for named in ({"d": 1, "c": 2}, {"c": 1, "d": 2}):
            assert str(ours(tree, **named)) == str(theirs(tree, **named))
