"""checking_leaks: raises where JAX does, and names the referrers of the tracer."""

import gc

import jax
import numpy as np
import pytest

import plugjax
import plugjax.numpy as jnp
from plugjax import lax
from plugjax.core.errors import LeakedTracerError

kept_globally = []


def _store(x):
    kept_globally.append(x * 2)
    return x * 3


LEAKING = {
    "jit": lambda j: j.jit(_store)(np.float32(1)),
    "vmap": lambda j: j.vmap(_store)(np.arange(3, dtype="f")),
    "grad": lambda j: j.grad(_store)(np.float32(1)),
    "jvp": lambda j: j.jvp(_store, (np.float32(1),), (np.float32(1),)),
    "scan": lambda j: j.lax.scan(
        lambda c, x: (_store(c), None), np.float32(0), np.arange(3, dtype="f")
    ),
    "make_jaxpr": lambda j: j.make_jaxpr(_store)(np.float32(1)),
    "jit of vmap": lambda j: j.jit(j.vmap(_store))(np.arange(3, dtype="f")),
}


def _loss(j):
    def loss(x):
        ys = j.lax.scan(lambda c, a: (c * j.numpy.sin(a), c), x, np.arange(3, dtype="f"))[1]
        return j.numpy.sum(j.lax.cond(x > 0, lambda y: y * 2, lambda y: y, ys))

    return loss


CLEAN = {
    "jit": lambda j: j.jit(_loss(j))(np.float32(1)),
    "jit of vmap of grad": lambda j: j.jit(j.vmap(j.grad(_loss(j))))(np.arange(3, dtype="f")),
    "hessian": lambda j: j.hessian(_loss(j))(np.float32(1)),
    "vjp": lambda j: j.vjp(_loss(j), np.float32(1))[1](np.float32(1)),
    "linearize": lambda j: j.linearize(_loss(j), np.float32(1))[1](np.float32(1)),
}


@pytest.mark.spread(6)
@pytest.mark.parametrize("name", LEAKING)
def test_raises_where_jax_does(name):
    # JAX does not check the tracers of grad and jvp.
    for j in (plugjax,) if name in ("grad", "jvp") else (jax, plugjax):
        kept_globally.clear()
        with j.checking_leaks(), pytest.raises(Exception, match="Leaked"):
            LEAKING[name](j)
    kept_globally.clear()


@pytest.fixture
def small_heap():
    """Exclude existing objects from collections, which run at the end of each trace."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    # The collector's estimate of the heap is from its last run; without a new one it would run all
    # the time.
    gc.collect()


@pytest.mark.spread(3)
@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("name", CLEAN)
def test_no_false_alarm(name):
    with plugjax.checking_leaks():
        CLEAN[name](plugjax)


class _Box:
    value = None


box = _Box()


def _closure():
    mine = []

    def function(x):
        mine.append(x)
        return x

    return function


def _to_attribute(x):
    box.value = x
    return x


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_store, "global variable 'kept_globally' of module"),
        (_to_attribute, "attribute 'value' of an object of type _Box"),
        (_closure(), "variable 'mine', which function _closure.<locals>.function closes over"),
    ],
)
def test_says_who_holds_it(function, words):
    with plugjax.checking_leaks(), pytest.raises(LeakedTracerError) as caught:
        plugjax.jit(function)(1.0)
    kept_globally.clear()
    assert words in str(caught.value)


def test_a_function_that_raises_has_not_leaked():
    with plugjax.checking_leaks():
        with pytest.raises(ZeroDivisionError):
            plugjax.jit(lambda x: x + 1 / 0)(1.0)
        assert plugjax.jit(lambda x: x + 1)(1.0) == 2


def test_off_by_default():
    kept_globally.clear()
    plugjax.jit(_store)(1.0)
    with pytest.raises(plugjax.errors.UnexpectedTracerError):
        jnp.sin(kept_globally.pop())
    assert lax.scan(lambda c, _: (c, None), 0, None, length=1)[0] == 0
