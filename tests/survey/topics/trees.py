"""Trees."""


def tree_functions(jax):
    t = {"a": [1, 2], "b": (3, None)}
    leaves, treedef = jax.tree.flatten(t)
    return (
        leaves,
        str(treedef),
        jax.tree.unflatten(treedef, [x * 2 for x in leaves]),
        jax.tree.map(lambda x, y: x + y, t, t),
        jax.tree.reduce(lambda a, b: a + b, t),
        jax.tree.all({"x": True}),
        str(jax.tree.structure(t)),
        jax.tree.leaves(t, is_leaf=lambda x: isinstance(x, tuple)),
    )


def paths(jax):
    t = {"a": [1, {"b": 2}], "c": (3,)}
    return (
        [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(t)],
        [
            jax.tree_util.keystr(p, simple=True, separator="/")
            for p, _ in jax.tree.leaves_with_path(t)
        ],
        jax.tree.map_with_path(lambda p, x: f"{jax.tree_util.keystr(p)}={x}", t),
    )


def registered_class(jax):
    jnp = jax.numpy

    @jax.tree_util.register_pytree_node_class
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def tree_flatten(self):
            return (self.x, self.y), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    p = jax.jit(lambda p: Point(p.x + p.y, p.y))(Point(1.0, jnp.arange(2.0)))
    return p.x, p.y, jax.tree.leaves(jax.grad(lambda p: (p.x * p.y).sum())(p))


def registered_dataclass(jax):
    from dataclasses import dataclass, field

    @jax.tree_util.register_dataclass
    @dataclass
    class Model:
        w: object
        name: str = field(metadata={"static": True}, default="m")

    m = Model(jax.numpy.arange(2.0), "x")
    out = jax.jit(lambda m: Model(m.w * 2, m.name))(m)
    paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(m)]
    return out.w, out.name, paths


def partial_as_a_tree(jax):
    jnp = jax.numpy
    f = jax.tree_util.Partial(jnp.multiply, 3.0)
    return jax.jit(lambda f, x: f(x))(f, 2.0), len(jax.tree.leaves(f))


def mismatched_trees(jax):
    return jax.tree.map(lambda x, y: x + y, {"a": 1}, {"b": 1})


def mismatched_lengths(jax):
    return jax.tree.map(lambda x, y: x + y, [1, 2], [1, 2, 3])


def prefixes(jax):
    return (
        jax.tree_util.tree_structure([1, 2]).num_leaves,
        jax.tree.broadcast(1, {"a": 2, "b": [3, 4]}),
        (
            jax.tree_util.tree_transpose(
                jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
            )
        ),
    )


def unknown_type_is_a_leaf(jax):
    class Thing:
        pass

    return len(jax.tree.leaves([Thing(), 1]))


def non_array_argument_of_jit(jax):
    return jax.jit(lambda x: x)("text")


def namedtuples_and_none(jax):
    from collections import OrderedDict, namedtuple

    nt = namedtuple("nt", "a b")
    return (
        jax.tree.map(lambda x: x + 1, nt(1, [2, 3])).b,
        jax.tree.leaves([None, 1], is_leaf=lambda x: x is None),
        list(jax.tree.map(lambda x: -x, OrderedDict(z=1, a=2)).items()),
        jax.tree.map(lambda x, y: (x, y), [1, None], [2, None]),
    )


def static_registration(jax):
    @jax.tree_util.register_static
    class Config:
        def __eq__(self, other):
            return isinstance(other, Config)

        def __hash__(self):
            return 1

    traces = []

    @jax.jit
    def f(c, x):
        traces.append(1)
        return x

    f(Config(), 1.0)
    f(Config(), 1.0)
    return len(traces), len(jax.tree.leaves(Config()))


def vmap_axes_of_trees(jax):
    jnp = jax.numpy
    d = {"a": jnp.arange(6.0).reshape(2, 3), "b": jnp.arange(3.0)}
    return jax.vmap(lambda d: d["a"].sum() + d["b"], in_axes=({"a": 1, "b": 0},), out_axes=0)(d)
