"""Pytrees against ``jax.tree_util``: structures, paths, user-defined containers, errors."""

import collections
import dataclasses
import typing
import warnings

import jax
import jax.tree_util
import numpy as np
import pytest

import plugjax
import plugjax.tree_util

Point = collections.namedtuple("Point", "x y")


class Pair:
    def __init__(self, a, b, note=""):
        self.a, self.b, self.note = a, b, note

    def __eq__(self, other):
        return (self.a, self.b, self.note) == (other.a, other.b, other.note)

    def tree_flatten(self):
        return (self.a, self.b), self.note

    @classmethod
    def tree_unflatten(cls, note, children):
        return cls(*children, note)


class Keyed(Pair):
    def __init__(self, a, b, keys, note=""):
        super().__init__(a, b, note)
        self.keys = keys

    def tree_flatten_with_keys(self):
        return [(self.keys("a"), self.a), (self.keys("b"), self.b)], (self.keys, self.note)

    def tree_flatten(self):
        return (self.a, self.b), (self.keys, self.note)

    @classmethod
    def tree_unflatten(cls, metadata, children):
        return cls(*children, *metadata)


@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="dense", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Setting:
    width: int


for _t in (plugjax.tree_util, jax.tree_util):
    _t.register_pytree_node_class(Pair)
    _t.register_pytree_with_keys_class(Keyed)
    _t.register_dataclass(Layer)
    _t.register_static(Setting)

TREES = {
    "leaf": lambda t: 1,
    "none": lambda t: None,
    "nested": lambda t: {"b": [1, (2, None)], "a": Point(3, [4])},
    "ordered": lambda t: collections.OrderedDict([("z", 1), ("a", 2)]),
    "default": lambda t: collections.defaultdict(int, {"z": 1, "a": 2}),
    "own": lambda t: [Pair(1, {"k": 2}, "note")],
    "keyed": lambda t: Keyed(1, [2], t.GetAttrKey),
    "dataclass": lambda t: Layer(1, [2, 3]),
    "static": lambda t: (Setting(3), 1),
    "partial": lambda t: t.Partial(max, 1, default=2),
    "empty": lambda t: ([], {}, ()),
}


def paths(t, tree):
    return [
        (t.keystr(p), t.keystr(p, simple=True, separator="/"), leaf)
        for p, leaf in t.tree_leaves_with_path(tree)
    ]


USES = {
    "leaves": lambda t, x: t.tree_leaves(x),
    "paths": paths,
    "map": lambda t, x: t.tree_leaves(t.tree_map(lambda a: 2 * a, x)),
    "map with path": lambda t, x: t.tree_leaves(
        t.tree_map_with_path(lambda p, a, b: f"{t.keystr(p)}{a}{b}", x, x)
    ),
    "reduce": lambda t, x: t.tree_reduce(lambda a, b: a - b, x, 100),
    "associative": lambda t, x: t.tree_reduce_associative(lambda a, b: a + b, x, identity=0),
    "all": lambda t, x: t.tree_all(x),
    "round trip": lambda t, x: t.tree_leaves(t.tree_unflatten(*reversed(t.tree_flatten(x)))),
    "children": lambda t, x: [c.num_leaves for c in t.treedef_children(t.tree_structure(x))],
    "is leaf": lambda t, x: t.treedef_is_leaf(t.tree_structure(x)),
    "tuple": lambda t, x: t.treedef_tuple([t.tree_structure(x)] * 2).num_leaves,
    "broadcast": lambda t, x: t.tree_leaves(t.tree_broadcast((7, 8), (x, [x]))),
    "transpose": lambda t, x: t.tree_leaves(
        t.tree_transpose(t.tree_structure([0, 0]), t.tree_structure(x), [x, x])
    ),
    "stop": lambda t, x: len(t.tree_leaves(x, is_leaf=lambda y: isinstance(y, (list, Point)))),
    "stop by path": lambda t, x: [
        t.keystr(p)
        for p, _ in t.tree_flatten_with_path(
            x, is_leaf=lambda p, y: len(p) == 1, is_leaf_takes_path=True
        )[0]
    ],
    "map to a depth": lambda t, x: len(
        t.tree_leaves(
            t.tree_map_with_path(
                lambda p, y: str(type(y)), x, is_leaf=lambda p, y: len(p) == 1,
                is_leaf_takes_path=True,
            )
        )
    ),
    "one level": lambda t, x: len(list(t.flatten_one_level(x)[0])),
    "metadata of one level": lambda t, x: (isinstance(hash(t.flatten_one_level(x)[1]), int), str(t.flatten_one_level(x)[1]).rpartition(".")[2]),
    "one level with keys": lambda t, x: [str(k) for k, _ in t.flatten_one_level_with_keys(x)[0]],
    "node": lambda t, x: t.is_tree_node(type(x)),
    "all leaves": lambda t, x: t.all_leaves([x, 1]),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("tree", TREES)
def test_against_jax(tree, use):
    def outcome(t):
        try:
            return USES[use](t, TREES[tree](t))
        except (TypeError, ValueError) as error:
            return type(error)

    assert outcome(plugjax.tree_util) == outcome(jax.tree_util)


def test_containers_of_ones_own_go_through_transformations():
    def loss(layer, x):
        return (layer.w * x + layer.b).sum()

    gradient = plugjax.jit(plugjax.grad(loss))(Layer(2.0, 1.0), np.ones(3, np.float32))
    assert isinstance(gradient, Layer)
    assert (float(gradient.w), float(gradient.b), gradient.name) == (3.0, 3.0, "dense")
    mapped = plugjax.vmap(lambda p: Pair(p.a + 1, p.b, p.note))(Pair(np.arange(3), np.arange(3)))
    np.testing.assert_array_equal(mapped.a, [1, 2, 3])


@pytest.mark.parametrize("name", ["tree", "tree_util"])
def test_every_name_of_jax_is_there(name):
    ours, theirs = getattr(plugjax, name), getattr(jax, name)
    assert [n for n in dir(theirs) if n[0] != "_" and not hasattr(ours, n)] == []


BAD = {
    "other structure": lambda t: t.tree_map(lambda a, b: a, [1, 2], [1]),
    "too few leaves": lambda t: t.tree_unflatten(t.tree_structure([1, 2]), [1]),
    "no prefix": lambda t: t.tree_broadcast([1, 2], [1]),
    "empty reduce": lambda t: t.tree_reduce(lambda a, b: a, []),
    "registered twice": lambda t: t.register_pytree_node_class(Pair),
    "half the fields": lambda t: t.register_dataclass(Setting, data_fields=["width"]),
    "missing field": lambda t: t.register_dataclass(Setting, data_fields=[], meta_fields=[]),
    "transpose": lambda t: t.tree_transpose(t.tree_structure([0]), t.tree_structure((0, 0)), [1]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_the_error_of_jax(case):
    with pytest.raises(Exception) as wanted:  # Any error of JAX.
        BAD[case](jax.tree_util)
    with pytest.raises(wanted.type):
        BAD[case](plugjax.tree_util)


def test_a_named_tuple_with_functions_of_its_own_is_registered_in_silence():
    class Interval(typing.NamedTuple):
        low: float
        name: str

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugjax.tree_util.register_pytree_node(
            Interval, lambda i: ((i.low,), i.name), lambda name, children: Interval(*children, name)
        )
    assert plugjax.tree.leaves(Interval(1.0, "a")) == [1.0]
    assert plugjax.tree.map(lambda x: x + 1, Interval(1.0, "a")) == Interval(2.0, "a")


@pytest.mark.parametrize(
    "rebuilt",
    [
        lambda j, d: j.tree.map(lambda x: x, d),
        lambda j, d: j.tree.unflatten(j.tree.structure(d), [1.0, 2.0, 3.0]),
        lambda j, d: j.tree.map_with_path(lambda path, x: x, d),
        lambda j, d: j.grad(lambda d: d["b"] * d["a"]["d"] * d["a"]["c"])(d),
        lambda j, d: j.vjp(lambda d: d, d)[0],
        lambda j, d: j.vmap(lambda x, d: {"z": x, "y": d["b"]}, in_axes=(0, None))(np.arange(2), d),
        lambda j, d: j.lax.cond(True, lambda d: d, lambda d: d, d),
    ],
    ids=["map", "unflatten", "map_with_path", "grad", "vjp", "vmap", "cond"],
)
def test_dicts_are_rebuilt_in_the_order_of_their_keys(rebuilt):
    def order(tree):
        return [(k, order(v)) for k, v in tree.items()] if isinstance(tree, dict) else None

    d = {"b": 1.0, "a": {"d": 2.0, "c": 3.0}}
    assert order(rebuilt(plugjax, d)) == order(rebuilt(jax, d))


def test_the_order_of_keys_is_that_of_the_tree_itself():
    # Structures that are equal, but not the same: of keys, and of classes with metadata.
    for tree in ({1: "x", 0: "y"}, {True: "x", 0: "y"}, {1.0: "x", 0: "y"}):
        found = plugjax.tree.map(str.upper, tree)
        assert [(type(k), k) for k in found] == [(type(k), k) for k in sorted(tree)]
    kept = collections.defaultdict(list, b=1, a=2)
    found = plugjax.tree.map(str, kept)
    assert list(found) == ["a", "b"]
    assert found.default_factory is list
    ordered = plugjax.tree.map(str, collections.OrderedDict(b=1, a=2))
    assert list(ordered) == ["b", "a"]


class _Kept:
    """A container with metadata of a program's own."""

    def __init__(self, child, metadata):
        self.child, self.metadata = child, metadata


class _Equal:
    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return 0


class _Unhashable(_Equal):
    __hash__ = None


plugjax.tree_util.register_pytree_node(
    _Kept, lambda kept: ((kept.child,), kept.metadata), lambda m, children: _Kept(*children, m)
)


@pytest.mark.parametrize("kind", [_Equal, _Unhashable])
@pytest.mark.parametrize("child", [(1, [2]), {"b": 1, "a": {3: 4, 2: 5}}])
def test_equal_trees_keep_their_own_metadata(kind, child):
    for metadata in (kind(), kind()):
        tree = _Kept(child, metadata)
        rebuilt = plugjax.tree.map(lambda x: x, [tree])[0]
        assert rebuilt.metadata is metadata
        assert repr(rebuilt.child) == repr(jax.tree.map(lambda x: x, child))
