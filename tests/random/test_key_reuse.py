"""`debug_key_reuse`: programs that use a key twice raise as in JAX; others run."""

import jax
import jax.numpy
import jax.random
import numpy as np
import pytest

import plugjax
import plugjax.numpy
import plugjax.random
from plugjax.core.errors import KeyReuseError

STEPS = np.arange(3)


def _twice(j, key):
    return j.random.normal(key), j.random.normal(key)


def _both(j, keys):
    return j.random.normal(keys[0]), j.random.normal(keys[1])


PROGRAMS = {
    "once": lambda j, k: j.random.normal(k),
    "twice": _twice,
    "split and used": lambda j, k: (j.random.split(k), j.random.normal(k)),
    "used and split": lambda j, k: (j.random.normal(k), j.random.split(k)),
    "split": lambda j, k: _both(j, j.random.split(k)),
    "one element twice": lambda j, k: [j.random.normal(ks[0]) for ks in [j.random.split(k)] * 2],
    "elements": lambda j, k: _both(j, j.random.split(k, 3)[1:]),
    "an element and all": lambda j, k: [
        (j.random.normal(ks[0]), j.vmap(j.random.normal)(ks)) for ks in [j.random.split(k)]
    ],
    "folded": lambda j, k: (j.random.fold_in(k, 1), j.random.fold_in(k, 2), j.random.normal(k)),
    "used and folded": lambda j, k: (j.random.normal(k), j.random.fold_in(k, 2)),
    "cloned": lambda j, k: (j.random.normal(k), j.random.normal(j.random.clone(k))),
    "cloned too late": lambda j, k: (j.random.normal(k), j.random.normal(k), j.random.clone(k)),
    "data": lambda j, k: (j.random.key_data(k), j.random.normal(k), j.random.key_data(k)),
    "wrapped again": lambda j, k: [
        j.random.normal(j.random.wrap_key_data(words)) for words in [j.random.key_data(k)] * 2
    ],
    "in one program": lambda j, k: j.jit(lambda k: _twice(j, k))(k),
    "in two programs": lambda j, k: [j.jit(j.random.normal)(k) for _ in range(2)],
    "in a program and outside": lambda j, k: (j.jit(j.random.normal)(k), j.random.bits(k)),
    "a constant of a program": lambda j, k: [
        f() for f in [j.jit(lambda: j.random.normal(k))] for _ in range(2)
    ],
    "nested programs": lambda j, k: j.jit(
        lambda k: (j.jit(j.random.normal)(k), j.jit(j.random.bits)(k))
    )(k),
    "stacked": lambda j, k: j.vmap(j.random.normal)(j.numpy.stack([k, k])),
    "mapped": lambda j, k: j.vmap(j.random.normal)(j.random.split(k, 3)),
    "mapped twice": lambda j, k: j.vmap(lambda k: _twice(j, k))(j.random.split(k, 3)),
    "mapped, not the key": lambda j, k: j.vmap(lambda i: j.random.normal(k) + i)(STEPS),
    "differentiated": lambda j, k: j.grad(lambda x: x * j.random.normal(k))(1.0),
    "differentiated and used": lambda j, k: (
        j.grad(lambda x: x * j.random.normal(k))(1.0),
        j.random.normal(k),
    ),
    "checkpointed": lambda j, k: j.grad(
        j.checkpoint(lambda x: j.numpy.sin(x * j.random.normal(k)))
    )(1.0),
    "checkpointed in a program": lambda j, k: j.jit(
        j.grad(j.checkpoint(lambda x, k: j.numpy.sin(x * j.random.normal(k))))
    )(1.0, k),
    "a step's constant": lambda j, k: j.lax.scan(
        lambda c, x: (c, j.random.normal(k) + x), 0, STEPS
    ),
    "a step's carry": lambda j, k: j.lax.scan(lambda k, x: (k, j.random.normal(k) + x), k, STEPS),
    "a carry that is split": lambda j, k: j.lax.scan(
        lambda k, x: (j.random.split(k)[0], x), k, STEPS
    ),
    "a carry that is passed on": lambda j, k: j.random.normal(
        j.lax.scan(lambda k, x: (k, x), k, STEPS)[0]
    ),
    "slices of a loop": lambda j, k: j.lax.scan(
        lambda c, k: (c, j.random.normal(k)), 0, j.random.split(k, 3)
    ),
    "slices of a loop and one of them": lambda j, k: [
        (j.lax.scan(lambda c, k: (c, j.random.normal(k)), 0, ks), j.random.normal(ks[1]))
        for ks in [j.random.split(k, 3)]
    ],
    "a loop that ends": lambda j, k: j.lax.while_loop(
        lambda s: s[1] < 3, lambda s: (s[0], s[1] + j.random.normal(s[0])), (k, 0.0)
    ),
    "a loop that splits": lambda j, k: j.lax.while_loop(
        lambda s: s[1] < 3, lambda s: (j.random.split(s[0])[0], s[1] + 1), (k, 0)
    ),
    "the condition of a loop": lambda j, k: j.lax.while_loop(
        lambda s: s + j.random.uniform(k) < 3, lambda s: s + 1, 0.0
    ),
    "a branch": lambda j, k: j.lax.cond(True, j.random.normal, lambda k: 0.0, k),
    "both branches": lambda j, k: j.lax.cond(True, j.random.normal, j.random.uniform, k),
    "a branch and used": lambda j, k: (
        j.lax.cond(True, j.random.normal, lambda k: 0.0, k),
        j.random.normal(k),
    ),
    "raw keys": lambda j, k: _twice(j, j.random.PRNGKey(0)),
    "gamma": lambda j, k: (j.random.gamma(k, 2.0), j.random.gamma(k, 2.0)),
}


def _outcome(j, name):
    with j.debug_key_reuse(True):
        try:
            PROGRAMS[name](j, j.random.key(0))
        except Exception as error:
            return error
    return None


@pytest.mark.spread(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_raise_where_they_do_in_jax(name):
    ours, theirs = _outcome(plugjax, name), _outcome(jax, name)
    if theirs is None:
        assert ours is None, ours
    else:
        assert isinstance(theirs, jax.errors.KeyReuseError)
        assert isinstance(ours, KeyReuseError), ours
        assert isinstance(ours, TypeError)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_looked_at_otherwise(name):
    PROGRAMS[name](plugjax, plugjax.random.key(0))


def test_on_all_backends(on_backend):
    assert isinstance(_outcome(plugjax, "in a program and outside"), KeyReuseError)
    assert _outcome(plugjax, "split") is None


DISTRIBUTIONS = {
    "ball": (2,), "bernoulli": (), "beta": (2.0, 3.0), "binomial": (5.0, 0.3), "bits": (), "categorical": (np.zeros(3),),
    "cauchy": (), "chisquare": (3.0,), "choice": (5,), "dirichlet": (np.ones(3),), "double_sided_maxwell": (0.0, 1.0),
    "exponential": (), "f": (2.0, 3.0), "gamma": (2.0,), "generalized_normal": (1.5,), "geometric": (0.4,), "gumbel": (),
    "laplace": (), "loggamma": (2.0,), "logistic": (), "lognormal": (), "maxwell": (), "multinomial": (4, np.ones(3) / 3),
    "multivariate_normal": (np.zeros(2), np.eye(2)), "normal": (), "orthogonal": (2,), "pareto": (2.0,),
    "permutation": (4,), "poisson": (3.0,), "rademacher": (), "randint": ((), 0, 5), "rayleigh": (1.0,), "t": (3.0,),
    "triangular": (0.0, 0.5, 1.0), "truncated_normal": (-1.0, 1.0), "uniform": (), "wald": (1.0,),
    "weibull_min": (1.0, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_no_distribution_uses_its_key_twice(name):
    """Eagerly, where each operation is checked, and as a program."""
    function = getattr(plugjax.random, name)
    with plugjax.debug_key_reuse(True):
        keys = plugjax.random.split(plugjax.random.key(0), 3)
        function(keys[0], *DISTRIBUTIONS[name])
        plugjax.jit(lambda k: function(k, *DISTRIBUTIONS[name]))(keys[1])
        again = keys[2]
        function(again, *DISTRIBUTIONS[name])
        with pytest.raises(KeyReuseError):
            function(again, *DISTRIBUTIONS[name])


def test_the_error_names_both_places():
    key = plugjax.random.key(0)
    with plugjax.debug_key_reuse(True):
        plugjax.random.normal(key)
        with pytest.raises(KeyReuseError) as caught:
            plugjax.random.uniform(key)
    message = str(caught.value)
    first = test_the_error_names_both_places.__code__.co_firstlineno + 3
    assert f":{first} " in message
    assert f":{first + 2} " in message
    assert "random.clone" in message


def test_arrays_of_the_same_keys_are_known():
    """JAX loses the connection: elements by unpacking, another shape, keys that a program passes on."""
    with plugjax.debug_key_reuse(True):
        keys = plugjax.random.split(plugjax.random.key(0))
        first, _ = keys
        plugjax.random.normal(first)
        with pytest.raises(KeyReuseError):
            keys[0]
        key = plugjax.random.key(1)
        for other in (key.reshape(1), plugjax.jit(lambda k: k)(key)):
            plugjax.random.normal(plugjax.random.clone(other).reshape(()))
        plugjax.vmap(plugjax.random.normal)(key.reshape(1))
        with pytest.raises(KeyReuseError):
            plugjax.random.normal(key)
