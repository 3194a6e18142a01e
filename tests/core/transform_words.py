"""Transformations as words: ``("jit", "grad", "vmap")`` is ``jit(grad(vmap(f)))``, with plugjax and with JAX.

Every letter takes a function of a pytree (and of further arguments, which are carried along) to another one, so words
of any length make sense. Differentiating letters use a weighted sum of the floating-point leaves.
"""

from __future__ import annotations

import jax
import numpy as np

import plugjax

FLOAT0 = plugjax.core.dtypes.float0


def _weights(leaf):
    size = int(np.prod(leaf.shape))
    return np.linspace(0.5, 1.5, size).reshape(leaf.shape).astype(leaf.dtype)


def floats(j, f):
    """``f``, with the real and imaginary parts of its inexact leaves as its outputs."""

    def parts(*args):
        found = []
        for leaf in j.tree.leaves(f(*args)):
            leaf = j.numpy.asarray(leaf)
            if j.numpy.issubdtype(leaf.dtype, np.complexfloating):
                found += [j.numpy.real(leaf), j.numpy.imag(leaf)]
            elif j.numpy.issubdtype(leaf.dtype, np.floating):
                found.append(leaf)
        return found

    return parts


def loss(j, f):
    """A number made of all floating-point outputs of ``f``."""
    parts = floats(j, f)

    def total(*args):
        weighed = [j.numpy.sum(p * _weights(p)) for p in parts(*args)]
        return sum(w.astype(np.float32) for w in weighed)

    return total


def _halves(j, axis):
    def stack(x):
        x = j.numpy.asarray(x)
        return j.numpy.stack([x, x if x.dtype == bool else x // 2 if _whole(x) else x * 0.5], axis)

    return lambda x: j.tree.map(stack, x)


def _whole(x):
    return np.issubdtype(x.dtype, np.integer)


def _tangents(j, x):
    return j.tree.map(lambda a: j.numpy.asarray(a) * 0.5, x)


def _vmap(j, f, axis):
    halves = _halves(j, axis)
    return lambda x, *rest: j.vmap(f, (axis, *(None for _ in rest)), axis)(halves(x), *rest)


def _vjp(j, f):
    def pulled(x, *rest):
        out, pull = j.vjp(floats(j, f), x, *rest)
        return pull([_weights(p) for p in out])[0]

    return pulled


def _jvp(j, f):
    g = floats(j, f)
    return lambda x, *rest: j.jvp(lambda y: g(y, *rest), (x,), (_tangents(j, x),))


def _linearize(j, f):
    g = floats(j, f)

    def pushed(x, *rest):
        out, push = j.linearize(lambda y: g(y, *rest), x)
        return out, push(_tangents(j, x))

    return pushed


LETTERS = {
    "jit": lambda j, f: j.jit(f),
    "checkpoint": lambda j, f: j.checkpoint(f),
    "vmap": lambda j, f: _vmap(j, f, 0),
    "vmap last": lambda j, f: _vmap(j, f, -1),
    "jvp": _jvp,
    "linearize": _linearize,
    "vjp": _vjp,
    "grad": lambda j, f: j.grad(loss(j, f)),
    "value_and_grad": lambda j, f: j.value_and_grad(loss(j, f)),
    "jacfwd": lambda j, f: j.jacfwd(floats(j, f)),
    "jacrev": lambda j, f: j.jacrev(floats(j, f)),
    "hessian": lambda j, f: j.hessian(floats(j, f)),
}
# The meaning of a letter: `jit` and `checkpoint` change nothing, forward and reverse mode agree.
MEANING = {"jit": (), "checkpoint": (), "linearize": ("jvp",), "hessian": ("jacfwd", "jacrev")}
REVERSE_AS_FORWARD = {"vjp": "grad", "jacrev": "jacfwd"}
ORDER = dict.fromkeys(("jvp", "linearize", "vjp", "grad", "value_and_grad", "jacfwd", "jacrev"), 1)


def spell(j, word, f):
    """The function that a word makes of ``f``: the last letter is applied first."""
    for letter in reversed(word):
        f = LETTERS[letter](j, f)
    return f


def meaning(word, exact):
    """A short word with the same values in JAX;

    ``exact`` distinguishes forward and reverse mode, which round differently.
    """
    short = tuple(m for letter in word for m in MEANING.get(letter, (letter,)))
    return short if exact else tuple(REVERSE_AS_FORWARD.get(m, m) for m in short)


def order(word):
    """Order of the derivatives in a word."""
    return sum(2 if letter == "hessian" else ORDER.get(letter, 0) for letter in word)


def oracle(f, words, args):
    """Leaves of the values of JAX's ``f`` under each word, by word."""
    words = list(dict.fromkeys(words))
    together = jax.jit(lambda *xs: [jax.tree.leaves(spell(jax, w, f)(*xs)) for w in words])
    found = together(*args)
    return dict(zip(words, found, strict=True))


def compare(found, expected, rtol):
    """Leaves agree in shape and dtype, and in value up to the size of the largest element."""
    found = plugjax.tree.leaves(found)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        if a.dtype == FLOAT0 or a.size == 0:
            continue
        wide = np.complex128 if np.iscomplexobj(b) else np.float64
        a, b = a.astype(wide), b.astype(wide)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(b))))
