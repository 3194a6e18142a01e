"""Programs that must raise under transformations and their nestings: JAX's error types, on every backend."""

from itertools import product

import jax
import jax.numpy
import numpy as np
import pytest

import plugjax
from tests.core.transform_words import spell

X = np.array([0.7, -0.4, 1.1], np.float32)


def leak(j, np_):
    kept = []

    def f(x):
        j.jit(lambda y: kept.append(np_.sin(y)) or y)(x)
        return kept[0] * x

    return f


def branch(j, np_):
    return lambda x: x if np_.sum(x) > 0 else -x


def scan_carry(j, np_):
    return lambda x: j.lax.scan(lambda c, a: (np_.stack([c, c]), a), x[0], x)[1]


def scan_dtype(j, np_):
    return lambda x: j.lax.scan(lambda c, a: (c + a, a), np_.int32(0), x)[1]


def vmapped_sizes(j, np_):
    return lambda x: j.vmap(lambda a, b: a * b)(x, x[:2])


# Some raise under some transformations only, as in JAX: Python's `if` works on the concrete values
# under `grad`.
RAISING = {
    "if": branch,
    "int": lambda j, np_: lambda x: x * int(x[0]),
    "float": lambda j, np_: lambda x: x * float(np_.sum(x)),
    "bool": lambda j, np_: lambda x: x * bool(x[0] > 0),
    "range": lambda j, np_: lambda x: sum(x[i] for i in range(np_.argmax(x))) + x,
    "numpy": lambda j, np_: lambda x: x * np.asarray(x).sum(),
    "item": lambda j, np_: lambda x: x * x[0].item(),
    "tolist": lambda j, np_: lambda x: x * np_.asarray(x.tolist()),
    "mask": lambda j, np_: lambda x: x[x > 0],
    "shape from value": lambda j, np_: lambda x: np_.zeros(np_.argmax(x)) * x[0],
    "nonzero": lambda j, np_: lambda x: x[np_.nonzero(x)[0]],
    "leak": leak,
    "inner gradient of a vector": lambda j, np_: lambda x: j.grad(lambda y: y * 2)(x),
    "inner gradient of integers": lambda j, np_: lambda x: j.grad(lambda n: n * 2.0)(np_.argmax(x)),
    "inner gradient of a complex": lambda j, np_: lambda x: j.grad(lambda y: np_.sum(y) * 1j)(x),
    "inner jvp": lambda j, np_: lambda x: j.jvp(np_.sin, (x,), (x[:2],)),
    "inner jvp of integers": lambda j, np_: lambda x: j.jvp(np_.sin, (x,), (np_.arange(3),)),
    "pullback": lambda j, np_: lambda x: j.vjp(np_.sin, x)[1](x[:2]),
    "linearized": lambda j, np_: lambda x: j.linearize(np_.sin, x)[1](x[0]),
    "linearized at integers": lambda j, np_: lambda x: j.linearize(np_.sin, x)[1](np_.arange(3)),
    "jacfwd of complex": lambda j, np_: lambda x: j.jacfwd(np_.sin)(x * 1j),
    "jacrev to complex": lambda j, np_: lambda x: j.jacrev(lambda y: y * 1j)(x),
    "jacfwd argument": lambda j, np_: lambda x: j.jacfwd(np_.sin, argnums=3)(x),
    "vmap axis": lambda j, np_: lambda x: j.vmap(np_.sin, in_axes=2)(x),
    "vmap axes": lambda j, np_: lambda x: j.vmap(np_.sin, in_axes=(0, 0))(x),
    "vmap out axis": lambda j, np_: lambda x: j.vmap(np_.sin, out_axes=3)(x),
    "vmap out none": lambda j, np_: lambda x: j.vmap(np_.sin, out_axes=None)(x),
    "vmap sizes": vmapped_sizes,
    "axis name": lambda j, np_: lambda x: j.lax.psum(x, "nowhere"),
    "axis index": lambda j, np_: lambda x: j.lax.axis_index("nowhere") * x,
    "scan carry": scan_carry,
    "scan dtype": scan_dtype,
    "scan lengths": lambda j, np_: lambda x: j.lax.scan(lambda c, a: (c, a), 0.0, (x, x[:2])),
    "scan pair": lambda j, np_: lambda x: j.lax.scan(lambda c, a: c, 0.0, x),
    "while body": lambda j, np_: lambda x: j.lax.while_loop(lambda c: True, lambda c: (c, c), x),
    "while condition": lambda j, np_: lambda x: j.lax.while_loop(lambda c: c > 0, np_.sin, x),
    "cond shapes": lambda j, np_: lambda x: j.lax.cond(x[0] > 0, lambda y: y, lambda y: y[:2], x),
    "cond trees": lambda j, np_: lambda x: j.lax.cond(x[0] > 0, lambda y: y, lambda y: (y,), x),
    "cond predicate": lambda j, np_: lambda x: j.lax.cond(x > 0, np_.sin, np_.cos, x),
    "switch": lambda j, np_: lambda x: j.lax.switch(x[0], [np_.sin, np_.cos], x),
    "fori": lambda j, np_: lambda x: j.lax.fori_loop(0, 2.5, lambda i, c: c, x),
    "static": lambda j, np_: lambda x: j.jit(lambda a, n: a, static_argnums=1)(x, [1]),
    "static tracer": lambda j, np_: lambda x: j.jit(lambda a, n: a, static_argnums=1)(x, x),
    "no array": lambda j, np_: lambda x: j.jit(lambda a: "text")(x),
    "string": lambda j, np_: lambda x: np_.sin("text") * x,
    "shapes": lambda j, np_: lambda x: x + x[:2],
    "matmul": lambda j, np_: lambda x: x @ np_.ones((2, 2)),
    "axis": lambda j, np_: lambda x: np_.sum(x, axis=3),
    "reshape": lambda j, np_: lambda x: x.reshape(2, 2),
    "concatenate": lambda j, np_: lambda x: np_.concatenate([x, np_.ones((2, 2))]),
    "dtypes": lambda j, np_: lambda x: j.lax.add(x, np_.arange(3)),
    "assignment": lambda j, np_: lambda x: x.__setitem__(0, 1.0),
    "float index": lambda j, np_: lambda x: x[x[0]],
    "too many indices": lambda j, np_: lambda x: x[0, 0],
}  # fmt: skip
LETTERS = ("jit", "vmap last", "grad", "jvp", "linearize", "vjp", "jacfwd", "jacrev", "checkpoint")
WORDS = [(), *((letter,) for letter in LETTERS), *product(("jit", "vmap", "grad", "jvp"), repeat=2)]


def outcome(j, name, word):
    """The error of a program under a word, or None."""
    f = spell(j, word, RAISING[name](j, j.numpy))
    try:
        f(j.numpy.asarray(X))
    except Exception as error:
        return error
    return None


def builtin(error):
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def agree(found, wanted):
    if wanted is None or found is None:
        return found is wanted
    return type(found).__name__ == type(wanted).__name__ or isinstance(found, builtin(wanted))


@pytest.mark.spread(8)
@pytest.mark.parametrize("name", RAISING)
def test_error_types_under_every_word(name):
    wrong = []
    for word in WORDS:
        wanted = outcome(jax, name, word)
        for backend in ("numpy", "xla", "iree"):
            with plugjax.default_device(backend):
                found = outcome(plugjax, name, word)
            if not agree(found, wanted):
                wrong.append((word, backend, repr(found)[:150], repr(wanted)[:150]))
    assert not wrong


def test_vmap_names_an_axis_name_without_hash():
    with pytest.raises(
        TypeError, match=r"vmap: axis_name needs a hash.*\['i'\] of type <class 'list'>"
    ):
        plugjax.vmap(plugjax.numpy.sin, axis_name=["i"])


def test_a_policy_that_is_no_function_is_named_when_it_is_asked():
    fun = plugjax.checkpoint(plugjax.numpy.sin, policy=["dots"])
    assert fun(0.0) == 0
    with pytest.raises(TypeError, match=r"checkpoint: policy is not callable, got \['dots'\]"):
        plugjax.grad(fun)(0.0)


@pytest.mark.parametrize("kind", [bool, int, float, complex])
def test_a_key_is_no_number(kind):
    with pytest.raises(
        TypeError, match=rf"{kind.__name__}\(\) of key<fry>\[\]: a key is no number"
    ):
        kind(plugjax.random.key(0))
