"""Every public function and class has the parameters of JAX's: names, kinds and defaults; positional ones in order."""

import importlib
import inspect

import jax
import jax.numpy
import pytest

import plugjax.numpy
from plugjax.cli.parity import listed
from tests.drawn import outcome

NAMESPACES = [
    "numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "random", "nn", "nn.initializers", "ops", "tree", "tree_util",
    "dtypes", "flatten_util", "image", *(name for name in listed() if name.startswith("scipy.")),
]  # fmt: skip

# Reasons why a name is not compared.
APART = {
    "numpy.ndarray": "the class of arrays, which nobody calls",
    "numpy.set_printoptions": "NumPy's own parameters are named; JAX hands everything on",
    "lax.random_gamma_grad": "JAX takes any number of arguments and needs two",
    "tree_util.Partial": "functools.partial's own parameters here, of which Python does not tell",
}


def parameters(function):
    """Parameters with public names; a private sentinel counts as a distinct default."""
    found = {}
    for place, p in enumerate(inspect.signature(function).parameters.values()):
        if p.name.startswith("_"):
            continue
        named = p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        where = "by name" if p.kind is p.KEYWORD_ONLY else place
        found[p.name if named else (place, p.kind)] = (p.kind, where, _default(p.default))
    return found


def _default(value):
    if value is inspect.Parameter.empty:
        return "none"
    if type(value) is object or type(value).__name__ == "Unspecified":
        return "a mark"
    known = value is None or isinstance(value, bool | int | float | complex | str | tuple)
    return value if known or hasattr(value, "dtype") else repr(value)


def pairs(namespace):
    ours = importlib.import_module(f"plugjax.{namespace}")
    theirs = importlib.import_module(f"jax.{namespace}")
    for name in dir(theirs):
        function = getattr(theirs, name)
        alias = inspect.ismodule(function) or type(function).__module__ == "typing"
        apart = name.startswith("_") or alias or f"{namespace}.{name}" in APART
        if apart or not callable(function) or not hasattr(ours, name):
            continue
        try:
            inspect.signature(function)
        except (TypeError, ValueError):
            continue  # A class that is written in C.
        yield name, getattr(ours, name), function


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_parameters_are_those_of_jax(namespace):
    checked, different = 0, {}
    for name, ours, theirs in pairs(namespace):
        found, wanted = parameters(ours), parameters(theirs)
        checked += 1
        if found != wanted:
            different[name] = (found, wanted)
    assert checked
    assert not different


def test_only_what_differs_is_kept_apart():
    for name in APART:
        namespace, _, function = name.rpartition(".")
        ours = getattr(importlib.import_module(f"plugjax.{namespace}"), function)
        theirs = getattr(importlib.import_module(f"jax.{namespace}"), function)
        assert outcome(lambda f=ours: parameters(f)) != parameters(theirs)


def test_the_sharding_of_a_result_is_one_of_a_mesh():
    for call in [
        lambda n, s: n.zeros(2, out_sharding=s),
        lambda n, s: n.reshape(n.ones(2), (2, 1), out_sharding=s),
        lambda n, s: n.dot(n.ones(2), n.ones(2), out_sharding=s),
    ]:
        for n in (plugjax.numpy, jax.numpy):
            with pytest.raises(TypeError, match="out_sharding"):
                call(n, n.ones(2).sharding)
