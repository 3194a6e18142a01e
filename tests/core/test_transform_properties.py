"""Random straight-line programs under random nestings of up to four transformations, against JAX."""

import jax
import jax.numpy
import numpy as np
from hypothesis import given, settings, strategies as st

import plugjax
from tests.core.transform_words import compare, oracle, order, spell

X = np.array([0.7, -0.4, 1.1], np.float32)

# Steps: operations on two of the vectors of a graph.
STEPS = {
    "sin": lambda j, a, b: j.numpy.sin(a) + b,
    "tanh": lambda j, a, b: j.numpy.tanh(a * b),
    "mul": lambda j, a, b: a * b,
    "div": lambda j, a, b: a / (2.0 + b * b),
    "where": lambda j, a, b: j.numpy.where(a > 0.05, b, a * 0.5),
    "index": lambda j, a, b: a[1] * b[::-1],
    "update": lambda j, a, b: a.at[0].add(b[2]),
    "outer": lambda j, a, b: j.numpy.outer(a, b) @ a * 0.3,
    "sum": lambda j, a, b: j.numpy.sum(a) * b * 0.3,
    "cumsum": lambda j, a, b: j.numpy.cumsum(a) - b,
    "stop": lambda j, a, b: a * j.lax.stop_gradient(b),
    "jit": lambda j, a, b: j.jit(lambda c: j.numpy.sin(c) * b)(a),
    "vmap": lambda j, a, b: j.vmap(lambda c, d: c * d[0], (0, None))(a, b),
    "checkpoint": lambda j, a, b: j.checkpoint(lambda c: j.numpy.sin(c) * b)(a),
    "scan": lambda j, a, b: j.lax.scan(lambda c, d: (c * d * 0.5 + b[0], c + d), b[1], a)[1],
    "cond": lambda j, a, b: j.lax.cond(a[0] > 0.05, j.numpy.sin, lambda c: c * b, b),
    "fori": lambda j, a, b: j.lax.fori_loop(0, 2, lambda i, c: j.numpy.sin(c) + b * i, a),
    "grad": lambda j, a, b: j.grad(lambda c: j.numpy.sum(j.numpy.sin(c) * b))(a),
}
GRAPHS = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 4), st.integers(0, 4)),
    min_size=1,
    max_size=4,
)
LETTERS = ("jit", "checkpoint", "vmap", "vmap last", "jvp", "linearize", "vjp", "grad", "jacfwd", "jacrev", "hessian")  # fmt: skip
WORDS = st.lists(st.sampled_from(LETTERS), max_size=4).map(tuple).filter(lambda w: order(w) <= 2)


def build(j, graph):
    """The function of a graph: every step adds a vector, the result is the last one with the mean of all."""

    def f(x):
        vectors = [x]
        for name, a, b in graph:
            vectors.append(
                STEPS[name](j, vectors[-1 - a % len(vectors)], vectors[b % len(vectors)])
            )
        return vectors[-1], j.numpy.mean(sum(vectors))

    return f


def check(graph, word):
    wanted = oracle(build(jax, graph), [word], (X,))[word]
    compare(spell(plugjax, word, build(plugjax, graph))(plugjax.numpy.asarray(X)), wanted, 5e-4)


@given(GRAPHS, WORDS)
@settings(max_examples=70)
def test_random_programs_under_random_words(graph, word):
    check(graph, word)


@given(GRAPHS, WORDS)
@settings(max_examples=8)
def test_random_programs_on_xla(graph, word):
    with plugjax.default_device("xla"):
        check(graph, ("jit", *word))
