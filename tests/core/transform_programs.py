"""Small programs for the table of transformations, each written once for plugjax and for JAX.

A row makes a function from a library and its ``numpy``; the function is differentiated with respect to its first argument,
a pytree. ``refuses`` names the derivatives that both libraries refuse; the rest of a row are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

X = np.array([0.7, -0.4, 1.1], np.float32)
M = np.array([[0.5, -0.3, 0.9], [1.2, 0.4, -0.6]], np.float32)
W = np.array([[0.2, -0.7], [0.9, 0.3], [-0.5, 0.8]], np.float32)
FORWARD = frozenset({"jvp", "linearize", "jacfwd"})
REVERSE = frozenset({"grad", "value_and_grad", "vjp", "jacrev", "hessian"})


class Program(NamedTuple):
    """One row: the function that makes it, its arguments, and the derivatives that do not exist."""

    name: str
    make: Callable[[Any, Any], Callable[..., Any]]
    args: tuple[Any, ...]
    refuses: frozenset[str]
    rtol: float

    @property
    def exact(self):
        """Distinguish forward and reverse mode: they round differently, or one of them is refused."""
        return self.rtol > 1e-3 or "jacfwd" in self.refuses


class Pair(NamedTuple):
    """A user-defined container."""

    first: Any
    second: Any


PROGRAMS: list[Program] = []


def program(*args: Any, refuses: frozenset[str] = frozenset(), rtol: float = 3e-4) -> Any:
    """Add the decorated function as a row."""

    def add(make: Any) -> Any:
        PROGRAMS.append(Program(make.__name__, make, args, refuses, rtol))
        return make

    return add


# Arrays -------------------------------------------------------------------------------------------


@program(X)
def elementwise(j, np_):
    return lambda x: np_.exp(np_.sin(x)) * np_.tanh(x * 2.0) - x / (2.0 + x**2)


@program(X, np.float32(1.5))
def powers(j, np_):
    return lambda x, y: (x**3, np_.abs(x) ** y, np_.sqrt(1.0 + x * x), np_.log1p(x * x))


@program(X)
def special(j, np_):
    return lambda x: j.lax.erf(x) + j.nn.softplus(x) * np_.arctan2(x, 2.0) + np_.hypot(x, 1.0)


@program(np.float32(0.6))
def scalars(j, np_):
    return lambda x: np_.sin(x) * x + 1.0


@program(0.6, 2)
def python_scalars(j, np_):
    return lambda x, n: x**n * 2.0 + n


@program(M)
def reductions(j, np_):
    return lambda x: (np_.sum(x, 0), np_.mean(x), np_.max(x, 1), np_.prod(x, axis=1, keepdims=True))


@program(M)
def statistics(j, np_):
    return lambda x: (np_.var(x, 1), np_.std(x), np_.min(x))


@program(X, M)
def broadcasting(j, np_):
    return lambda x, m: x * m + x[:, None][:2] - np_.broadcast_to(x, (2, 3))


@program(X)
def indexing(j, np_):
    return lambda x: (x[0] * x[-1], x[1:] ** 2, x[::-2], x[np.array([0, 0, 2])], x[None, ..., 1])


@program(X, np.array([2, 0], np.int32))
def traced_indices(j, np_):
    return lambda x, i: np_.take(x, i) * x[i] + x[i[0]]


@program(X)
def updates(j, np_):
    return lambda x: (
        x.at[1].set(x[0] * 2.0).at[np.array([0, 0])].add(x[2]).at[2].multiply(x[1]),
        np_.zeros(4).at[1:].set(x).at[0].max(x[2]),
    )


@program(M)
def shapes(j, np_):
    return lambda x: (
        np_.concatenate([x, x[:, ::-1]], 1).T.reshape(4, 3),
        np_.stack([x[0], x[1] * 2.0]),
        np_.pad(x, ((0, 1), (1, 0))),
        np_.squeeze(x[:1]),
    )


@program(M)
def matmul(j, np_):
    return lambda x: np_.tanh(x @ W) @ x


@program(M)
def einsum(j, np_):
    return lambda x: (
        np_.einsum("ij,kj->ik", x, x),
        np_.einsum("ij,ij->", x, x * x),
        np_.tensordot(x, W, 1),
    )


@program(np.linspace(-1, 1, 12).astype(np.float32).reshape(1, 1, 3, 4))
def convolution(j, np_):
    kernel = np.linspace(-0.5, 0.6, 8).astype(np.float32).reshape(2, 1, 2, 2)
    return lambda x: np_.tanh(j.lax.conv(x, kernel, (1, 2), "SAME"))[0, :, :2, 0] * x[0, 0, 0, :2]


@program(X)
def sorting(j, np_):
    return lambda x: (
        np_.sort(x) * np.arange(3, dtype=np.float32),
        np_.argsort(x),
        x[np_.argsort(-x)],
    )


@program(X)
def top_k(j, np_):
    return lambda x: j.lax.top_k(x * x, 2)


@program(X)
def cumulative(j, np_):
    return lambda x: (np_.cumsum(x) * x, np_.cumprod(x), j.lax.cummax(x), j.lax.cumlogsumexp(x))


@program(X)
def complex_numbers(j, np_):
    def f(x):
        z = np_.exp(1j * x) * (x + 2j)
        return np_.abs(z), np_.real(z * np_.conj(z) * z), np_.imag(z)

    return f


@program(X)
def complex_results(j, np_):
    return lambda x: j.lax.complex(np_.sin(x), x * x) * (1 + 2j)


@program((X + 1j * X[::-1]).astype(np.complex64), refuses=frozenset({"jacfwd", "hessian"}))
def complex_arguments(j, np_):
    return lambda z: np_.sin(z) * z


@program(X, np.array([3, -2, 5], np.int32), np.array([True, False, True]))
def mixed_dtypes(j, np_):
    return lambda x, n, b: (np_.where(b, x * n, x), n // 2, ~b, (x > 0) & b, np_.sum(b) * x)


@program(X)
def integers_inside(j, np_):
    return lambda x: (x * np_.floor(x * 3).astype(np_.int32), np_.argmax(x), x.astype(np_.int8))


@program(np.array([3, -2, 7], np.int32), refuses=FORWARD | REVERSE)
def integer_arguments(j, np_):
    return lambda n: (n * n - 3, n << 2, n % 4, np_.sum(n), n / 2)


@program(np.array([True, False, True]), refuses=FORWARD | REVERSE)
def boolean_arguments(j, np_):
    return lambda b: (~b, np_.any(b), b * 2, np_.where(b, 1.0, 2.0))


@program(X.astype(ml_dtypes.bfloat16), rtol=6e-2)
def brain_floats(j, np_):
    return lambda x: (x * x + 1.0, np_.sum(x.astype(np_.float32)) * x)


@program(X.astype(np.float16), rtol=1e-2)
def half_floats(j, np_):
    return lambda x: np_.sin(x) * x + np_.float16(0.5)


@program(X, rtol=1e-2)
def mixed_precision(j, np_):
    return lambda x: (x.astype(np_.bfloat16) * 2).astype(np_.float32) * x


@program(X)
def double_where(j, np_):
    def f(x):
        safe = np_.where(x > 0, x, 1.0)
        return np_.where(x > 0, np_.sqrt(safe) + np_.log(safe), 0.0)

    return f


@program(X)
def clipping(j, np_):
    return lambda x: (np_.clip(x, -0.3, 0.9) * x, np_.maximum(x, 0.0), j.nn.relu(x) * x)


@program(M)
def softmax(j, np_):
    return lambda x: (j.nn.softmax(x, axis=1), j.nn.logsumexp(x, axis=0), j.nn.log_softmax(x)[0])


@program(M)
def layer_norm(j, np_):
    return lambda x: (
        (x - np_.mean(x, 1, keepdims=True)) / np_.sqrt(np_.var(x, 1, keepdims=True) + 0.1)
    )


@program(X, np.int32(1))
def dynamic_slices(j, np_):
    return lambda x, i: (
        j.lax.dynamic_slice(x * x, (i,), (2,)),
        j.lax.dynamic_update_slice(x, x[:1] * 3.0, (i,)),
        j.lax.dynamic_index_in_dim(x, i, keepdims=False),
    )


@program(M, np.array([[2, 0, 1], [1, 1, 0]], np.int32))
def gathers(j, np_):
    return lambda x, i: np_.take_along_axis(x * x, i, 1) + np_.zeros((2, 3)).at[:, i[0]].add(x)


@program(X)
def triangles(j, np_):
    return lambda x: np_.tril(np_.outer(x, np_.sin(x))) + np_.diag(x) + np_.eye(3)


@program(X)
def roll_and_repeat(j, np_):
    return lambda x: (np_.roll(x, 1) * x, np_.repeat(x, 2), np_.tile(x, 2)[1:3], np_.flip(x))


@program(X)
def constants(j, np_):
    return lambda x: (np_.arange(3.0), np_.ones(2) * 3, x, np.float32(2.0))


@program(X)
def numpy_on_tracers(j, np_):
    return lambda x: W.T @ x + np.float32(2) * x[:2]


# Pytrees ------------------------------------------------------------------------------------------


@program({"b": X, "w": (W, None)})
def dictionaries(j, np_):
    return lambda p: {"out": np_.tanh(p["b"] @ p["w"][0]), "none": None, "b": [p["b"]]}


@program(Pair(X, {"k": np.float32(0.5)}))
def named_tuples(j, np_):
    return lambda p: Pair(p.second["k"] * p.first, (p.first[0], p.second))


@program([X, (X[:2], np.float32(2.0))], {"scale": np.float32(3.0), "n": np.int32(2)})
def lists_and_settings(j, np_):
    return lambda p, s: [p[0] * s["scale"], (p[1][0] ** 2 * p[1][1], s["n"])]


@program(X)
def nothing(j, np_):
    return lambda x: ((), {"a": None, "x": x * 2.0})


# Calls --------------------------------------------------------------------------------------------


@program(X)
def inner_jit(j, np_):
    g = j.jit(lambda x, y: {"s": np_.sin(x) * y})
    return lambda x: g(x, x * 2.0)["s"] + j.jit(lambda y: g(y, 1.0)["s"])(x)


@program(X)
def static_arguments(j, np_):
    g = j.jit(lambda x, n, mode: x**n if mode == "power" else x * n, static_argnums=(1, 2))
    return lambda x: g(x, 3, "power") + g(x, 2, "times")


@program(X)
def closures(j, np_):
    def f(x):
        scale = np_.sum(x)
        return j.jit(lambda a: a * scale)(x) + j.vmap(lambda a: a * scale)(x * x)

    return f


@program(X)
def inner_gradient(j, np_):
    return lambda x: j.grad(lambda y: np_.sum(np_.sin(y) * x))(x) * x


@program(X)
def inner_vmap(j, np_):
    g = j.vmap(lambda a, b: (a * b, np_.sin(b)), in_axes=(0, None), out_axes=(0, None))
    return lambda x: g(x, x[0])


@program(X)
def inner_jvp(j, np_):
    def f(x):
        y, y_dot = j.jvp(np_.sin, (x,), (x * 2.0,))
        return y * y_dot

    return f


@program(X)
def stopped(j, np_):
    return lambda x: x * j.lax.stop_gradient(np_.sin(x)) + x**2


@program(X)
def transposed(j, np_):
    g = lambda t: W.T @ t  # noqa: E731
    return lambda x: j.linear_transpose(g, x)(np_.sin(x[:2]))[0] * x


@program(X)
def custom_jvp(j, np_):
    @j.custom_jvp
    def g(x, y):
        return np_.sin(x) * y

    g.defjvps(lambda t, out, x, y: 2 * np_.cos(x) * y * t, lambda t, out, x, y: np_.sin(x) * t)
    return lambda x: g(x, x * 0.5) + np_.sum(j.vmap(g, (0, None))(x, 2.0))


@program(X, refuses=FORWARD | {"hessian"})
def custom_vjp(j, np_):
    @j.custom_vjp
    def g(x, y):
        return np_.sin(x) * y

    g.defvjp(lambda x, y: (g(x, y), (x, y)), lambda r, t: (3 * t * np_.cos(r[0]) * r[1], t * r[0]))
    return lambda x: g(x, x * x)


@program(X, refuses=FORWARD)
def custom_gradient(j, np_):
    g = j.custom_gradient(lambda x: (np_.tanh(x), lambda t: t * np_.cos(x)))
    return lambda x: g(x) * x


@program(X)
def custom_derivatives_of_trees(j, np_):
    @partial(j.custom_jvp, nondiff_argnums=(0,))
    def apply(f, tree):
        return f(tree["a"]) * tree["b"][0]

    @apply.defjvp
    def apply_jvp(f, primals, tangents):
        (tree,), (tree_dot,) = primals, tangents
        return apply(f, tree), f(tree["a"]) * tree_dot["b"][0] + 5 * tree_dot["a"]

    return lambda x: apply(np_.sin, {"a": x, "b": (x * x, None)})


@program(X, refuses=REVERSE | {"linearize"})
def custom_vmap(j, np_):
    @j.custom_batching.custom_vmap
    def g(x, y):
        return np_.sin(x) * y

    @g.def_vmap
    def rule(axis_size, batched, x, y):
        return np_.sin(x) * y + 10.0 * batched[0], batched[0] or batched[1]

    return lambda x: g(x, 2.0) + j.vmap(g, (0, None))(x, x[0])[0]


@program(X)
def checkpointed(j, np_):
    return lambda x: j.checkpoint(lambda y: np_.sin(np_.sin(y)) * x)(x * x)


@program(M)
def checkpoint_policies(j, np_):
    def layer(x):
        hidden = j.ad_checkpoint.checkpoint_name(np_.tanh(x @ W), "hidden")
        return np_.sin(hidden) @ W.T

    policies = j.checkpoint_policies
    dots = j.checkpoint(layer, policy=policies.dots_saveable)
    named = j.checkpoint(layer, policy=policies.save_only_these_names("hidden"))
    return lambda x: named(dots(x))[0]


@program(X)
def collectives(j, np_):
    def each(a):
        total = j.lax.psum(a * a, "i")
        return a / total + j.lax.pmean(a, "i") * j.lax.axis_index("i"), j.lax.ppermute(
            a, "i", [(0, 1), (1, 2), (2, 0)]
        )

    return lambda x: j.vmap(each, axis_name="i")(np_.sin(x))


@program(X)
def gathered(j, np_):
    return lambda x: j.vmap(lambda a: j.lax.all_gather(a, "i") * a, axis_name="i")(x)


@program(X)
def callbacks(j, np_):
    @j.custom_jvp
    def sine(x):
        return j.pure_callback(
            lambda v: np.sin(np.asarray(v)),
            j.ShapeDtypeStruct(x.shape, np.float32),
            x,
            vmap_method="broadcast_all",
        )

    sine.defjvps(lambda t, out, x: np_.cos(x) * t)
    return lambda x: sine(x) * x


@program(X, np.uint32(7))
def random_keys(j, np_):
    def f(x, seed):
        first, second = j.random.split(j.random.key(seed))
        return x * j.random.normal(first, (3,)) + j.random.uniform(second, (), np_.float32)

    return f


@program(X)
def raw_keys(j, np_):
    def f(x):
        key = j.random.fold_in(j.random.PRNGKey(3), 5)
        return x * j.random.normal(key, x.shape), key

    return f


# Control flow -------------------------------------------------------------------------------------


@program(X)
def cond(j, np_):
    return lambda x: j.lax.cond(np_.sum(x) > 0.0, np_.sin, lambda a: a**2 * 3.0, x)


@program(X, np.array(False))
def cond_of_trees(j, np_):
    def f(x, flag):
        yes = lambda p: {"a": p[0] * x, "b": p[1]}  # noqa: E731
        no = lambda p: {"a": p[0] + x[0], "b": np_.sum(x)}  # noqa: E731
        return j.lax.cond(flag, yes, no, (x * 2.0, x[1]))

    return f


@program(X)
def switch(j, np_):
    def f(x):
        index = (x[0] > 0.5).astype(np_.int32) + (x[1] > 0.0).astype(np_.int32)
        return j.lax.switch(index, [np_.sin, lambda a: a * x, lambda a: a * 0.0], x)

    return f


@program(X, refuses=REVERSE)
def while_loop(j, np_):
    return lambda x: j.lax.while_loop(lambda c: np_.sum(c) < 20.0, lambda c: c * 2.0 + 1.0, x)


@program(X, refuses=REVERSE)
def while_of_trees(j, np_):
    def body(state):
        i, tree = state
        return i + 1, {"c": np_.sin(tree["c"]) + i, "d": tree["d"] * 0.5}

    return lambda x: j.lax.while_loop(
        lambda s: (s[0] < 5) & (s[1]["d"] > 0.1), body, (0, {"c": x, "d": 1.0})
    )


@program(X)
def fori(j, np_):
    return lambda x: j.lax.fori_loop(0, 3, lambda i, c: np_.sin(c) + i * x, x)


@program(X, np.int32(3), refuses=REVERSE)
def fori_of_unknown_length(j, np_):
    return j.jit(lambda x, n: j.lax.fori_loop(0, n, lambda i, c: c * 1.5 + x[i], x))


@program(X)
def scan(j, np_):
    def f(x):
        def step(c, a):
            c = np_.tanh(c * a + x[0])
            return c, c * x

        return j.lax.scan(step, x[1], x)

    return f


@program(X)
def scan_of_trees(j, np_):
    def f(x):
        def step(carry, row):
            i, h = carry
            h = np_.tanh(h @ row["w"] + row["b"])
            return (i + 1, h), {"h": h[0], "i": i}

        rows = {"w": np_.stack([M[:, :2], M[:, 1:]]), "b": np_.stack([x[:2], x[1:]])}
        return j.lax.scan(step, (0, x[:2]), rows, reverse=True)

    return f


@program(X)
def nested_scan(j, np_):
    def f(x):
        def outer(c, a):
            d, _ = j.lax.scan(lambda d, b: (np_.sin(d) * b + a, None), c, x[:2])
            return d, d

        return j.lax.scan(outer, 0.5, x)

    return f


@program(X)
def cond_in_scan(j, np_):
    def step(c, a):
        c = j.lax.cond(a > 0, lambda v: np_.sin(v) * a, lambda v: v + a, c)
        return c, c > 0.5

    return lambda x: j.lax.scan(step, x[0], x)


@program(X)
def scan_in_cond(j, np_):
    def loop(x):
        return j.lax.scan(lambda c, a: (c * a + x[0], None), 1.0, x)[0]

    return lambda x: j.lax.cond(x[2] > 1.0, loop, lambda y: y[0] * 1.0, x)


@program(X, refuses=REVERSE)
def while_in_scan(j, np_):
    def step(c, a):
        c = j.lax.while_loop(lambda v: v < 3.0, lambda v: v * 1.5 + 1.0, c * a)
        return c, c

    return lambda x: j.lax.scan(step, x[0], x)


@program(X)
def mapped(j, np_):
    return lambda x: j.lax.map(lambda a: {"y": a * np_.exp(x)}, x)


@program(X)
def mapped_in_batches(j, np_):
    return lambda x: j.lax.map(lambda a: np_.sin(a) * x[0], x, batch_size=2)


@program(X)
def checkpointed_scan(j, np_):
    def f(x):
        step = j.checkpoint(lambda c, a: (np_.sin(c * a) + x[1], c))
        return j.lax.scan(step, x[0], x)

    return f


@program(X)
def custom_in_cond(j, np_):
    g = j.custom_jvp(lambda a: np_.sin(a))
    g.defjvps(lambda t, out, a: 2 * t * np_.cos(a))
    return lambda x: j.lax.cond(x[0] > 0.5, lambda a: g(a), lambda a: a, x) * x


@program(X)
def newton(j, np_):
    def f(x):
        g = lambda y: np_.sum(y**4) / 4 + np_.sum(x * y)  # noqa: E731
        step = lambda i, y: y - j.grad(g)(y) / (3 * y**2 + 1.0)  # noqa: E731
        return j.lax.fori_loop(0, 2, step, np_.ones(3))

    return f
